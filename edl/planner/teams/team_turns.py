"""Which team's turn is next, decided level by level of the team tree.

At each level, the team with the smallest sort key is next. What is served changes only the figures
of the teams on one path, so the cost of a turn depends on the depth of the tree.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from heapq import heappush
from itertools import pairwise
from typing import Generic, TypeAlias, TypeVar

from edl.planner.teams.team_balance import NO_TEAM, Parts, TeamBalance

Own = TypeVar("Own")
"""What waits in one team."""
Turn = TypeVar("Turn", bound=tuple[object, ...])
"""(sort key, …); no other team beside it has an equal key."""
First = TypeVar("First")
Put: TypeAlias = Callable[[list[Turn], Turn], object]
"""`heappush`, or `heapreplace` if the team has an earlier turn in the heap."""
Level: TypeAlias = tuple[int, Own, list[Turn], list[Turn], list[int], Parts]
"""(team, what waits in it, heap of its children's turns, heap with its own turn, usage, parts)"""
Path: TypeAlias = tuple[Level[Own, Turn], ...]
"""A team and the teams above it, the lowest first."""


class TeamTurns(ABC, Generic[Own, Turn, First]):
    """The teams in which, or below which, anything waits."""

    def __init__(self, balance: TeamBalance, waiting: Mapping[int, Own], nothing: Own) -> None:
        """`waiting`: by team, what waits in it; `nothing`: for all other teams."""
        self.balance = balance
        above: dict[int, int] = {}
        for own in waiting:
            above.update(pairwise((*balance.paths[own], NO_TEAM)))
        teams, children, top = sorted(above), Counter(above.values()), NO_TEAM
        # Above the lowest team that all of them belong to, there is nothing to compare.
        while children[top] == 1 and teams[0] not in waiting:
            top = teams.pop(0)
        self.below: dict[int, list[Turn]] = {team: [] for team in (top, *teams)}
        """By team, the turns of its children: a heap."""
        self.first = self.below[top]
        self.paths: dict[int, Path[Own, Turn]] = {top: ()}
        """By team, parents before their children."""
        for team in teams:
            heaps = self.below[team], self.below[above[team]]
            figures = balance.used[team], balance.parts[team]
            level = (team, waiting.get(team, nothing), *heaps, *figures)
            self.paths[team] = level, *self.paths[above[team]]

    @abstractmethod
    def serve(self, changes: int) -> Iterator[First]:
        """Yields what is next, as long as `TeamBalance.changes` stays the same."""

    @abstractmethod
    def renew(self, path: Path[Own, Turn], put: Put[Turn]) -> None:
        """Put the next turn of each of these teams, by the current usage, into its heap."""

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
            for heap in self.below.values():
                heap.clear()
            for path in reversed(self.paths.values()):
                self.renew(path[:1], heappush)
            yield from self.serve(changes)
