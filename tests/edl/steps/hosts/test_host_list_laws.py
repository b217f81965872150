"""Once a host is off the list while its pod stays, it never comes back on: whatever plans say."""

from dataclasses import dataclass, field
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from msgspec.structs import replace

from edl.model import ClusterState, Pod, TrainingJob
from edl.patches.patched_values import patched_pod, patched_role
from edl.planner.passes.delisted_workers import with_removals_of_delisted, without_delisted
from edl.planner.plan import Drain, Plan, Resize
from edl.steps.plan_steps import steps
from edl.writes import Delete, Patch, Write
from tests.edl.trainings import KEY, LONG_AGO, NOW, hostfile, pod, pods, role, seconds, training
from tests.reasons import because

pytestmark = pytest.mark.laws

MAX_WORKERS = 6


@dataclass
class World:
    """A Horovod job, its Job controller and kubelets; every pod of it is ready after a round."""

    job: TrainingJob
    now: datetime = NOW
    made: int = 0
    left: set[str] = field(default_factory=set)
    """Pods that a list has named, and then not."""

    def wish(self, size: int, moved: int | None) -> Plan:
        """What a plan would like, as it sees the job: this size, and perhaps one pod elsewhere."""
        (seen,) = without_delisted(self.state).jobs
        workers = seen.roles[1]
        resizes: tuple[Resize, ...] = ()
        drains: tuple[Drain, ...] = ()
        if size != workers.status.size:
            resizes = (Resize(KEY, "worker", workers.status.size, size, because("a wish")),)
        names = [
            found.name for found in workers.status.pods if found.index == moved and found.active
        ]
        if names and moved is not None and moved < size:
            drains = (Drain(KEY, "worker", tuple(names), because("its node goes")),)
        return Plan(resizes=resizes, drains=drains)

    @property
    def state(self) -> ClusterState:
        return ClusterState(self.now, (), (self.job,))

    @property
    def listed(self) -> set[str]:
        launcher, workers = self.job.roles
        hosts = (launcher.status.pods[0].published.hosts or "").split()
        indexes = {int(host.partition(".")[0].rpartition("-")[2]) for host in hosts}
        return {found.name for found in workers.status.pods if found.index in indexes}

    def take(self, plan: Plan) -> None:
        for step in steps(with_removals_of_delisted(plan, self.state), self.state).steps:
            for write in step.writes:
                before = self.listed
                self._take(write)
                there = {found.name for found in self.job.roles[1].status.pods}
                self.left |= (before - self.listed) & there
                assert not self.left & self.listed, "a host came back on the list"

    def _take(self, write: Write) -> None:
        launcher, workers = self.job.roles
        if isinstance(write, Delete):
            kept = tuple(found for found in workers.status.pods if found.name != write.target.name)
            workers = workers.changed(pods=kept)
        elif isinstance(write, Patch) and write.target.kind == "Pod":
            launcher = launcher.changed(pods=(patched_pod(launcher.status.pods[0], write),))
        elif isinstance(write, Patch) and write.target.name == workers.job:
            workers = patched_role(workers, write)
        self.job = replace(self.job, roles=(launcher, workers))

    def go_on(self, wait: float) -> None:
        """Pods above the size go, missing ones are made, those of the last round are ready."""
        self.now += seconds(wait)
        launcher, workers = self.job.roles
        kept = [
            replace(one, ready=True)
            for one in workers.status.pods
            if one.index < workers.status.size
        ]
        missing = set(range(workers.status.size)) - {found.index for found in kept}
        found = sorted([*kept, *map(self._new, sorted(missing))], key=lambda one: one.index)
        self.job = replace(self.job, roles=(launcher, workers.changed(pods=tuple(found))))

    def _new(self, index: int) -> Pod:
        self.made += 1
        fresh = pod("worker", index, ready=False, created_at=self.now)
        return replace(fresh, name=f"mnist-worker-{index}-new{self.made}")


def world(size: int) -> World:
    launcher = pod("launcher", 0, hosts=hostfile(range(size)), published_at=LONG_AGO)
    workers = role("worker", 1, MAX_WORKERS, size=size, pods=pods("worker", range(size)))
    all_roles = (role("launcher", pods=(launcher,)), workers)
    return World(training(*all_roles, framework="horovod", started_at=LONG_AGO))


@given(
    some.integers(1, MAX_WORKERS),
    some.lists(
        some.tuples(
            some.integers(1, MAX_WORKERS),
            some.none() | some.integers(0, MAX_WORKERS - 1),
            some.sampled_from([0.1, 1.0, 2.0, 4.0, 31.0]),
        ),
        max_size=25,
    ),
)
@settings(max_examples=300, deadline=None)
def test_a_host_that_left_the_list_never_comes_back_on(
    size: int, rounds: list[tuple[int, int | None, float]]
) -> None:
    found = world(size)
    for wanted, moved, wait in rounds:
        found.take(found.wish(wanted, moved))
        found.go_on(wait)
    for _ in range(20):  # and in the end whoever is wanted is there, and listed
        found.take(Plan())
        found.go_on(31)
    workers = found.job.roles[1]
    assert found.listed == {one.name for one in workers.status.pods}
    assert len(workers.status.pods) == workers.status.size
