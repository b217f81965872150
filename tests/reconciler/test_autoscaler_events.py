"""What an autoscaler says of provisional pods reaches the state, and through it the Job."""

from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from edl.annotations import provisioning_failures
from edl.kube.testing.fake_cluster import FakeCluster
from edl.model import ClusterState, ObjectRef, ProvisionalPod, Provisioning
from reconciler.autoscaler_events import AutoscalerEvents
from tests.edl.trainings import role, training

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

    def event(self, by: str, message: str, second: int = 0, **about: Any) -> None:  # noqa: ANN401 — JSON
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
        self.events.seen(known)
        self.events.look()
        return self.events.seen(known).jobs[0].provisioning.said


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
    assert len(world.said(state(POD))) == provisioning_failures.MOST


def test_without_pods_that_wait_nothing_is_read_and_the_state_is_the_same() -> None:
    world = World()
    world.event("karpenter", "no instance type has 900 CPU")
    for known in (state(), state(replace(POD, node="n1")), state(replace(POD, gone=True))):
        assert world.said(known) == ""
        assert world.events.seen(known) is known


def test_what_was_said_stays_while_nothing_else_is_said() -> None:
    world = World()
    world.event("karpenter", "no instance type has 900 CPU")
    assert world.said(state(POD)) == "no instance type has 900 CPU"
    other = replace(POD, name="gang-1", uid="uid-1")
    assert world.said(state(other)) == "no instance type has 900 CPU"
    assert world.rings == 1
