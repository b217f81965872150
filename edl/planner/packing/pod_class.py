"""Where pods of one shape fit: worked out once a shape, then followed pod by pod."""

from collections.abc import Sequence
from copy import copy
from typing import Final, NamedTuple

import numpy as np

from edl.feasibility.eligibility import Mask
from edl.feasibility.gpu_shares import Horizon
from edl.model import Shape
from edl.planner.packing.best_fit import (
    BestFitCursor,
    ConstrainedCursor,
    SharedGpuCursor,
    nodes_that_fit,
)
from edl.planner.packing.node_capacity import Ints, NodeCapacity, by_scarcest_resource

_NO_NODE: Final = -1


class PodClass:
    """One shape on the grid: its need, the nodes it may use, and its cursors."""

    __slots__ = (
        "_capacity",
        "_future_idle",
        "_idle",
        "_large_enough",
        "amounts",
        "cells",
        "constraints",
        "eligible",
        "shape",
        "share_allocator",
    )

    def __init__(self, capacity: NodeCapacity, shape: Shape, eligible: Mask) -> None:
        self.shape = shape
        self.amounts = capacity.amounts(shape.requests)
        self.cells = capacity.cells_to_change(self.amounts)
        self.eligible = eligible
        self.constraints = (
            capacity.topology.constraints_of(shape)
            if capacity.topology and shape.constraints
            else None
        )
        """Rules about who is beside it, if it has or meets any."""
        self.share_allocator = (
            capacity.gpu_shares.allocator_of(shape) if capacity.gpu_shares else None
        )
        """The devices that its pods share, if they do."""
        self._capacity = capacity
        self._idle: BestFitCursor | None = None
        self._future_idle: BestFitCursor | None = None
        self._large_enough: Mask | None = None

    def within(self, nodes: Mask) -> "PodClass":
        """The same shape on some of its nodes only; bool[nodes]."""
        found = copy(self)
        found.eligible = self.eligible & nodes
        found.reset_cursors()
        return found

    @property
    def idle(self) -> BestFitCursor:
        """Nodes that have the room now, and not promised to anybody."""
        if self._idle is None:
            self._idle = self._cursor(now=True)
        return self._idle

    @property
    def future_idle(self) -> BestFitCursor:
        """Nodes that will have the room, and not promised to anybody."""
        if self._future_idle is None:
            self._future_idle = self._cursor(now=False)
        return self._future_idle

    @property
    def large_enough(self) -> Mask:
        """Nodes that are large enough for one of its pods, whatever runs there; bool[nodes]."""
        if self._large_enough is None:
            self._large_enough = self.eligible.copy()
            for resource, amount in self.amounts:
                self._large_enough &= self._capacity.allocatable[resource] >= amount
        return self._large_enough

    def competes_with(self, other: "PodClass") -> bool:
        """Whether pods of the other shape may take a place that pods of this one could have."""
        if (self.large_enough & other.large_enough).any():
            return True
        counted = other.constraints.carried if other.constraints else ()
        return self.constraints is not None and not self.constraints.counts.isdisjoint(counted)

    def reset_cursors(self) -> None:
        """Nobody has looked for room yet."""
        self._idle = self._future_idle = self._large_enough = None

    def is_full(self) -> bool:
        """Whether no node has room for one more, also when everybody has left who leaves."""
        nodes = np.flatnonzero(self.eligible)
        return (
            self.is_unconstrained
            and not nodes_that_fit(self._capacity, self.amounts, nodes, now=False).size
        )

    def _cursor(self, *, now: bool) -> BestFitCursor:
        if self.constraints is None and self.share_allocator is None:
            return BestFitCursor(self._capacity, self.amounts, self.eligible, now=now)
        if self.constraints is None and self.share_allocator is not None:
            return SharedGpuCursor(self._capacity, self, self.share_allocator, now=now)
        return ConstrainedCursor(self._capacity, self, now=now)

    def allows(self, node: int, *, now: bool) -> bool:
        """Whether rules and devices let one more pod come to this node, whatever its sums."""
        if self.constraints is not None and not self.constraints.allows(node, now=now):
            return False
        return self.share_allocator is None or self.share_allocator.allows(node, now=now)

    def fits(self, node: int, *, now: bool) -> bool:
        """Whether a node that it may use has the room, and rules let it come there."""
        return self._capacity.fits(node, self.amounts, now=now) and self.allows(node, now=now)

    def count_leaving(self, nodes: Sequence[int]) -> None:
        """Pods of this shape that are on their way out count soon no more."""
        for found in (self.constraints, self.share_allocator):
            for node in nodes if found else ():
                if found and node != _NO_NODE:
                    found.change(node, -1, now=False)

    def readmits(self, node: int, *, now: bool, bound: bool) -> bool:
        """Whether a node to which others came has room for a pod that has left it.

        `bound`: its pod is bound to the node; `now`: it takes idle capacity.
        """
        if self.share_allocator is not None and not self.share_allocator.readmits(
            node, now=now, bound=bound
        ):
            return False
        return self._capacity.fits(node, self.amounts, now=now)

    @property
    def follows_others(self) -> bool:
        """Whether others must be placed before it (pod affinity to them)."""
        return self.constraints is not None and self.constraints.follows_others

    def pods_per_node(self, room: Ints, horizon: Horizon) -> Ints:
        """How many pods of this shape each node takes; int64[nodes] for int64[resources, nodes]."""
        found = self.pods_by_capacity(room, horizon)
        return found if self.constraints is None else self.constraints.pods_per_node(found)

    def pods_by_capacity(self, room: Ints, horizon: Horizon) -> Ints:
        """The same, whatever rules about other pods say."""
        found = self.pods_by_resources(room)
        return (
            found
            if self.share_allocator is None
            else self.share_allocator.pods_per_node(found, horizon)
        )

    def pods_by_resources(self, room: Ints, nodes: Ints | None = None) -> Ints:
        """The same, whatever other pods are there; `room` may be that of some nodes only."""
        eligible = self.eligible if nodes is None else self.eligible[nodes]
        if not self.amounts:
            return np.where(eligible, _UNBOUNDED, 0)
        most = by_scarcest_resource(room[resource] // amount for resource, amount in self.amounts)
        return np.where(eligible, np.maximum(most, 0), 0)

    @property
    def is_unconstrained(self) -> bool:
        """Whether nothing but sums decides where its pods fit."""
        return self.constraints is None and self.share_allocator is None


_UNBOUNDED = 2**31


class PodSetRequest(NamedTuple):
    """Pods of one shape that ask for room together."""

    pod_class: PodClass
    pods: int


def pack(room: Ints, requests: Sequence[PodSetRequest], horizon: Horizon) -> list[int]:
    """How many pods of each want fit into `room` (left as it was), the first want first.

    Exact for one want. For several: tightest node first, which may miss a packing that exists.
    """
    left = room.copy() if len(requests) > 1 else room
    placed = []
    for pod_class, count in requests:
        if not count:
            placed.append(0)
            continue
        capacity = pod_class.pods_per_node(left, horizon)
        placed.append(min(count, int(capacity.sum())))
        if len(requests) > 1:
            _fill(left, pod_class, capacity, count)
    return placed


def _fill(room: Ints, pod_class: PodClass, capacity: Ints, count: int) -> None:
    order = np.argsort(capacity, kind="stable")
    sorted_capacity = capacity[order]
    before = np.cumsum(sorted_capacity) - sorted_capacity
    filled = np.clip(count - before, 0, sorted_capacity)
    for resource, amount in pod_class.amounts:
        room[resource, order] -= filled * amount


def reserve_pods(capacity: NodeCapacity, request: PodSetRequest, *, now: bool) -> list[int]:
    """Take room for as many pods as fit, at most what is wanted; the node of each."""
    nodes: list[int] = []
    cursor = request.pod_class.idle if now else request.pod_class.future_idle
    while len(nodes) < request.pods and (node := cursor.find()) >= 0:
        capacity.reserve(node, request.pod_class, now=now)
        nodes.append(node)
    return nodes


def unreserve_pods(
    capacity: NodeCapacity, pod_class: PodClass, nodes: Sequence[int], *, now: bool
) -> None:
    """Undo `place`; its cursor must be brought back to where it stood."""
    for node in nodes:
        capacity.unreserve(node, pod_class, now=now)
