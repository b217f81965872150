"""A cluster as kube-scheduler might fill it: pod after pod, by one preference among nodes."""

from collections.abc import Sequence
from itertools import permutations
from typing import Final, NamedTuple

import numpy as np

from edl.feasibility.eligibility import Mask
from edl.planner.fit import Fit
from edl.planner.grid import Ints
from edl.planner.standing import NOWHERE

TASTES: Final = ((1, False), (-1, False), (1, True), (-1, True))
"""Preferences of a scheduler: emptiest or fullest nodes, and whether near others of the gang."""
_NEARER: Final = 10.0


class Party(NamedTuple):
    """Pods of one shape that come together, on these nodes only if any are said; bool[nodes]."""

    fit: Fit
    pods: int
    nodes: Mask | None = None


class Stage:
    """The room as it is, for one preference of a scheduler: +1 emptiest nodes, -1 fullest.

    `near`: first of all where others of the same gang are (the webhook asks for that).
    """

    def __init__(self, room: Ints, total: Ints, taste: int, *, near: bool) -> None:
        self._room = room.copy()
        self._total = np.maximum(total, 1)
        self._taste, self._near = taste, near
        self._own = np.zeros(room.shape[1])

    def copy(self) -> "Stage":
        """With the same pods on it, none of which belong to the gang that comes next."""
        return Stage(self._room, self._total, self._taste, near=self._near)

    def takes(self, party: Party) -> bool:
        """Place one pod after another; whether all found a node."""
        return len(self.rows(party)) == party.pods

    def rows(self, party: Party) -> list[int]:
        """Place one pod after another; the node of each, as far as they find one."""
        fit, pods, nodes = party
        may = fit.eligible if nodes is None else fit.eligible & nodes
        found: list[int] = []
        while len(found) < pods and (row := self._choose(fit, may)) != NOWHERE:
            for line, amount in fit.need:
                self._room[line, row] -= amount
            self._own[row] += self._near
            found.append(row)
        return found

    def _choose(self, fit: Fit, may: Mask) -> int:
        fits = may.copy()
        for line, amount in fit.need:
            fits &= self._room[line] >= amount
        rows = np.flatnonzero(fits)
        if not rows.size:
            return NOWHERE
        shares = [
            (self._room[line, rows] - amount) / self._total[line, rows] for line, amount in fit.need
        ]
        free = np.mean(shares, axis=0) if shares else np.zeros(len(rows))
        return int(rows[np.argmax(self._own[rows] * _NEARER + free * self._taste)])


def avoid_each_other(fits: Sequence[Fit]) -> bool:
    """Whether pods of one shape may be in the way of another's by rules: a stage knows sums."""
    return any(
        not one.binding.counts.isdisjoint(other.binding.carried)
        for one, other in permutations(fits, 2)
        if one is not other and one.binding and other.binding and not one.follows
    )


def most_kept_off(fit: Fit, other: Fit) -> int:
    """How many pods of a shape one pod of another keeps from a node at most, by their sums."""
    if fit is other:
        return 1
    need = dict(fit.need)
    return max((-(-amount // need[line]) for line, amount in other.need if line in need), default=0)
