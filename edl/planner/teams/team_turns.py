"""Which team's claim comes next, compared at each level of the hierarchy.

Below one team, those teams come first that stay within a guarantee of their own subtree, then
those furthest below their share. What one team gets changes its own path alone: however many teams
there are, the next turn costs as many comparisons as there are levels.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heapreplace
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

from edl.planner.teams.team_balance import NO_TEAM, TeamBalance, TeamCharge

TeamPrecedence: TypeAlias = tuple[object, ...]
"""All of one kind, so that they compare."""

FIRST_COVERED: Final = 0
"""The first claim that waits stays within a guarantee."""
LATER_COVERED: Final = 1
NONE_COVERED: Final = 2


class TeamQueue(Protocol):
    """Waiting claims of one team, in the team's own order."""

    @property
    def team(self) -> int: ...

    @property
    def waiting(self) -> bool: ...

    @property
    def first(self) -> tuple[TeamPrecedence, TeamPrecedence]:
        """Sort keys of the first waiting claim, before and after the teams' shares."""

    @property
    def charge(self) -> TeamCharge:
        """What the first waiting claim counts in its team."""

    def any_is_within(self, team: int) -> bool:
        """Whether any waiting claim stays within a team's guarantee: the team has a turn for it.

        Once none does, it stays so until teams come to hold less.
        """


Queue = TypeVar("Queue", bound=TeamQueue)
_Turn: TypeAlias = "tuple[int, TeamPrecedence, float, TeamPrecedence, int, _Branch[Queue]]"
"""Sort key of a branch: covered or not, before the share, the share, after it; its team; itself."""


@dataclass(slots=True, eq=False)
class _Branch(Generic[Queue]):
    """A team with what waits in it and below it, the next first."""

    balance: TeamBalance
    team: int
    parent: "_Branch[Queue] | None" = None
    own: Queue | None = None
    below: "list[_Turn[Queue]]" = field(default_factory=list)
    hopeful: list[Queue] = field(default_factory=list)
    """Queues in it and below it in which something may stay within its guarantee."""
    chosen: Queue | None = None
    """The queue that was first when the turn was read."""
    through: "_Branch[Queue] | None" = None
    """The branch below in which that is; None where it is the team's own."""

    def turn(self) -> "_Turn[Queue] | None":
        """Its sort key as teams are now; None if nothing waits."""
        own, team, covered = self.own, self.team, NONE_COVERED
        if own is not None and not own.waiting:
            own = None
        if self.below and (own is None or self.below[0] < self._own_turn(own)):
            covered, before, _, after, _, self.through = self.below[0]
            queue = self.through.chosen
        else:
            queue, self.through = own, None
            before, after = own.first if own is not None else ((), ())
        self.chosen = queue
        if queue is None:
            return None
        if covered == FIRST_COVERED:
            return covered, before, 0.0, after, team, self
        share = self.balance.share(team)
        if queue.charge.is_within(team):
            covered, share = FIRST_COVERED, 0.0
        elif covered == LATER_COVERED or (self.hopeful and self.any_is_within()):
            covered, share = LATER_COVERED, 0.0
        return covered, before, share, after, team, self

    def _own_turn(self, own: Queue) -> tuple[int, TeamPrecedence, float, TeamPrecedence]:
        before, after = own.first
        return NONE_COVERED, before, self.balance.share(self.team), after

    def any_is_within(self) -> bool:
        """Whether anything that waits in it or below it stays within its guarantee."""
        while self.hopeful and not self.hopeful[-1].any_is_within(self.team):
            self.hopeful.pop()
        return bool(self.hopeful)

    def replace(self, branch: "_Branch[Queue]", turn: "_Turn[Queue] | None") -> None:
        """A branch below it has another turn, or none any more."""
        if self.below[0][-1] is branch and not turn:
            heappop(self.below)
            return
        self.below = [one for one in self.below if one[-1] is not branch]
        self.below += [turn] if turn else []
        heapify(self.below)


class TeamTurns(Generic[Queue]):
    """Queues of teams; one is `first` until something of it is taken."""

    def __init__(self, balance: TeamBalance, queues: Iterable[Queue]) -> None:
        self._balance = balance
        self._queues = [queue for queue in queues if queue.waiting]
        self._branches: dict[int, _Branch[Queue]] = {}
        self._root: _Branch[Queue]
        self.rebuild()

    def rebuild(self) -> None:
        """After teams have come to hold less."""
        root: _Branch[Queue] = _Branch(self._balance, NO_TEAM)
        branches = self._branches = {}
        for queue in self._queues:
            # From the top down, so that each finds the one above it.
            above = root
            for team in reversed(self._balance.paths[queue.team]) if queue.waiting else ():
                if team not in branches:
                    branches[team] = _Branch(self._balance, team, above)
                above = branches[team]
                above.hopeful.append(queue)
            above.own = queue if queue.waiting else None
        # Children have larger numbers than their parents.
        for team in sorted(branches, reverse=True):
            branch = branches[team]
            heapify(branch.below)
            if (turn := branch.turn()) is not None:
                (branch.parent or root).below.append(turn)
        heapify(root.below)
        self._root = _where_teams_part(root)

    @property
    def first(self) -> Queue | None:
        return self._root.below[0][-1].chosen if self._root.below else None

    @property
    def contested(self) -> bool:
        """Whether what waits in other teams than the first's stays within a guarantee, too."""
        branch: _Branch[Queue] | None = self._root.below[0][-1] if self._root.below else None
        while branch and branch.parent:
            # The second of a heap is one of these.
            if any(turn[0] < NONE_COVERED for turn in branch.parent.below[1:3]):
                return True
            branch = branch.through
        return False

    def within(self, team: int) -> list[Queue]:
        """Queues of a team and of those below it with something that stays within its guarantee."""
        branch = self._branches[team]
        if not branch.any_is_within():
            return []
        return [queue for queue in branch.hopeful if queue.any_is_within(team)]

    def renew(self, queue: Queue) -> None:
        """Something of a queue was taken, or its team holds more."""
        branch = self._branches[queue.team]
        while parent := branch.parent:
            turn, below = branch.turn(), parent.below
            if turn and below[0][-1] is branch:
                heapreplace(below, turn)
            else:
                parent.replace(branch, turn)
            branch = parent


def _where_teams_part(root: _Branch[Queue]) -> _Branch[Queue]:
    """The highest branch with several turns to compare; above it, one team is alone."""
    while len(root.below) == 1 and root.below[0][-1].own is None:
        root = root.below[0][-1]
        root.parent = None
    return root
