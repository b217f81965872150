"""Growth between teams: within guarantees first, then by weighted dominant share (DRF).

At each level of the team tree, the team with the smallest share gets the next replica; inside a
team it goes to the least satisfied role, as without teams.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heapreplace
from typing import Final, TypeAlias

from edl.planner.policies import Policy
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.team_balance import NO_TEAM, TeamBalance

_Entry: TypeAlias = tuple[float, int, RoleAllocation]
"""(satisfaction, rank, role). Ranks are unique, so roles themselves are never compared."""
_Turn: TypeAlias = "tuple[float, _Entry, Iterator[_Turn]]"
"""(share, entry of the role, turns of the branch after this one); the smallest is first."""
_COVERED: Final = -1.0
"""In the place of the share if a guarantee covers the replica: below each share."""


def growth_order(
    balance: TeamBalance, policy: Policy, asking: Iterable[RoleAllocation]
) -> Iterator[RoleAllocation]:
    """Yields the role that may grow next; a role that did not grow when yielded is dropped.

    A replica changes only the shares on the path of its team, so the cost of a turn depends on the
    depth of the tree. All turns are computed anew if `TeamBalance.changes` tells that usage fell.
    """
    branches = _branches_with_several(balance, policy, asking)
    turns, changes = _first_turns(branches), balance.changes
    while turns:
        yield turns[0][1][2]
        if turn := next(turns[0][2], None):
            heapreplace(turns, turn)
        else:
            heappop(turns)
        if changes != balance.changes:
            turns, changes = _first_turns(branches), balance.changes


def _branches_with_several(
    balance: TeamBalance, policy: Policy, asking: Iterable[RoleAllocation]
) -> "list[_Branch]":
    """The branches below the lowest team that all roles belong to."""
    top = _Branch(balance, policy, NO_TEAM)
    branches = {NO_TEAM: top}
    for role in asking:
        own = role.team
        if own not in branches:
            above = top
            for team in reversed(balance.paths[own]):
                if team not in branches:
                    branches[team] = _Branch(balance, policy, team)
                    above.below.append(branches[team])
                above = branches[team]
        satisfied = policy.satisfaction(role, len(role.placements))
        branches[own].roles.append((satisfied, role.rank, role))
    for branch in branches.values():
        heapify(branch.roles)
    found = top.below
    while len(found) == 1 and not found[0].roles:
        found = found[0].below
    return found


@dataclass(slots=True, eq=False)
class _Branch:
    """A team with the roles in it, and in the teams below it, that could grow."""

    balance: TeamBalance
    policy: Policy
    team: int
    roles: list[_Entry] = field(default_factory=list)
    """A heap."""
    below: "list[_Branch]" = field(default_factory=list)
    current: "Iterator[_Turn]" = field(init=False)
    """The branch's turns by the current usage of teams."""
    may_cover: bool = field(init=False)
    """Whether its guarantee may cover more: growth only adds usage, so once used up it may not."""

    def turns(self) -> "Iterator[_Turn]":
        """Yields the branch's next turn, and drops or renews its role afterwards.

        Whether the last yielded role has grown is seen from its placements. Iterators nest as deep
        as teams do, at most 32 levels (`edl.parsing.team_document`).
        """
        balance, team, own, this = self.balance, self.team, self.roles, self.current
        used, self.may_cover = balance.used[team], bool(balance.owed[team])
        (first, first_owed, first_weight), *others = balance.parts[team]
        below, satisfaction = _first_turns(self.below), self.policy.satisfaction
        while own or below:
            # `dominant_share`: a plan may take 100,000 turns, mostly with one resource.
            share = (used[first] - first_owed) * first_weight
            for at, owed, weight in others:
                if (part := (used[at] - owed) * weight) > share:
                    share = part
            if share < 0:
                share = 0.0
            if below and not (own and (share, own[0]) < below[0]):
                before, entry, turns = below[0]
                if before == _COVERED or (self.may_cover and self._covers(entry[2])):
                    share = _COVERED
                yield share, entry, this
                if turn := next(turns, None):
                    heapreplace(below, turn)
                else:
                    heappop(below)
            else:
                _, rank, one = entry = own[0]
                size = len(one.placements)
                if self.may_cover and self._covers(one):
                    share = _COVERED
                yield share, entry, this
                if size < (grown := len(one.placements)) < one.max_replicas:
                    heapreplace(own, (satisfaction(one, grown), rank, one))
                else:
                    heappop(own)

    def _covers(self, role: RoleAllocation) -> bool:
        """Whether its guarantee covers one more replica of this role."""
        charge = role.quota_request.team
        if charge is not None and charge.is_within(self.team):
            return True
        self.may_cover = self.balance.has_left(self.team)
        return False


def _first_turns(branches: Iterable[_Branch]) -> list[_Turn]:
    """A heap of the first turn of each branch, by the current usage of teams."""
    for branch in branches:
        branch.current = branch.turns()
    found = [turn for branch in branches if (turn := next(branch.current, None))]
    heapify(found)
    return found
