"""Nodes with the usage of their pods, updated pod by pod."""

from collections import defaultdict
from dataclasses import dataclass, field

from msgspec.structs import replace

from edl.kube.cache.sorted_map import SortedMap
from edl.kube.cluster import Delta
from edl.kube.decode import gpu_sharing
from edl.kube.decode.object_facts import PodFacts
from edl.kube.dra.device_inventory import DeviceInventory
from edl.kube.dra.node_devices import with_devices
from edl.kube.tally import Tally
from edl.model import Node
from edl.quantities import Resources


@dataclass(slots=True)
class _Load:
    """Sums over the pods of one node; integers, so that removing a pod restores them exactly."""

    pods: int = 0
    evictable_pods: int = 0
    used: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    leaving: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    holds: Tally[tuple[gpu_sharing.GpuAllocation, bool]] = field(default_factory=Tally)
    """Shares of GPUs, each with whether its pod is terminating."""

    def add(self, pod: PodFacts, sign: int) -> None:
        self.pods += sign
        self.evictable_pods += sign * pod.keeps_node
        if pod.hold:
            self.holds.add((pod.hold, pod.leaving), sign)
        for name, amount in pod.shape.requests.items:
            self.used[name] += sign * amount
        for name, amount in pod.shape.requests.items if pod.leaving else ():
            self.leaving[name] += sign * amount


class NodeUsageIndex:
    """Nodes and their usage. Pods may be seen before their node, and after it is gone."""

    def __init__(self) -> None:
        self._devices: DeviceInventory | None = None
        self._nodes: dict[str, Node] = {}
        self._loads: dict[str, _Load] = {}
        self._stale: set[str] = set()
        self._made: SortedMap[str, Node] = SortedMap()

    def apply_node(self, change: Delta[Node]) -> None:
        name = change.key.name
        if change.after is None:
            self._nodes.pop(name, None)
        else:
            self._nodes[name] = change.after
        self._stale.add(name)

    def set_devices(self, inventory: DeviceInventory | None) -> None:
        """Set the devices of nodes; None if devices are not read."""
        same = inventory is self._devices
        self._devices = inventory
        changed = inventory.take_stale() if inventory else set()
        self._stale |= self._nodes.keys() if changed is None or not same else changed

    def count_pod(self, pod: PodFacts, sign: int) -> None:
        """Adds a pod that holds room, or subtracts it if `sign` is -1."""
        load = self._loads.get(pod.node)
        if load is None:
            load = self._loads[pod.node] = _Load()
        load.add(pod, sign)
        if not load.pods:
            del self._loads[pod.node]
        self._stale.add(pod.node)

    def values(self) -> tuple[Node, ...]:
        """Sorted by name; an unchanged node is the same object as before."""
        for name in sorted(self._stale):
            node = self._nodes.get(name)
            self._made.put(name, node and self._with_devices(self._loaded(node)))
        self._stale.clear()
        return self._made.values()

    def _with_devices(self, node: Node) -> Node:
        return with_devices(node, self._devices.on(node)) if self._devices else node

    def _loaded(self, node: Node) -> Node:
        load = self._loads.get(node.name)
        if load is None:
            return node
        used, leaving = Resources.of(load.used), Resources.of(load.leaving)
        devices = node.devices and gpu_sharing.occupied(node.devices, load.holds.elements())
        return replace(
            node, used=used, releasing=leaving, devices=devices, evictable_pods=load.evictable_pods
        )
