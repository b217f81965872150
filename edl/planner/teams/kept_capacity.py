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
        owed: Sequence[Mapping[int, int]],
        used: Sequence[Sequence[int]],
        totals: Sequence[int],
    ) -> None:
        """`used` is read by reference, and must be all zeros now; `totals`: sums of the nodes."""
        self._totals = totals
        self._paths, self._keepers, self._owed, self._used = paths, set(keepers), owed, used
        places = range(len(used[0]) if used else 0)
        self._kept = [[0 for _ in places] for _ in paths]
        self._below = [[0 for _ in places] for _ in paths]
        """By team, the sum that its child teams keep."""
        self.taken = [0 for _ in places]
        """By resource, the amount that all teams together use or keep."""
        for team in reversed(range(len(paths) if keepers else 0)):
            for at in places:
                self._follow(team, at, 0)

    def left(self, at: int) -> int:
        """The amount of a resource that is neither used nor kept."""
        return self._totals[at] - self.taken[at]

    def bound(self, amounts: Amounts, is_covered: Callable[[], bool]) -> "LendingBound":
        """The bound of a claim that begins now."""
        taken, totals = self.taken, self._totals
        most = tuple((at, max(totals[at], taken[at])) for at, _ in amounts)
        return LendingBound(self, most, is_covered)

    def count(self, team: int, amounts: Sequence[tuple[int, int]], pods: int) -> None:
        """Update the figures after `pods` more were counted in `used` of a team's path."""
        for at, amount in amounts:
            self._follow(team, at, amount * pods)

    def _follow(self, team: int, at: int, used: int) -> None:
        more = 0
        for one in self._paths[team]:
            self._below[one][at] += more
            kept = self._kept_of(one, at)
            more, self._kept[one][at] = kept - self._kept[one][at], kept
        self.taken[at] += more + used

    def _kept_of(self, team: int, at: int) -> int:
        below = self._below[team][at]
        if team not in self._keepers or at not in self._owed[team]:
            return below
        return max(below, self._owed[team][at] - self._used[team][at])


class LendingBound(msgspec.Struct, frozen=True, eq=False):
    """The most that may be used, or kept by teams with `lend: false`, by resource index.

    That is the sum of the nodes, or what is used and kept already if that is more. It binds no
    claim that a guarantee covers, which may be so only after replicas were evicted.
    """

    kept: KeptCapacity
    most: Amounts
    is_covered: Callable[[], bool]
    """Whether a guarantee covers the claim, which is counted in `used`."""

    def holds(self) -> bool:
        taken = self.kept.taken
        return all(taken[at] <= most for at, most in self.most) or self.is_covered()
