"""Which team's turn is next, decided level by level of the team tree.

At each level, the team with the smallest sort key is next. What is served changes only the figures
of the teams on one path, so the cost of a turn depends on the depth of the tree.
"""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from heapq import heapify, heappop, heapreplace
from itertools import pairwise
from typing import Generic, TypeAlias, TypeVar

from edl.planner.teams.team_balance import NO_TEAM, TeamBalance

Key = TypeVar("Key")
First = TypeVar("First")
Turn: TypeAlias = tuple[Key, int, First]
"""(sort key, team, what is first in the team and below it)"""
Heap: TypeAlias = list[Turn[Key, First]]
"""The turns of several teams, the next one first."""
LaterTurns: TypeAlias = Mapping[int, Iterator[Turn[Key, First]]]
"""By team, its turns after the one in the heap."""


class TeamTurns(ABC, Generic[Key, First]):
    """The teams in which, or below which, anything waits."""

    def __init__(self, balance: TeamBalance, waiting: Collection[int]) -> None:
        """`waiting`: the teams that roles or claims belong to."""
        self.balance = balance
        self._children: defaultdict[int, dict[int, None]] = defaultdict(dict)
        for own in waiting:
            for team, above in pairwise((*balance.paths[own], NO_TEAM)):
                if team in self._children[above]:
                    break
                self._children[above][team] = None
        self._top = NO_TEAM
        """The lowest team that all of them belong to: above it there is nothing to compare."""
        while len(only := [*self._children[self._top]]) == 1 and only[0] not in waiting:
            self._top = only[0]
        self.first: Heap[Key, First] = []
        """The turns of the teams just below that one."""

    @abstractmethod
    def turns(self, team: int) -> Iterator[Turn[Key, First]]:
        """Yields a team's next turn by the current usage, as long as anything waits.

        It is continued once the turn was served. Iterators nest as deep as teams do, at most 32
        levels (`edl.parsing.team_document`).
        """

    def forget(self) -> None:
        """Drop cached figures, as the usage of a team has fallen."""

    def in_order(self) -> Iterator[First]:
        """Yields what is next, by the usage of teams after the last one was served.

        All turns are computed anew if `TeamBalance.changes` tells that usage fell.
        """
        changes = -1
        while self.first or changes < 0:
            changes = self.balance.changes
            self.forget()
            first, later = self.below(self._top)
            self.first = first
            while first and changes == self.balance.changes:
                yield first[0][2]
                self.renew(first, later)

    def below(self, team: int) -> tuple[Heap[Key, First], LaterTurns[Key, First]]:
        """The turns of a team's children."""
        if team not in self._children:
            return [], {}
        later = {child: self.turns(child) for child in self._children[team]}
        heap = [turn for child in later.values() if (turn := next(child, None))]
        heapify(heap)
        return heap, later

    def renew(self, heap: Heap[Key, First], later: LaterTurns[Key, First]) -> None:
        """Replace the first turn by the next one of its team."""
        if turn := next(later[heap[0][1]], None):
            heapreplace(heap, turn)
        else:
            heappop(heap)
