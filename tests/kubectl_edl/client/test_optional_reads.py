"""Lists that are read once, and refusals, which are not asked for again."""

import pytest

from edl.errors import Forbidden
from edl.kube.cluster import ListOptions, PluginCluster, RawList
from kubectl_edl.cli.context import ClusterConnection, Scope
from kubectl_edl.client.optional_reads import asking_once
from tests.fake_cluster.cluster import FakeCluster
from tests.kubectl_edl.cluster_wrappers import ClusterWrapper, recorded
from tests.kubectl_edl.stage import NOW

NODES = ListOptions("Node")


class Refusing(ClusterWrapper):
    """Refuses all lists with a status."""

    status = 403

    def list(self, selection: ListOptions) -> RawList:
        raise Forbidden(f"no {selection.kind}", self.status)


class Unauthorized(Refusing):
    status = 401


def asked_for(cluster: PluginCluster, *selections: ListOptions) -> list[ListOptions]:
    """The lists that reach the API server, of those that one connection reads in order."""
    asked: list[ListOptions] = []
    connection = ClusterConnection(recorded(asked)(cluster), "", "https://cluster", Scope())
    once = asking_once(connection).cluster
    for selection in selections:
        if not isinstance(cluster, Refusing):
            assert once.list(selection) == cluster.list(selection)
            continue
        with pytest.raises(Forbidden, match=f"no {selection.kind}") as error:
            once.list(selection)
        assert error.value.status == cluster.status
    return asked


@pytest.mark.parametrize("cluster", [ClusterWrapper, Refusing])
def test_each_list_and_each_refusal_is_asked_for_once(cluster: type[ClusterWrapper]) -> None:
    others = (ListOptions("Pod"), ListOptions("Node", labels="a=b"), ListOptions("Node", "team"))
    read = (NODES, *others, NODES, *others)
    assert asked_for(cluster(FakeCluster(lambda: NOW)), *read) == [NODES, *others]


def test_a_list_is_asked_for_again_after_rejected_credentials() -> None:
    """A new token may be accepted."""
    cluster = Unauthorized(FakeCluster(lambda: NOW))
    assert asked_for(cluster, NODES, NODES) == [NODES, NODES]
