"""Which role a claim takes the next replica of, and the node that it clears for its next pod.

If a pod needs the capacity of several replicas, only a few nodes are compared; otherwise each claim
would evict, and restore, a replica on every node before one has enough.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from edl.planner.packing.node_capacity import Ints
from edl.planner.packing.pod_class import PodClass, PodSetRequest
from edl.planner.passes.reclaim_choice.named_removals import lack
from edl.planner.snapshot.extras.minimum_nodes import leaves_by_name
from edl.planner.snapshot.extras.reclaimable import Reclaimable, YieldQueue
from edl.planner.snapshot.role_allocation import NO_NODE, RoleAllocation
from edl.planner.teams.reclaim_priority import ReclaimScope

_NODES_COMPARED: Final = 32
"""Nodes to choose from for a pod that needs the capacity of several extras."""
_DEEPEST: Final = 32
"""The most replicas of one role to evict for one that is on a chosen node."""


@dataclass(slots=True)
class NodeSearch:
    """Searches a queue for roles whose next replica is of use to a claim."""

    reclaimable: Reclaimable
    scope: ReclaimScope
    queue: YieldQueue
    """All roles that may be of use."""
    is_useful: Callable[[RoleAllocation], bool]
    nodes: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Nodes to clear for a pod; none if all useful roles are to be taken in order."""
    missing: Callable[[], PodSetRequest | None] | None = None
    """The pods that lack a node."""
    _begun: set[int] = field(default_factory=set)
    """Nodes on which replicas were evicted since the last pod of the claim was placed."""
    _most: int = _NODES_COMPARED
    _due: list[RoleAllocation] = field(default_factory=list)
    """Roles to take a replica of each, the next one last: so a node is cleared."""
    _aside: list[RoleAllocation] = field(default_factory=list)
    _taken: dict[RoleAllocation, None] = field(default_factory=dict)

    def next(self) -> RoleAllocation | None:
        """Remove and return the role to evict a replica of, or None."""
        while not self._due and (allocation := self._next_in_order()):
            if self.is_useful(allocation):
                return allocation
            self._aside.append(allocation)
            self._begun.discard(allocation.placements[-1].node)
        if not self._due:
            return None
        self.queue.remove(self._due[-1])
        return self._due.pop()

    def evicted(self, allocation: RoleAllocation, node: int, *, placed: bool) -> None:
        """Queue a role again whose replica on `node` was evicted; `placed`: for pods there."""
        if placed:
            self._begun, self._most, self._due = set(), _NODES_COMPARED, []
        elif self.missing and node != NO_NODE:
            self._begun.add(node)
        self._taken[allocation] = None
        self.queue.requeue(allocation)

    def close(self) -> None:
        """Queue all roles again that the search has passed over or changed."""
        for allocation in self._aside:
            self.queue.requeue(allocation)
        for allocation in self._taken if self.queue is not self.reclaimable.queue else ():
            self.reclaimable.queue.requeue(allocation)

    def _next_in_order(self) -> RoleAllocation | None:
        """The role that yields next; once nodes are many, on these, and then on the chosen one.

        None, and `_due` is filled, if a node is cleared that holds no role's last replica.
        """
        if len(self._begun) >= self._most:
            holders = dict.fromkeys(self.reclaimable.holders(self._begun))
            last = (one for one in holders if one.placements[-1].node in self._begun)
            if found := self.queue.first_of(last, self.scope):
                self._begun, self._most = {found.placements[-1].node}, 1
                return found
            if missing := self.missing and self.missing():
                self._due = self._fewest(missing.pod_class)
            if self._due:
                return None
            self._most = 2 * max(self._most, _NODES_COMPARED)
        return self.queue.next(self.scope)

    def _fewest(self, pod_class: PodClass) -> list[RoleAllocation]:
        """The fewest replicas whose eviction clears some node for a pod; or []."""
        lacks = lack(self.reclaimable.nodes, pod_class, self.nodes)
        least = self.nodes[np.argsort(lacks, kind="stable")[:_NODES_COMPARED]]
        compared = self._begun.union(least.tolist())
        by_node: defaultdict[int, list[tuple[int, int, RoleAllocation]]] = defaultdict(list)
        for one in dict.fromkeys(self.reclaimable.holders(sorted(compared))):
            if leaves_by_name(one) or not self.queue.may_yield(one, self.scope):
                continue
            first = max(self.reclaimable.min_replicas(one), one.size - _DEEPEST)
            for depth, placement in enumerate(reversed(one.placements[first:]), 1):
                if placement.node in compared:
                    by_node[placement.node].append((depth, -one.rank, one))
        found = (self._clearing(node, sorted(by_node[node]), pod_class) for node in sorted(by_node))
        depths = min(filter(None, found), key=lambda depths: sum(depths.values()), default={})
        return [one for one, depth in depths.items() for _ in range(depth)]

    def _clearing(
        self, node: int, extras: Iterable[tuple[int, int, RoleAllocation]], pod_class: PodClass
    ) -> dict[RoleAllocation, int]:
        """How many replicas of each role to evict to clear a node; {} if none suffice."""
        soon = self.reclaimable.nodes.future_idle
        lacks = {row: amount - int(soon[row, node]) for row, amount in pod_class.amounts}
        depths: dict[RoleAllocation, int] = {}
        for depth, _, one in extras:
            if max(lacks.values(), default=0) <= 0:
                break
            amounts = [(row, amount) for row, amount in one.pod_class.amounts if row in lacks]
            if any(lacks[row] > 0 for row, _ in amounts):
                depths[one] = depth
                for row, amount in amounts:
                    lacks[row] -= amount
        return depths if max(lacks.values(), default=0) <= 0 else {}
