"""What the planner says fits, kube-scheduler places: in many unequal clusters side by side.

Each cluster is a few nodes with a label of their own, and jobs that select it. The planner admits
gangs by arithmetic; the scheduler, which looks at one pod after another, has the last word.
"""

import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Final

import pytest

from dev.installation import install
from edl import contract
from edl.annotations.job_history import entries
from edl.model import Code, ObjectRef
from edl.writes import Json
from sandbox import NodeGroup, Sandbox
from tests.figures import titled
from tests.integration.support.stage import Stage, elastic

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(900)]

SEED: Final = 20_26
CLUSTERS: Final = 8
GANG_LIMIT: Final = 40
"""Seconds. A machine that needs longer to place a gang calls that a disagreement."""
CLUSTER: Final = "agrees.edl.dev/cluster"
QUIET: Final = 4.0
AT_ONCE: Final = 0.99


def nodes_of(random: Random, cluster: int) -> list[NodeGroup]:
    return [
        NodeGroup(
            1,
            cpu=str(random.choice((2, 3, 4, 6, 8, 12, 16))),
            memory=f"{random.choice((8, 16, 24, 32))}Gi",
            labels={CLUSTER: f"c{cluster}"},
            name_prefix=f"c{cluster}-n{number}",
        )
        for number in range(random.randint(3, 8))
    ]


def jobs_of(random: Random, cluster: int) -> list[list[Json]]:
    return [gang_of(random, cluster, number) for number in range(random.randint(3, 6))]


def gang_of(random: Random, cluster: int, number: int) -> list[Json]:
    """A chief, parameter servers and workers, each with a size of its own; some may grow."""
    name = f"c{cluster}-j{number}"
    least = random.randint(1, 5)
    most = least + random.choice((0, 0, 3))
    servers = random.randint(1, 3)
    sizes = {"chief": 1, "ps": servers, "worker": least}
    workers = f"{least}..{most}" if most > least else f"{least}"
    all_roles = f"chief=1,ps={servers},worker={workers}"
    return [
        role_of(random, (name, role, count), cluster, all_roles) for role, count in sizes.items()
    ]


def role_of(random: Random, who: tuple[str, str, int], cluster: int, all_roles: str) -> Json:
    name, role, count = who
    labels = {"framework": "tensorflow", "job": name, "role": role}
    job = elastic(f"{name}-{role}", labels=labels, parallelism=count)
    pod = job["spec"]["template"]["spec"]
    requests = {
        "cpu": random.choice(("500m", "1", "1500m", "2", "3", "4", "5")),
        "memory": random.choice(("512Mi", "1Gi", "2Gi", "4Gi", "7Gi")),
    }
    pod["containers"][0]["resources"] = {"requests": requests}
    pod["nodeSelector"] = {CLUSTER: f"c{cluster}"}
    job["metadata"]["annotations"] = {contract.ROLES: all_roles}
    return job


@pytest.fixture
def many(own_sandbox: Callable[[], Sandbox], tmp_path: Path) -> tuple[Stage, Random]:
    random = Random(SEED)  # noqa: S311 - it only mixes
    sandbox = own_sandbox()
    sandbox.up(*(group for cluster in range(CLUSTERS) for group in nodes_of(random, cluster)))
    install(sandbox, tmp_path, ("reconciler",), "--gang-limit", str(GANG_LIMIT))
    # The sandbox ends with all its pods: one worker of the Job controller would let them go.
    return Stage(sandbox, "default"), random


class Watch:
    """What became of the gangs, read from their Jobs."""

    def __init__(self, made: Stage) -> None:
        self._stage = made
        self.late: set[str] = set()
        """Gangs that were suspended again because the scheduler placed not all of their pods."""
        self.started: set[str] = set()
        self.halves: list[str] = []
        self.stands: dict[str, tuple[int, ...]] = {}

    def look(self) -> None:
        pods = Counter(
            pod["metadata"]["labels"][contract.JOB_NAME_LABEL]
            for pod in self._stage.all("Pod")
            if pod["spec"].get("nodeName") and pod["status"].get("phase") == "Running"
        )
        gangs: dict[str, list[Json]] = defaultdict(list)
        for job in self._stage.all("Job"):
            gangs[job["metadata"]["labels"][contract.JOB]].append(job)
        self.halves = [name for name, jobs in gangs.items() if is_half(jobs, pods)]
        for name, jobs in gangs.items():
            notes = [job["metadata"].get("annotations", {}) for job in jobs]
            if any(contract.STARTED_AT in one for one in notes):
                self.started.add(name)
            told = [entry for one in notes for entry in entries(one.get(contract.HISTORY, ""))]
            if any(entry.code is Code.GANG_UNSCHEDULABLE for entry in told):
                self.late.add(name)
            sizes = (0 if job["spec"]["suspend"] else job["spec"]["parallelism"] for job in jobs)
            self.stands[name] = (*sizes, *(pods[job["metadata"]["name"]] for job in jobs))

    def until_quiet(self, seconds: float) -> None:
        """Until nothing has changed for a while that is longer than any pause of ours."""
        before, since, end = None, time.monotonic(), time.monotonic() + 240
        while time.monotonic() - since < seconds:
            assert time.monotonic() < end, f"it never comes to rest; half: {self.halves}"
            self.look()
            stands = json.dumps(self.stands, sort_keys=True)
            if stands != before or self.halves:
                before, since = stands, time.monotonic()
            time.sleep(4)  # a look lists hundreds of pods


def is_half(jobs: list[Json], pods: Counter[str]) -> bool:
    """Some of its minimum runs, and not all of it."""
    lacking = [
        pods[job["metadata"]["name"]] < int(job["metadata"]["labels"][contract.MIN]) for job in jobs
    ]
    return any(lacking) and any(pods[job["metadata"]["name"]] for job in jobs)


def create(made: Stage, job: Json) -> None:
    made.api.create(ObjectRef("Job", made.namespace, job["metadata"]["name"]), job)


def test_admitted_gangs_run_at_once_and_all_after_the_repair(
    many: tuple[Stage, Random], record_property: Callable[[str, object], None]
) -> None:
    made, random = many
    jobs = [job for cluster in range(CLUSTERS) for one in jobs_of(random, cluster) for job in one]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda job: create(made, job), jobs))
    watch = Watch(made)
    watch.until_quiet(GANG_LIMIT + QUIET)
    began, late = len(watch.started), sorted(watch.late)
    record_property(
        titled("gangs that kube-scheduler placed as a whole at once"),
        f"seed {SEED}: {CLUSTERS} clusters, {len(watch.stands)} gangs, {began} admitted, "
        f"{began - len(late)} ran at once ({1 - len(late) / began:.1%}); late: {late}; "
        f"half: {watch.halves}",
    )
    assert not watch.halves, "no half gang is left"
    running = {name for name, sizes in watch.stands.items() if any(sizes)}
    assert watch.late <= running, "who was late runs after the repair"
    assert 1 - len(late) / began >= AT_ONCE
