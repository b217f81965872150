"""A minute of everything at once, from a fixed seed; whatever happens, the promises hold."""

import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from edl import contract
from edl.writes import Json
from sandbox import NodeGroup, Sandbox
from sandbox.installation import install
from tests.integration.support.stage import Stage, elastic, horovod, stage, tensorflow, web

pytestmark = [pytest.mark.integration, pytest.mark.long]

ACTIONS: Final = 45
PROTECTED: Final = ("chief", "ps", "launcher")
CALM: Final = 12.0
"""Seconds without a write of ours: more than the growth cooldown, after which it may go on."""
KINDS: Final[tuple[Callable[[str], list[Json]], ...]] = (
    lambda name: tensorflow(name, "1..6", ps=2),
    lambda name: horovod(name, "2..5"),
    lambda name: [elastic(name, labels={"framework": "tensorflow", "max": "4"})],
    lambda name: [elastic(name, "2", {"max": "5"}, completions=50)],
    lambda name: [elastic(name, parallelism=5)],
    lambda name: [elastic(name, "6", {"max": "3"}, completions=50)],
)


@dataclass
class Soak:
    """Random actions on one stage; every look checks what must hold at any moment."""

    stage: Stage
    dice: random.Random
    jobs: dict[str, list[str]] = field(default_factory=dict)
    seats: dict[tuple[str, ...], str] = field(default_factory=dict)
    """Pod UIDs of protected roles by Job, its start, and index."""

    def act(self, number: int) -> None:
        actions = (self.create, self.create, self.web, self.change, self.change, self.cordon)
        self.dice.choice((*actions, self.delete))(number)

    def create(self, number: int) -> None:
        if len(self.jobs) < 10:
            jobs = self.dice.choice(KINDS)(f"job-{number}")
            self.dice.shuffle(jobs)
            self.jobs[f"job-{number}"] = [job["metadata"]["name"] for job in jobs]
            self.stage.apply(*jobs)

    def delete(self, _number: int) -> None:
        if self.jobs:
            name = self.dice.choice(sorted(self.jobs))
            self.stage.kubectl("delete", "job", *self.jobs.pop(name), "--wait=false")

    def change(self, _number: int) -> None:
        if self.jobs:
            worker = max(self.jobs[self.dice.choice(sorted(self.jobs))])
            most = self.stage.job(worker)["metadata"]["labels"][contract.MAX]
            self.stage.annotate(
                worker,
                replicas=self.dice.choice((None, None, most)),
                paused=self.dice.choice((None, None, None, "true")),
            )

    def web(self, _number: int) -> None:
        self.stage.apply(web(self.dice.randint(0, 14)))

    def cordon(self, number: int) -> None:
        verb = "cordon" if number % 2 else "uncordon"
        self.stage.kubectl(verb, f"node-00{self.dice.randint(0, 2)}")

    def settle(self) -> None:
        """Nothing holds anybody back any more."""
        self.stage.kubectl("uncordon", "node-000", "node-001", "node-002")
        for names in self.jobs.values():
            for name in names:
                self.stage.annotate(name, paused=None)

    def look(self) -> None:
        jobs = {job["metadata"]["uid"]: job for job in self.stage.all("Job")}
        for job in jobs.values():
            labels, size = job["metadata"]["labels"], job["spec"]["parallelism"]
            started = not job["spec"].get("suspend")
            assert not started or int(labels[contract.MIN]) <= size <= int(labels[contract.MAX]), (
                f"{job['metadata']['name']} has size {size}"
            )
        for pod in self.stage.all("Pod"):
            owner = jobs.get(pod["metadata"].get("ownerReferences", [{}])[0].get("uid", ""))
            if owner and not owner["spec"].get("suspend"):
                self._seated(owner, pod)

    def _seated(self, job: Json, pod: Json) -> None:
        labels, notes = pod["metadata"]["labels"], job["metadata"]["annotations"]
        role = labels.get(contract.ROLE)
        if role not in PROTECTED or "deletionTimestamp" in pod["metadata"]:
            return  # those of an earlier start are on their way out
        start = notes.get(contract.STARTED_AT, "")
        index = labels[contract.COMPLETION_INDEX_ANNOTATION]
        uid = pod["metadata"]["uid"]
        known = self.seats.setdefault((job["metadata"]["uid"], start, index), uid)
        assert known == uid, f"{pod['metadata']['name']} replaced another {role}"
        if role == "launcher" and pod["status"].get("phase") == "Running":
            assert pod["metadata"]["annotations"].get(contract.HOSTFILE), "an empty host list"

    def sizes(self) -> Mapping[str, tuple[int, bool]]:
        return {
            job["metadata"]["name"]: (job["spec"]["parallelism"], bool(job["spec"]["suspend"]))
            for job in self.stage.all("Job")
        }


@pytest.fixture
def soak(own_sandbox: Callable[[], Sandbox], tmp_path: Path) -> Iterator[Soak]:
    sandbox = own_sandbox()
    groups = (NodeGroup(3, cpu="8"), NodeGroup(3, cpu="4", name_prefix="small"))
    sandbox.up(*groups)
    install(sandbox, tmp_path, ("reconciler",), "--log-level", "debug")
    with stage(sandbox) as made:
        made.within = 180.0  # one look for calm that fails takes a dozen seconds
        yield Soak(made, random.Random(7))  # noqa: S311 — a fixed seed


def test_whatever_happens_the_promises_hold(soak: Soak) -> None:
    for number in range(ACTIONS):
        if number % 20 == 10:
            soak.stage.cluster.stop("kube-apiserver")
            soak.stage.cluster.start("kube-apiserver")
        if number % 20 == 15:
            soak.stage.cluster.kill("reconciler")
            soak.stage.cluster.start("reconciler")
        soak.act(number)
        soak.look()
    assert soak.seats, "no role that must not be touched ever ran"
    soak.settle()
    soak.stage.until(lambda: _rests(soak), "nothing moves in a cluster that nobody changes")
    _no_half_gangs(soak)
    soak.stage.kubectl("delete", "jobs", "--all", "--wait=false")
    for kind in ("Service", "PodDisruptionBudget", "RoleBinding"):
        soak.stage.until(lambda: not soak.stage.all(kind), f"every {kind} is gone")  # noqa: B023
    log = soak.stage.cluster.log("reconciler").read_text()
    assert "Traceback" not in log
    assert '"level":"error"' not in log


def _rests(soak: Soak) -> bool:
    before, begun = soak.sizes(), time.monotonic()
    while time.monotonic() - begun < CALM:
        soak.look()
        if soak.sizes() != before:
            return False
        time.sleep(0.5)
    return True


def _no_half_gangs(soak: Soak) -> None:
    sizes = soak.sizes()
    for name, jobs in soak.jobs.items():
        assert len({sizes[job][1] for job in jobs}) == 1, f"half of {name} runs"
