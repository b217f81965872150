"""The order in which roles with extras yield to claims: its keys, and what teams add to them.

Roles of the lowest priority yield first, among these the role with the highest satisfaction, from
its last replica. Between teams, borrowed capacity returns to its owner first, from the team
furthest above its guarantee.
"""

from collections import defaultdict
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


class TeamRanks:
    """What the ranks of all roles of a team have in common, for one claim.

    It is read again only once the usage of a team was charged that it depends on.
    """

    def __init__(self, balance: TeamBalance, scope: ReclaimScope, teams: Collection[int]) -> None:
        self._balance, self._scope = balance, scope
        # Shares of common levels are left out: equal for all teams, they only outdate entries.
        self._common = balance.common_levels(teams)
        claims = balance.common_levels([*teams, scope.right.team]) if scope.right else self._common
        self._apart = min(claims, self._common)
        """The number of levels whose usage changes no rank: all teams share them."""
        self._found: dict[int, TeamRank] = {}
        self._read: defaultdict[int, list[int]] = defaultdict(list)
        """By the highest team on their path that is not shared, the teams in `_found`."""
        self._seen = len(balance.charged)

    def of(self, team: int) -> TeamRank:
        charged = self._balance.charged
        if self._seen < len(charged):
            for one in charged[self._seen :]:
                for outdated in self._read.pop(self._branch(one), ()):
                    del self._found[outdated]
            self._seen = len(charged)
        found = self._found.get(team)
        if found is None:
            shares = self._balance.shares(team)[self._common :]
            found = self._scope.reach(team), tuple(-share for share in shares)
            self._found[team] = found
            self._read[self._branch(team)].append(team)
        return found

    def _branch(self, team: int) -> int:
        path = self._balance.paths[team]
        return path[max(len(path) - 1 - self._apart, 0)]
