"""Counts a node's devices, and adds them to its resources unless the kubelet counts them itself."""

from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from edl.kube.cluster import ObjectKey
from edl.kube.dra import device_partitions
from edl.kube.dra.device_partitions import Partition
from edl.model import ClaimedDevices, Node
from edl.quantities import Resources

if TYPE_CHECKING:
    from decimal import Decimal


class NodeDevices(NamedTuple):
    """The numbers of a node's devices by resource.

    `leaving` is the part of `used` about to be freed. `kinds` are the combinations of resources in
    which its devices count, `held` what those of a pod's own claims count as.
    """

    has: Mapping[str, int]
    used: Mapping[str, int]
    leaving: Mapping[str, int]
    kinds: frozenset[tuple[str, ...]] = frozenset()
    held: Mapping[ObjectKey, Mapping[str, int]] = {}


class DeviceTally:
    """Counts the devices of one node, one by one."""

    def __init__(self) -> None:
        self._has: Tally[str] = Tally()
        self._used: Tally[str] = Tally()
        self._leaving: Tally[str] = Tally()
        self._parts: list[Partition] = []
        self._kinds: set[tuple[str, ...]] = set()
        self._held: defaultdict[ObjectKey, Tally[str]] = defaultdict(Tally)

    def add(self, partition: Partition, pod: ObjectKey | None) -> None:
        """Counts a device; `pod` is the only pod that holds it, by a claim of its own."""
        self._kinds.add(partition.resources)
        if pod:
            self._held[pod].update(partition.resources)
        if partition.takes:
            self._parts.append(partition)
            return
        self._has.update(partition.resources)
        self._used.update(partition.resources if partition.held else ())
        self._leaving.update(partition.resources if partition.leaving else ())

    def total(
        self,
        counters: "Mapping[device_partitions.CounterName, Decimal]",
        coming: Iterable[Iterable[tuple[str, int]]],
    ) -> NodeDevices:
        """`coming`: what pods request whose claims have yet to be seen allocated, by resource."""
        if self._parts:
            counted = device_partitions.count(self._parts, counters)
            for total, more in zip((self._has, self._used, self._leaving), counted, strict=True):
                total.update(more)
        for wanted in coming if self._has else ():
            self._expect(dict(wanted))
        kinds = frozenset(self._kinds)
        return NodeDevices(self._has, self._used, self._leaving, kinds, self._held)

    def _expect(self, wanted: Mapping[str, int]) -> None:
        """Counts devices that are not known: any of those that are requested."""
        self._used.update(wanted)
        most: dict[str, int] = {}
        for kind in self._kinds:
            amount = max((wanted.get(name, 0) for name in kind), default=0)
            for name in kind:
                most[name] = max(most.get(name, 0), amount - wanted.get(name, 0))
        for name, amount in most.items():
            more = min(amount, self._has[name] - self._used[name])
            self._used[name] += max(more, 0)


def with_devices(node: Node, offer: NodeDevices) -> Node:
    """The node with its devices as resources, except those that its kubelet counts.

    kube-scheduler allocates no device for an extended resource that a device plugin offers there.
    """
    names = {name for name in offer.has if not node.allocatable.get(name)}
    if not names:
        return node

    def filled(amounts: Resources, devices: Mapping[str, int]) -> Resources:
        return Resources.of(dict(amounts.items) | {name: devices.get(name, 0) for name in names})

    kinds = {tuple(name for name in kind if name in names) for kind in offer.kinds}
    return replace(
        node,
        allocatable=filled(node.allocatable, offer.has),
        used=filled(node.used, offer.used),
        releasing=filled(node.releasing, offer.leaving),
        claimed=ClaimedDevices(
            kinds=tuple(sorted(filter(None, kinds))),
            held={
                (pod.namespace, pod.name): Resources.of(
                    {name: amount for name, amount in held.items() if name in names}
                )
                for pod, held in sorted(offer.held.items())
            },
        ),
    )
