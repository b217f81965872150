"""Which team comes next, compared at each level of the hierarchy.

Below one team, those teams come first that stay within a guarantee of their own subtree, then
those furthest below their share. What one team gets changes its own path alone: however many teams
there are, the next turn costs as many comparisons as there are levels.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heapreplace
from typing import Final, Protocol, TypeAlias

from edl.planner.teams.team_balance import NO_TEAM, TeamBalance

TeamPrecedence: TypeAlias = tuple[object, ...]
"""All of one kind, so that they compare."""
_Key: TypeAlias = tuple[int, TeamPrecedence, float, TeamPrecedence]

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

    def first_is_within(self, team: int) -> bool:
        """Whether the first that waits stays within a team's guarantee."""

    def any_is_within(self, team: int) -> bool:
        """Whether any that waits does, so that the team has a turn for it.

        Once none does, it stays so until teams come to hold less.
        """


@dataclass(slots=True, eq=False)
class _Branch:
    """A team with what waits in it and below it, the next first."""

    balance: TeamBalance
    team: int
    parent: "_Branch | None" = None
    own: TeamQueue | None = None
    below: list["tuple[_Key, int, _Branch]"] = field(default_factory=list)
    hopeful: list[TeamQueue] = field(default_factory=list)
    """Queues in it and below it in which something may stay within its guarantee."""
    key: _Key = (NONE_COVERED, (), 0.0, ())
    chosen: TeamQueue | None = None
    """The queue that was first when the key was read."""
    through: "_Branch | None" = None
    """The branch below in which that is; None where it is the team's own."""

    def follow(self) -> bool:
        """Read whose turn it is; whether anything waits."""
        own, branch = self.own, self.below[0][2] if self.below else None
        if own is not None and not own.waiting:
            own = None
        if branch and own and not self.below[0][0] < self._own_key(own):
            branch = None
        self.through = branch
        self.chosen = branch.chosen if branch else own
        return self.chosen is not None

    def _own_key(self, own: TeamQueue) -> _Key:
        before, after = own.first
        return NONE_COVERED, before, self.balance.share(self.team), after

    def renew(self) -> bool:
        """Read its key again; whether anything waits."""
        if not self.follow() or self.chosen is None:
            return False
        if branch := self.through:
            if branch.key[0] == FIRST_COVERED:
                self.key = branch.key
                return True
            covered, before, _, after = branch.key
        else:
            covered, (before, after) = NONE_COVERED, self.chosen.first
        if self.balance.owed[self.team] and self.chosen.first_is_within(self.team):
            covered = FIRST_COVERED
        elif covered == NONE_COVERED and self.hopeful and self.any_is_within():
            covered = LATER_COVERED
        share = 0.0 if covered < NONE_COVERED else self.balance.share(self.team)
        self.key = (covered, before, share, after)
        return True

    def any_is_within(self) -> bool:
        """Whether anything that waits in it or below it stays within its guarantee."""
        while self.hopeful and not self.hopeful[-1].any_is_within(self.team):
            self.hopeful.pop()
        return bool(self.hopeful)

    def replace(self, branch: "_Branch", *, waits: bool) -> None:
        """A branch below it has another key, or nothing waits there any more."""
        if self.below[0][2] is branch and not waits:
            heappop(self.below)
            return
        self.below = [one for one in self.below if one[2] is not branch]
        self.below += [(branch.key, branch.team, branch)] if waits else []
        heapify(self.below)


class TeamTurns:
    """Queues of teams; one is `first` until something of it is taken."""

    def __init__(self, balance: TeamBalance, queues: Iterable[TeamQueue]) -> None:
        self._balance = balance
        self._queues = [queue for queue in queues if queue.waiting]
        self._root = _Branch(balance, NO_TEAM)
        self._branches: dict[int, _Branch] = {}
        self.rebuild()

    def rebuild(self) -> None:
        """After teams have come to hold less."""
        root = self._root = _Branch(self._balance, NO_TEAM)
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
            branch.renew()
            (branch.parent or root).below.append((branch.key, team, branch))
        heapify(root.below)

    @property
    def first(self) -> TeamQueue | None:
        return self._root.below[0][2].chosen if self._root.below else None

    @property
    def contested(self) -> bool:
        """Whether what waits in other teams than the first's stays within a guarantee, too."""
        branch: _Branch | None = self._root.below[0][2] if self._root.below else None
        while branch and branch.parent:
            # The second of a heap is one of these.
            if any(key[0] < NONE_COVERED for key, _, _ in branch.parent.below[1:3]):
                return True
            branch = branch.through
        return False

    def within(self, team: int) -> list[TeamQueue]:
        """Queues of a team and of those below it with something that stays within its guarantee."""
        branch = self._branches[team]
        if not branch.any_is_within():
            return []
        return [queue for queue in branch.hopeful if queue.any_is_within(team)]

    def renew(self, queue: TeamQueue) -> None:
        """Something of a queue was taken, or its team holds more."""
        branch = self._branches[queue.team]
        while parent := branch.parent:
            # One that is alone is compared with no other.
            if parent is self._root and len(parent.below) == 1:
                if not branch.follow():
                    parent.below.clear()
                return
            waits = branch.renew()
            if waits and parent.below[0][2] is branch:
                heapreplace(parent.below, (branch.key, branch.team, branch))
            else:
                parent.replace(branch, waits=waits)
            branch = parent
