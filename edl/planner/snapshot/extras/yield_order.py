"""The order in which roles with extras yield to claims: its keys, and what teams add to them.

Roles of the lowest priority yield first, among these the role with the highest satisfaction, from
its last replica. Between teams, borrowed capacity returns to its owner first, from the team
furthest above its guarantee.
"""

from collections.abc import Callable, Collection
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
"""(False if its capacity returns to the owner, True if the role yields by priority; that priority):
the parts of a rank before the shares of teams."""
Rank: TypeAlias = tuple[bool, ReclaimPriority, tuple[float, ...], bool, float, int]


class ReclaimOrder(msgspec.Struct, frozen=True):
    """The size down to which each role yields, and the order in which roles yield."""

    min_replicas: Callable[[RoleAllocation], int]
    key: Callable[[RoleAllocation], YieldKey]
    """Smallest first. `YieldQueue.next` compares its first part with a claim's priority."""
    gathers_minimums: bool = False
    """Whether interchangeable minimums are kept together where a claim fits only then."""


class Entry(NamedTuple):
    """A role in the order of one team."""

    key: YieldKey
    last: int
    """Negated rank: among equals the last in the total order yields first."""
    allocation: RoleAllocation


class TeamRanks:
    """What the ranks of all roles of a team have in common, for claims with the same rights.

    It is computed once for each usage of the teams that it depends on: claims evict and restore,
    and teams then use again what they have used before.
    """

    def __init__(self, balance: TeamBalance, scope: ReclaimScope, teams: Collection[int]) -> None:
        self._balance, self._scope = balance, scope
        self.team_count = len(teams)
        # Shares of common levels are left out: they are equal for all teams.
        self._common = balance.common_levels(teams)
        claims = balance.common_levels([*teams, scope.right.team]) if scope.right else self._common
        self._apart = min(claims, self._common)
        """The number of levels whose usage changes no rank: all teams share them."""
        self._used: dict[int, list[list[int]]] = {}
        """By team, the usage of the teams on its path that are not shared."""
        self._ranks: dict[tuple[object, ...], TeamRank] = {}
        """By team and that usage."""

    def of(self, team: int) -> TeamRank:
        balance, path = self._balance, self._balance.paths[team]
        used = self._used.get(team)
        if used is None:
            unshared = path[: max(len(path) - self._apart, 0)]
            used = self._used[team] = [balance.used[number] for number in unshared]
        key = (team, *map(tuple, used))
        rank = self._ranks.get(key)
        if rank is None:
            above = path[-1 - self._common :: -1]
            rank = self._scope.reach(team), tuple([-balance.share(number) for number in above])
            self._ranks[key] = rank
        return rank
