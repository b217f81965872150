"""Whose turn it is next, decided level by level of the team tree.

At each level, the team with the smallest sort key is next. What is served changes only the figures
of the teams on one path, so the cost of a turn depends on the depth of the tree.
"""

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import Generic, TypeAlias, TypeVar

from edl.planner.teams.team_balance import Parts, TeamBalance
from edl.planner.teams.team_guarantees import NO_TEAM

Own = TypeVar("Own")
"""What waits in one team."""
Turn = TypeVar("Turn")
"""(sort key, …); no other team beside it has an equal key."""
Level: TypeAlias = tuple[int, Own, list[Turn], list[Turn], list[int], tuple[int, int, float], Parts]
"""(team, what waits in it, heap of its children's turns, heap with its own turn, usage,
part of its first resource, parts of all resources if there are others)

A plain tuple: with a NamedTuple, a decision with teams takes 4 % more time.
"""
Levels: TypeAlias = tuple[Level[Own, Turn], ...]


class TeamTurns(Generic[Own, Turn]):
    """The turns of all teams in which, or below which, anything waits."""

    def __init__(self, balance: TeamBalance, waiting: Mapping[int, Own], nothing: Own) -> None:
        """`waiting`: by team, what waits in it; `nothing`: for all other teams."""
        self.balance = balance
        above: dict[int, int] = {}
        for team in waiting:
            above.update(pairwise((*balance.paths[team], NO_TEAM)))
        teams, children, top = sorted(above), Counter(above.values()), NO_TEAM
        # Above the lowest team that all of them belong to, there is nothing to compare.
        while children[top] == 1 and teams[0] not in waiting:
            top = teams.pop(0)
        self._below: dict[int, list[Turn]] = {team: [] for team in (top, *teams)}
        """By team, the turns of its children: a heap."""
        self.first = self._below[top]
        self.paths: dict[int, Levels[Own, Turn]] = {top: ()}
        """By team, itself and the teams above it, the lowest first; parents before children."""
        for team in teams:
            heaps = self._below[team], self._below[above[team]]
            parts = balance.parts[team]
            figures = balance.used[team], parts[0], parts if len(parts) > 1 else ()
            level = (team, waiting.get(team, nothing), *heaps, *figures)
            self.paths[team] = level, *self.paths[above[team]]

    def start(self) -> Levels[Own, Turn]:
        """All teams, children before their parents, after all of their turns were dropped."""
        for heap in self._below.values():
            heap.clear()
        return tuple(path[0] for path in reversed(self.paths.values()) if path)
