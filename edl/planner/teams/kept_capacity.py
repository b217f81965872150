"""Unused guaranteed capacity that teams do not lend (`lend: false`).

A team keeps the unused part of its guarantee, or the sum that the teams below it keep, if that is
more. A pod changes only the figures of its team and of the teams above, so only they are updated.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import msgspec

Amounts: TypeAlias = tuple[tuple[int, int], ...]
"""(index of the resource in the balance, amount)"""


class KeptCapacity:
    """Kept amounts by team number and resource index; parents have smaller numbers."""

    def __init__(
        self,
        paths: Sequence[Sequence[int]],
        keepers: Sequence[int],
        guaranteed: Sequence[Mapping[int, int]],
        used: Sequence[Sequence[int]],
        totals: Sequence[int],
    ) -> None:
        """`used` is read by reference, and must be all zeros now; `totals`: sums of the nodes."""
        self._totals = totals
        self._paths, self._keepers = paths, set(keepers)
        self._guaranteed, self._used = guaranteed, used
        places = range(len(used[0]) if used else 0)
        self._kept = [[0 for _ in places] for _ in paths]
        self._below = [[0 for _ in places] for _ in paths]
        """By team, the sum that its child teams keep."""
        self.taken = [0 for _ in places]
        """By resource, the amount that all teams together use or keep."""
        self.total = [0 for _ in places]
        """By resource, the amount that all teams together keep."""
        for team in reversed(range(len(paths) if keepers else 0)):
            for index in places:
                self._follow(team, index, 0)

    def of(self, team: int, index: int) -> int:
        """What a team keeps of a resource, with the teams below it."""
        return self._kept[team][index]

    def left(self, index: int) -> int:
        """The amount of a resource that is neither used nor kept."""
        return self._totals[index] - self.taken[index]

    def bound(self, amounts: Amounts, is_covered: Callable[[], bool]) -> "LendingBound":
        """The bound of a claim that begins now."""
        most = tuple((index, self.most(index)) for index, _ in amounts)
        return LendingBound(self, most, is_covered)

    def count(self, team: int, amounts: Sequence[tuple[int, int]], pods: int) -> None:
        """Update the figures after `pods` more were counted in `used` of a team's path."""
        for index, amount in amounts:
            self._follow(team, index, amount * pods)

    def most(self, index: int) -> int:
        """The most that may be taken of a resource: see `LendingBound`."""
        return max(self._totals[index], self.taken[index])

    def taken_with(self, team: int, index: int, amount: int) -> int:
        """What all teams together would use or keep of a resource if a team used more."""
        more = 0
        for ancestor in self._paths[team]:
            below, used = self._below[ancestor][index] + more, self._used[ancestor][index] + amount
            more = self._kept_of(ancestor, index, below, used) - self._kept[ancestor][index]
        return self.taken[index] + more + amount

    def _follow(self, team: int, index: int, used: int) -> None:
        more = 0
        for ancestor in self._paths[team]:
            below = self._below[ancestor][index] = self._below[ancestor][index] + more
            amount = self._kept_of(ancestor, index, below, self._used[ancestor][index])
            more, self._kept[ancestor][index] = amount - self._kept[ancestor][index], amount
        self.total[index] += more
        self.taken[index] += more + used

    def _kept_of(self, team: int, index: int, below: int, used: int) -> int:
        """What a team keeps, if the teams below it keep `below`."""
        if team not in self._keepers or index not in self._guaranteed[team]:
            return below
        return max(below, self._guaranteed[team][index] - used)


class LendingBound(msgspec.Struct, frozen=True, eq=False):
    """The most that may be used, or kept by teams with `lend: false`, by resource index.

    That is the sum of the nodes, or what is used and kept already if that is more. It binds no
    claim that a guarantee covers, which may be so only after replicas were evicted. A team that
    keeps nothing may soon need its guarantee elsewhere: `used` has its pods on nodes that drain.
    """

    kept: KeptCapacity
    most: Amounts
    is_covered: Callable[[], bool]
    """Whether a guarantee covers the claim, which is counted in `used`."""

    def holds(self) -> bool:
        taken = self.kept.taken
        within = all(taken[index] <= most for index, most in self.most)
        return within or self.is_covered()

    def exceeded(self) -> tuple[int, ...]:
        """The resources, by index, for which it does not hold."""
        if self.holds():
            return ()
        return tuple(index for index, most in self.most if self.kept.taken[index] > most)

    def holds_with(self, team: int, amounts: Amounts, pods: int) -> bool:
        """Whether it would hold with `pods` more of the claim, which no guarantee covers."""
        limits = dict(self.most)
        return all(
            self.kept.taken_with(team, index, amount * pods) <= limits[index]
            for index, amount in amounts
        )
