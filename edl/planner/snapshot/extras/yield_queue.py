"""Roles with extras, in the order in which they yield to claims (`yield_order`)."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush, heapreplace
from itertools import count
from typing import TYPE_CHECKING

from edl.planner.snapshot.extras.yield_order import (
    Entry,
    Rank,
    RankedTurn,
    ReclaimOrder,
    TeamRank,
    TeamRanks,
    YieldTurn,
)
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


@dataclass(slots=True)
class _Sequence:
    """The replicas of a team as they would yield one after another, as far as that was read."""

    found: list[YieldTurn] = field(default_factory=list)
    deeper: list[Entry] = field(default_factory=list)
    """Heap of the next replicas of roles in `found`."""
    ranked: list[RankedTurn] = field(default_factory=list)
    """The first of `found`, each with its rank once those before it have yielded."""


class YieldQueue:
    """Roles with extras, the next to yield first."""

    def __init__(
        self, teams: TeamBalance | None, rules: ReclaimOrder, roles: Sequence[RoleAllocation]
    ) -> None:
        self._order, self._teams, self._unsorted = rules, teams, roles
        self._heaps: defaultdict[int, list[Entry]] = defaultdict(list)
        """By team; without teams, all roles are of NO_TEAM."""
        self._latest: dict[RoleAllocation, Entry | None] = {}
        """The entry of each role that is queued; older ones are outdated."""
        self._serials = count()
        self._sequences: dict[int, _Sequence] = {}
        """By team, the sequences that were read since the team's roles were queued last; their
        first entries of each role are not in `_heaps`."""
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
        self.begin(scope)
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
                return heappop(self._heaps[team]).allocation
        return None

    def next_of(self, team: int, scope: ReclaimScope) -> RoleAllocation | None:
        """Like `next`, of the roles of one team."""
        self.begin(scope)
        return heappop(self._heaps[team]).allocation if self._turn(team, scope) else None

    def first_of(
        self, roles: Iterable[RoleAllocation], scope: ReclaimScope
    ) -> RoleAllocation | None:
        """Like `next`, of these roles; None if all are of a later class than the last one."""
        first = self.first_ranked((self.entry(one) for one in roles), scope)
        if first is not None:
            self.remove(first)
        return first

    def first_ranked(self, entries: Iterable[Entry], scope: ReclaimScope) -> RoleAllocation | None:
        """`first_of` these entries, without removing the role."""
        first: tuple[Rank, RoleAllocation] | None = None
        team_ranks: dict[int, TeamRank | None] = {}
        for entry in entries:
            team = entry.allocation.team
            if team not in team_ranks:
                team_ranks[team] = self.team_rank(team)
            rank = self.rank(entry, scope, team_ranks[team])
            # Ranks are unique, so roles themselves are never compared.
            if rank and rank[:2] <= self.yielding and (first is None or rank < first[0]):
                first = rank, entry.allocation
        return first and first[1]

    def may_yield(self, allocation: RoleAllocation, scope: ReclaimScope) -> bool:
        """Whether a role's class is not later than that of the role that `next` returned last."""
        rank = self.rank(self.entry(allocation), scope)
        return rank is not None and rank[:2] <= self.yielding

    def remove(self, allocation: RoleAllocation) -> None:
        """Take a role out of the queue until it is queued again."""
        self._latest[allocation] = None
        self._rewind(allocation.team)

    def begin(self, scope: ReclaimScope) -> Collection[int]:
        """The teams that may yield to a claim, of which `step` and `team_rank` then tell."""
        for allocation in self._unsorted:  # on first use, because most claims take nothing
            self.requeue(allocation)
        self._unsorted = ()
        if self._scope is not scope:
            known = self._ranks if scope == self._scope else None
            if scope != self._scope:
                for sequence in self._sequences.values():
                    sequence.ranked.clear()
            if self._teams and not (known and known.team_count == len(self._heaps)):
                self._ranks = TeamRanks(self._teams, scope, self._heaps)
            self._scope = scope
            self._requeued = set(self._heaps)
            self._turns, self._queued = [], {}
        return self._heaps.keys()

    def team_rank(self, team: int) -> TeamRank | None:
        """What `rank` reads of a team: the same object until it changes; None without teams."""
        return self._ranks.of(team) if self._ranks else None

    @property
    def independent(self) -> Collection[int]:
        """Teams of which `ranked_step` tells."""
        return self._ranks.independent if self._ranks else self._heaps.keys()

    def ranked_step(self, team: int, index: int, scope: ReclaimScope) -> RankedTurn | None:
        """`step` of an independent team with its rank, once just those before it have yielded.

        Ranks are cached while the team's usage before all of them is the same: `index` starts at 0.
        """
        step = self.step(team, index)
        if step is None:
            return None
        ranked = self._sequences[team].ranked
        if index == 0 and ranked and ranked[0].team_rank is not self.team_rank(team):
            ranked.clear()
        if index == len(ranked):
            ranked.append(self.with_rank(step, scope))
        return ranked[index]

    def with_rank(self, turn: YieldTurn, scope: ReclaimScope) -> RankedTurn:
        """A turn with its rank by the present usage of teams."""
        team_rank = self.team_rank(turn.entry.allocation.team)
        return RankedTurn(turn, team_rank, self.rank(turn.entry, scope, team_rank))

    def step(self, team: int, index: int) -> YieldTurn | None:
        """The replica of a team that would yield after `index` others; None if there are fewer."""
        sequence = self._sequences.get(team) or self._sequences.setdefault(team, _Sequence())
        while len(sequence.found) <= index:
            if not self._extend(sequence, self._heaps[team]):
                return None
        return sequence.found[index]

    def _extend(self, sequence: _Sequence, heap: list[Entry]) -> bool:
        while heap and self._is_past(heap[0]):
            heappop(heap)
        deeper = sequence.deeper
        if not (heap or deeper):
            return False
        again = not heap or (bool(deeper) and deeper[0] < heap[0])
        entry = heappop(deeper if again else heap)
        one, fewer, after = entry.allocation, entry.fewer + 1, None
        if one.size - fewer > self._order.min_replicas(one):
            after = self._made(one, fewer)
            heappush(deeper, after)
        sequence.found.append(YieldTurn(entry, after))
        return True

    def _rewind(self, team: int) -> None:
        """Put what `step` has read of a team back into its heap."""
        if sequence := self._sequences.pop(team, None):
            for entry, _ in sequence.found:
                if not entry.fewer and self._latest[entry.allocation] is entry:
                    heappush(self._heaps[team], entry)

    def _update_turns(self, scope: ReclaimScope) -> None:
        """Update `_turns` where teams may yield earlier; turns that are due later stay."""
        for team in self._requeued:
            if rank := self._turn(team, scope):
                known = self._queued.get(team)
                if known is None or rank < known:
                    heappush(self._turns, (rank, team))
                    self._queued[team] = rank
        self._requeued.clear()

    def _turn(self, team: int, scope: ReclaimScope) -> Rank | None:
        """Sort key of a team's turn to yield; None if this claim may take nothing from it."""
        self._rewind(team)
        heap = self._heaps[team]
        while heap and self._is_past(heap[0]):
            heappop(heap)
        return self.rank(heap[0], scope) if heap else None

    def rank(
        self, entry: Entry, scope: ReclaimScope, team_rank: TeamRank | None = None
    ) -> Rank | None:
        """Sort key of a role among those of all teams; None if this claim may not take from it.

        `team_rank`: of its team, if it is known.
        """
        (priority, near, satisfied), last, _, one, _ = entry
        known = team_rank or self.team_rank(one.team)
        reach, above = known or (scope.reach(one.team), ())
        if reach is Reach.NONE or (reach is Reach.BY_PRIORITY and priority > scope.priority):
            return None
        owned = reach is Reach.ALL
        return not owned, NONE_RECLAIMABLE if owned else priority, above, near, satisfied, last

    def _is_past(self, entry: Entry) -> bool:
        """Whether the entry is outdated, or its role is down to the minimum."""
        one = entry.allocation
        return self._latest[one] is not entry or one.size <= self._order.min_replicas(one)

    def entry(self, allocation: RoleAllocation, fewer: int = 0) -> Entry:
        """The entry of a role once `fewer` of its replicas have yielded."""
        known = None if fewer else self._latest.get(allocation)
        return known or self._made(allocation, fewer)

    def _made(self, allocation: RoleAllocation, fewer: int = 0) -> Entry:
        key = self._order.key(allocation, fewer)
        return Entry(key, -allocation.rank, next(self._serials), allocation, fewer)

    def requeue(self, allocation: RoleAllocation) -> None:
        """Queue a role with its current key; its older entry becomes outdated."""
        self.remove(allocation)
        if allocation.size > self._order.min_replicas(allocation):
            entry = self._latest[allocation] = self._made(allocation)
            heappush(self._heaps[allocation.team], entry)
            self._requeued.add(allocation.team)
