from __future__ import annotations

from typing import Any

import pytest

from sandbox import NodeGroup, SandboxError
from sandbox.objects.nodes import manifests, next_number, quantity, unready


@pytest.mark.parametrize("text", ["1", "500m", "0.5", ".5", "32Gi", "1k", "2.5Ti"])
def test_quantities_are_taken_as_kubernetes_writes_them(text: str) -> None:
    assert quantity("cpu", text, "8") == text


@pytest.mark.parametrize("text", ["", "0", "0Gi", "-1", "8 ", "8GiB", "eight", "1e3", "Gi"])
def test_other_quantities_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(SandboxError, match="is not a quantity above 0: write it like 8 or 500m"):
        NodeGroup(1, cpu=text)


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ({"count": -1}, "nodes: -1: use 0 or more"),
        ({"count": 1, "gpu": -1}, "gpu: -1: use 0 or more"),
        ({"count": 1, "memory": "lots"}, "memory: 'lots'"),
        ({"count": 1, "name_prefix": "GPU"}, "node name 'GPU': use small letters"),
    ],
)
def test_a_group_that_cannot_be_is_refused(group: dict[str, object], message: str) -> None:
    with pytest.raises(SandboxError, match=message):
        NodeGroup(**group)  # type: ignore[arg-type]


def test_nodes_are_named_and_shaped() -> None:
    group = NodeGroup(2, cpu="4", memory="8Gi", gpu=1, labels={"pool": "a"}, name_prefix="gpu")
    first, second = manifests(group, first=999)
    assert first["metadata"]["name"] == "gpu-999"
    assert second["metadata"]["name"] == "gpu-1000"
    room = {"cpu": "4", "memory": "8Gi", "pods": "110", "nvidia.com/gpu": "1"}
    assert first["status"]["allocatable"] == first["status"]["capacity"] == room
    assert first["metadata"]["labels"]["pool"] == "a"


def test_a_node_without_gpus_names_none() -> None:
    (node,) = manifests(NodeGroup(1))
    assert "nvidia.com/gpu" not in node["status"]["capacity"]


def test_numbers_go_on_after_the_highest_of_the_prefix() -> None:
    names = ["node-000", "node-007", "node-x", "big-009", "node-1-2"]
    assert next_number(NodeGroup(1), names) == 8
    assert next_number(NodeGroup(1, name_prefix="new"), names) == 0


def test_a_node_takes_pods_when_it_is_ready_and_not_tainted_so() -> None:
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    nodes: list[dict[str, Any]] = [
        {"metadata": {"name": "new"}, "spec": {}, "status": {}},
        {"metadata": {"name": "tainted"}, "spec": {"taints": [taint]}, "status": ready},
        {"metadata": {"name": "good"}, "spec": {"taints": [{"key": "mine"}]}, "status": ready},
    ]
    assert unready(nodes) == ["new", "tainted"]
