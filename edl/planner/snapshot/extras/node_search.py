"""The node that a claim clears for its next pod.

If a pod needs the capacity of several replicas, only a few nodes are compared; otherwise each claim
would evict, and restore, a replica on every node before one has enough.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from edl.feasibility.eligibility import Ints, Mask
from edl.planner.packing.node_capacity import NO_NODE, NodeCapacity
from edl.planner.packing.placement import taken_by
from edl.planner.packing.pod_class import PodClass, PodSetRequest
from edl.planner.snapshot.extras.minimum_nodes import any_may_leave
from edl.planner.snapshot.extras.reclaimable import Reclaimable
from edl.planner.snapshot.extras.yield_queue import YieldQueue
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.reclaim_priority import ReclaimScope

_NODES_COMPARED: Final = 32
"""Nodes to choose from for a pod that needs the capacity of several extras."""
_DEEPEST: Final = 32
"""How many of a role's last replicas may be evicted to reach one on a chosen node."""
_Extra: TypeAlias = tuple[RoleAllocation, int]
"""A role, and the position of one of its extras; negative: from the end."""


def _lack(capacity: NodeCapacity, pod_class: PodClass, nodes: Ints) -> NDArray[np.float64]:
    """How much future idle capacity each node lacks for one more pod, in fractions of the pod.

    The fractions are summed over resources. int64[nodes] -> float64[nodes].
    """
    idle, lack = capacity.future_idle, np.zeros(len(nodes))
    for row, amount in pod_class.amounts:
        lack += np.maximum(amount - idle[row, nodes], 0) / amount
    return lack


def lacking_least(
    capacity: NodeCapacity, room: Ints, pod_class: PodClass, among: Ints | None = None
) -> int:
    """The node of `among` (None: any) that lacks least for one more pod, or NO_NODE.

    Only nodes on which one fits into `room`: what is idle if extras are evicted.
    """
    helps = pod_class.nodes_for_one(room)
    nodes = np.flatnonzero(helps) if among is None else among[helps[among]]
    return int(nodes[np.argmin(_lack(capacity, pod_class, nodes))]) if nodes.size else NO_NODE


def clearing(
    capacity: NodeCapacity, pod_class: PodClass, node: int, extras: Iterable[_Extra]
) -> list[_Extra]:
    """The first of a node's extras that clear it for one more pod; [] if all do not suffice."""
    idle, evictions = capacity.future_idle, list[_Extra]()
    lacks = {row: amount - int(idle[row, node]) for row, amount in pod_class.amounts}
    for extra in extras:
        allocation, position = extra
        amounts = taken_by(allocation.pod_class, allocation.placements[position])
        if any(lacks[row] > 0 for row in lacks.keys() & amounts):
            evictions.append(extra)
            lacks = {row: amount - amounts.get(row, 0) for row, amount in lacks.items()}
        if max(lacks.values(), default=0) <= 0:
            return evictions
    return []


@dataclass(slots=True)
class NodeSearch:
    """Searches a queue for roles whose next replica is of use to a claim."""

    reclaimable: Reclaimable
    scope: ReclaimScope
    is_useful: Callable[[RoleAllocation], bool]
    nodes: Mask | None = None
    """The nodes on which extras are of use; None: all. bool[nodes]"""
    missing: Callable[[], PodSetRequest | None] | None = None
    """The pods for which to clear one of `nodes`; None: useful roles are taken in order."""
    queue: YieldQueue = field(init=False)
    """All roles that may be of use."""
    _emptying: set[int] = field(default_factory=set)
    """Nodes on which replicas were evicted since the last pod of the claim was placed."""
    _most_emptying: int = _NODES_COMPARED
    _due: list[RoleAllocation] = field(default_factory=list)
    """Roles to take a replica from, the next one last, so that a node is cleared."""
    _passed_over: list[RoleAllocation] = field(default_factory=list)
    _changed: dict[RoleAllocation, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        reclaimable = self.reclaimable
        self.queue = reclaimable.queue if self.nodes is None else reclaimable.queue_on(self.nodes)

    def next(self) -> RoleAllocation | None:
        """Remove and return the role to evict a replica of, or None."""
        while not self._due and (allocation := self._next_in_order()):
            if self.is_useful(allocation):
                return allocation
            self._passed_over.append(allocation)
            self._emptying.discard(allocation.placements[-1].node)
        if not self._due:
            return None
        self.queue.remove(self._due[-1])
        return self._due.pop()

    def evicted(self, allocation: RoleAllocation, node: int, *, placed: bool) -> None:
        """Queue a role again whose replica on `node` was evicted; `placed`: for pods there."""
        if placed:
            self._emptying, self._most_emptying, self._due = set(), _NODES_COMPARED, []
        elif self.missing and node != NO_NODE:
            self._emptying.add(node)
        self._changed[allocation] = None
        self.queue.requeue(allocation)

    def close(self) -> None:
        """Queue all roles again that the search has passed over or changed."""
        for allocation in self._passed_over:
            self.queue.requeue(allocation)
        for allocation in self._changed if self.queue is not self.reclaimable.queue else ():
            self.reclaimable.queue.requeue(allocation)

    def _next_in_order(self) -> RoleAllocation | None:
        """The role that yields next; None if there is none, or once `_due` is filled.

        After 32 nodes have lost a replica without a pod fitting, the search stops widening: it goes
        on emptying one of them, or clears the node that takes the fewest evictions. If it can do
        neither, it may widen to twice as many nodes.
        """
        if len(self._emptying) >= self._most_emptying:
            if allocation := self._narrow_to_one():
                return allocation
            if self._fill_due():
                return None
            self._most_emptying = 2 * max(self._most_emptying, _NODES_COMPARED)
        return self.queue.next(self.scope)

    def _narrow_to_one(self) -> RoleAllocation | None:
        """Keep to one node being emptied: that of the last replica of the role that is returned."""
        holders = dict.fromkeys(self.reclaimable.holders(self._emptying))
        last = (role for role in holders if role.placements[-1].node in self._emptying)
        if allocation := self.queue.first_of(last, self.scope):
            self._emptying, self._most_emptying = {allocation.placements[-1].node}, 1
        return allocation

    def _fill_due(self) -> bool:
        """Whether some node can be cleared, also if it holds no role's last replica."""
        if self.nodes is not None and (missing := self.missing and self.missing()):
            self._due = self._fewest(missing.pod_class, np.flatnonzero(self.nodes))
        return bool(self._due)

    def _fewest(self, pod_class: PodClass, nodes: Ints) -> list[RoleAllocation]:
        """The fewest replicas whose eviction clears some node for a pod; or []."""
        capacity = self.reclaimable.node_capacity
        lacks = _lack(capacity, pod_class, nodes)
        nearest = nodes[np.argsort(lacks, kind="stable")[:_NODES_COMPARED]]
        compared = self._emptying.union(nearest.tolist())
        by_node: defaultdict[int, list[_Extra]] = defaultdict(list)
        for allocation in dict.fromkeys(self.reclaimable.holders(sorted(compared))):
            if any_may_leave(allocation) or not self.queue.may_yield(allocation, self.scope):
                continue
            first = max(self.reclaimable.min_replicas(allocation), allocation.size - _DEEPEST)
            for depth, placement in enumerate(reversed(allocation.placements[first:]), 1):
                if placement.node in compared:
                    by_node[placement.node].append((allocation, -depth))
        evictions = (
            dict(clearing(capacity, pod_class, node, sorted(extras, key=_shallowest)))
            for node, extras in sorted(by_node.items())
        )
        fewest = min(filter(None, evictions), key=lambda fewest: -sum(fewest.values()), default={})
        return [allocation for allocation, position in fewest.items() for _ in range(-position)]


def _shallowest(extra: _Extra) -> tuple[int, int]:
    return -extra[1], -extra[0].rank
