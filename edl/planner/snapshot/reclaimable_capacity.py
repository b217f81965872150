"""The capacity that replicas above minimums hold, and that claims may have."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Final, TypeAlias

import numpy as np

from edl.planner.packing.node_capacity import Ints, NodeCapacity
from edl.planner.packing.pod_class import PodClass
from edl.planner.snapshot.role_allocation import NO_NODE, Placement, RoleAllocation
from edl.planner.teams.reclaim_priority import (
    NONE_RECLAIMABLE,
    ReclaimPriority,
    ReclaimScope,
)

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
    """With teams: the nodes of their extras, because tables of hundreds of teams were too large.

    One table has what the last claim could reach: claims that follow each other reach nearly the
    same, so that only what differs is added and taken away.
    """

    def __init__(self, capacity: NodeCapacity, extras: Extras) -> None:
        self._capacity = capacity
        self._nodes: defaultdict[int, defaultdict[_Kind, list[int]]] = defaultdict(
            lambda: defaultdict(list)
        )
        self._reached: Ints | None = None
        self._most: dict[int, ReclaimPriority] = {}
        """By team, the highest priority of replicas that are counted in `_reached`."""
        for allocation, placements in extras:
            kind = (allocation.reclaim_priority, allocation.pod_class)
            self._nodes[allocation.team][kind] += map(_node, placements)

    def add(self, allocation: RoleAllocation, placement: Placement, sign: int) -> None:
        kind, node = (allocation.reclaim_priority, allocation.pod_class), placement.node
        found = self._nodes[allocation.team][kind]
        if sign > 0:
            found.append(node)
        else:
            found.remove(node)
        most = self._most.get(allocation.team, NONE_RECLAIMABLE)
        if self._reached is not None and kind[0] <= most and node != NO_NODE:
            for resource, amount in allocation.pod_class.amounts:
                self._reached[resource, node] += sign * amount

    def with_idle(self, scope: ReclaimScope) -> Ints:
        """The future idle capacity if all reclaimable replicas within reach were evicted."""
        if self._reached is None:
            self._reached = np.zeros_like(self._capacity.future_idle)
        for sign, by_class in self._differences(scope).items():
            for pod_class, nodes in by_class.items():
                _add_all(self._reached, pod_class, np.array(nodes, dtype=np.int64), sign)
        found: Ints = self._capacity.future_idle + self._reached
        return found

    def _differences(self, scope: ReclaimScope) -> dict[int, dict[PodClass, list[int]]]:
        """The nodes of replicas that come into reach (1), and that leave it (-1)."""
        found: dict[int, dict[PodClass, list[int]]] = {1: defaultdict(list), -1: defaultdict(list)}
        if not self._nodes:
            return found
        highest = scope.right.highest(scope.priority) if scope.right else None
        for team, kinds in self._nodes.items():
            most = highest[team] if highest else scope.priority
            before = self._most.get(team, NONE_RECLAIMABLE)
            if most == before:
                continue
            self._most[team] = most
            low, high = min(before, most), max(before, most)
            by_class = found[1 if most > before else -1]
            for (priority, pod_class), nodes in kinds.items():
                if low < priority <= high:
                    by_class[pod_class] += nodes
        return found


def _add_all(room: Ints, pod_class: PodClass, nodes: Ints, sign: int = 1) -> None:
    there = nodes[nodes >= 0]
    for resource, amount in pod_class.amounts:
        # Mostly few of the nodes: to count the pods of all would take longer.
        np.add.at(room[resource], there, sign * amount)
