"""Which team's claim comes next, decided level by level of the team tree.

Among the children of one team, those whose next claim a guarantee of their own subtree covers come
first, then those with the smallest share of borrowed capacity. A served claim changes only the
figures of its own path, so the cost of the next turn depends on the depth of the tree.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heapreplace
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

from edl.planner.teams.team_balance import NO_TEAM, TeamBalance, TeamCharge

TeamPrecedence: TypeAlias = tuple[object, ...]
"""A sort key; all keys of one run have the same element types."""

FIRST_COVERED: Final = 0
"""A guarantee covers the first waiting claim."""
LATER_COVERED: Final = 1
"""A guarantee covers some later claim."""
NONE_COVERED: Final = 2


class TeamQueue(Protocol):
    """Waiting claims of one team, in the team's own order."""

    @property
    def team(self) -> int: ...

    @property
    def waiting(self) -> bool: ...

    @property
    def first(self) -> tuple[TeamPrecedence, TeamPrecedence]:
        """Two sort keys of the first waiting claim: the teams' shares are compared in between."""

    @property
    def charge(self) -> TeamCharge:
        """The first waiting claim's charge to its team."""

    def any_is_within(self, team: int) -> bool:
        """Whether a team's guarantee covers any waiting claim, which gives the team precedence.

        Once False, it stays False until a team's usage falls.
        """


Queue = TypeVar("Queue", bound=TeamQueue)
_Turn: TypeAlias = "tuple[int, TeamPrecedence, float, TeamPrecedence, int, _Branch[Queue]]"
"""Sort key of a branch: coverage, key before the share, share, key after it, team; the branch."""


@dataclass(slots=True, eq=False)
class _Branch(Generic[Queue]):
    """A team with the queues in it and below it; `below` is a heap of its children's turns."""

    balance: TeamBalance
    team: int
    parent: "_Branch[Queue] | None" = None
    own: Queue | None = None
    below: "list[_Turn[Queue]]" = field(default_factory=list)
    hopeful: list[Queue] = field(default_factory=list)
    """Queues in it and below it with a claim that its guarantee may cover."""
    chosen: Queue | None = None
    """The queue that was first when the turn was last computed."""
    through: "_Branch[Queue] | None" = None
    """The child branch that contains `chosen`; None if it is the team's own queue."""

    def turn(self) -> "_Turn[Queue] | None":
        """Its sort key by the current usage of teams; None if no claim waits."""
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
        """Whether its guarantee covers any claim that waits in it or below it."""
        while self.hopeful and not self.hopeful[-1].any_is_within(self.team):
            self.hopeful.pop()
        return bool(self.hopeful)

    def replace(self, branch: "_Branch[Queue]", turn: "_Turn[Queue] | None") -> None:
        """Replace the turn of a child branch; None removes it."""
        if self.below[0][-1] is branch and not turn:
            heappop(self.below)
            return
        self.below = [one for one in self.below if one[-1] is not branch]
        self.below += [turn] if turn else []
        heapify(self.below)


class TeamTurns(Generic[Queue]):
    """The queues of all teams, of which `first` is served next; call `renew` after each change."""

    def __init__(self, balance: TeamBalance, queues: Iterable[Queue]) -> None:
        self._balance = balance
        self._queues = [queue for queue in queues if queue.waiting]
        self._branches: dict[int, _Branch[Queue]] = {}
        self._root: _Branch[Queue]
        self.rebuild()

    def rebuild(self) -> None:
        """Compute all turns anew: required after the usage of a team has fallen."""
        root: _Branch[Queue] = _Branch(self._balance, NO_TEAM)
        branches = self._branches = {}
        for queue in self._queues:
            # From the top down, so that each branch finds its parent.
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
        """Whether a guarantee covers a claim of another branch than the first one's, too."""
        branch: _Branch[Queue] | None = self._root.below[0][-1] if self._root.below else None
        while branch and branch.parent:
            # The second smallest element of a heap is at index 1 or 2.
            if any(turn[0] < NONE_COVERED for turn in branch.parent.below[1:3]):
                return True
            branch = branch.through
        return False

    def within(self, team: int) -> list[Queue]:
        """Queues in a team and below it with a waiting claim that the team's guarantee covers."""
        branch = self._branches[team]
        if not branch.any_is_within():
            return []
        return [queue for queue in branch.hopeful if queue.any_is_within(team)]

    def renew(self, queue: Queue) -> None:
        """Update the turns above a queue after it was served or its team's usage has grown."""
        branch = self._branches[queue.team]
        while parent := branch.parent:
            turn, below = branch.turn(), parent.below
            if turn and below[0][-1] is branch:
                heapreplace(below, turn)
            else:
                parent.replace(branch, turn)
            branch = parent


def _where_teams_part(root: _Branch[Queue]) -> _Branch[Queue]:
    """The highest branch with several turns to compare: above it there is nothing to decide."""
    while len(root.below) == 1 and root.below[0][-1].own is None:
        root = root.below[0][-1]
        root.parent = None
    return root
