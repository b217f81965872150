"""Replicas above the minimum that claims may take: their order, and the capacity they hold.

Roles of the lowest priority yield first, among these the role with the highest satisfaction, from
its last replica. Between teams, borrowed capacity returns to its owner first, from the team
furthest above its guarantee.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from typing import NamedTuple, TypeAlias

import msgspec
import numpy as np

from edl.feasibility.eligibility import Mask
from edl.model import TrainingJob
from edl.planner.packing.pod_class import PodSetRequest
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.colocation import AnchorNodes
from edl.planner.snapshot.extras.minimum_nodes import MinimumNodes
from edl.planner.snapshot.extras.reclaimable_capacity import ReclaimableCapacity, ReclaimableQuotas
from edl.planner.snapshot.role_allocation import Placement, RoleAllocation
from edl.planner.teams.reclaim_priority import (
    ALL_RECLAIMABLE,
    NONE_RECLAIMABLE,
    Margin,
    Reach,
    ReclaimPriority,
    ReclaimScope,
)
from edl.planner.teams.team_balance import NO_TEAM, TeamBalance

YieldKey: TypeAlias = tuple[ReclaimPriority, bool, float]
"""(reclaim priority, whether its last replica is near its job's anchors, negated satisfaction)"""
_Class: TypeAlias = tuple[bool, ReclaimPriority]
"""(whether it is not the claim's own capacity that returns, priority else): the first parts of a
rank, which come before the shares of teams."""
_Rank: TypeAlias = tuple[bool, ReclaimPriority, tuple[float, ...], bool, float, int]


class ReclaimOrder(msgspec.Struct, frozen=True):
    """The size down to which each role yields, and the order in which roles yield."""

    min_replicas: Callable[[RoleAllocation], int]
    key: Callable[[RoleAllocation], YieldKey]
    """Smallest first; `YieldQueue.next` compares its first part with a claim's priority."""
    gathers_minimums: bool = False
    """Whether interchangeable minimums are kept together where a claim fits only then."""


def reclaim_order(snapshot: Snapshot) -> ReclaimOrder:
    """The order for demands, gangs and minimums: down to the minimum, lowest priority first.

    If the policy colocates pods, roles whose highest index is away from their job yield first
    within a priority.
    """
    anchors = AnchorNodes(snapshot.allocations) if snapshot.policy.colocate else None

    def key(allocation: RoleAllocation) -> YieldKey:
        near = anchors is not None and not anchors.last_is_elsewhere(allocation)
        return allocation.reclaim_priority, near, -snapshot.satisfaction(allocation)

    return ReclaimOrder(lambda allocation: allocation.min_replicas, key, gathers_minimums=True)


def reclaim_priority_of(snapshot: Snapshot, job: TrainingJob) -> ReclaimPriority:
    """The reclaim priority of a waiting job's claim.

    Before `reclaim_delay` it takes from lower priorities only; after `queue_patience` also from
    nearly finished jobs.
    """
    patience = snapshot.policy.reclaim_delay
    if patience and not snapshot.has_waited(job, patience):
        return ReclaimPriority(job.priority, Margin.DELAYED)
    if snapshot.any_nearly_done and snapshot.has_waited(job, snapshot.limits.queue_patience):
        return ReclaimPriority(job.priority, Margin.NEARLY_DONE)
    return ReclaimPriority(job.priority)


class _Entry(NamedTuple):
    key: YieldKey
    last: int
    """Negated rank: among equals the last in the total order yields first."""
    serial: int
    allocation: RoleAllocation


class YieldQueue:
    """Roles with extras, the next to yield first."""

    def __init__(
        self, teams: TeamBalance | None, rules: ReclaimOrder, roles: Sequence[RoleAllocation]
    ) -> None:
        self._order, self._teams, self._unsorted = rules, teams, roles
        self._heaps: defaultdict[int, list[_Entry]] = defaultdict(list)
        """By team; only NO_TEAM if no teams are configured."""
        self._latest: dict[RoleAllocation, int] = {}
        self._scope: ReclaimScope | None = None
        self._turns: list[tuple[_Rank, int]] = []
        """Heap of teams in the order in which they yield to `_scope`; entries may be outdated."""
        self._queued: dict[int, _Rank] = {}
        self._requeued: set[int] = set()
        """Teams with roles that were queued again since `_turns` was updated."""
        self._yielding: _Class = (True, ALL_RECLAIMABLE)
        """The class of the role that `next` has returned last."""
        self._common = 0
        """The number of levels of the team tree that all teams of `_heaps` have in common."""

    def next(self, scope: ReclaimScope) -> RoleAllocation | None:
        """Remove and return the role that yields next to a claim, or None."""
        if self._unsorted:
            self._sort()
        if self._teams is not None:
            return self._next_of_teams(scope)
        heap = self._heaps[NO_TEAM]
        while heap and heap[0].key[0] <= scope.priority:
            entry = heappop(heap)
            if self._latest[entry.allocation] == entry.serial:
                self._yielding = True, entry.key[0]
                return entry.allocation
        return None

    def first_of(
        self, roles: Iterable[RoleAllocation], scope: ReclaimScope
    ) -> RoleAllocation | None:
        """Like `next`, of these roles; None if all are of a later class than the last one."""
        ranked = ((self._rank(self._entry(one), scope), one) for one in roles)
        first = min(
            ((rank, one) for rank, one in ranked if rank and rank[:2] <= self._yielding),
            default=None,
        )
        if first is None:
            return None
        self.remove(first[1])
        return first[1]

    def may_yield(self, allocation: RoleAllocation, scope: ReclaimScope) -> bool:
        """Whether a role's class is not later than that of the role that `next` returned last."""
        rank = self._rank(self._entry(allocation), scope)
        return rank is not None and rank[:2] <= self._yielding

    def remove(self, allocation: RoleAllocation) -> None:
        """Take a role out of the queue until it is queued again."""
        self._latest[allocation] = self._latest.get(allocation, 0) + 1

    def _next_of_teams(self, scope: ReclaimScope) -> RoleAllocation | None:
        self._update_turns(scope)
        turns = self._turns
        while turns:
            before, team = turns[0]
            rank = self._turn(team, scope)
            if rank is None:
                heappop(turns)
                self._queued.pop(team, None)
            elif rank > before:
                heapreplace(turns, (rank, team))
                self._queued[team] = rank
            else:
                self._yielding = rank[:2]
                return heappop(self._heaps[team]).allocation
        return None

    def _update_turns(self, scope: ReclaimScope) -> None:
        """Update `_turns` where teams may yield earlier; turns that are due later stay."""
        if self._scope is not scope:
            self._scope = scope
            self._common = self._teams.common_levels(self._heaps) if self._teams else 0
            self._requeued = set(self._heaps)
            self._turns, self._queued = [], {}
        for team in self._requeued:
            if rank := self._turn(team, scope):
                known = self._queued.get(team)
                if known is None or rank < known:
                    heappush(self._turns, (rank, team))
                    self._queued[team] = rank
        self._requeued.clear()

    def _turn(self, team: int, scope: ReclaimScope) -> _Rank | None:
        """Sort key of a team's turn to yield; None if this claim may take nothing from it."""
        heap = self._heaps[team]
        while heap and self._is_past(heap[0]):
            heappop(heap)
        return self._rank(heap[0], scope) if heap else None

    def _rank(self, entry: "_Entry", scope: ReclaimScope) -> _Rank | None:
        """Sort key of a role among those of all teams; None if this claim may not take from it."""
        team, (priority, near, satisfied), last = entry.allocation.team, entry.key, entry.last
        reach = scope.reach(team)
        if reach is Reach.NONE or (reach is Reach.BY_PRIORITY and priority > scope.priority):
            return None
        # Shares of common levels are left out: equal for all teams, they only outdate entries.
        shares = self._teams.shares(team)[self._common :] if self._teams else ()
        above = tuple(-share for share in shares)
        owned = reach is Reach.ALL
        return not owned, NONE_RECLAIMABLE if owned else priority, above, near, satisfied, last

    def _is_past(self, entry: "_Entry") -> bool:
        """Whether the entry is outdated, or its role is down to the minimum."""
        one = entry.allocation
        return self._latest[one] != entry.serial or one.size <= self._order.min_replicas(one)

    def _sort(self) -> None:
        """Build the heaps. This is done on first use, because most claims take nothing."""
        for allocation in self._unsorted:
            self.remove(allocation)
            if allocation.size > self._order.min_replicas(allocation):
                self._heaps[allocation.team].append(self._entry(allocation))
        for heap in self._heaps.values():
            heapify(heap)
        self._unsorted = ()

    def _entry(self, allocation: RoleAllocation) -> "_Entry":
        serial = self._latest.get(allocation, 0)
        return _Entry(self._order.key(allocation), -allocation.rank, serial, allocation)

    def requeue(self, allocation: RoleAllocation) -> None:
        """Queue a role with its current key; its older entry becomes outdated."""
        self.remove(allocation)
        if allocation.size > self._order.min_replicas(allocation):
            heappush(self._heaps[allocation.team], self._entry(allocation))
            self._requeued.add(allocation.team)


class Reclaimable:
    """Replicas that may be taken: their roles' order, and what they hold."""

    def __init__(
        self, snapshot: Snapshot, allocations: Sequence[RoleAllocation], rules: ReclaimOrder
    ) -> None:
        self._order, self._teams = rules, snapshot.teams
        self.allocations, self.min_replicas = allocations, rules.min_replicas
        self.nodes, self.named = snapshot.capacity, snapshot.moves.named
        self.queue = YieldQueue(snapshot.teams, rules, allocations)
        self._on_node: defaultdict[int, dict[RoleAllocation, None]] = defaultdict(dict)
        """By node, the roles that have, or had, extras there; empty until first read."""
        least = rules.min_replicas
        extras = [(one, found) for one in allocations if (found := one.placements[least(one) :])]
        self.capacity = ReclaimableCapacity(snapshot.capacity, extras)
        self.quotas = ReclaimableQuotas(allocations, least)
        self._minimums = MinimumNodes(self.capacity, allocations, least)

    def queue_on(self, nodes: Mask) -> YieldQueue:
        """The queue of the roles with extras on these nodes, if those are few; else of all roles.

        Where extras are spread evenly, a claim then passes over at most as many roles as the square
        root of all. bool[nodes].
        """
        few = np.flatnonzero(nodes)
        if len(few) ** 2 * len(self.allocations) >= len(nodes) ** 2:
            return self.queue
        return YieldQueue(self._teams, self._order, list(dict.fromkeys(self.holders(few.tolist()))))

    def holders(self, nodes: Iterable[int]) -> Iterator[RoleAllocation]:
        """The roles that have extras on these nodes, once for each node, and some that had some."""
        if not self._on_node:
            for one in self.allocations:
                extras = one.placements[self.min_replicas(one) :]
                for node in {placement.node for placement in extras}:
                    self._on_node[node][one] = None
        return (
            one
            for node in nodes
            for one in self._on_node.get(node, ())
            if one.size > self.min_replicas(one)
        )

    def gather_minimums(
        self, requests: Sequence[PodSetRequest], scope: ReclaimScope
    ) -> list[int] | None:
        """Keep interchangeable minimums together for a claim; see `MinimumNodes.gather`."""
        fit = self._minimums.gather(requests, scope) if self._order.gathers_minimums else None
        if fit is not None:
            self._on_node.clear()
        return fit

    def move(self, allocation: RoleAllocation, position: int, to: Placement) -> int:
        """Move an extra; see `RoleAllocation.move`."""
        self.capacity.add(allocation, allocation.placements[position], -1)
        self._add(allocation, to)
        return allocation.move(position, to)

    def evict(self, allocation: RoleAllocation) -> Placement:
        placement = allocation.evict()
        self.capacity.add(allocation, placement, -1)
        return placement

    def restore(self, allocation: RoleAllocation, placement: Placement) -> None:
        allocation.restore(placement)
        self._add(allocation, placement)

    def _add(self, allocation: RoleAllocation, placement: Placement) -> None:
        self.capacity.add(allocation, placement, 1)
        if self._on_node:
            self._on_node[placement.node][allocation] = None
