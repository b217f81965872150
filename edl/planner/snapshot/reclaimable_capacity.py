"""The capacity that replicas above their minimum hold and that claims may take."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from edl.planner.packing.node_capacity import Ints, NodeCapacity
from edl.planner.packing.pod_class import PodClass
from edl.planner.snapshot.role_allocation import Placement, RoleAllocation
from edl.planner.teams.reclaim_priority import NONE_RECLAIMABLE, ReclaimPriority, ReclaimScope

_node: Final = attrgetter("node")
Extras: TypeAlias = Iterable[tuple[RoleAllocation, Sequence[Placement]]]
"""Roles with their placements above the minimum."""
_Kind: TypeAlias = tuple[ReclaimPriority, PodClass]
"""Extras of one kind come into reach of a claim together."""


class _NodesOfKind(NamedTuple):
    """One node per extra at the start, and the changes since."""

    nodes: list[int]
    changed: Counter[int]
    """Count by node. Claims evict and restore the same replicas many times, which cancels out."""


class ReclaimableCapacity:
    """The nodes of extras by team, and one array of the capacity that the last claim could reach.

    Consecutive claims reach nearly the same extras, so only the difference is added or subtracted;
    an array per team would be too large with hundreds of teams. Without teams, all extras belong to
    NO_TEAM.
    """

    def __init__(self, capacity: NodeCapacity, extras: Extras) -> None:
        self._capacity = capacity
        self._nodes: defaultdict[int, defaultdict[_Kind, _NodesOfKind]] = defaultdict(
            lambda: defaultdict(lambda: _NodesOfKind([], Counter()))
        )
        """By team and kind."""
        self._reached = np.zeros_like(capacity.future_idle)
        self._read: tuple[ReclaimScope, int] | None = None
        """The scope for which `_reached` was computed, and the version of its balance."""
        self._most: dict[int, ReclaimPriority] = {}
        """By team, the highest priority of replicas that `_reached` contains."""
        for allocation, placements in extras:
            kind = (allocation.reclaim_priority, allocation.pod_class)
            self._nodes[allocation.team][kind].nodes.extend(map(_node, placements))

    def add(self, allocation: RoleAllocation, placement: Placement, sign: int) -> None:
        priority, pod_class = allocation.reclaim_priority, allocation.pod_class
        self._nodes[allocation.team][priority, pod_class].changed[placement.node] += sign
        if priority <= self._most.get(allocation.team, NONE_RECLAIMABLE):
            pod_class.release_from(self._reached, (placement.node,), sign)

    def with_idle(self, scope: ReclaimScope) -> Ints:
        """Future idle capacity if all extras within reach were evicted; int64[resources, nodes]."""
        read = (scope, scope.right.balance.version if scope.right else 0)
        if read != self._read:
            self._read = read
            self._reach(scope)
        found: Ints = self._capacity.future_idle + self._reached
        return found

    def _reach(self, scope: ReclaimScope) -> None:
        """Add the extras that come into reach to `_reached`, and subtract those that leave it."""
        highest = scope.right.highest(scope.priority) if scope.right and self._nodes else None
        changes: defaultdict[tuple[PodClass, int], list[int]] = defaultdict(list)
        for team, kinds in self._nodes.items():
            most = highest[team] if highest else scope.priority
            before = self._most.get(team, NONE_RECLAIMABLE)
            if most == before:  # fast path: the loop runs over all teams for each claim
                continue
            self._most[team] = most
            low, high, into = min(before, most), max(before, most), 1 if most > before else -1
            for (priority, pod_class), held in kinds.items():
                if low < priority <= high:
                    changes[pod_class, into] += held.nodes
                    changes[pod_class, into] += held.changed.elements()
                    changes[pod_class, -into] += (-held.changed).elements()
        for (pod_class, sign), nodes in changes.items():
            pod_class.release_from(self._reached, nodes, sign)
