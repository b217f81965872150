"""The limits of NodePools, less the capacity of their nodes."""

from typing import Any

import msgspec
import pytest

from edl.kube.provisioning.node_pool_limits import headroom

GI = 1024**3


def limited(limits: Any, used: Any = None) -> dict[str, int]:  # noqa: ANN401 - JSON
    body = {"metadata": {"name": "default"}, "spec": {"limits": limits}}
    status = {} if used is None else {"status": {"resources": used}}
    return dict(headroom(msgspec.json.encode(body | status)).limited)


def test_a_pool_may_add_its_limits_less_the_capacity_of_its_nodes() -> None:
    used = {"cpu": "32", "memory": "64Gi", "nodes": "2", "pods": "220"}
    assert limited({"cpu": "96"}) == {"cpu": 96_000}
    assert limited({"cpu": "96", "memory": "1000Gi"}, used) == {"cpu": 64_000, "memory": 936 * GI}
    assert limited({"cpu": 96.5, "nvidia.com/gpu": 8}, used) == {
        "cpu": 64_500,
        "nvidia.com/gpu": 8,
    }


def test_a_pool_that_is_full_may_add_nothing_of_the_resource() -> None:
    assert limited({"cpu": "96"}, {"cpu": "96"}) == {"cpu": 0}
    assert limited({"cpu": "96"}, {"cpu": "112"}) == {"cpu": 0}
    assert limited({"cpu": "0"}) == {"cpu": 0}


@pytest.mark.parametrize("limits", [None, {}, [], "96", {"cpu": None}, {"cpu": ["96"]}])
def test_limits_of_another_form_limit_nothing(limits: object) -> None:
    assert limited(limits) == {}


@pytest.mark.parametrize("text", ["", "many", "1e9999999999", "-", "9" * 5000 + "x", True])
def test_a_quantity_that_cannot_be_read_limits_nothing(text: object) -> None:
    assert limited({"cpu": text, "memory": "1Gi"}) in ({"memory": GI}, {})
    assert limited({"cpu": "96", "memory": "1Gi"}, {"cpu": text}) in ({"memory": GI}, {})


@pytest.mark.parametrize("text", [b'{"spec": 1}', b'{"status": []}', b"{}", b"[]"])
def test_another_kind_of_object_limits_nothing(text: bytes) -> None:
    assert headroom(text).limited == ()
