"""The order in which roles with extras yield to claims: its keys, and what teams add to them.

Roles of the lowest priority yield first, among these the role with the highest satisfaction, from
its last replica. Between teams, borrowed capacity returns to its owner first, from the team
furthest above its guarantee.
"""

from collections import Counter
from collections.abc import Callable, Collection
from functools import cached_property
from itertools import chain
from typing import NamedTuple, TypeAlias

import msgspec

from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.reclaim_priority import Reach, ReclaimPriority, ReclaimScope
from edl.planner.teams.team_balance import TeamBalance

YieldKey: TypeAlias = tuple[ReclaimPriority, bool, float]
"""(reclaim priority, whether its last replica is near its job's anchors, negated satisfaction)"""
TeamRank: TypeAlias = tuple[Reach, tuple[float, ...]]
"""(what a claim may take of a team, the negated shares of the teams on its path, top first)"""
YieldClass: TypeAlias = tuple[bool, ReclaimPriority]
"""(whether it is not the claim's own capacity that returns, priority else): the first parts of a
rank, which come before the shares of teams."""
Rank: TypeAlias = tuple[bool, ReclaimPriority, tuple[float, ...], bool, float, int]


class ReclaimOrder(msgspec.Struct, frozen=True):
    """The size down to which each role yields, and the order in which roles yield."""

    min_replicas: Callable[[RoleAllocation], int]
    key: Callable[[RoleAllocation, int], YieldKey]
    """The key of a role once some of its replicas have yielded; smallest first. `YieldQueue.next`
    compares its first part with a claim's priority."""
    gathers_minimums: bool = False
    """Whether interchangeable minimums are kept together where a claim fits only then."""


class Entry(NamedTuple):
    """A role in the order of one team."""

    key: YieldKey
    last: int
    """Negated rank: among equals the last in the total order yields first."""
    serial: int
    allocation: RoleAllocation
    fewer: int = 0
    """The number of its replicas that have yielded by then."""


class YieldTurn(NamedTuple):
    """A replica that yields after others of its team."""

    entry: Entry
    """Its role's entry then."""
    after: Entry | None
    """Its role's entry afterwards; None if the role is then down to its minimum."""


class RankedTurn(NamedTuple):
    """A turn, with its rank and what that was read from; the rank is None if it cannot be taken."""

    turn: YieldTurn
    team_rank: TeamRank | None
    rank: Rank | None


class TeamRanks:
    """What the ranks of all roles of a team have in common, for claims with the same rights.

    It is computed once for each usage of the teams that it depends on: claims look ahead which
    replicas would yield, and teams then use again what they have used before.
    """

    def __init__(self, balance: TeamBalance, scope: ReclaimScope, teams: Collection[int]) -> None:
        self._balance, self._scope, self._teams = balance, scope, teams
        self.team_count = len(teams)
        # Shares of common levels are left out: they are equal for all teams.
        self._common = balance.common_levels(teams)
        claims = balance.common_levels([*teams, scope.right.team]) if scope.right else self._common
        self._apart = min(claims, self._common)
        """The number of levels whose usage changes no rank: all teams share them."""
        self._used: dict[int, list[list[int]]] = {}
        """By team, the usage of the teams on its path that are not shared."""
        self._found: dict[tuple[object, ...], TeamRank] = {}
        """By team and that usage."""

    def of(self, team: int) -> TeamRank:
        balance = self._balance
        used = self._used.get(team)
        if used is None:
            used = self._used[team] = [balance.used[one] for one in self._own_path(team)]
        key = (team, *map(tuple, used))
        found = self._found.get(key)
        if found is None:
            above = balance.paths[team][-1 - self._common :: -1]
            found = self._scope.reach(team), tuple([-balance.share(one) for one in above])
            self._found[key] = found
        return found

    @cached_property
    def independent(self) -> frozenset[int]:
        """Teams whose ranks change only with their own replicas, not with those of other teams."""
        sharing = Counter(chain.from_iterable(map(self._own_path, self._teams)))
        return frozenset(
            team for team in self._teams if all(sharing[one] == 1 for one in self._own_path(team))
        )

    def _own_path(self, team: int) -> tuple[int, ...]:
        """The teams on its path that not all teams share."""
        path = self._balance.paths[team]
        return path[: max(len(path) - self._apart, 0)]
