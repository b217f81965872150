"""Growth between teams: within guarantees first, then by weighted dominant share (DRF).

At each level of the team tree, the team with the smallest share gets the next replica; inside a
team it goes to the least satisfied role, as without teams.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heapreplace
from typing import Final, TypeAlias

from edl.planner.policies import Policy
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.team_balance import NO_TEAM, TeamBalance, dominant_share

_Entry: TypeAlias = tuple[float, int, RoleAllocation]
"""(satisfaction, rank, role). Ranks are unique, so roles themselves are never compared."""
_Turn: TypeAlias = "tuple[bool, float, _Entry, _Branch]"
"""(whether the growth is borrowed, share, entry of the role, branch); the smallest is first."""
_BORROWS: Final = True


def growth_order(
    balance: TeamBalance, policy: Policy, asking: Mapping[RoleAllocation, float]
) -> Iterator[RoleAllocation]:
    """Yields the role that may grow next; a role that did not grow when yielded is dropped.

    `asking`: the roles, with their satisfaction. A replica changes only the shares on the path of
    its team, so the cost of a turn depends on the depth of the tree.
    """
    top = _Branch(balance, policy, NO_TEAM)
    branches = {NO_TEAM: top}
    for role, satisfied in asking.items():
        own = role.team
        if own not in branches:
            above = top
            for team in reversed(balance.paths[own]):
                if team not in branches:
                    branches[team] = _Branch(balance, policy, team)
                    above.below.append(branches[team])
                above = branches[team]
        branches[own].roles.append((satisfied, role.rank, role))
    parted = top.below
    while len(parted) == 1 and not parted[0].roles:
        parted = parted[0].below  # skip levels with a single team
    turns = _first_turns(parted)
    while turns:
        yield turns[0][2][2]
        _renew_first(turns)


@dataclass(slots=True, eq=False)
class _Branch:
    """A team with the roles in it, and in the teams below it, that could grow."""

    balance: TeamBalance
    policy: Policy
    team: int
    roles: list[_Entry] = field(default_factory=list)
    below: "list[_Branch]" = field(default_factory=list)
    turns: "Iterator[_Turn]" = field(init=False)

    def __post_init__(self) -> None:
        self.turns = self._turns()

    def _turns(self) -> "Iterator[_Turn]":
        """Yields the branch's next turn by the current usage of teams.

        Whether the last yielded role has grown is seen from its placements. Growth only adds usage,
        so a used-up guarantee is not checked again. Iterators nest as deep as teams do, at most 32
        levels (`edl.parsing.team_document`).
        """
        balance, team, own, below = self.balance, self.team, self.roles, _first_turns(self.below)
        used, parts, may_cover = balance.used[team], balance.parts[team], bool(balance.owed[team])
        satisfaction = self.policy.satisfaction
        heapify(own)
        while own or below:
            share, branch = dominant_share(used, parts), None
            if below and not (own and (_BORROWS, share, own[0]) < below[0]):
                borrows, _, entry, branch = below[0]
            else:
                borrows, entry = _BORROWS, own[0]
            if borrows and may_cover:
                borrows = not _is_within(entry[2], team)
                may_cover = not borrows or balance.has_left(team)
            if branch is not None:
                yield borrows, share if borrows else 0.0, entry, self
                _renew_first(below)
                continue
            _, rank, one = entry
            size = len(one.placements)
            yield borrows, share if borrows else 0.0, entry, self
            if size < (grown := len(one.placements)) < one.max_replicas:
                heapreplace(own, (satisfaction(one, grown), rank, one))
            else:
                heappop(own)


def _first_turns(branches: Iterable[_Branch]) -> list[_Turn]:
    """A heap of the first turn of each branch."""
    found = [next(branch.turns) for branch in branches]
    heapify(found)
    return found


def _renew_first(turns: list[_Turn]) -> None:
    """Replace the first turn of the heap by the next one of its branch."""
    if turn := next(turns[0][3].turns, None):
        heapreplace(turns, turn)
    else:
        heappop(turns)


def _is_within(role: RoleAllocation, team: int) -> bool:
    charge = role.quota_request.team
    return charge is not None and charge.is_within(team)
