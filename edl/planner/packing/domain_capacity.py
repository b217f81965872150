"""Domains of nodes by a label, and which of them have room for pods that stay together."""

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from edl.feasibility.eligibility import Mask
from edl.feasibility.gpu_shares import Horizon
from edl.planner.packing.node_capacity import Ints
from edl.planner.packing.pod_class import Fit, Want

Parts: TypeAlias = NDArray[np.float64]
_TIGHTEST: Final = 12
_ROOMIEST: Final = 4
"""That many domains are tried from each end of those whose sums have room."""


class Domains(NamedTuple):
    """Nodes by the value of one label."""

    label: str
    values: tuple[str, ...]
    rows: Ints
    """Of each node the place of its own in `values`, -1 without the label; int64[nodes]."""

    def mask(self, number: int) -> Mask:
        """Its nodes; bool[nodes]."""
        found: Mask = self.rows == number
        return found

    def tightest(self, wants: Sequence[Want], room: Ints, horizon: Horizon) -> list[int]:
        """Domains that seem to have room for all, the one with the least room to spare first.

        Of equal ones, the one whose room is on fewer nodes. Shapes together may find less room than
        their sums say: placing them shows it. Of many domains those in the middle are left out.
        """
        rows = self._asked(wants)
        spare, close = self._spare(wants, rows, room, horizon)
        enough = np.flatnonzero(self._has_sums(wants, rows, room) & (spare >= 1))
        order = np.lexsort((-close[enough], spare[enough]))
        found: list[int] = enough[order].tolist()
        many = len(found) > _TIGHTEST + _ROOMIEST
        return [*found[:_TIGHTEST], *found[-_ROOMIEST:]] if many else found

    def roomiest(self, wants: Sequence[Want], room: Ints, horizon: Horizon) -> list[int]:
        """Domains with room for any of these pods, the one with room for most of them first."""
        rows = self._asked(wants)
        fitting = np.zeros(len(self.values), dtype=np.int64)
        spare = np.zeros(len(self.values), dtype=np.int64)
        for fit, pods in wants:
            total = self._total(rows, _capacity(fit, rows, room, horizon))
            fitting += np.minimum(total, pods)
            spare += total
        order = np.lexsort((-spare, -fitting))
        found: list[int] = order[fitting[order] > 0].tolist()
        return found

    def _spare(
        self, wants: Sequence[Want], rows: Ints, room: Ints, horizon: Horizon
    ) -> tuple[Parts, Ints]:
        """How often the pods find room, by the shape that does least often, and how close.

        float64[domains], and int64[domains]: the sums of the squares of what nodes hold.
        """
        found = np.full(len(self.values), np.inf)
        close = np.zeros(len(self.values), dtype=np.int64)
        for fit, pods in wants:
            if pods:
                capacity = _capacity(fit, rows, room, horizon)
                np.minimum(found, self._total(rows, capacity) / pods, out=found)
                close += self._total(rows, capacity**2)
        return found, close

    def _has_sums(self, wants: Sequence[Want], rows: Ints, room: Ints) -> Mask:
        """Whether of each resource there is enough for all pods; bool[domains]."""
        asked: dict[int, int] = {}
        for fit, pods in wants:
            for line, amount in fit.need:
                asked[line] = asked.get(line, 0) + amount * pods
        found: Mask = np.ones(len(self.values), dtype=np.bool_)
        for line, amount in asked.items():
            found &= self._total(rows, np.maximum(room[line, rows], 0)) >= amount
        return found

    def _asked(self, wants: Sequence[Want]) -> Ints:
        """Nodes with the label that any of the pods may use, by their rows."""
        usable = np.any([want.fit.eligible for want in wants], axis=0)
        found: Ints = np.flatnonzero(usable & (self.rows >= 0))
        return found

    def _total(self, rows: Ints, amounts: Ints) -> Ints:
        """The sums over each domain's nodes; int64[domains] for int64[rows]."""
        found: Ints = np.zeros(len(self.values), dtype=np.int64)
        np.add.at(found, self.rows[rows], amounts)
        return found


def _capacity(fit: Fit, rows: Ints, room: Ints, horizon: Horizon) -> Ints:
    """How many pods each of these nodes takes; int64[rows]."""
    return fit.by_sums(room[:, rows], rows) if fit.is_plain else fit.capacity(room, horizon)[rows]


def domains(label: str, values: Sequence[str | None]) -> Domains:
    """values: of each node, None without the label."""
    names = sorted({value for value in values if value is not None})
    numbers: dict[str | None, int] = {name: number for number, name in enumerate(names)}
    rows = np.array([numbers.get(value, -1) for value in values], dtype=np.int64)
    return Domains(label, tuple(names), rows)
