"""The capacity that replicas above minimums hold, and that claims may have."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Final, TypeAlias

import numpy as np

from edl.planner.packing.node_capacity import Ints, NodeCapacity
from edl.planner.packing.pod_class import PodClass
from edl.planner.snapshot.role_allocation import NO_NODE, Placement, RoleAllocation
from edl.planner.teams.reclaim_priority import Reach, ReclaimPriority, ReclaimScope

_node: Final = attrgetter("node")
Extras: TypeAlias = Iterable[tuple[RoleAllocation, Sequence[Placement]]]
"""Roles with their placements above the minimum."""


class PlainReclaimableCapacity:
    """Without teams: one table for each reclaim priority."""

    def __init__(self, capacity: NodeCapacity, extras: Extras) -> None:
        self._capacity = capacity
        self._by_priority: dict[ReclaimPriority, Ints] = {}
        nodes: defaultdict[tuple[ReclaimPriority, PodClass], list[int]] = defaultdict(list)
        for allocation, placements in extras:
            nodes[allocation.reclaim_priority, allocation.pod_class] += map(_node, placements)
        for (priority, pod_class), found in nodes.items():
            _add_all(self._of(priority), pod_class, np.array(found, dtype=np.int64))

    def _of(self, priority: ReclaimPriority) -> Ints:
        if priority not in self._by_priority:
            self._by_priority[priority] = np.zeros_like(self._capacity.future_idle)
        return self._by_priority[priority]

    def add(self, allocation: RoleAllocation, placement: Placement, sign: int) -> None:
        if placement.node != NO_NODE:
            found = self._of(allocation.reclaim_priority)
            for resource, amount in allocation.pod_class.amounts:
                found[resource, placement.node] += sign * amount

    def with_idle(self, scope: ReclaimScope) -> Ints:
        """The future idle capacity if all reclaimable replicas within reach were evicted."""
        found: Ints = self._capacity.future_idle.copy()
        for priority, reclaimable in self._by_priority.items():
            if priority <= scope.priority:
                found += reclaimable
        return found


_Kind: TypeAlias = tuple[ReclaimPriority, PodClass]


class TeamReclaimableCapacity:
    """With teams: the nodes of their extras, because tables of hundreds of teams were too large."""

    def __init__(self, capacity: NodeCapacity, extras: Extras) -> None:
        self._capacity = capacity
        self._nodes: defaultdict[int, defaultdict[_Kind, list[int]]] = defaultdict(
            lambda: defaultdict(list)
        )
        self._arrays: dict[tuple[int, _Kind], Ints] = {}
        for allocation, placements in extras:
            kind = (allocation.reclaim_priority, allocation.pod_class)
            self._nodes[allocation.team][kind] += map(_node, placements)

    def add(self, allocation: RoleAllocation, placement: Placement, sign: int) -> None:
        kind = (allocation.reclaim_priority, allocation.pod_class)
        found = self._nodes[allocation.team][kind]
        if sign > 0:
            found.append(placement.node)
        else:
            found.remove(placement.node)
        self._arrays.pop((allocation.team, kind), None)

    def with_idle(self, scope: ReclaimScope) -> Ints:
        """The future idle capacity if all reclaimable replicas within reach were evicted."""
        found: Ints = self._capacity.future_idle.copy()
        by_class: defaultdict[PodClass, list[Ints]] = defaultdict(list)
        for team, kinds in self._nodes.items():
            reach = scope.reach(team)
            for kind in kinds if reach is not Reach.NONE else ():
                if reach is Reach.ALL or kind[0] <= scope.priority:
                    by_class[kind[1]].append(self._array(team, kind))
        for pod_class, arrays in by_class.items():
            _add_all(found, pod_class, np.concatenate(arrays))
        return found

    def _array(self, team: int, kind: _Kind) -> Ints:
        found = self._arrays.get((team, kind))
        if found is None:
            found = np.array(self._nodes[team][kind], dtype=np.int64)
            self._arrays[team, kind] = found
        return found


def _add_all(room: Ints, pod_class: PodClass, nodes: Ints) -> None:
    counts = np.bincount(nodes[nodes >= 0], minlength=room.shape[1])
    for resource, amount in pod_class.amounts:
        room[resource] += counts * amount
