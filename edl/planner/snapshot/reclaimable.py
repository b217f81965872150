"""Replicas above a minimum, which claims may take: their order, and the capacity they hold.

The lowest priority first, then the role that the policy finds most satisfied, and its last
replica. Between teams, what is borrowed returns to its owner first, from the team furthest above
its guarantee.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from typing import NamedTuple, TypeAlias

import msgspec

from edl.model import TrainingJob
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.colocation import AnchorNodes
from edl.planner.snapshot.quota_balance import QuotaLine, QuotaRequest
from edl.planner.snapshot.reclaimable_capacity import ReclaimableCapacity
from edl.planner.snapshot.role_allocation import Placement, RoleAllocation
from edl.planner.teams.reclaim_priority import (
    NONE_RECLAIMABLE,
    Margin,
    Reach,
    ReclaimPriority,
    ReclaimScope,
)
from edl.planner.teams.team_balance import NO_TEAM

YieldKey: TypeAlias = tuple[ReclaimPriority, bool, float]
"""Reclaim priority, near its others, satisfaction turned round."""
_Rank: TypeAlias = tuple[bool, ReclaimPriority, tuple[float, ...], bool, float, int]


class ReclaimOrder(msgspec.Struct, frozen=True):
    """Which replicas may be taken: how far down each role goes, and which role yields first."""

    min_replicas: Callable[[RoleAllocation], int]
    key: Callable[[RoleAllocation], YieldKey]
    """Smallest first; `Reclaimable.next` compares its first part with a claim's priority."""


def reclaim_order(snapshot: Snapshot) -> ReclaimOrder:
    """Demands, gangs and minimums take extras down to the floor, the lowest priority first.

    Under a policy that keeps jobs together then whose highest index is elsewhere.
    """
    anchors = AnchorNodes(snapshot.allocations) if snapshot.policy.colocate else None

    def key(allocation: RoleAllocation) -> YieldKey:
        near = anchors is not None and not anchors.last_is_elsewhere(allocation)
        return allocation.reclaim_priority, near, -snapshot.satisfaction(allocation)

    return ReclaimOrder(min_replicas=lambda allocation: allocation.min_replicas, key=key)


def reclaim_priority_of(snapshot: Snapshot, job: TrainingJob) -> ReclaimPriority:
    """The extras that a waiting job may take; one that has just come, only of lower priorities."""
    patience = snapshot.policy.reclaim_delay
    if patience and not snapshot.has_passed(job.queued_at, patience):
        return ReclaimPriority(job.priority, Margin.DELAYED)
    if snapshot.any_nearly_done and snapshot.has_passed(
        job.queued_at, snapshot.limits.queue_patience
    ):
        return ReclaimPriority(job.priority, Margin.NEARLY_DONE)
    return ReclaimPriority(job.priority)


class _Entry(NamedTuple):
    key: YieldKey
    last: int
    """Among equals the last in the total order yields first: its rank turned round."""
    serial: int
    allocation: RoleAllocation


class Reclaimable:
    """Replicas that may be taken, the next to yield first."""

    def __init__(
        self, snapshot: Snapshot, allocations: Sequence[RoleAllocation], rules: ReclaimOrder
    ) -> None:
        self._order = rules
        self._teams = snapshot.teams
        self.allocations = self._unsorted = allocations
        self._heaps: defaultdict[int, list[_Entry]] = defaultdict(list)
        """By team; one where no teams are configured."""
        self._latest: dict[RoleAllocation, int] = {}
        self._scope: ReclaimScope | None = None
        self._turns: list[tuple[_Rank, int]] = []
        """Teams in the order in which they yield to `_scope`, perhaps out of date."""
        self._queued: dict[int, _Rank] = {}
        self._common = 0
        """How many levels all of `_heaps` share."""
        least = rules.min_replicas
        extras = [(one, found) for one in allocations if (found := one.placements[least(one) :])]
        self.capacity = ReclaimableCapacity(snapshot.capacity, extras)

    def next(self, scope: ReclaimScope) -> RoleAllocation | None:
        """The role that yields next to a claim; it leaves the heap."""
        if self._unsorted:
            self._sort()
        if self._teams is not None:
            return self._next_of_teams(scope)
        heap = self._heaps[NO_TEAM]
        while heap and heap[0].key[0] <= scope.priority:
            entry = heappop(heap)
            if self._latest[entry.allocation] == entry.serial:
                return entry.allocation
        return None

    def _next_of_teams(self, scope: ReclaimScope) -> RoleAllocation | None:
        if self._scope is not scope:
            self._scope = scope
            self._common = self._teams.common_levels(self._heaps) if self._teams else 0
            ranks = ((self._rank(team, scope), team) for team in self._heaps)
            self._turns = [(rank, team) for rank, team in ranks if rank]
            heapify(self._turns)
            self._queued = {team: rank for rank, team in self._turns}
        turns = self._turns
        while turns:
            before, team = turns[0]
            rank = self._rank(team, scope)
            if rank is None:
                heappop(turns)
                self._queued.pop(team, None)
            elif rank > before:
                heapreplace(turns, (rank, team))
                self._queued[team] = rank
            else:
                return heappop(self._heaps[team]).allocation
        return None

    def _rank(self, team: int, scope: ReclaimScope) -> _Rank | None:
        """When a team yields; None if it has nothing, or nothing for this claim."""
        heap = self._heaps[team]
        while heap and self._is_past(heap[0]):
            heappop(heap)
        reach = scope.reach(team) if heap else Reach.NONE
        if reach is Reach.NONE or self._teams is None:
            return None
        (priority, near, satisfied), last = heap[0].key, heap[0].last
        if reach is Reach.BY_PRIORITY and priority > scope.priority:
            return None
        # Without what all have in common: it changes with each replica, and decides nothing.
        above = tuple(-share for share in self._teams.shares(team)[self._common :])
        owned = reach is Reach.ALL
        return not owned, NONE_RECLAIMABLE if owned else priority, above, near, satisfied, last

    def _is_past(self, entry: "_Entry") -> bool:
        """Whether the role was queued again since, or has nothing more to give."""
        one = entry.allocation
        return self._latest[one] != entry.serial or one.size <= self._order.min_replicas(one)

    def _sort(self) -> None:
        """Most claims take nothing: only now the order of yielding matters."""
        latest, least = self._latest, self._order.min_replicas
        latest |= {allocation: latest.get(allocation, 0) + 1 for allocation in self._unsorted}
        for allocation in self._unsorted:
            if allocation.size > least(allocation):
                self._heaps[allocation.team].append(self._entry(allocation))
        for heap in self._heaps.values():
            heapify(heap)
        self._unsorted = ()

    def _entry(self, allocation: RoleAllocation) -> "_Entry":
        serial = self._latest[allocation]
        return _Entry(self._order.key(allocation), -allocation.rank, serial, allocation)

    def requeue(self, allocation: RoleAllocation) -> None:
        """Into the heap again, as it stands now; an older entry counts no more."""
        self._latest[allocation] = self._latest.get(allocation, 0) + 1
        if allocation.size > self._order.min_replicas(allocation):
            heappush(self._heaps[allocation.team], self._entry(allocation))
            if self._scope and (rank := self._rank(allocation.team, self._scope)):
                known = self._queued.get(allocation.team)
                if known is None or rank < known:
                    heappush(self._turns, (rank, allocation.team))
                    self._queued[allocation.team] = rank

    def exceeded_quota(self, quota_request: QuotaRequest, scope: ReclaimScope) -> QuotaLine | None:
        """The first quota that stays short although all extras within reach were gone."""
        short = (
            quota for quota, cost in quota_request.amounts if not self._allows(quota, cost, scope)
        )
        found = next(short, None)
        return found or (quota_request.unlent if not quota_request.lends() else None)

    def _allows(self, quota: QuotaLine, cost: int, scope: ReclaimScope) -> bool:
        if quota.future_remaining >= cost:
            return True
        if quota.refused and cost >= quota.refused[0] and scope.within(quota.refused[1]):
            return False
        left = quota.future_remaining
        for allocation in self.allocations:
            if scope.includes(allocation):
                reclaimable = allocation.size - self._order.min_replicas(allocation)
                left += max(reclaimable, 0) * allocation.quota_request.amount(quota)
        if left < cost:
            quota.refused = (cost, scope)
        return left >= cost

    def min_replicas(self, allocation: RoleAllocation) -> int:
        """How many replicas of this role are not extras."""
        return self._order.min_replicas(allocation)

    def move(self, allocation: RoleAllocation, position: int, to: Placement) -> None:
        """An extra goes to another node; its own gives its room back soon."""
        placement = allocation.placements[position]
        allocation.move(position, to)
        self.capacity.add(allocation, placement, -1)
        self.capacity.add(allocation, to, 1)

    def evict(self, allocation: RoleAllocation) -> Placement:
        placement = allocation.evict()
        self.capacity.add(allocation, placement, -1)
        return placement

    def restore(self, allocation: RoleAllocation, placement: Placement) -> None:
        allocation.restore(placement)
        self.capacity.add(allocation, placement, 1)
