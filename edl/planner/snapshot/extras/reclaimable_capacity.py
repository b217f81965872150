"""What replicas above their minimum hold and claims may take: capacity of nodes, and of quotas."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from edl.feasibility.eligibility import Ints
from edl.planner.packing.node_capacity import NodeCapacity
from edl.planner.packing.placement import Placement, by_class
from edl.planner.packing.pod_class import PodClass
from edl.planner.snapshot.quota_balance import QuotaLine, QuotaRequest
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.reclaim_priority import NONE_RECLAIMABLE, ReclaimPriority, ReclaimScope
from edl.planner.teams.team_charge import TeamCharge

if TYPE_CHECKING:
    from edl.planner.packing.node_capacity import ResourceAmounts
    from edl.planner.teams.kept_capacity import Amounts

_node: Final = attrgetter("node")
Extras: TypeAlias = Iterable[tuple[RoleAllocation, Sequence[Placement]]]
"""Roles with their placements above the minimum."""
_Kind: TypeAlias = tuple[ReclaimPriority, PodClass]
"""Extras of one kind come into reach of a claim together."""


class ReclaimableCapacity:
    """The nodes of extras by team, and one array of the capacity that the last claim could reach.

    Consecutive claims reach nearly the same extras, so only the difference is added or subtracted;
    an array per team would be too large with hundreds of teams. Without teams, all extras belong to
    NO_TEAM.
    """

    def __init__(self, capacity: NodeCapacity, extras: Extras) -> None:
        self._capacity = capacity
        self._nodes: defaultdict[int, defaultdict[_Kind, list[int]]] = defaultdict(
            lambda: defaultdict(list)
        )
        """By team and kind, one node per extra at the start."""
        self._since: defaultdict[tuple[int, _Kind], Counter[int]] = defaultdict(Counter)
        """By team and kind, the changes since by node. Claims evict and restore the same replicas
        many times, which cancels out."""
        self._changes_of: dict[
            tuple[RoleAllocation, ResourceAmounts | None],
            tuple[int, ReclaimPriority, PodClass, Counter[int]],
        ] = {}
        """By role, and what a replica takes if that is not usual: the role's team, and the
        priority, the pod class and the changes of its kind."""
        self._reached = np.zeros_like(capacity.future_idle)
        self._reached_for: tuple[ReclaimScope, int] | None = None
        """The scope for which `_reached` was computed, and the changes of its balance."""
        self._changed: defaultdict[PodClass, Counter[int]] = defaultdict(Counter)
        """By pod class, the replicas by node that `_reached` does not contain yet."""
        self._highest: dict[int, ReclaimPriority] = {}
        """By team, the highest priority of replicas that `_reached` contains."""
        for allocation, placements in extras:
            priority, team = allocation.reclaim_priority, self._nodes[allocation.team]
            if not allocation.pod_class.claims_devices:  # fast path: there may be 1000s of roles
                team[priority, allocation.pod_class].extend(map(_node, placements))
                continue
            for pod_class, nodes in by_class(allocation.pod_class, placements):
                team[priority, pod_class].extend(nodes)

    def add(self, allocation: RoleAllocation, placement: Placement, sign: int) -> None:
        changes = self._changes_of.get((allocation, placement.taken))
        if changes is None:
            team, pod_class = allocation.team, allocation.pod_class.with_amounts(placement.taken)
            kind = (allocation.reclaim_priority, pod_class)
            self._nodes[team].setdefault(kind, [])
            changes = team, kind[0], pod_class, self._since[team, kind]
            self._changes_of[allocation, placement.taken] = changes
        team, priority, pod_class, since = changes
        since[placement.node] += sign
        if priority <= self._highest.get(team, NONE_RECLAIMABLE):
            self._changed[pod_class][placement.node] += sign

    def with_idle(self, scope: ReclaimScope) -> Ints:
        """Future idle capacity if all extras within reach were evicted; int64[resources, nodes]."""
        for pod_class, nodes in self._changed.items():
            pod_class.release_in(self._reached, nodes.elements())
            pod_class.reserve_in(self._reached, (-nodes).elements())
        self._changed.clear()
        read = (scope, len(scope.right.balance.charged) if scope.right else 0)
        if read != self._reached_for:
            self._reached_for = read
            self._reach(scope)
        reachable: Ints = self._capacity.future_idle + self._reached
        return reachable

    def _reach(self, scope: ReclaimScope) -> None:
        """Add the extras that come into reach to `_reached`, and subtract those that leave it."""
        highest = scope.right.highest(scope.priority) if scope.right and self._nodes else None
        changes: defaultdict[tuple[PodClass, int], list[int]] = defaultdict(list)
        for team, kinds in self._nodes.items():
            most = highest[team] if highest else scope.priority
            before = self._highest.get(team, NONE_RECLAIMABLE)
            if most == before:  # fast path: the loop runs over all teams for each claim
                continue
            self._highest[team] = most
            low, high, sign = min(before, most), max(before, most), 1 if most > before else -1
            for kind, nodes in kinds.items():
                if low < kind[0] <= high:
                    changes[kind[1], sign] += nodes
                    if since := self._since.get((team, kind)):
                        changes[kind[1], sign] += since.elements()
                        changes[kind[1], -sign] += (-since).elements()
        for (pod_class, sign), nodes in changes.items():
            (pod_class.release_in if sign > 0 else pod_class.reserve_in)(self._reached, nodes)


@dataclass(slots=True)
class ReclaimableQuotas:
    """What extras of these roles count in quotas and in what teams lend; caches refusals."""

    allocations: Sequence[RoleAllocation]
    min_replicas: Callable[[RoleAllocation], int]
    """The size down to which a role yields."""
    _unlent: "dict[tuple[int, Amounts], tuple[int, ReclaimScope, tuple[int, ...]]]" = field(
        default_factory=dict
    )
    """By team and amounts, a claim that the capacity which teams keep has refused: the
    `TeamUsage.falls` at that time, its scope, and `unlent`."""

    def exceeded(self, quota_request: QuotaRequest, scope: ReclaimScope) -> QuotaLine | None:
        """The first quota that stays exceeded even if all extras within reach were evicted."""
        for quota, cost in quota_request.amounts:
            if not self._allows(quota, cost, scope):
                return quota
        charge = quota_request.team
        if charge is None or charge.lends():
            return None
        key, falls = (charge.team, charge.amounts), charge.balance.falls
        before, wider, short = self._unlent.get(key, (-1, scope, ()))
        if before != falls or not scope.within(wider):
            short = self.unlent(charge, scope)
            if short:
                self._unlent[key] = falls, scope, short
        return quota_request.unlent(short) if short else None

    def unlent(self, charge: TeamCharge, scope: ReclaimScope) -> tuple[int, ...]:
        """The resources, by index, of which teams lend too little even then."""
        bound = charge.lending_bound()
        if bound is None:
            return ()
        freed = [
            (team, extras)
            for allocation in self.allocations
            if (extras := self._extras(allocation))
            and scope.includes(allocation.team, allocation.reclaim_priority)
            if (team := allocation.quota_request.team)
        ]
        for team, extras in freed:
            team.reserve(-extras)
        charge.reserve(1)
        short = bound.exceeded()
        charge.reserve(-1)
        for team, extras in freed:
            team.reserve(extras)
        return short

    def _allows(self, quota: QuotaLine, cost: int, scope: ReclaimScope) -> bool:
        if quota.future_remaining >= cost:
            return True
        if quota.refused and cost >= quota.refused[0] and scope.within(quota.refused[1]):
            return False
        allows = quota.future_remaining + self.released(quota, scope) >= cost
        if not allows:
            quota.refused = (cost, scope)
        return allows

    def released(self, quota: QuotaLine, scope: ReclaimScope) -> int:
        """What all extras within reach count in a quota."""
        return sum(
            self._extras(allocation) * allocation.quota_request.amount(quota)
            for allocation in self.allocations
            if scope.includes(allocation.team, allocation.reclaim_priority)
        )

    def _extras(self, allocation: RoleAllocation) -> int:
        return max(allocation.size - self.min_replicas(allocation), 0)
