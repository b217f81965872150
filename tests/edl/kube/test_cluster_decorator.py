from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from edl.kube.cluster import Cluster, ListOptions, PluginCluster, RawList
from edl.kube.cluster_decorator import ClusterDecorator, PluginClusterDecorator
from edl.model import ObjectRef
from edl.writes import Json
from tests.edl.kube.cluster_contract import ClusterContract, lease
from tests.fake_cluster.cluster import FakeCluster

ONE = ObjectRef("Lease", "test", "one")
LEASES = ListOptions("Lease", "test")


def fake() -> FakeCluster:
    return FakeCluster(lambda: datetime(2026, 1, 1, tzinfo=UTC))


class TestDecoratedCluster(ClusterContract):
    @pytest.fixture
    def cluster(self) -> PluginCluster:
        return PluginClusterDecorator(fake())

    @pytest.fixture
    def namespace(self) -> str:
        return "test"


class Reading(ClusterDecorator):
    """Notes the names of methods that read."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self.read: list[str] = []

    def get(self, target: ObjectRef) -> Json:
        self.read.append("get")
        return super().get(target)

    def pages(self, selection: ListOptions) -> Iterator[RawList]:
        self.read.append("pages")
        return super().pages(selection)


def test_a_method_that_a_subclass_overrides_is_called() -> None:
    cluster = Reading(fake())
    cluster.create(*lease("test", "one"))
    assert cluster.get(ONE)["metadata"]["name"] == "one"
    assert [len(page.items) for page in cluster.pages(LEASES)] == [1]
    assert cluster.read == ["get", "pages"]


def test_what_a_decorated_cluster_knows_is_read_at_each_use() -> None:
    inner = fake()
    cluster = PluginClusterDecorator(inner)
    inner.system_namespace = "elsewhere"
    assert cluster.system_namespace == "elsewhere"
    assert cluster.version() == inner.version()
    assert cluster.clock_ahead() == inner.clock_ahead()
    assert cluster.without_warnings() is inner
