"""Reads that are asked once, and what users without the right to read get instead."""

import pytest
from msgspec.structs import replace

from edl.errors import Forbidden
from edl.kube.cluster import ListOptions, RawList
from kubectl_edl.cli.context import ClusterConnection, Scope
from kubectl_edl.client.optional_reads import asking_once
from tests.fake_cluster.cluster import FakeCluster
from tests.kubectl_edl.cluster_wrappers import ClusterWrapper
from tests.kubectl_edl.stage import NOW

NODES = ListOptions("Node")


class Refusing(ClusterWrapper):
    """Refuses all lists with a status, and counts them."""

    def __init__(self, status: int) -> None:
        super().__init__(FakeCluster(lambda: NOW))
        self.status = status
        self.asked: list[ListOptions] = []

    def list(self, selection: ListOptions) -> RawList:
        self.asked.append(selection)
        raise Forbidden(f"no {selection.kind}", self.status)


def refusals(cluster: Refusing, *selections: ListOptions) -> list[tuple[str, int]]:
    """The errors of these lists, which one connection reads in order."""
    connection = ClusterConnection(cluster, "", "https://cluster", Scope())
    once = asking_once(connection).cluster
    errors = []
    for selection in selections:
        with pytest.raises(Forbidden) as error:
            once.list(selection)
        errors.append((str(error.value), error.value.status))
    return errors


def test_a_refused_list_is_asked_once_whatever_its_selector() -> None:
    cluster = Refusing(403)
    errors = refusals(cluster, NODES, replace(NODES, labels="a=b"))
    assert errors == [("no Node", 403)] * 2
    assert cluster.asked == [NODES]


@pytest.mark.parametrize(
    "other", [ListOptions("Pod"), ListOptions("Node", "team"), ListOptions("Node", name="n")]
)
def test_a_list_of_another_kind_namespace_or_name_is_asked(other: ListOptions) -> None:
    cluster = Refusing(403)
    refusals(cluster, NODES, other)
    assert cluster.asked == [NODES, other]


def test_a_list_is_asked_again_after_rejected_credentials() -> None:
    """A new token may be accepted."""
    cluster = Refusing(401)
    assert refusals(cluster, NODES, NODES) == [("no Node", 401)] * 2
    assert cluster.asked == [NODES, NODES]
