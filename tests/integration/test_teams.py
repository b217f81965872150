"""Teams of a real cluster: idle capacity is lent, and returns without an end of any job.

The cluster has 4 nodes of 8 CPU; the load ceiling leaves 31 of 32 CPU for growth.
"""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from dev.installation import Installation
from edl import contract
from edl.annotations.job_history import HistoryEntry, Operation, entries
from edl.errors import NotFound
from edl.model import Code, ObjectRef
from edl.writes import Json
from sandbox.errors import SandboxError
from tests.integration.support.stage import Stage, elastic, stage, tensorflow
from tests.integration.test_plugin import Shell

APPLIED = ObjectRef("ConfigMap", contract.SYSTEM_NAMESPACE, contract.TEAMS_APPLIED_CONFIG_MAP)

pytestmark = pytest.mark.integration

DOCUMENT = ObjectRef("ConfigMap", contract.SYSTEM_NAMESPACE, contract.TEAMS_CONFIG_MAP)
LENT = {"sweep": (2, 16), "fill": (3, 15)}
"""The borrower's jobs, each with its minimum and its maximum: 31 in all."""
GANG = 16
"""CPU that the owner is guaranteed; its gang asks for them all, and no growth."""

Put = Callable[..., str]


def config_map(text: str) -> Json:
    """The ConfigMap of the teams."""
    place = {"name": DOCUMENT.name, "namespace": DOCUMENT.namespace}
    data = {contract.TEAMS_KEY: text}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": place, "data": data}


@pytest.fixture
def owner(installed: Stage) -> Stage:
    """The namespace of the team that lends."""
    return installed


@pytest.fixture
def borrower(installed: Stage) -> Iterator[Stage]:
    """The namespace of the team that is guaranteed less than it uses."""
    with stage(installed.cluster) as made:
        yield made


def team_document(owner: Stage, borrower: Stage, limit: str = "") -> str:
    """Two teams, each of one namespace; `limit` is the borrower's."""
    return json.dumps(
        {
            "teams": [
                {
                    "name": "lender",
                    "namespaces": [owner.namespace],
                    "guaranteed": {"cpu": GANG},
                },
                {
                    "name": "guest",
                    "namespaces": [borrower.namespace],
                    "guaranteed": {"cpu": 4},
                }
                | ({"limit": {"cpu": limit}} if limit else {}),
            ]
        }
    )


@pytest.fixture
def put(owner: Stage) -> Iterator[Put]:
    """Applies a document as users do; returns when it is decided by."""

    def write(text: str) -> str:
        said = owner.cluster.kubectl("apply", "-f", "-", input=json.dumps(config_map(text)))
        owner.until(lambda: decided_by(owner) == text, "it is decided by")
        return said

    yield write
    with suppress(NotFound):
        owner.api.delete(DOCUMENT)
    owner.until(lambda: not decided_by(owner), "without it there are no teams")


def decided_by(at: Stage) -> str:
    """The document that the leader decides by."""
    try:
        return str((at.api.get(APPLIED).get("data") or {}).get(contract.TEAMS_KEY, ""))
    except NotFound:
        return ""


def note(at: Stage, job: str, name: str) -> str:
    return str(at.job(job)["metadata"].get("annotations", {}).get(name, ""))


def history(at: Stage, job: str) -> tuple[HistoryEntry, ...]:
    return entries(note(at, job, contract.HISTORY))


def gang() -> list[Json]:
    """What asks for all that its team is guaranteed; of a lower priority than what borrows."""
    return tensorflow("digits", f"{GANG - 2}..{GANG - 2}")


@pytest.fixture
def full(owner: Stage, borrower: Stage, put: Put) -> Iterator[Stage]:
    """The borrower's namespace, whose jobs of a higher priority fill the cluster."""
    put(team_document(owner, borrower))
    urgent = borrower.namespace
    borrower.kubectl("create", "priorityclass", urgent, "--value=1000", "--preemption-policy=Never")
    pod = {"priorityClassName": urgent}
    for (name, (least, most)), framework in zip(LENT.items(), ("none", "pytorch"), strict=True):
        words = {"framework": framework, "min": str(least), "max": str(most)}
        more: Json = {"completions": 100} if framework == "none" else {}
        borrower.apply(elastic(name, labels=words, parallelism=least, pod=pod, **more))
    borrower.until(lambda: sum(map(borrower.running, LENT)) == 31, "they fill the cluster")
    yield borrower
    borrower.kubectl("delete", "priorityclass", urgent)


def lent_pods(at: Stage) -> dict[str, set[str]]:
    """UIDs of the live pods of each of the borrower's jobs."""
    return {job: {pod["metadata"]["uid"] for pod in at.pods(job)} for job in LENT}


def took_extras_alone(at: Stage, before: dict[str, set[str]]) -> None:
    """No job of the borrower was suspended or below its minimum, ever; its pods are the same."""
    unharmed = {Operation.STARTED, Operation.SCALED_UP, Operation.SCALED_DOWN}
    after = lent_pods(at)
    for job, (least, _most) in LENT.items():
        done = history(at, job)
        assert {one.operation for one in done} <= unharmed
        assert min(one.after for one in done) >= least
        assert after[job] <= before[job], "no pod was replaced"
        assert len(after[job]) >= least
        assert [one.code for one in done].count(Code.RECLAIMED) <= 1, "by one decision"
    assert sum(map(len, after.values())) == 32 - GANG, "as many went as were needed"


def runs_whole(at: Stage) -> bool:
    sizes = {"chief": 1, "ps": 1, "worker": GANG - 2}
    return all(at.running(f"digits-{role}") == size for role, size in sizes.items())


def test_an_owner_gets_its_guarantee_back_by_extras_alone(owner: Stage, full: Stage) -> None:
    before = lent_pods(full)
    owner.apply(*gang())
    owner.until(lambda: runs_whole(owner), "the gang of the owner runs")
    took_extras_alone(full, before)
    assert [one.operation for one in history(owner, "digits-worker")] == [Operation.STARTED]


def test_the_plugin_says_what_is_lent_and_which_team_waits(owner: Stage, full: Stage) -> None:
    owner.apply(*gang())
    owner.until(lambda: runs_whole(owner), "the gang of the owner runs")
    full.apply(elastic("late", labels={"min": "20", "max": "20"}, parallelism=20))
    full.until(lambda: note(full, "late", contract.REASON), "it waits")
    lender, guest = (Shell(at.cluster, at.namespace) for at in (owner, full))
    teams = {one["metadata"]["name"]: one for one in items(lender.edl_alone("teams", "-o", "json"))}
    assert teams["lender"]["used"]["cpu"] == "16000m"
    assert teams["lender"]["borrowed"] == {}
    assert teams["guest"]["used"]["cpu"] == "16000m"
    assert teams["guest"]["borrowed"]["cpu"] == "12000m"
    assert [teams[name]["queuedTrainingJobs"] for name in ("lender", "guest")] == [0, 1]
    (late,) = items(guest.edl("queue", "-o", "json"))
    assert (late["metadata"]["name"], late["team"], late["positionInTeam"]) == ("late", "guest", 1)
    assert lender.status("digits")["phase"] == "Running"
    phases = {job: guest.status(job)["phase"] for job in (*LENT, "late")}
    assert phases == dict.fromkeys(LENT, "Running") | {"late": "Queued"}


def items(done: subprocess.CompletedProcess[str]) -> list[Json]:
    """What a command lists as JSON."""
    assert done.returncode == 0, done.stderr
    found: list[Json] = json.loads(done.stdout)["items"]
    return found


@contextmanager
def without_reconciler(installation: Installation) -> Iterator[None]:
    """It is killed, and another one is started after the block."""
    installation.cluster.kill("reconciler")
    try:
        yield
    finally:
        installation.cluster.start("reconciler")


def test_an_owner_starts_though_the_reconciler_dies_after_its_submission(
    installation: Installation, owner: Stage, full: Stage
) -> None:
    before = lent_pods(full)
    with without_reconciler(installation):
        owner.apply(*gang())
        assert not history(owner, "digits-worker"), "it waits for a decision"
    owner.until(lambda: runs_whole(owner), "the gang of the owner runs")
    took_extras_alone(full, before)


def test_a_job_above_its_teams_limit_waits_until_a_document_that_is_right_raises_it(
    owner: Stage, borrower: Stage, put: Put
) -> None:
    put(team_document(owner, borrower, limit="6"))
    for name in ("early", "late"):
        borrower.apply(elastic(name, labels={"min": "4", "max": "4"}, parallelism=4))
        borrower.until(lambda: note(borrower, name, contract.REASON), "it is decided")  # noqa: B023
    borrower.until_runs("early", 4)
    borrower.until(
        lambda: note(borrower, "late", contract.REASON) == Code.QUOTA_EXCEEDED, "it says why"
    )
    said = borrower.message("late")
    assert said.startswith("exceeded limit of team guest, requested: cpu=4, limited: cpu=6")
    with pytest.raises(SandboxError) as refused:
        put(team_document(owner, borrower, limit="-8"))
    assert 'data[teams.yaml]: teams[1] (guest).limit[cpu]: "-8"' in str(refused.value)
    borrower.kubectl("delete", "job", "early")
    borrower.until_runs("late", 4)
    borrower.apply(elastic("next", labels={"min": "4", "max": "4"}, parallelism=4))
    borrower.until(
        lambda: note(borrower, "next", contract.REASON) == Code.QUOTA_EXCEEDED, "it holds still"
    )
    put(team_document(owner, borrower, limit="8"))
    borrower.until_runs("next", 4)
