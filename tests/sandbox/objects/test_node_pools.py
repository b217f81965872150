from __future__ import annotations

import pytest

from sandbox.errors import SandboxError
from sandbox.objects.node_pools import NodePool, manifests, parsed


def test_a_pool_says_what_karpenter_may_make() -> None:
    pool = NodePool(sizes=(8,), cpu_limit="64", node_delay="20s", consolidate_after="Never")
    node_class, node_pool = manifests(pool)
    assert node_class["spec"] == {"nodeRegistrationDelay": "20s"}
    spec = node_pool["spec"]
    assert spec["limits"] == {"cpu": "64"}
    assert spec["disruption"]["consolidateAfter"] == "Never"
    assert spec["disruption"]["budgets"][0] == {"nodes": "10%", "reasons": ["Empty"]}
    template = spec["template"]["spec"]
    assert template["nodeClassRef"]["name"] == node_class["metadata"]["name"]
    sizes = {each["key"]: each["values"] for each in template["requirements"]}
    assert sizes["karpenter.kwok.sh/instance-cpu"] == ["8"]
    assert "taints" not in template


def test_beside_a_real_node_only_pods_that_tolerate_it_get_simulated_ones() -> None:
    _, node_pool = manifests(NodePool(tainted=True))
    (taint,) = node_pool["spec"]["template"]["spec"]["taints"]
    assert (taint["key"], taint["effect"]) == ("kwok.x-k8s.io/node", "NoSchedule")


def test_a_pool_is_read_from_settings() -> None:
    said = ("sizes=8,64", "cpu-limit=100", "capacity-types=spot,on-demand", "node-delay=1m30s")
    expected = NodePool(
        sizes=(8, 64),
        cpu_limit="100",
        capacity_types=("spot", "on-demand"),
        node_delay="1m30s",
    )
    assert parsed(said) == expected
    assert parsed(()) == NodePool()


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("sizes=7", "sizes: 7: choose of 1, 2, 4"),
        ("sizes=big", "sizes: 'big': write CPUs like 8,16"),
        ("sizes=", "'sizes=': write KEY=VALUE"),
        ("cpu-limit=0", "cpu_limit: '0' is not a quantity"),
        ("node-delay=soon", "node_delay: 'soon' is not a duration: write it like 20s"),
        ("node-delay=Never", "node_delay: 'Never' is not a duration"),
        ("consolidate-after=1", "consolidate_after: '1' is not a duration"),
        ("empty-budget=101%", "empty_budget: '101%': write it like 10% or 3"),
        ("consolidation=Always", "consolidation: Always: choose of WhenEmpty, "),
        ("capacity-types=reserved", "capacity types: reserved: choose of on-demand, spot"),
        ("name=Big", "node pool 'Big': use small letters"),
        ("tainted=yes", "'tainted=yes': write KEY=VALUE, KEY one of name, sizes, cpu-limit"),
    ],
)
def test_a_setting_that_no_pool_can_have_is_refused(setting: str, message: str) -> None:
    with pytest.raises(SandboxError, match=message):
        parsed((setting,))
