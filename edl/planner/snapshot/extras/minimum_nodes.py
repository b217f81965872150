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
from edl.planner.packing.placement import Placement, release_in
from edl.planner.packing.pod_class import PodSetRequest, pack
from edl.planner.snapshot.extras.reclaimable_capacity import ReclaimableCapacity
from edl.planner.snapshot.role_allocation import NO_NODE, RoleAllocation
from edl.planner.teams.reclaim_priority import ReclaimScope

_FAILURES: Final = 8
"""Attempts per decision that may fail: each reads all replicas that process work items."""


_Replicas: TypeAlias = tuple[RoleAllocation, list[Placement]]
"""A role, and replicas that are like its own."""


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
        self._held: Ints | None = None
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
        for one in self._choices():
            yields = scope.includes(one.team, one.reclaim_priority)
            if yields and one.size > self._least(one):  # not preempted since
                swaps += self._chosen(one, useful, kept_on)
        self._apply(swaps)
        after = pack(self._capacity.with_idle(scope), requests, Horizon.EMPTY)
        if sum(after) > sum(before):
            return after
        self._apply(swaps)
        self._failures += 1
        return None

    def with_gathered(self, labels: Sequence[TopologyDomains], scope: ReclaimScope) -> Ints | None:
        """What a claim restricted to one domain of these labels could reach once it has gathered.

        For each domain by itself: its minimums are then kept in the others. None if none could be.
        int64[resources, nodes]
        """
        if self._failures >= _FAILURES or not self._choices():
            return None
        reach = self._capacity.with_idle(scope)
        most = np.zeros_like(reach)
        for domains in labels:
            freed = np.zeros_like(reach)
            for one, replicas in self._replaceable(domains):
                if scope.includes(one.team, one.reclaim_priority):
                    release_in(one.pod_class, freed, replicas)
            np.maximum(most, freed, out=most)
        return reach + most if most.any() else None

    def _replaceable(self, domains: TopologyDomains) -> list[_Replicas]:
        """The replicas of minimums that could be kept in other domains.

        One entry for all roles that claims reach together. Cached until a role has another size.
        """
        choices = self._choices()
        sizes = [one.size for one in choices]
        known = self._by_label.get(domains.label)
        if known is None or known[0] != sizes:
            of_nodes: list[int] = domains.of_nodes.tolist()
            found = dict[Hashable, _Replicas]()
            for one in choices:
                kind = (one.team, one.reclaim_priority, one.pod_class)
                found.setdefault(kind, (one, []))[1].extend(
                    _replaceable_outside(one.placements, self._least(one), of_nodes)
                )
            known = self._by_label[domains.label] = sizes, [*found.values()]
        return known[1]

    def _choices(self) -> list[RoleAllocation]:
        if self._roles is None:
            least = self._least
            found = (one for one in self._allocations if 0 < least(one) < one.size)
            self._roles = sorted(
                filter(any_may_leave, found), key=lambda one: (-least(one), one.rank)
            )
        return self._roles

    def _minimums(self, like: Ints) -> Ints:
        if self._held is None:
            self._held = np.zeros_like(like)
            for one in self._choices():
                release_in(one.pod_class, self._held, one.placements[: self._least(one)])
        return self._held

    def _chosen(
        self, allocation: RoleAllocation, useful: Sequence[bool], kept_on: set[int]
    ) -> list[_Swap]:
        """The swaps that keep the minimum on few nodes, none of them useful if possible.

        Adds its nodes to `kept_on`, where other minimums are kept too.
        """
        least, positions = self._least(allocation), defaultdict[int, list[int]](list)
        for position, placement in enumerate(allocation.placements):
            if _is_bound(placement):
                positions[placement.node].append(position)
        bound = [at for at in range(least) if _is_bound(allocation.placements[at])]
        order = sorted(
            positions,
            key=lambda node: (useful[node] and node not in kept_on, -len(positions[node]), node),
        )
        kept: set[int] = set()
        for node in order:
            if len(kept) == len(bound):
                break
            kept_on.add(node)
            kept.update(positions[node][: len(bound) - len(kept)])
        go = [at for at in bound if at not in kept]
        return [
            _Swap(allocation, minimum, extra)
            for minimum, extra in zip(go, sorted(kept.difference(bound)), strict=True)
        ]

    def _apply(self, swaps: Sequence[_Swap]) -> None:
        """Let replicas change places; a second time undoes it."""
        for allocation, minimum, extra in swaps:
            placements = allocation.placements
            kept, freed = placements[extra], placements[minimum]
            placements[minimum], placements[extra] = kept, freed
            self._capacity.add(allocation, kept, -1)
            self._capacity.add(allocation, freed, 1)
        self._held = None
        self._by_label.clear()


def _replaceable_outside(
    placements: Sequence[Placement], least: int, of_nodes: Sequence[int]
) -> Iterator[Placement]:
    """The replicas of a minimum that extras in other domains can replace."""
    extras = Counter(of_nodes[one.node] for one in placements[least:] if _is_bound(one))
    total, replaced = extras.total(), Counter[int]()
    for one in filter(_is_bound, placements[:least]):
        domain = of_nodes[one.node]
        if domain != NO_NODE and replaced[domain] < total - extras[domain]:
            replaced[domain] += 1
            yield one


def _is_bound(placement: Placement) -> bool:
    """Whether its pod exists and has a node: a new replica, or one that is done, has neither."""
    return placement.node != NO_NODE and not placement.is_new
