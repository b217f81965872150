"""What an autoscaler says of provisional pods reaches the state, and through it the Job."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from edl.annotations import failed_attempts
from edl.errors import Unreachable
from edl.kube.cluster import ListOptions, RawList
from edl.model import ClusterState, JobKey, ObjectRef, ProvisionalPod, Provisioning
from reconciler.autoscaler_events import AutoscalerEvents
from tests.edl.trainings import role, training
from tests.fake_cluster.cluster import FakeCluster

NOW = datetime(2026, 1, 1, tzinfo=UTC)
POD = ProvisionalPod("gang-0", "uid-0", "worker", "", NOW)


def state(*pods: ProvisionalPod) -> ClusterState:
    job = training(role("worker", suspended=True), provisioning=Provisioning(pods=pods))
    return ClusterState(NOW, (), (job,))


class World:
    def __init__(self) -> None:
        self.api = FakeCluster(lambda: NOW)
        self.rings = 0
        self.events = AutoscalerEvents(self.api, self._ring)

    def _ring(self) -> None:
        self.rings += 1

    def event(self, by: str, message: str, second: int = 0, **about: Any) -> None:  # noqa: ANN401 - JSON
        name = f"e-{by}-{second}"
        body = {
            "metadata": {"name": name},
            "involvedObject": {"kind": "Pod", "name": "gang-0", "uid": "uid-0"} | about,
            "source": {"component": by},
            "lastTimestamp": f"2026-01-01T00:00:{second:02}Z",
            "message": message,
        }
        self.api.create(ObjectRef("Event", "lab", name), body)

    def said(self, known: ClusterState) -> str:
        self.events.recall(known)
        self.events.lead()
        return self.events.recall(known).jobs[0].provisioning.message


def test_the_newest_of_the_autoscalers_words_are_quoted_and_no_others() -> None:
    world = World()
    world.event("karpenter", "no instance type has 900 CPU", 1)
    world.event("karpenter", "all available instance types\nexceed limits", 2)
    world.event("default-scheduler", "0/0 nodes are available", 3)
    world.event("karpenter", "of another pod", 4, uid="uid-of-a-former-one")
    assert world.said(state(POD)) == "all available instance types exceed limits"
    assert world.rings == 1


def test_long_words_are_cut() -> None:
    world = World()
    world.event("karpenter", "x" * 100_000)
    assert len(world.said(state(POD))) == failed_attempts.MAX_MESSAGE_CHARACTERS


def test_without_pods_that_wait_nothing_is_read_and_the_state_is_the_same() -> None:
    world = World()
    world.event("karpenter", "no instance type has 900 CPU")
    for known in (state(), state(replace(POD, node="n1")), state(replace(POD, gone=True))):
        assert world.said(known) == ""
        assert world.events.recall(known) is known


def test_what_was_said_stays_while_nothing_else_is_said() -> None:
    world = World()
    world.event("karpenter", "no instance type has 900 CPU")
    assert world.said(state(POD)) == "no instance type has 900 CPU"
    other = replace(POD, name="gang-1", uid="uid-1")
    assert world.said(state(other)) == "no instance type has 900 CPU"
    assert world.rings == 1


class Guarded(FakeCluster):
    """Events of one namespace cannot be read; it counts the Events that were."""

    read = 0
    closed = ""

    def pages(self, selection: ListOptions) -> Iterator[RawList]:
        if selection.namespace == self.closed:
            raise Unreachable("an Event is too large", 500)
        for page in super().pages(selection):
            self.read += len(page.items)
            yield page


class Crowded(World):
    def __init__(self) -> None:
        super().__init__()
        self.api: Guarded = Guarded(lambda: NOW)
        self.events = AutoscalerEvents(self.api, self._ring)


def test_of_events_without_end_a_bounded_number_is_read() -> None:
    world = Crowded()
    for number in range(1200):
        world.event(f"karpenter-{number:04}", "no")
    assert world.said(state(POD)) == "no"
    assert world.api.read == 500


def test_events_that_cannot_be_read_hide_no_other_jobs() -> None:
    world = Crowded()
    world.event("karpenter", "no instance type has 900 CPU")
    other = training(role("worker", suspended=True), provisioning=Provisioning(pods=(POD,)))
    world.api.closed = "a"
    known = state(POD)
    both = replace(known, jobs=(replace(other, key=JobKey("a", "gang")), *known.jobs))
    world.events.recall(both)
    world.events.lead()
    found = world.events.recall(both).jobs
    assert [one.provisioning.message for one in found] == ["", "no instance type has 900 CPU"]
