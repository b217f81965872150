"""Hundreds of jobs of three teams while the reconciler dies: guarantees return, and no job ends."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from random import Random
from typing import Final

import pytest

from dev.installation import Installation, install, start_reconciler
from edl import contract
from edl.annotations.job_history import Operation, entries
from edl.writes import Json
from sandbox import NodeGroup, temporary_sandbox
from tests.integration.support.stage import Stage, elastic, stage
from tests.integration.test_teams import DOCUMENT, config_map, decided_by
from tests.waiting import pause_after

pytestmark = [pytest.mark.torture, pytest.mark.timeout(1200)]

RECONCILER: Final = "reconciler"
NODES: Final = NodeGroup(40, cpu="8")
GUESTS: Final = 120
"""Jobs of the team that borrows, each of 1 to 4 pods of a CPU: they fill all 320 CPUs."""
GANGS: Final = 24
"""Jobs of an owner, of four pods each: all that its team is guaranteed."""
PODS: Final = 4
GUARANTEED: Final = GANGS * PODS
UNHARMED: Final = {Operation.STARTED, Operation.SCALED_UP, Operation.SCALED_DOWN}
OPTIONS: Final = (
    "--growth-cooldown=3",
    *("--lease-duration=3", "--renew-deadline=2", "--retry-period=0.5"),  # a new process leads soon
)


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with temporary_sandbox("reclaim", NODES) as sandbox:
        yield install(sandbox, tmp_path_factory.mktemp("installation"), (RECONCILER,), *OPTIONS)


@pytest.fixture
def teams(installation: Installation) -> Iterator[tuple[Stage, Stage, Stage]]:
    """The namespaces of a guest, which is guaranteed nothing, and of two owners."""
    with ExitStack() as stack:
        made = [stack.enter_context(stage(installation.cluster)) for _ in range(3)]
        for one in made:
            one.within = 180.0
        document = json.dumps({"teams": [_team(one, at) for at, one in enumerate(made)]})
        guest, first, second = made
        guest.cluster.kubectl("apply", "-f", "-", input=json.dumps(config_map(document)))
        guest.until(lambda: decided_by(guest) == document, "it is decided by")
        yield guest, first, second
        guest.api.delete(DOCUMENT)


def _team(at: Stage, number: int) -> Json:
    guaranteed = {"guaranteed": {"cpu": GUARANTEED}} if number else {}
    return {"name": f"team-{number}", "namespaces": [at.namespace]} | guaranteed


def sweep(name: str) -> Json:
    """Pods that work on their own: their number changes without a restart."""
    labels = {"framework": "none", "min": "1", "max": "4"}
    return elastic(name, labels=labels, parallelism=1, completions=100)


def gang(name: str) -> Json:
    labels = {"framework": "tensorflow", "min": str(PODS), "max": str(PODS)}
    return elastic(name, labels=labels, parallelism=PODS)


def running(at: Stage) -> int:
    """Pods of the namespace that run and are not ending."""
    return sum(
        pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
        for pod in at.all("Pod")
    )


def runs(at: Stage, pods: int) -> bool:
    return running(at) == pods


def is_empty(at: Stage) -> bool:
    return not at.all("Pod")


def until(installation: Installation, at: Stage, random: Random, holds: Callable[[], bool]) -> int:
    """Wait until it holds, while the reconciler dies every few seconds; how often it died."""
    begun = time.monotonic()
    due, died = begun, 0
    while not holds():
        now = time.monotonic()
        assert now - begun < at.within, f"it never came; the reconciler died {died} times"
        if now >= due and died < 5:
            installation.cluster.kill(RECONCILER)
            start_reconciler(installation, RECONCILER, *OPTIONS)
            died, due = died + 1, time.monotonic() + random.uniform(0.5, 6.0)
        time.sleep(pause_after(now - begun, 0.2, 1.0))
    return died


@pytest.mark.parametrize("seed", [1, 2])
def test_owners_get_their_guarantee_back_and_no_job_of_the_borrower_ends(
    installation: Installation, teams: tuple[Stage, Stage, Stage], seed: int
) -> None:
    random = Random(seed)  # noqa: S311 - no secret depends on it
    guest, *owners = teams
    guest.apply(*(sweep(f"sweep-{number}") for number in range(GUESTS)))
    guest.until(lambda: running(guest) >= 300, "the guest borrows the cluster")
    died = 0
    for owner in (*owners, owners[0]):
        owner.apply(*(gang(f"gang-{number}") for number in range(GANGS)))
        died += until(installation, owner, random, partial(runs, owner, GUARANTEED))
        if owner is owners[0]:
            check(owner, GANGS, {Operation.STARTED})
            owner.delete_all("Job")
            owner.until(partial(is_empty, owner), "its pods are gone")
    check(owners[1], GANGS, {Operation.STARTED})
    check(guest, GUESTS, UNHARMED)
    assert running(guest) >= GUESTS
    assert died


def check(at: Stage, jobs: int, allowed: set[Operation]) -> None:
    """No job was stopped, and none of their pods failed: they became smaller at most."""
    found = at.all("Job")
    assert len(found) == jobs
    for one in found:
        done = {
            each.operation for each in entries(one["metadata"]["annotations"][contract.HISTORY])
        }
        assert Operation.STARTED in done
        assert done <= allowed, one["metadata"]["annotations"][contract.HISTORY]
        assert int(one["status"].get("failed", 0)) == 0
