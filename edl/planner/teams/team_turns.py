"""Which team comes next, compared at each level of the hierarchy.

Of the teams below one, those come first that stay within a guarantee of their own subtree, then
those furthest below their share. What one team gets changes its own path alone: however many teams
there are, the next turn costs as many comparisons as there are levels.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heapreplace
from typing import Final, Protocol, TypeAlias

from edl.planner.teams.team_balance import NO_TEAM, TeamBalance

Precedence: TypeAlias = tuple[object, ...]
"""Of one kind each, so that they compare."""
_Key: TypeAlias = tuple[int, Precedence, float, Precedence]

FIRST_COVERED: Final = 0
"""The first claim that waits stays within a guarantee."""
LATER_COVERED: Final = 1
NONE_COVERED: Final = 2


class TeamQueue(Protocol):
    """What waits in one team, in the team's own order."""

    @property
    def team(self) -> int: ...

    @property
    def waiting(self) -> bool: ...

    @property
    def first(self) -> tuple[Precedence, Precedence]:
        """What compares before shares and after them, of the first that waits."""

    def covered(self, team: int) -> int:
        """Whether the first that waits, a later one or none stays within a team's guarantee."""


@dataclass(slots=True, eq=False)
class _Branch:
    """A team with what waits in it and below it, the next first."""

    balance: TeamBalance
    team: int
    own: TeamQueue | None = None
    below: list["tuple[_Key, int, _Branch]"] = field(default_factory=list)
    key: _Key = (NONE_COVERED, (), 0.0, ())
    chosen: TeamQueue | None = None
    """Whose turn it was when the key was read."""

    def first_below(self) -> "_Branch | None":
        """The branch that comes before what waits in the team itself."""
        if not self.below:
            return None
        key, _, branch = self.below[0]
        own = self.own if self.own and self.own.waiting else None
        return branch if own is None or key < self._own_key(own) else None

    def _own_key(self, own: TeamQueue) -> _Key:
        before, after = own.first
        return NONE_COVERED, before, self.balance.share(self.team), after

    def renew(self) -> bool:
        """Read its key again; whether anything waits."""
        branch = self.first_below()
        queue = self.chosen = branch.chosen if branch else self.own
        if queue is None or not queue.waiting:
            return False
        before, after = queue.first
        covered = min(branch.key[0] if branch else NONE_COVERED, queue.covered(self.team))
        share = 0.0 if covered < NONE_COVERED else self.balance.share(self.team)
        self.key = (covered, before, share, after)
        return True


class TeamTurns:
    """Queues of teams; one is `first` until something of it is taken."""

    def __init__(self, balance: TeamBalance, queues: Iterable[TeamQueue]) -> None:
        self._balance = balance
        self._queues = [queue for queue in queues if queue.waiting]
        self._root = _Branch(balance, NO_TEAM)
        self.rebuild()

    def rebuild(self) -> None:
        """After teams have come to hold less."""
        branches: dict[int, _Branch] = {}
        for queue in self._queues:
            for team in self._balance.paths[queue.team] if queue.waiting else ():
                branches.setdefault(team, _Branch(self._balance, team))
        for queue in self._queues:
            if queue.waiting:
                branches[queue.team].own = queue
        self._root = _Branch(self._balance, NO_TEAM)
        # Children have larger numbers than their parents.
        for team in sorted(branches, reverse=True):
            branch = branches[team]
            heapify(branch.below)
            branch.renew()
            above = self._balance.paths[team][1:]
            parent = branches[above[0]] if above else self._root
            parent.below.append((branch.key, team, branch))
        heapify(self._root.below)

    @property
    def first(self) -> TeamQueue | None:
        branch = self._root.first_below()
        return branch.chosen if branch else None

    @property
    def contested(self) -> bool:
        """Whether what waits in other teams than the first's stays within a guarantee, too."""
        branch: _Branch | None = self._root
        while branch and branch.below:
            # Of a heap the second is one of these.
            if any(key[0] < NONE_COVERED for key, _, _ in branch.below[1:3]):
                return True
            branch = branch.first_below()
        return False

    def renew(self) -> None:
        """Something of the first was taken, or its team holds more."""
        path = [self._root]
        while branch := path[-1].first_below():
            path.append(branch)
        while len(path) > 1:
            branch, parent = path.pop(), path[-1]
            if branch.renew():
                heapreplace(parent.below, (branch.key, branch.team, branch))
            else:
                heappop(parent.below)
