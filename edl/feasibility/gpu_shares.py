"""Shares of GPUs, counted per device: a node may have the sum free, but no GPU the part.

KubeShare's rules (pkg/scheduler/filter.go, pod.go): a pod of up to one GPU needs one device with
the compute and the memory; a larger pod needs that many devices on which no pod has a share.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from edl.feasibility.eligibility import Ints
from edl.feasibility.horizon import IDLE, Horizon
from edl.model import Device, GpuUsage, Node, Pod, Role, Shape, Share

_MODEL_LABEL: Final = "nvidia.com/gpu.product"
"""Written by NVIDIA's GPU feature discovery; a node without it may have any model."""


@dataclass(slots=True, eq=False)
class _Gpu:
    """Free compute and memory of one device; `empty`: at `Horizon.EMPTY`."""

    memory: int
    observed: GpuUsage
    """`idle` before this plan reserved anything."""
    idle: GpuUsage
    future_idle: GpuUsage
    empty: GpuUsage

    def free(self, horizon: Horizon) -> GpuUsage:
        match horizon:
            case Horizon.OBSERVED:
                return self.observed
            case Horizon.IDLE:
                return self.idle
            case Horizon.FUTURE_IDLE:
                return self.future_idle
            case Horizon.EMPTY:
                return self.empty

    def part(self, share: Share) -> GpuUsage:
        """What a pod with this share uses of this device."""
        return share.part(self.memory)

    def change(self, part: GpuUsage, sign: int, horizon: Horizon) -> None:
        more = GpuUsage(sign * part.compute, sign * part.memory)
        self.future_idle = self.future_idle.plus(more)
        if horizon is IDLE:
            self.idle = self.idle.plus(more)


class _Place(NamedTuple):
    """The devices of one pod."""

    gpus: tuple[_Gpu, ...]
    holds_idle: bool = False
    """Reserved in `idle` as well."""
    bound: bool = False
    """A pod exists that uses these devices; if it is restored, it must get the same ones."""
    before: tuple[GpuUsage, ...] = ()
    """After its eviction, what was free of each device at that time."""


class GpusByNode(dict[int, list[_Gpu]]):
    """The devices of each node, by node index, read on first use.

    `nodes` are those with devices; on other nodes resource amounts alone decide.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = {index: node for index, node in enumerate(nodes) if node.devices}

    def __missing__(self, node: int) -> list[_Gpu]:
        gpus = self[node] = list(map(_read, self.nodes[node].devices))
        return gpus


@dataclass(slots=True)
class ShareAllocator:
    """The pods of one shape on the devices of all nodes."""

    share: Share
    gpus: GpusByNode
    refused: frozenset[int]
    """Indexes of nodes with another GPU model."""
    places: defaultdict[int, list[_Place]] = field(default_factory=lambda: defaultdict(list))
    left: defaultdict[int, list[_Place]] = field(default_factory=lambda: defaultdict(list))
    """Devices of evicted bound pods, which a restored pod gets again."""
    _known: dict[tuple[Horizon, int], int] = field(default_factory=dict)

    def allows(self, node: int, horizon: Horizon) -> bool:
        """Whether a node has free devices for one more pod."""
        if node in self.refused:
            return False
        return node not in self.gpus.nodes or bool(self._choose(self.gpus[node], horizon))

    def readmits(self, node: int, horizon: Horizon, *, bound: bool) -> bool:
        """Whether an evicted pod may be restored: a bound one only on its own devices."""
        if node in self.gpus.nodes and bound and self.left[node]:
            return self._left(node) is not None
        return self.allows(node, horizon)

    def change(self, node: int, pods: int, horizon: Horizon) -> None:
        """Count pods that are placed, or removed if negative."""
        if node in self.gpus.nodes:
            for _ in range(abs(pods)):
                self._come(node, horizon) if pods > 0 else self._go(node, horizon)

    def _left(self, node: int) -> int | None:
        """The index in `left` of the last evicted pod that still fits on its devices, or None."""
        for index in reversed(range(len(self.left[node]))):
            place = self.left[node][index]
            pairs = zip(place.gpus, place.before, strict=True)
            # A pod may return to an overcommitted device if nothing was taken there since.
            if all(
                gpu.future_idle.covers(gpu.part(self.share)) or gpu.future_idle.covers(before)
                for gpu, before in pairs
            ):
                return index
        return None

    def _come(self, node: int, horizon: Horizon) -> None:
        place = self._chosen(node, horizon)
        for gpu in place.gpus:
            gpu.change(gpu.part(self.share), -1, horizon)
        self.places[node].append(place)

    def _chosen(self, node: int, horizon: Horizon) -> _Place:
        if horizon is not IDLE and (index := self._left(node)) is not None:
            return self.left[node].pop(index)
        devices = self.gpus[node]
        # Pods are placed only where they fit, except briefly while reservations are undone.
        gpus = self._choose(devices, horizon) or (max(devices, key=lambda gpu: gpu.future_idle),)
        return _Place(gpus, holds_idle=horizon is IDLE)

    def _go(self, node: int, horizon: Horizon) -> None:
        places, idle = self.places[node], horizon is IDLE
        index = next(
            (at for at in reversed(range(len(places))) if places[at].holds_idle is idle), None
        )
        if index is None:
            return  # a bound pod that names no device of this node was never counted
        place = places.pop(index)
        for gpu in place.gpus:
            gpu.change(gpu.part(self.share), 1, horizon)
        if place.bound:
            self.left[node].append(
                place._replace(before=tuple(gpu.future_idle for gpu in place.gpus))
            )

    def _choose(self, gpus: Sequence[_Gpu], horizon: Horizon) -> tuple[_Gpu, ...]:
        free = [
            _both(gpu.idle, gpu.future_idle) if horizon is IDLE else gpu.future_idle for gpu in gpus
        ]
        places = best_fit(self.share, free, [gpu.memory for gpu in gpus])
        return tuple([gpus[place] for place in places])

    def pods_per_node(self, pods: Ints, horizon: Horizon) -> Ints:
        """`pods` per node, capped by how many the devices hold; int64[nodes]."""
        most = pods.copy()
        for node in self.gpus.nodes:
            if most[node] > 0:
                most[node] = min(most[node], self._on(node, horizon))
        most[list(self.refused)] = 0
        return most

    def _on(self, node: int, horizon: Horizon) -> int:
        """How many pods fit on one node's devices; cached at horizons that never change."""
        count = self._known.get((horizon, node))
        if count is None:
            gpus = self.gpus[node]
            count = self._count([gpu.free(horizon) for gpu in gpus], gpus)
            if horizon in (Horizon.OBSERVED, Horizon.EMPTY):
                self._known[horizon, node] = count
        return count

    def _count(self, free: Sequence[GpuUsage], gpus: Sequence[_Gpu]) -> int:
        counts = [_times(one, gpu.part(self.share)) for one, gpu in zip(free, gpus, strict=True)]
        return sum(counts) // self.share.gpus


def best_fit(share: Share, free: Sequence[GpuUsage], memory: Sequence[int]) -> tuple[int, ...]:
    """The indexes of the devices for one pod, those with least left first; () if too few fit.

    `free` and `memory` (bytes) are those of a node's devices.
    """
    # The devices of one node mostly have one size of memory.
    parts, rooms = {size: share.part(size) for size in set(memory)}, enumerate(free)
    fitting = sorted([(left, index) for index, left in rooms if left.covers(parts[memory[index]])])
    return tuple([at for _, at in fitting[: share.gpus]]) if len(fitting) >= share.gpus else ()


def has_model(node: Node, share: Share) -> bool:
    """Whether a node's GPUs are of the requested model, or of unknown model."""
    return not share.model or (node.labels or {}).get(_MODEL_LABEL, "") in ("", share.model)


def _both(usage: GpuUsage, other: GpuUsage) -> GpuUsage:
    """The smaller amount of each."""
    if usage == other:
        return usage
    return GpuUsage(min(usage.compute, other.compute), min(usage.memory, other.memory))


def _times(free: GpuUsage, part: GpuUsage) -> int:
    by_compute = free.compute // part.compute if part.compute > 0 else 2**31
    by_memory = free.memory // part.memory if part.memory > 0 else by_compute
    return max(min(by_compute, by_memory), 0)


class GpuShares:
    """A `ShareAllocator` per shape with a share; all of them use the same devices."""

    def __init__(self, nodes: Sequence[Node], roles: Iterable[Role]) -> None:
        self.gpus = GpusByNode(nodes)
        self._index = {node.name: index for index, node in self.gpus.nodes.items()}
        self._allocators: dict[Shape, ShareAllocator] = {}
        for role in roles:
            self._add_pods(role)

    def allocator_of(self, shape: Shape) -> ShareAllocator | None:
        """The allocator of a shape; None if its pods share no GPU."""
        if shape.share is None:
            return None
        if shape not in self._allocators:
            share = shape.share
            nodes = self.gpus.nodes.items()
            others = (index for index, node in nodes if not has_model(node, share))
            self._allocators[shape] = ShareAllocator(share, self.gpus, frozenset(others))
        return self._allocators[shape]

    def _add_pods(self, role: Role) -> None:
        """Record the devices of a role's pods, in index order: the last one is evicted first."""
        allocator = self.allocator_of(role.template.shape)
        if allocator is None:
            return
        for pod in sorted(role.status.pods, key=lambda pod: (pod.index, pod.created_at, pod.name)):
            node, gpus = self._of(pod)
            if gpus and pod.active:
                for gpu in gpus:
                    gpu.empty = gpu.empty.plus(gpu.part(allocator.share))
                allocator.places[node].append(_Place(gpus, bound=True))

    def _of(self, pod: Pod) -> tuple[int, tuple[_Gpu, ...]]:
        """The index of a pod's node, -1 if unknown, and the node's devices that the pod names."""
        node = self._index.get(pod.node, -1)
        if node < 0 or not pod.devices:
            return node, ()
        pairs = zip(self.gpus.nodes[node].devices, self.gpus[node], strict=True)
        by_uuid = {device.uuid: gpu for device, gpu in pairs if device.uuid}
        return node, tuple(by_uuid[uuid] for uuid in pod.devices if uuid in by_uuid)


def gpu_shares_of(nodes: Sequence[Node], roles: Iterable[Role]) -> GpuShares | None:
    """None if no node has shared devices, which is the usual case."""
    return GpuShares(nodes, roles) if any(node.devices for node in nodes) else None


def _read(device: Device) -> _Gpu:
    now = device.free
    soon = now.plus(device.releasing) if any(device.releasing) else now
    return _Gpu(device.memory, now, now, soon, soon)
