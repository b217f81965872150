import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from benchmarks.experiments.cluster import TRAINER
from benchmarks.experiments.manifests import JOB_LABEL, KIND_LABEL, NAMESPACE
from benchmarks.experiments.observe import ENDED, LEAVING, PENDING, RUNNING, Group, Pods
from edl.model import ObjectRef
from tests.fake_cluster.cluster import FakeCluster
from tests.waiting import until


class Clock:
    """Stands still until a test moves it."""

    now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cluster(clock: Clock) -> FakeCluster:
    return FakeCluster(clock)


@pytest.fixture
def pods(cluster: FakeCluster) -> Iterator[Pods]:
    found = Pods(cluster)
    found.start()
    yield found
    found.stop()
    cluster.end_watches()


def create(cluster: FakeCluster, name: str, node: str = "") -> None:
    labels = {JOB_LABEL: "job-00", KIND_LABEL: TRAINER.name}
    manifest = {"metadata": {"name": name, "labels": labels}, "spec": {"nodeName": node}}
    cluster.create(ObjectRef("Pod", NAMESPACE, name), manifest)


def patch(cluster: FakeCluster, name: str, body: dict[str, Any]) -> None:
    cluster.patch(ObjectRef("Pod", NAMESPACE, name), body)


def phase(name: str) -> dict[str, Any]:
    return {"status": {"phase": name}}


def counted(pods: Pods, state: str) -> int:
    return pods.counts()[Group("job-00", TRAINER.name, state)]


def test_pods_are_counted_by_what_they_do(cluster: FakeCluster, pods: Pods) -> None:
    create(cluster, "a", "small-000")
    create(cluster, "b", "small-000")
    patch(cluster, "b", phase("Running"))
    until(lambda: counted(pods, RUNNING) == 1)
    assert counted(pods, PENDING) == 1
    assert pods.running("job-00", TRAINER.name) == ["b"]
    assert pods.on_nodes(TRAINER.name) == {"small-000": 2}


def test_a_running_pod_that_is_told_to_end_is_one_stop(
    cluster: FakeCluster, pods: Pods, clock: Clock
) -> None:
    create(cluster, "a", "small-000")
    patch(cluster, "a", phase("Running"))
    cluster.delete(ObjectRef("Pod", NAMESPACE, "a"))
    until(lambda: counted(pods, LEAVING) == 1)
    clock.now += timedelta(minutes=1)
    cluster.tick()
    until(lambda: not pods.counts())
    assert [(stop.job, stop.kind) for stop in pods.stops] == [("job-00", TRAINER.name)]


@pytest.mark.parametrize("last", ["Pending", "Succeeded"])
def test_deleting_a_pod_that_never_ran_or_has_ended_counts_as_no_stop(
    cluster: FakeCluster, pods: Pods, last: str
) -> None:
    create(cluster, "a")
    patch(cluster, "a", phase(last))
    until(lambda: counted(pods, ENDED if last == "Succeeded" else PENDING) == 1)
    cluster.delete(ObjectRef("Pod", NAMESPACE, "a"))
    until(lambda: not pods.counts())
    assert pods.stops == []


def test_a_pod_deleted_between_two_watches_is_noticed(cluster: FakeCluster, pods: Pods) -> None:
    create(cluster, "a")
    patch(cluster, "a", phase("Running"))
    until(lambda: counted(pods, RUNNING) == 1)
    pods.stop()
    cluster.end_watches()
    cluster.delete(ObjectRef("Pod", NAMESPACE, "a"))
    cluster.forget_history()
    again = Pods(cluster)
    again.start()
    create(cluster, "b")
    until(lambda: counted(again, PENDING) == 1)
    assert counted(again, RUNNING) == 0
    again.stop()
    cluster.end_watches()


def test_the_time_from_binding_to_running_is_known_for_pods_seen_before_binding(
    cluster: FakeCluster, pods: Pods
) -> None:
    begun = time.monotonic()
    create(cluster, "a")
    create(cluster, "there-before", "small-000")
    until(lambda: counted(pods, PENDING) == 2)
    patch(cluster, "a", {"spec": {"nodeName": "small-000"}})
    until(lambda: pods.on_nodes(TRAINER.name) == {"small-000": 2})
    assert pods.lags(begun, limit=60.0) == []
    assert len(pods.lags(begun, limit=0.0)) == 1, "who is late already counts"
    for name in ("a", "there-before"):
        patch(cluster, name, phase("Running"))
    until(lambda: counted(pods, RUNNING) == 2)
    (lag,) = pods.lags(begun, limit=60.0)
    assert 0 <= lag <= time.monotonic() - begun
    assert pods.lags(time.monotonic(), limit=0.0) == [], "who was bound before counts no more"
