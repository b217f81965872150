"""The nodes on which interchangeable replicas of a minimum are kept.

Replicas that process work items are interchangeable, and so are those of a role that restarts to
resize: any of them may be the minimum. If each node has a replica of some minimum, evicting all
extras empties no node. For a claim that cannot be met otherwise, minimums are kept together, where
possible on nodes that its pods cannot use.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import reduce
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from edl.feasibility.eligibility import Ints
from edl.feasibility.horizon import Horizon
from edl.model import ResizePolicy
from edl.planner.packing.domain_ranking import TopologyDomains
from edl.planner.packing.node_capacity import NO_NODE
from edl.planner.packing.placement import Placement, release_in
from edl.planner.packing.pod_class import PodSetRequest, pack
from edl.planner.snapshot.extras.reclaimable_capacity import ReclaimableCapacity
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.reclaim_priority import ReclaimScope

_FAILURES: Final = 8
"""Attempts per decision that may fail: each reads all replicas that process work items."""


_Replicas: TypeAlias = tuple[RoleAllocation, list[Placement]]
"""A role, and replicas of all roles of its kind."""


class _Swap(NamedTuple):
    """Positions of a replica of the minimum and of an extra that change places."""

    allocation: RoleAllocation
    minimum: int
    extra: int


def leaves_by_name(allocation: RoleAllocation) -> bool:
    """Whether any replica may be removed, not only the last: interchangeable and all bound."""
    return allocation.role.spec.resizing is ResizePolicy.ITEMS and not allocation.unscheduled


def any_may_leave(allocation: RoleAllocation) -> bool:
    """Whether the plan chooses which replicas leave: by name, or by the nodes after a restart."""
    resizing = allocation.role.spec.resizing
    if resizing is ResizePolicy.LIVE or allocation.unscheduled:
        return False
    restarts = resizing is ResizePolicy.RESTART and allocation.role.template.gated
    return restarts or resizing is ResizePolicy.ITEMS


class MinimumNodes:
    """Chooses which replicas are the minimum of roles that yield to claims."""

    def __init__(
        self,
        capacity: ReclaimableCapacity,
        allocations: Sequence[RoleAllocation],
        min_replicas: Callable[[RoleAllocation], int],
    ) -> None:
        self._capacity = capacity
        self._allocations = allocations
        self._least = min_replicas
        self._roles: list[RoleAllocation] | None = None
        """Roles with a choice, those with the largest minimum first."""
        self._minimum_sum: Ints | None = None
        """What their minimums hold. int64[resources, nodes]"""
        self._failures = 0
        self._by_label: dict[str, tuple[list[int], list[_Replicas]]] = {}
        """By label, what `_replaceable` has found, and the sizes of the roles at that time."""

    def gather(self, requests: Sequence[PodSetRequest], scope: ReclaimScope) -> list[int] | None:
        """Keep minimums together so that more of a claim's pods fit once all extras are evicted.

        Returns how many pods of each request then fit. None, and no change, if no more than before.
        """
        if self._failures >= _FAILURES or not self._choices():
            return None
        reach = self._capacity.with_idle(scope)
        before, room = pack(reach, requests, Horizon.EMPTY), reach + self._minimums(reach)
        if sum(pack(room, requests, Horizon.EMPTY)) <= sum(before):
            return None
        helps = (
            request.pod_class.pods_per_node(room, Horizon.EMPTY) > 0
            for request in requests
            if request.pods
        )
        useful = reduce(np.logical_or, helps).tolist()
        swaps, kept_on = list[_Swap](), set[int]()
        for allocation in self._choices():
            yields = scope.includes(allocation.team, allocation.reclaim_priority)
            if yields and allocation.size > self._least(allocation):  # not preempted since
                swaps += self._swaps_of(allocation, useful, kept_on)
        self._apply(swaps)
        after = pack(self._capacity.with_idle(scope), requests, Horizon.EMPTY)
        if sum(after) > sum(before):
            return after
        self._apply(swaps)
        self._failures += 1
        return None

    def with_gathered(self, labels: Sequence[TopologyDomains], scope: ReclaimScope) -> Ints | None:
        """What a claim restricted to one domain of these labels could reach once it has gathered.

        Each domain is counted as if its minimums were kept in the others; None if none can be.
        int64[resources, nodes]
        """
        if self._failures >= _FAILURES or not self._choices():
            return None
        reach = self._capacity.with_idle(scope)
        most = np.zeros_like(reach)
        for domains in labels:
            freed = np.zeros_like(reach)
            for allocation, replicas in self._replaceable(domains):
                if scope.includes(allocation.team, allocation.reclaim_priority):
                    release_in(allocation.pod_class, freed, replicas)
            np.maximum(most, freed, out=most)
        return reach + most if most.any() else None

    def _replaceable(self, domains: TopologyDomains) -> list[_Replicas]:
        """The replicas of minimums that could be kept in other domains.

        One entry for all roles that claims reach together. Cached until a role has another size.
        """
        choices = self._choices()
        sizes = [allocation.size for allocation in choices]
        cached = self._by_label.get(domains.label)
        if cached is None or cached[0] != sizes:
            of_nodes: list[int] = domains.of_nodes.tolist()
            by_kind = dict[Hashable, _Replicas]()
            for allocation in choices:
                kind = (allocation.team, allocation.reclaim_priority, allocation.pod_class)
                by_kind.setdefault(kind, (allocation, []))[1].extend(
                    _replaceable_outside(allocation.placements, self._least(allocation), of_nodes)
                )
            cached = self._by_label[domains.label] = sizes, [*by_kind.values()]
        return cached[1]

    def _choices(self) -> list[RoleAllocation]:
        if self._roles is None:
            least = self._least
            roles = (
                role
                for role in self._allocations
                if 0 < least(role) < role.size and not role.lacks_places
            )
            self._roles = sorted(
                filter(any_may_leave, roles), key=lambda role: (-least(role), role.rank)
            )
        return self._roles

    def _minimums(self, like: Ints) -> Ints:
        if self._minimum_sum is None:
            self._minimum_sum = np.zeros_like(like)
            for role in self._choices():
                release_in(role.pod_class, self._minimum_sum, role.placements[: self._least(role)])
        return self._minimum_sum

    def _swaps_of(
        self, allocation: RoleAllocation, useful: Sequence[bool], kept_on: set[int]
    ) -> list[_Swap]:
        """The swaps that keep the minimum on few nodes, none of them useful if possible.

        Adds its nodes to `kept_on`, where other minimums are kept too.
        """
        least, positions = self._least(allocation), defaultdict[int, list[int]](list)
        for position, placement in enumerate(allocation.placements):
            if _is_bound(placement):
                positions[placement.node].append(position)
        bound = [index for index in range(least) if _is_bound(allocation.placements[index])]
        order = sorted(
            positions,
            key=lambda node: (useful[node] and node not in kept_on, -len(positions[node]), node),
        )
        staying: set[int] = set()
        for node in order:
            if len(staying) == len(bound):
                break
            kept_on.add(node)
            staying.update(positions[node][: len(bound) - len(staying)])
        leaving = [position for position in bound if position not in staying]
        return [
            _Swap(allocation, minimum, extra)
            for minimum, extra in zip(leaving, sorted(staying.difference(bound)), strict=True)
        ]

    def _apply(self, swaps: Sequence[_Swap]) -> None:
        """Let replicas change places; a second time undoes it."""
        for allocation, minimum, extra in swaps:
            placements = allocation.placements
            staying, leaving = placements[extra], placements[minimum]
            placements[minimum], placements[extra] = staying, leaving
            self._capacity.add(allocation, staying, -1)
            self._capacity.add(allocation, leaving, 1)
        self._minimum_sum = None
        self._by_label.clear()


def _replaceable_outside(
    placements: Sequence[Placement], least: int, of_nodes: Sequence[int]
) -> Iterator[Placement]:
    """The replicas of a minimum that extras in other domains can replace."""
    extras = Counter(of_nodes[extra.node] for extra in placements[least:] if _is_bound(extra))
    total, replaced = extras.total(), Counter[int]()
    for placement in filter(_is_bound, placements[:least]):
        domain = of_nodes[placement.node]
        if domain != NO_NODE and replaced[domain] < total - extras[domain]:
            replaced[domain] += 1
            yield placement


def _is_bound(placement: Placement) -> bool:
    """Whether its pod exists and has a node: a new replica, or one that is done, has neither."""
    return placement.node != NO_NODE and not placement.is_new
