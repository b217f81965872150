"""Simulated nodes: their resources, and the manifests that create them."""

import ipaddress
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sandbox.errors import SandboxError
from sandbox.objects.api import Api
from sandbox.processes.components import FAKE_NODE

PODS_PER_NODE = 110  # the kubelet's default
GPU = "nvidia.com/gpu"
QUANTITY = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?")
PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?")
SIMULATED = "sandbox.edl.dev/simulated"  # for node selectors and affinity
ADDRESSES = ipaddress.ip_network("10.32.0.0/11")


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Equal nodes, named PREFIX-000, PREFIX-001 and so on.

    cpu and memory are Kubernetes quantities ("8", "500m", "32Gi"), gpu is a whole number of
    `nvidia.com/gpu`, labels are added to the usual ones. tainted: only pods that tolerate
    `kwok.x-k8s.io/node=fake:NoSchedule` run here, so that others use the real node. Raises
    SandboxError for invalid values.
    """

    count: int
    cpu: str = "8"
    memory: str = "32Gi"
    gpu: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    name_prefix: str = "node"
    tainted: bool = False

    def __post_init__(self) -> None:
        if self.count < 0:
            raise SandboxError(f"nodes: {self.count}: use 0 or more")
        if self.gpu < 0:
            raise SandboxError(f"gpu: {self.gpu}: use 0 or more whole GPUs per node")
        quantity("cpu", self.cpu, "8 or 500m")
        quantity("memory", self.memory, "32Gi or 500M")
        if not PREFIX.fullmatch(self.name_prefix):
            raise SandboxError(
                f"node name {self.name_prefix!r}: use small letters, digits and dashes, "
                "such as 'gpu-node'"
            )


def quantity(what: str, text: str, examples: str) -> str:
    """The text, if it is a Kubernetes quantity above 0. Raises SandboxError."""
    found = QUANTITY.fullmatch(text)
    if found and float(found[1]) > 0:
        return text
    raise SandboxError(f"{what}: {text!r} is not a quantity above 0: write it like {examples}")


def manifests(group: NodeGroup, first: int = 0) -> Iterator[dict[str, Any]]:
    """The group's nodes, numbered from `first`."""
    for number in range(first, first + group.count):
        yield _manifest(group, f"{group.name_prefix}-{number:03d}")


def next_number(group: NodeGroup, names: Iterable[str]) -> int:
    """The lowest number above those of all nodes with this prefix."""
    pattern = re.compile(re.escape(group.name_prefix) + r"-([0-9]+)")
    numbers = [int(found[1]) for name in names if (found := pattern.fullmatch(name))]
    return max(numbers, default=-1) + 1


def create(api: Api, nodes: Iterable[dict[str, Any]]) -> list[str]:
    """Create the nodes; existing ones are not changed. Returns their names. Raises SandboxError."""
    names = []
    for node in nodes:
        api.create(node)
        names.append(node["metadata"]["name"])
    return names


def unready(nodes: Iterable[Mapping[str, Any]]) -> list[str]:
    """The names of nodes that cannot take pods yet: not Ready, or with the not-ready taint."""
    return [node["metadata"]["name"] for node in nodes if not _is_ready(node)]


def _is_ready(node: Mapping[str, Any]) -> bool:
    conditions = node["status"].get("conditions", ())
    taints = node["spec"].get("taints", ())
    held_back = any(taint["key"].startswith("node.kubernetes.io/not-ready") for taint in taints)
    return not held_back and any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def _manifest(group: NodeGroup, name: str) -> dict[str, Any]:
    room = {"cpu": group.cpu, "memory": group.memory, "pods": str(PODS_PER_NODE)}
    if group.gpu:
        room[GPU] = str(group.gpu)
    key, value = FAKE_NODE
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        SIMULATED: "true",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {key: value},
            "labels": {**labels, **group.labels},
        },
        "spec": {"taints": [taint()]} if group.tainted else {},
        "status": {
            "capacity": room,
            "allocatable": room,
            "addresses": [
                {"type": "Hostname", "address": name},
                {"type": "InternalIP", "address": _address(name)},
            ],
            "nodeInfo": _node_info(),
        },
    }


def taint() -> dict[str, str]:
    """The taint that keeps pods off simulated nodes unless they tolerate it."""
    key, value = FAKE_NODE
    return {"key": key, "value": value, "effect": "NoSchedule"}


def _address(name: str) -> str:
    """An address derived from the name; two nodes rarely share one."""
    return str(ADDRESSES[zlib.crc32(name.encode()) % ADDRESSES.num_addresses])


def _node_info() -> dict[str, str]:
    """Node information for `kubectl get nodes -o wide`, which marks the node as simulated."""
    fixed = dict.fromkeys(("machineID", "systemUUID", "bootID", "kubeProxyVersion"), "")
    simulated = ("kubeletVersion", "containerRuntimeVersion", "osImage", "kernelVersion")
    return {
        **fixed,
        **dict.fromkeys(simulated, "simulated"),
        "operatingSystem": "linux",
        "architecture": "amd64",
    }
