"""The nodes on which pods of one shape fit, computed once per shape and updated pod by pod."""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edl.feasibility.eligibility import EligibleNodes, Ints, Mask
from edl.feasibility.horizon import FUTURE_IDLE, IDLE, Horizon
from edl.model import Shape
from edl.planner.packing.best_fit import CapacityView, nodes_that_fit
from edl.planner.packing.constrained_fit import ConstrainedView
from edl.planner.packing.node_capacity import (
    ALL_NODES,
    NO_NODE,
    Counts,
    NodeCapacity,
    ResourceAmounts,
    ResourceCells,
    by_scarcest_resource,
)

Floats = NDArray[np.float64]


class PodClass:
    """Pods of one shape: their requests, their eligible nodes, and a cursor per horizon."""

    def __init__(self, capacity: NodeCapacity, shape: Shape, eligible: EligibleNodes) -> None:
        self.shape = shape
        self.amounts = capacity.amounts(shape.requests)
        self._cells = capacity.cells_to_change(self.amounts)
        claims = capacity.device_claims
        self.claims_devices = claims is not None and claims.concern(self.amounts)
        """Whether its pods request devices, which may count in other resources on each node."""
        self.beside = claims.beside(self.amounts) if claims and self.claims_devices else {}
        """What one new pod may take besides its requests: by row, int64[nodes]."""
        self._variants: dict[ResourceAmounts, PodClass] = {}
        requested = {row for row, _ in self.amounts}
        self._other_devices = [row for row in capacity.devices if row not in requested]
        totals = capacity.totals
        parts = (amount / totals[row] for row, amount in self.amounts if totals[row])
        self.cluster_fraction = sum(parts) / len(totals)
        """The fraction of all schedulable nodes that one pod uses, averaged over resources."""
        self._eligible: Mask | None = eligible.mask
        self.nodes: Ints = eligible.nodes
        """Its eligible nodes, ascending."""
        topology, shares = capacity.topology, capacity.gpu_shares
        self.constraints = (
            topology.constraints_of(shape) if topology and shape.constraints else None
        )
        """Its placement constraints (spread, pod affinity, ports), if any apply to it."""
        self.share_allocator = shares.allocator_of(shape) if shares else None
        """Assigns its pods to shared GPUs, if they request GPU shares."""
        self._capacity, self.resources = capacity, capacity.resources
        self._large: Mask | None = None
        self.reset_cursors()

    def within(self, nodes: Mask) -> "PodClass":
        """The same pod class, restricted to these nodes; bool[nodes]."""
        return self.on(np.flatnonzero(nodes))

    def on(self, nodes: Ints) -> "PodClass":
        """The same pod class, restricted to these nodes, which are ascending."""
        restricted = copy(self)
        restricted.nodes = nodes[self.eligible[nodes]]
        restricted._eligible = None  # noqa: SLF001 - of its own class
        restricted.reset_cursors()
        return restricted

    @property
    def eligible(self) -> Mask:
        """Its eligible nodes as a mask; bool[nodes]."""
        if self._eligible is None:
            self._eligible = np.zeros(len(self._capacity.node_names), dtype=np.bool_)
            self._eligible[self.nodes] = True
        return self._eligible

    def at(self, horizon: Horizon) -> CapacityView:
        return self.idle if horizon is IDLE else self.future_idle

    @property
    def large_enough(self) -> Mask:
        """Eligible nodes on which one pod would fit if they were empty; bool[nodes]."""
        if self._large is None:
            self._large = self.eligible & self._capacity.large_enough(self.amounts)
        return self._large

    def competes_with(self, other: "PodClass") -> bool:
        """Whether pods of the other class may use capacity, or break constraints, of this one."""
        if (self.large_enough & other.large_enough).any():
            return True
        counted = other.constraints.carried if other.constraints else ()
        return self.constraints is not None and not self.constraints.counts.isdisjoint(counted)

    def reset_cursors(self) -> None:
        """Let searches begin at the first node again."""
        view = CapacityView if self.constraints is None else ConstrainedView
        self.idle = view(self._capacity, self, IDLE)
        self.future_idle = view(self._capacity, self, FUTURE_IDLE)
        self._large = None

    def reserve(self, node: int, horizon: Horizon, pods: int = 1) -> None:
        """Reserve capacity for `pods` pods on a node; free it if negative."""
        cells = [*self._cells, *self._cells_beside(node)] if self.beside else self._cells
        self._capacity.reserve(node, cells, horizon, pods)
        if self.constraints is not None:
            self.constraints.change(node, pods, horizon)
        if self.share_allocator is not None:
            self.share_allocator.change(node, pods, horizon)

    def _cells_beside(self, node: int) -> list[ResourceCells]:
        more = ((row, int(amounts[node])) for row, amounts in self.beside.items())
        return self._capacity.cells_to_change(tuple(pair for pair in more if pair[1]))

    def with_amounts(self, amounts: ResourceAmounts | None) -> "PodClass":
        """The same pod class, for pods that take other amounts than new ones; None: the same."""
        if amounts is None or (amounts == self.amounts and not self.beside):
            return self
        if amounts not in self._variants:
            variant = self._variants[amounts] = copy(self)
            variant.amounts, variant.beside = amounts, {}
            variant._cells = self._capacity.cells_to_change(amounts)  # noqa: SLF001 - of its own class
            variant.reset_cursors()
        return self._variants[amounts]

    def is_full(self) -> bool:
        """Whether no node has future idle capacity for one more; False if constrained."""
        return (
            self.is_unconstrained
            and not nodes_that_fit(self._capacity, self.amounts, FUTURE_IDLE, self.nodes).size
        )

    def in_order(self, nodes: Ints, room: Ints | None = None) -> Ints:
        """`nodes` in the order in which its pods use them, by `room` (None: future idle)."""
        if not self.amounts or not nodes.size:
            return nodes
        room = self._capacity.future_idle if room is None else room
        left = by_scarcest_resource(room[row].take(nodes) / amount for row, amount in self.amounts)
        return self.fullest_first(nodes, left, room)

    def fullest_first(self, nodes: Ints, left: Ints | Floats, room: Ints) -> Ints:
        """`nodes` in the order in which its pods use them.

        Nodes with fewer kinds of idle devices that it does not request come first, as such devices
        are left to pods that request them; among equals, those with least `left`.
        left: [nodes]; room: int64[resources, all nodes].
        """
        kinds = self.other_idle_devices(nodes, room)
        order = np.argsort(left, kind="stable") if kinds is None else np.lexsort((left, kinds))
        ordered: Ints = nodes[order]
        return ordered

    def other_idle_devices(self, nodes: Ints | slice, room: Ints) -> Counts | None:
        """By node, how many kinds of idle devices it has that the class does not request, or None.

        None if all are 0. room: int64[resources, all nodes].
        """
        unrequested = self._capacity.unrequested_devices
        kinds = [(room[row][nodes] > 0).astype(np.int16) for row in self._other_devices]
        if unrequested is not None:
            kinds.append(unrequested[nodes])
        counts = reduce(np.add, kinds) if kinds else None
        return counts if counts is not None and counts.any() else None

    def release_in(self, room: Ints, nodes: Iterable[int] | Ints) -> None:
        """Add what one pod per entry of `nodes` takes to `room`, int64[resources, nodes].

        NO_NODE is skipped.
        """
        self._change_in(room, nodes, np.add)

    def reserve_in(self, room: Ints, nodes: Iterable[int] | Ints) -> None:
        """Undo `release_in`."""
        self._change_in(room, nodes, np.subtract)

    def _change_in(self, room: Ints, nodes: Iterable[int] | Ints, change: np.ufunc) -> None:
        array: Ints = nodes if isinstance(nodes, np.ndarray) else np.fromiter(nodes, dtype=np.int64)
        there = array[array != NO_NODE]
        for row, amount in self.amounts:
            # `nodes` are usually few, so a bincount over all nodes would take longer.
            change.at(room[row], there, amount)
        for row, amounts in self.beside.items():
            change.at(room[row], there, amounts[there])

    def subtract(self, room: Ints, pods: Ints, nodes: Ints | slice = ALL_NODES) -> None:
        """Subtract what `pods`, int64[nodes], take from `room`, int64[resources, nodes]."""
        for row, amount in self.amounts:
            room[row] -= pods * amount
        for row, amounts in self.beside.items():
            room[row] -= pods * amounts[nodes]

    def defer(self, nodes: Sequence[int]) -> None:
        """Give back the idle capacity of pods; their future idle capacity stays reserved."""
        self._capacity.defer(nodes, self)

    def count_leaving(self, nodes: Sequence[int]) -> None:
        """Remove terminating pods from the future counts of constraints and GPU shares."""
        for counter in (self.constraints, self.share_allocator):
            for node in nodes if counter else ():
                if counter and node != NO_NODE:
                    counter.change(node, -1, FUTURE_IDLE)

    @property
    def follows_others(self) -> bool:
        """Whether other pods must be placed first, because it has pod affinity to them."""
        return self.constraints is not None and self.constraints.follows_others

    def pods_per_node(self, room: Ints, horizon: Horizon) -> Ints:
        """How many pods fit per node; int64[nodes] for int64[resources, nodes]."""
        pods = self.pods_by_capacity(room, horizon)
        return pods if self.constraints is None else self.constraints.pods_per_node(pods)

    def pods_by_capacity(self, room: Ints, horizon: Horizon) -> Ints:
        """`pods_per_node` without placement constraints."""
        pods, shares = self.pods_by_resources(room), self.share_allocator
        return pods if shares is None else shares.pods_per_node(pods, horizon)

    def pods_by_resources(self, room: Ints, nodes: Ints | None = None) -> Ints:
        """`pods_per_node` by resource amounts alone; `room` has the columns of `nodes`."""
        eligible = self.eligible if nodes is None else self.eligible[nodes]
        if not self.amounts:
            return np.where(eligible, _UNBOUNDED, 0)
        most = by_scarcest_resource(room[row] // amount for row, amount in self.amounts)
        return np.where(eligible, np.maximum(most, 0), 0)

    def pods_on(self, node: int, free: Mapping[int, int]) -> int:
        """`pods_by_resources` of one node, of which these amounts are free."""
        if not self.eligible[node]:
            return 0
        return min([free[row] // amount for row, amount in self.amounts], default=_UNBOUNDED)

    def nodes_for_one(self, room: Ints) -> Mask:
        """Nodes on which one pod fits: bool[nodes] for int64[resources, nodes]."""
        if not self.is_unconstrained:
            return self.pods_per_node(room, Horizon.EMPTY) > 0
        fits = self.eligible.copy()
        for row, amount in self.amounts:  # faster than by divisions
            fits &= room[row] >= amount
        return fits

    @property
    def is_unconstrained(self) -> bool:
        """Whether resource amounts alone decide where its pods fit."""
        return self.constraints is None and self.share_allocator is None


_UNBOUNDED = 2**31


class PodSetRequest(NamedTuple):
    """A number of pods of one class, part of a gang."""

    pod_class: PodClass
    pods: int


def pack(room: Ints, requests: Sequence[PodSetRequest], horizon: Horizon) -> list[int]:
    """How many pods of each request fit into `room`, placing requests in order; `room` is kept.

    Exact for one request. Several are packed tightest node first, which may miss a packing.
    """
    left = room.copy() if len(requests) > 1 else room
    placed = []
    for pod_class, count in requests:
        if not count:
            placed.append(0)
            continue
        if len(requests) == 1 and _is_ample(pod_class, left, count):
            return [count]
        capacity = pod_class.pods_per_node(left, horizon)
        placed.append(min(count, int(capacity.sum())))
        if len(requests) > 1:
            _fill(left, pod_class, capacity, count)
    return placed


def _is_ample(pod_class: PodClass, room: Ints, pods: int) -> bool:
    """Whether this many nodes, by amounts alone, have capacity for one pod each."""
    plain = pod_class.is_unconstrained and pods <= len(pod_class.nodes)
    return plain and int(np.count_nonzero(pod_class.nodes_for_one(room))) >= pods


def _fill(room: Ints, pod_class: PodClass, capacity: Ints, count: int) -> None:
    order = pod_class.fullest_first(np.arange(len(capacity)), capacity, room)
    sorted_capacity = capacity[order]
    before = np.cumsum(sorted_capacity) - sorted_capacity
    # np.clip takes four times as long on few nodes.
    filled = np.minimum(np.maximum(count - before, 0), sorted_capacity)
    if not pod_class.beside:
        for row, amount in pod_class.amounts:
            room[row, order] -= filled * amount
        return
    pods = np.zeros_like(capacity)
    pods[order] = filled
    pod_class.subtract(room, pods)
