"""The limits of NodePools, and what Karpenter reports of their usage."""

from typing import Any

import msgspec
import pytest

from edl.kube.provisioning.node_pool_facts import NodePoolFacts, node_pool
from edl.quantities import Resources
from edl.writes import Json

GI = 1024**3


def pool(limits: Any, used: Any = None) -> NodePoolFacts:  # noqa: ANN401 - JSON
    body = {"metadata": {"name": "default"}, "spec": {"limits": limits}}
    status = {} if used is None else {"status": {"resources": used}}
    return node_pool(msgspec.json.encode(body | status))


def limits_of(limits: Any, used: Any = None) -> dict[str, int]:  # noqa: ANN401 - JSON
    return dict(pool(limits, used).limits)


def test_limits_and_usage_are_read_as_quantities() -> None:
    used = {"cpu": "32", "memory": "64Gi", "nodes": "2"}
    expected = Resources.of({"cpu": 32_000, "memory": 64 * GI, "nodes": 2})
    assert pool({"memory": "1000Gi", "cpu": 96.5, "nvidia.com/gpu": 8, "pods": "0"}, used) == (
        NodePoolFacts(
            "default",
            (("cpu", 96_500), ("memory", 1000 * GI), ("nvidia.com/gpu", 8), ("pods", 0)),
            expected,
        )
    )
    assert pool({"cpu": "96"}) == NodePoolFacts("default", (("cpu", 96_000),))


@pytest.mark.parametrize("limits", [None, {}, [], "96", {"cpu": None}, {"cpu": ["96"]}])
def test_limits_of_another_form_limit_nothing(limits: object) -> None:
    assert limits_of(limits) == {}


@pytest.mark.parametrize("text", ["", "many", "1e9999999999", "-", "9" * 5000 + "x", True])
def test_a_quantity_that_cannot_be_read_limits_nothing(text: object) -> None:
    assert limits_of({"cpu": text, "memory": "1Gi"}) in ({"memory": GI}, {})
    assert limits_of({"cpu": "96", "memory": "1Gi"}, {"cpu": text}) in ({"memory": GI}, {})


@pytest.mark.parametrize("text", [b'{"spec": 1}', b'{"status": []}', b"{}", b"[]"])
def test_another_kind_of_object_limits_nothing(text: bytes) -> None:
    assert node_pool(text).limits == ()


@pytest.mark.parametrize(
    ("spec", "nodes"),
    [
        ({"replicas": 3}, 3),
        ({"replicas": 3, "limits": {"nodes": "2"}}, 2),
        ({"replicas": 2, "limits": {"nodes": "3"}}, 2),
        ({"replicas": 0}, 0),
        ({"replicas": None}, None),
    ],
)
def test_the_replicas_of_a_static_pool_limit_its_nodes(spec: Json, nodes: int | None) -> None:
    found = node_pool(msgspec.json.encode({"metadata": {"name": "default"}, "spec": spec}))
    assert dict(found.limits).get("nodes") == nodes
