"""What Karpenter may add to a NodePool: its limits less the capacity of its nodes."""

from msgspec.structs import replace

from edl import contract
from edl.kube.cluster import Delta, ObjectKey
from edl.kube.provisioning.node_pool_facts import NodePoolFacts
from edl.kube.state.node_pool_usage import NodePoolUsage
from edl.model import Node, NodePoolHeadroom, Taint
from edl.quantities import Resources
from tests.edl.planner.states import node


def pooled(name: str = "n1", pool: str = "default", cpu: int = 8) -> Node:
    return node(name, cpu, labels={contract.NODE_POOL: pool})


def cpu(used: int, *nodes: Node) -> int:
    """The CPU that a pool of 96 may add, of which Karpenter reports so much as used."""
    usage = NodePoolUsage()
    for one in nodes:
        usage.apply_node(Delta(ObjectKey("", one.name), None, one))
    pool = NodePoolFacts("default", (("cpu", 96_000),), Resources.of({"cpu": used * 1000}))
    (headroom,) = usage.headroom([pool])
    ((name, amount),) = headroom.limited
    assert name == "cpu"
    return amount // 1000


def test_what_karpenter_reports_is_used() -> None:
    assert cpu(0) == 96
    assert cpu(32) == 64
    assert cpu(96) == cpu(112) == 0


def test_nodes_that_karpenter_does_not_report_yet_are_used() -> None:
    assert cpu(0, pooled()) == 88
    assert cpu(8, pooled("n1"), pooled("n2")) == 80
    assert cpu(0, pooled(cpu=112)) == 0


def test_nodes_that_are_being_created_are_used_as_karpenter_reports_them() -> None:
    assert cpu(32, pooled()) == 64


def test_nodes_of_other_pools_and_of_none_use_nothing() -> None:
    assert cpu(0, pooled(pool="other"), node("n2", 8)) == 96


def test_a_node_that_karpenter_removes_no_longer_counts() -> None:
    removed = replace(pooled(), taints=(Taint(contract.DISRUPTED, "", "NoSchedule"),))
    assert cpu(0, removed) == 96


def test_a_node_that_changes_or_goes_is_counted_anew() -> None:
    usage, key = NodePoolUsage(), ObjectKey("", "n1")
    pools = [NodePoolFacts(name, (("cpu", 10_000),)) for name in ("second", "default")]

    def left() -> list[int]:
        return sorted(dict(one.limited)["cpu"] for one in usage.headroom(pools))

    usage.apply_node(Delta(key, None, pooled(cpu=8)))
    assert left() == [2_000, 10_000]
    usage.apply_node(Delta(key, pooled(cpu=8), pooled(cpu=3, pool="second")))
    assert left() == [7_000, 10_000]
    usage.apply_node(Delta(key, pooled(cpu=3, pool="second"), None))
    assert left() == [10_000, 10_000]


def test_a_pool_without_limits_is_still_a_pool() -> None:
    expected = (NodePoolHeadroom((), "default"),)
    assert NodePoolUsage().headroom([NodePoolFacts("default")]) == expected
