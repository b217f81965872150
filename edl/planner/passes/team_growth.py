"""Growth between teams: within guarantees first, then by weighted dominant share (DRF).

At each level of the team tree, the team with the smallest share gets the next replica; inside a
team it goes to the least satisfied role, as without teams.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heapreplace
from itertools import pairwise
from typing import Final, TypeAlias

from edl.planner.policies import Policy
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.team_balance import NO_TEAM, TeamBalance

_Entry: TypeAlias = tuple[float, int, RoleAllocation]
"""(satisfaction, rank, role). Ranks are unique, so roles themselves are never compared."""
_Turn: TypeAlias = tuple[float, float, int, RoleAllocation, int]
"""(share, *entry of the role, team whose turn it is); the smallest is first."""
_COVERED: Final = -1.0
"""In the place of the share if a guarantee covers the replica: below each share."""


def growth_order(
    balance: TeamBalance, policy: Policy, asking: Iterable[RoleAllocation]
) -> Iterator[RoleAllocation]:
    """Yields the role that may grow next; a role that did not grow when yielded is dropped.

    A replica changes only the shares on the path of its team, so the cost of a turn depends on the
    depth of the tree. All turns are computed anew if `TeamBalance.changes` tells that usage fell.
    """
    branches = _Branches(balance, policy)
    tops = branches.add(asking)
    first, changes = list[_Turn](), -1
    while first or changes < 0:
        changes = balance.changes
        turns = {team: branches.turns(team) for team in tops}
        first = _first_of(turns)
        while first and changes == balance.changes:
            yield first[0][3]
            _renew_first(first, turns)


@dataclass(slots=True, eq=False)
class _Branches:
    """The teams with roles in them, or in the teams below them, that could grow."""

    balance: TeamBalance
    policy: Policy
    roles: defaultdict[int, list[_Entry]] = field(default_factory=lambda: defaultdict(list))
    """By team, a heap of its own roles."""
    below: defaultdict[int, dict[int, None]] = field(default_factory=lambda: defaultdict(dict))
    """By team, its branches in order."""

    def add(self, asking: Iterable[RoleAllocation]) -> list[int]:
        """Add roles. Returns the branches below the lowest team that all of them belong to."""
        for role in asking:
            satisfied = self.policy.satisfaction(role, len(role.placements))
            self.roles[role.team].append((satisfied, role.rank, role))
        for own in [*self.roles]:
            heapify(self.roles[own])
            for team, above in pairwise((*self.balance.paths[own], NO_TEAM)):
                if team in self.below[above]:
                    break
                self.below[above][team] = None
        tops = [*self.below[NO_TEAM]]
        while len(tops) == 1 and not self.roles[tops[0]]:
            tops = [*self.below[tops[0]]]
        return tops

    def turns(self, team: int) -> Iterator[_Turn]:
        """Yields a branch's next turn, and drops or renews its role afterwards.

        Whether the last yielded role has grown is seen from its placements. Iterators nest as deep
        as teams do, at most 32 levels (`edl.parsing.team_document`).
        """
        balance, own, satisfaction = self.balance, self.roles[team], self.policy.satisfaction
        used, may_cover = balance.used[team], bool(balance.owed[team])
        (first, first_owed, first_weight), *others = balance.parts[team]
        turns = {child: self.turns(child) for child in self.below[team]}
        below = _first_of(turns)
        while own or below:
            # `dominant_share`: a plan may take 100,000 turns, mostly with one resource.
            share = (used[first] - first_owed) * first_weight
            for at, owed, weight in others:
                if (part := (used[at] - owed) * weight) > share:
                    share = part
            if share < 0:
                share = 0.0
            if below and not (own and (share, *own[0]) < below[0]):
                before, satisfied, rank, role, _ = below[0]
                if before == _COVERED:
                    share = _COVERED
                elif may_cover:
                    share, may_cover = self._covered(team, role, share)
                yield share, satisfied, rank, role, team
                _renew_first(below, turns)
            else:
                satisfied, rank, role = own[0]
                size = len(role.placements)
                if may_cover:
                    share, may_cover = self._covered(team, role, share)
                yield share, satisfied, rank, role, team
                if size < (grown := len(role.placements)) < role.max_replicas:
                    heapreplace(own, (satisfaction(role, grown), rank, role))
                else:
                    heappop(own)

    def _covered(self, team: int, role: RoleAllocation, share: float) -> tuple[float, bool]:
        """Its place in the order, and whether the team's guarantee may cover more replicas.

        Growth only adds usage, so once the guarantee is used up it covers none.
        """
        charge = role.quota_request.team
        if charge is not None and charge.is_within(team):
            return _COVERED, True
        return share, self.balance.has_left(team)


def _first_of(turns: Mapping[int, Iterator[_Turn]]) -> list[_Turn]:
    """A heap of the first turn of each branch, by the current usage of teams."""
    found = [turn for branch in turns.values() if (turn := next(branch, None))]
    heapify(found)
    return found


def _renew_first(heap: list[_Turn], turns: Mapping[int, Iterator[_Turn]]) -> None:
    """Replace the first turn by the next one of its branch."""
    if turn := next(turns[heap[0][4]], None):
        heapreplace(heap, turn)
    else:
        heappop(heap)
