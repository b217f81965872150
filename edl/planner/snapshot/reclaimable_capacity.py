"""The capacity that replicas above minimums hold, and that claims may have."""

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
"""What comes into reach alike."""


class _NodesOfKind(NamedTuple):
    """A node for each extra, as it was at first, and what has changed since."""

    nodes: list[int]
    changed: Counter[int]
    """By node; claims take and give back the same replicas many times, which leaves no trace."""


class ReclaimableCapacity:
    """The nodes of extras by team: a table for each of hundreds of teams would be too large.

    One table has what the last claim could reach: claims that follow each other reach nearly the
    same, so that only what differs is added and taken away. Without teams all extras are of one.
    """

    def __init__(self, capacity: NodeCapacity, extras: Extras) -> None:
        self._capacity = capacity
        self._nodes: defaultdict[int, defaultdict[_Kind, _NodesOfKind]] = defaultdict(
            lambda: defaultdict(lambda: _NodesOfKind([], Counter()))
        )
        """By team and kind."""
        self._reached = np.zeros_like(capacity.future_idle)
        self._read: tuple[ReclaimScope, int] | None = None
        """What `_reached` is of: the scope, and the version of its balance."""
        self._most: dict[int, ReclaimPriority] = {}
        """By team, the highest priority of replicas that are counted in `_reached`."""
        for allocation, placements in extras:
            kind = (allocation.reclaim_priority, allocation.pod_class)
            self._nodes[allocation.team][kind].nodes.extend(map(_node, placements))

    def add(self, allocation: RoleAllocation, placement: Placement, sign: int) -> None:
        priority, pod_class = allocation.reclaim_priority, allocation.pod_class
        self._nodes[allocation.team][priority, pod_class].changed[placement.node] += sign
        if priority <= self._most.get(allocation.team, NONE_RECLAIMABLE):
            pod_class.release_from(self._reached, (placement.node,), sign)

    def with_idle(self, scope: ReclaimScope) -> Ints:
        """The future idle capacity if all reclaimable replicas within reach were evicted."""
        read = (scope, scope.right.balance.version if scope.right else 0)
        if read != self._read:
            self._read = read
            self._reach(scope)
        found: Ints = self._capacity.future_idle + self._reached
        return found

    def _reach(self, scope: ReclaimScope) -> None:
        """Count what comes into reach, and what leaves it."""
        highest = scope.right.highest(scope.priority) if scope.right and self._nodes else None
        changes: defaultdict[tuple[PodClass, int], list[int]] = defaultdict(list)
        for team, kinds in self._nodes.items():
            most = highest[team] if highest else scope.priority
            before = self._most.get(team, NONE_RECLAIMABLE)
            if most == before:  # mostly: asked of all teams for each claim
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
