"""Where pods of one shape fit: worked out once a shape, then followed pod by pod."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from edl.model import Shape
from edl.planner.eligibility import Mask
from edl.planner.grid import Grid, Ints, Need


class Cursor:
    """The nodes where one more pod fits, fullest first (best fit).

    Room only shrinks while pods are placed, so a node that was full is never looked at again,
    unless room came back to it (`Grid.freed`).
    """

    __slots__ = ("_at", "_cells", "_eligible", "_freed", "_order", "_seen")

    def __init__(self, grid: Grid, need: Need, eligible: Mask, *, now: bool) -> None:
        self._cells = grid.cells(need, now=now)
        self._eligible = eligible.tolist()
        self._freed = grid.freed
        self._order = _fullest_first(grid, need, eligible, now=now)
        self._at = 0
        self._seen = len(grid.freed)

    def find(self) -> int:
        """The next node that takes one more pod; -1 if there is none."""
        while self._seen < len(self._freed):
            row = self._freed[self._seen]
            if self._eligible[row] and self._fits(row):
                return row
            self._seen += 1
        while self._at < len(self._order):
            row = self._order[self._at]
            if self._fits(row):
                return row
            self._at += 1
        return -1

    def mark(self) -> tuple[int, int]:
        """Where it stands, to come `back_to` when placements are undone."""
        return self._at, self._seen

    def back_to(self, mark: tuple[int, int]) -> None:
        self._at, self._seen = mark

    def _fits(self, row: int) -> bool:
        for cells, amount in self._cells:  # noqa: SIM110 (the innermost loop: all() costs three times as much)
            if cells[row] < amount:
                return False
        return True


def _fullest_first(grid: Grid, need: Need, eligible: Mask, *, now: bool) -> list[int]:
    fitting = eligible.copy()
    for line, amount in need:
        fitting &= grid.soon[line] >= amount
        if now:
            fitting &= grid.now[line] >= amount
    rows = np.flatnonzero(fitting)
    if not need or not rows.size:
        return [int(row) for row in rows]
    left = np.min([grid.soon[line, rows] // amount for line, amount in need], axis=0)
    order: list[int] = rows[np.argsort(left, kind="stable")].tolist()
    return order


class Fit:
    """One shape on the grid: its need, the nodes it may use, and its cursors."""

    __slots__ = ("_both", "_grid", "_soon", "eligible", "need", "shape")

    def __init__(self, grid: Grid, shape: Shape, eligible: Mask) -> None:
        self.shape = shape
        self.need = grid.need(shape.requests)
        self.eligible = eligible
        self._grid = grid
        self._both: Cursor | None = None
        self._soon: Cursor | None = None

    @property
    def both(self) -> Cursor:
        """Nodes that have the room now, and not promised to anybody."""
        if self._both is None:
            self._both = Cursor(self._grid, self.need, self.eligible, now=True)
        return self._both

    @property
    def soon(self) -> Cursor:
        """Nodes that will have the room, and not promised to anybody."""
        if self._soon is None:
            self._soon = Cursor(self._grid, self.need, self.eligible, now=False)
        return self._soon

    def capacity(self, room: Ints) -> Ints:
        """How many pods of this shape each node takes; int64[nodes] for int64[resources, nodes]."""
        if not self.need:
            return np.where(self.eligible, _UNBOUNDED, 0)
        most = np.min([room[line] // amount for line, amount in self.need], axis=0)
        return np.where(self.eligible, np.maximum(most, 0), 0)


_UNBOUNDED = 2**31


class Want(NamedTuple):
    """Pods of one shape that ask for room together."""

    fit: Fit
    pods: int


def pack(room: Ints, wants: Sequence[Want]) -> list[int]:
    """How many pods of each want fit into `room` (left as it was), the first want first.

    Exact for one want. For several: tightest node first, which may miss a packing that exists.
    """
    left = room.copy() if len(wants) > 1 else room
    placed = []
    for fit, count in wants:
        if not count:
            placed.append(0)
            continue
        capacity = fit.capacity(left)
        placed.append(min(count, int(capacity.sum())))
        if len(wants) > 1:
            _fill(left, fit, capacity, count)
    return placed


def _fill(room: Ints, fit: Fit, capacity: Ints, count: int) -> None:
    order = np.argsort(capacity, kind="stable")
    sorted_capacity = capacity[order]
    before = np.cumsum(sorted_capacity) - sorted_capacity
    filled = np.clip(count - before, 0, sorted_capacity)
    for line, amount in fit.need:
        room[line, order] -= filled * amount


def place(grid: Grid, want: Want, *, now: bool) -> list[int]:
    """Take room for as many pods as fit, at most what is wanted; the node of each."""
    rows: list[int] = []
    cursor = want.fit.both if now else want.fit.soon
    while len(rows) < want.pods and (row := cursor.find()) >= 0:
        grid.take(row, want.fit.need, now=now)
        rows.append(row)
    return rows


def unplace(grid: Grid, fit: Fit, rows: Sequence[int], *, now: bool) -> None:
    """Undo `place`; its cursor must be brought back to where it stood."""
    for row in rows:
        grid.untake(row, fit.need, now=now)
