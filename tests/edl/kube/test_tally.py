"""Sums are exact, and those of nothing are not kept."""

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from edl.kube.cluster import Delta, ObjectKey
from edl.kube.decode.gpu_sharing import GpuAllocation
from edl.kube.decode.object_facts import NamespaceFacts, PodFacts
from edl.kube.state.node_usage import NodeUsageIndex
from edl.kube.state.team_usage import NamespaceTeams
from edl.kube.tally import Tally
from edl.model import Shape, Team, Teams
from edl.quantities import Resources


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 2))))
def test_a_tally_has_the_sums_that_are_not_zero(changes: list[tuple[int, int]]) -> None:
    found: Tally[int] = Tally()
    expected: defaultdict[int, int] = defaultdict(int)
    for key, amount in changes:
        found.add(key, amount)
        expected[key] += amount
    assert dict(found) == {key: amount for key, amount in expected.items() if amount}


def test_a_node_forgets_the_shares_of_pods_that_are_gone() -> None:
    index = NodeUsageIndex()

    def pod(hold: GpuAllocation | None) -> PodFacts:
        return PodFacts(
            namespace="n",
            name="p",
            node="node",
            shape=Shape(Resources()),
            ended=False,
            leaving=False,
            asking=False,
            priority=0,
            hold=hold,
        )

    index.count_pod(pod(None), 1)
    for number in range(10):
        index.count_pod(pod(GpuAllocation(("gpu-a",), 1 + number, 0)), 1)
        index.count_pod(pod(GpuAllocation(("gpu-a",), 1 + number, 0)), -1)
    assert not index._loads["node"].holds  # noqa: SLF001


def test_namespaces_that_are_gone_are_forgotten_without_teams() -> None:
    index = NamespaceTeams()
    for number in range(10):
        one = NamespaceFacts(f"ci-{number}")
        index.apply_namespace(Delta(ObjectKey("", one.name), None, one))
        assert index.of(Teams()) is None
        index.apply_namespace(Delta(ObjectKey("", one.name), one, None))
        index.of(Teams())
    assert not index._stale  # noqa: SLF001


def test_teams_that_are_configured_later_count_for_namespaces_that_were_there() -> None:
    index = NamespaceTeams()
    one = NamespaceFacts("lab")
    index.apply_namespace(Delta(ObjectKey("", one.name), None, one))
    index.of(Teams())
    assert index.of(Teams.of([Team("a", namespaces=("lab",))])) == {"lab": "a"}
