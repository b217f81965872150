from datetime import UTC, datetime, timedelta

import pytest

from edl.errors import Gone, NotFound
from edl.kube.cluster import ListOptions
from tests.edl.kube.cluster_contract import ClusterContract, lease, pod, take
from tests.fake_cluster.cluster import FakeCluster


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster(lambda: datetime(2026, 1, 1, tzinfo=UTC))


class TestFakeCluster(ClusterContract):
    @pytest.fixture
    def namespace(self) -> str:
        return "test"


def test_a_version_that_is_too_old_is_gone(cluster: FakeCluster) -> None:
    cluster.create(*lease("test", "one"))
    cluster.forget_history()
    with pytest.raises(Gone):
        list(cluster.watch(ListOptions("Lease", "test"), "1"))


def test_a_pod_is_gone_when_its_grace_period_has_passed() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    cluster = FakeCluster(lambda: now)
    target, manifest = pod("test", "p", nodeName="n1", terminationGracePeriodSeconds=5)
    version = cluster.create(target, manifest)["metadata"]["resourceVersion"]
    cluster.delete(target)
    now += timedelta(seconds=4)
    cluster.tick()
    assert cluster.get(target)
    now += timedelta(seconds=1)
    cluster.tick()
    watch = cluster.watch(ListOptions("Pod", "test"), version)
    assert take(watch, 2) == [("MODIFIED", "p"), ("DELETED", "p")]
    with pytest.raises(NotFound):
        cluster.get(target)


def test_what_was_read_can_be_changed_without_harm(cluster: FakeCluster) -> None:
    target, manifest = lease("test", "one")
    cluster.create(target, manifest)["spec"].clear()
    cluster.get(target)["spec"].clear()
    manifest["spec"].clear()
    assert cluster.get(target)["spec"]["holderIdentity"] == "ann"
