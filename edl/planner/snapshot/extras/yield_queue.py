"""Roles with extras, in the order in which they yield to claims (`yield_order`)."""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush, heapreplace
from typing import TYPE_CHECKING

from edl.planner.snapshot.extras.yield_order import Entry, Rank, ReclaimOrder, TeamRank, TeamRanks
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.reclaim_priority import (
    ALL_RECLAIMABLE,
    NONE_RECLAIMABLE,
    Reach,
    ReclaimScope,
)
from edl.planner.teams.team_balance import TeamBalance

if TYPE_CHECKING:
    from edl.planner.snapshot.extras.yield_order import YieldClass


class YieldQueue:
    """Roles with extras, the next to yield first."""

    def __init__(
        self, teams: TeamBalance | None, order: ReclaimOrder, roles: Sequence[RoleAllocation]
    ) -> None:
        self._order, self._teams, self._unsorted = order, teams, roles
        self._entries: defaultdict[int, list[Entry]] = defaultdict(list)
        """By team, in order; without teams, all roles are of NO_TEAM."""
        self._latest: dict[RoleAllocation, Entry] = {}
        """The entry of each role that is queued."""
        self._scope: ReclaimScope | None = None
        self._turns: list[tuple[Rank, int]] = []
        """Heap of teams in the order in which they yield to `_scope`; entries may be outdated."""
        self._queued: dict[int, Rank] = {}
        self._requeued: set[int] = set()
        """Teams with roles that were queued again since `_turns` was updated."""
        self.yielding: YieldClass = (True, ALL_RECLAIMABLE)
        """The class of the role that `next` has returned last."""
        self._ranks: TeamRanks | None = None
        """What `_scope`, and scopes equal to it, may take of teams; None without teams."""

    def next(self, scope: ReclaimScope) -> RoleAllocation | None:
        """Remove and return the role that yields next to a claim, or None."""
        self._begin(scope)
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
                self.yielding = rank[:2]
                return self._take_first(team)
        return None

    def next_of(self, team: int, scope: ReclaimScope) -> RoleAllocation | None:
        """Like `next`, of the roles of one team."""
        self._begin(scope)
        return self._take_first(team) if self._turn(team, scope) else None

    def _take_first(self, team: int) -> RoleAllocation:
        allocation = self._entries[team].pop(0).allocation
        del self._latest[allocation]
        return allocation

    def first_of(
        self, roles: Iterable[RoleAllocation], scope: ReclaimScope
    ) -> RoleAllocation | None:
        """Like `next`, of these roles; None if all are of a later class than the last one."""
        first: tuple[Rank, RoleAllocation] | None = None
        team_ranks: dict[int, TeamRank] = {}
        for allocation in roles:
            if allocation.team not in team_ranks:
                team_ranks[allocation.team] = self._team_rank(allocation.team, scope)
            rank = self._rank(self._entry(allocation), scope, team_ranks[allocation.team])
            # Ranks are unique, so roles themselves are never compared.
            if rank and rank[:2] <= self.yielding and (first is None or rank < first[0]):
                first = rank, allocation
        if first is None:
            return None
        self.remove(first[1])
        return first[1]

    def may_yield(self, allocation: RoleAllocation, scope: ReclaimScope) -> bool:
        """Whether a role's class is not later than that of the role that `next` returned last."""
        team_rank = self._team_rank(allocation.team, scope)
        rank = self._rank(self._entry(allocation), scope, team_rank)
        return rank is not None and rank[:2] <= self.yielding

    def remove(self, allocation: RoleAllocation) -> None:
        """Take a role out of the queue until it is queued again."""
        if entry := self._latest.pop(allocation, None):
            entries = self._entries[allocation.team]
            del entries[bisect_left(entries, entry)]

    def requeue(self, allocation: RoleAllocation) -> None:
        """Queue a role with its current key."""
        self.remove(allocation)
        if allocation.size > self._order.min_replicas(allocation):
            entry = self._latest[allocation] = self._entry(allocation)
            insort(self._entries[allocation.team], entry)
            self._requeued.add(allocation.team)

    def _begin(self, scope: ReclaimScope) -> None:
        for allocation in self._unsorted:  # on first use, because most claims take nothing
            self.requeue(allocation)
        self._unsorted = ()
        if self._scope is not scope:
            ranks = self._ranks if scope == self._scope else None
            if self._teams and not (ranks and ranks.team_count == len(self._entries)):
                self._ranks = TeamRanks(self._teams, scope, self._entries)
            self._scope = scope
            self._requeued = set(self._entries)
            self._turns, self._queued = [], {}

    def _update_turns(self, scope: ReclaimScope) -> None:
        """Update `_turns` where teams may yield earlier; turns that are due later stay."""
        for team in self._requeued:
            if rank := self._turn(team, scope):
                queued = self._queued.get(team)
                if queued is None or rank < queued:
                    heappush(self._turns, (rank, team))
                    self._queued[team] = rank
        self._requeued.clear()

    def _turn(self, team: int, scope: ReclaimScope) -> Rank | None:
        """Sort key of a team's turn to yield; None if this claim may take nothing from it."""
        entries, least = self._entries[team], self._order.min_replicas
        while entries and entries[0].allocation.size <= least(entries[0].allocation):
            self._take_first(team)
        return self._rank(entries[0], scope, self._team_rank(team, scope)) if entries else None

    def _team_rank(self, team: int, scope: ReclaimScope) -> TeamRank:
        """What the ranks of all roles of a team have in common."""
        return self._ranks.of(team) if self._ranks else (scope.reach(team), ())

    @staticmethod
    def _rank(entry: Entry, scope: ReclaimScope, team_rank: TeamRank) -> Rank | None:
        """Sort key of a role among those of all teams; None if this claim may not take from it."""
        ((priority, near, satisfied), last, _), (reach, above) = entry, team_rank
        if reach is Reach.NONE or (reach is Reach.BY_PRIORITY and priority > scope.priority):
            return None
        owned = reach is Reach.ALL
        return not owned, NONE_RECLAIMABLE if owned else priority, above, near, satisfied, last

    def _entry(self, allocation: RoleAllocation) -> Entry:
        entry = self._latest.get(allocation)
        return entry or Entry(self._order.key(allocation), -allocation.rank, allocation)
