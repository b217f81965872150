"""Where pods of one shape fit: worked out once a shape, then followed pod by pod."""

from collections.abc import Iterable, Sequence, Sized
from copy import copy
from typing import NamedTuple

import numpy as np

from edl.feasibility.eligibility import Mask
from edl.feasibility.horizon import FUTURE_IDLE, IDLE, Horizon
from edl.model import Shape
from edl.planner.packing.best_fit import NO_NODE, CapacityView, nodes_that_fit
from edl.planner.packing.constrained_fit import ConstrainedView
from edl.planner.packing.node_capacity import Ints, NodeCapacity, by_scarcest_resource


class PodClass:
    """One shape on the grid: its need, the nodes it may use, and its cursors."""

    __slots__ = (
        "_capacity",
        "_large",
        "amounts",
        "cells",
        "cluster_fraction",
        "constraints",
        "eligible",
        "future_idle",
        "idle",
        "shape",
        "share_allocator",
    )

    def __init__(self, capacity: NodeCapacity, shape: Shape, eligible: Mask) -> None:
        self.shape = shape
        self.amounts = capacity.amounts(shape.requests)
        self.cells = capacity.cells_to_change(self.amounts)
        parts = ((amount, capacity.totals[resource]) for resource, amount in self.amounts)
        self.cluster_fraction = sum(amount / total for amount, total in parts if total) / len(
            capacity.totals
        )
        """The part of the schedulable nodes' room that one pod takes, averaged over resources."""
        self.eligible = eligible
        self.constraints = (
            capacity.topology.constraints_of(shape)
            if capacity.topology and shape.constraints
            else None
        )
        """Rules about its neighbours, if it has or meets any."""
        self.share_allocator = (
            capacity.gpu_shares.allocator_of(shape) if capacity.gpu_shares else None
        )
        """The devices that its pods share, if they do."""
        self._capacity = capacity
        self._large: Mask | None = None
        self.reset_cursors()

    def within(self, nodes: Mask) -> "PodClass":
        """The same shape on some of its nodes only; bool[nodes]."""
        found = copy(self)
        found.eligible = self.eligible & nodes
        found.reset_cursors()
        return found

    def at(self, horizon: Horizon) -> CapacityView:
        return self.idle if horizon is IDLE else self.future_idle

    @property
    def large_enough(self) -> Mask:
        """Nodes that are large enough for one of its pods, whatever runs there; bool[nodes]."""
        if self._large is None:
            self._large = self.eligible.copy()
            for resource, amount in self.amounts:
                self._large &= self._capacity.allocatable[resource] >= amount
        return self._large

    def competes_with(self, other: "PodClass") -> bool:
        """Whether pods of the other shape may take a place that pods of this one could have."""
        if (self.large_enough & other.large_enough).any():
            return True
        counted = other.constraints.carried if other.constraints else ()
        return self.constraints is not None and not self.constraints.counts.isdisjoint(counted)

    def reset_cursors(self) -> None:
        """Look for room from the first node again."""
        view = CapacityView if self.constraints is None else ConstrainedView
        self.idle = view(self._capacity, self, IDLE)
        self.future_idle = view(self._capacity, self, FUTURE_IDLE)
        self._large = None

    def is_full(self) -> bool:
        """Whether no node has room for one more, also when all pods that leave are gone."""
        nodes = np.flatnonzero(self.eligible)
        return (
            self.is_unconstrained
            and not nodes_that_fit(self._capacity, self.amounts, FUTURE_IDLE, nodes).size
        )

    def release_from(self, room: Ints, nodes: Iterable[int], sign: int = 1) -> None:
        """Give `room` what pods on these nodes take, or take it away (-1); NO_NODE takes nothing.

        room: int64[resources, nodes].
        """
        found = np.fromiter(nodes, dtype=np.int64)
        there = found[found != NO_NODE]
        for resource, amount in self.amounts:
            # Mostly few of the nodes: to count the pods of all would take longer.
            np.add.at(room[resource], there, sign * amount)

    def defer(self, nodes: Sequence[int]) -> None:
        """Give back the idle capacity of pods; their future idle capacity stays reserved."""
        self._capacity.defer(nodes, self)

    def count_leaving(self, nodes: Sequence[int]) -> None:
        """Pods of this shape that are on their way out count soon no more."""
        for found in (self.constraints, self.share_allocator):
            for node in nodes if found else ():
                if found and node != NO_NODE:
                    found.change(node, -1, FUTURE_IDLE)

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


def still_missing(
    requests: Iterable[PodSetRequest], placed: Iterable[Sized | int]
) -> list[PodSetRequest]:
    """The requests without the pods that have a place; `placed`: their number or their nodes."""
    counts = (found if isinstance(found, int) else len(found) for found in placed)
    pairs = zip(requests, counts, strict=True)
    return [PodSetRequest(pod_class, max(pods - count, 0)) for (pod_class, pods), count in pairs]


def pack(room: Ints, requests: Sequence[PodSetRequest], horizon: Horizon) -> list[int]:
    """How many pods of each request fit into `room` (left as it was), the first request first.

    Exact for one request. For several: tightest node first, which may miss a packing that exists.
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


def lacking_resources(room: Ints, requests: Sequence[PodSetRequest]) -> set[int]:
    """The rows of `room` that are too small for some pods, on nodes that are large enough for them.

    All that they need where each is enough, but not on the same nodes.
    """
    found: set[int] = set()
    for pod_class, pods in requests:
        nodes = np.flatnonzero(pod_class.large_enough)
        fitting = [
            (row, np.maximum(room[row, nodes] // amount, 0)) for row, amount in pod_class.amounts
        ]
        short = {row for row, pods_by_node in fitting if pods_by_node.sum() < pods}
        if not short and by_scarcest_resource(some for _, some in fitting).sum() < pods:
            short = {row for row, _ in fitting}
        found |= short
    return found


def _fill(room: Ints, pod_class: PodClass, capacity: Ints, count: int) -> None:
    order = np.argsort(capacity, kind="stable")
    sorted_capacity = capacity[order]
    before = np.cumsum(sorted_capacity) - sorted_capacity
    filled = np.clip(count - before, 0, sorted_capacity)
    for resource, amount in pod_class.amounts:
        room[resource, order] -= filled * amount
