"""The cluster's room as two arrays, resources x nodes: what is free now, and what soon will be.

Who gets what is decided on `soon`; what also fits on `now` is done in this plan.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from edl.model import Node
from edl.quantities import CPU, MEMORY, Resources

if TYPE_CHECKING:
    from edl.feasibility.eligibility import Mask
    from edl.feasibility.gpu_shares import GpuShares
    from edl.feasibility.topology_state import TopologyState
    from edl.planner.packing.pod_class import Fit


Ints = NDArray[np.int64]
Need = tuple[tuple[int, int], ...]
"""(row of the grid, amount) of each resource that a pod asks for; never an amount of 0."""

Line = tuple["memoryview[int]", "memoryview[int]", int, int]
"""What is free of one resource soon and now, by node; its row of the grid, and an amount of it."""

EVERY: Final = slice(None)
"""All nodes."""

_MOST: Final = 2**48
"""Cells stay below 2^48 (256 TiB of memory a node), so that sums over nodes stay in int64."""


class Grid:
    """Free room. `now` and `soon` are int64[resources, nodes]; nodes are sorted by name.

    Changing one value of an array through a memoryview costs a tenth of doing it through numpy,
    and growth changes a hundred thousand of them; both see the same memory.
    """

    def __init__(
        self, nodes: Sequence[Node], names: Iterable[str], crowd: "TopologyState | None" = None
    ) -> None:
        self.names = lines(names)
        self.nodes = [node.name for node in nodes]
        self.rows = {name: row for row, name in enumerate(self.nodes)}
        self.open: Mask = np.array([node.schedulable for node in nodes], dtype=np.bool_)
        self._open = self.open.tolist()
        self.allocatable = self._columns([node.allocatable for node in nodes])
        self.before = self.allocatable - self._columns([node.used for node in nodes])
        """`now` before this plan took anything."""
        self.now = self.before.copy()
        self.soon = self.before + self._columns([node.leaving for node in nodes])
        self._now = [memoryview(line) for line in self.now]
        self._soon = [memoryview(line) for line in self.soon]
        self.crowd = crowd
        """Who is beside whom, where rules ask."""
        self.devices: GpuShares | None = None
        """GPUs one by one, where pods share them."""
        self.touched: list[int] = []
        """Nodes whose room changed, one after another."""
        self.freed: list[int] = []
        """Nodes to which room came back, in order: cursors look at them again."""
        self.idle_now: list[int] = []
        self.idle_soon: list[int] = []
        self.count_idle()

    def _columns(self, amounts: Sequence[Resources]) -> Ints:
        lines = [dict(found.items) for found in amounts]
        table = [[line.get(name, 0) for line in lines] for name in self.names]
        return _within(table).reshape(len(self.names), len(lines))

    def count_idle(self) -> None:
        """Sum what is idle on schedulable nodes, after changing the arrays as a whole."""
        self.idle_now = self.now[:, self.open].sum(axis=1).tolist()
        self.idle_soon = self.soon[:, self.open].sum(axis=1).tolist()

    def idle(self, rows: Ints | slice = EVERY) -> Ints:
        """The room that is free now and promised to no pod; int64[resources, rows]."""
        found: Ints = np.minimum(self.now[:, rows], self.soon[:, rows])
        return found

    def free_soon(self, rows: Ints | slice = EVERY) -> Ints:
        """The room that will be free, promised to no pod; int64[resources, rows]."""
        found: Ints = self.soon[:, rows]
        return found

    def need(self, requests: Resources) -> Need:
        found = dict(requests.items)
        return tuple(
            (line, min(found[name], 2 * _MOST))
            for line, name in enumerate(self.names)
            if found.get(name, 0) > 0
        )

    def lines(self, need: Need) -> list[Line]:
        """What a pod takes of each resource, with the lines that it takes it from."""
        return [(self._soon[line], self._now[line], line, amount) for line, amount in need]

    def cells(self, need: Need, *, now: bool) -> list[tuple["memoryview[int]", int]]:
        """The lines that a pod's need is compared with, each with its amount."""
        soon = [(self._soon[line], amount) for line, amount in need]
        return [(self._now[line], amount) for line, amount in need] + soon if now else soon

    def fits(self, row: int, need: Need, *, now: bool) -> bool:
        return all(cells[row] >= amount for cells, amount in self.cells(need, now=now))

    def take(self, row: int, fit: "Fit", pods: int = 1, *, now: bool) -> None:
        """Reserve room for pods of this shape, or free it (a negative number of pods).

        `now`: at present as well as after the pods that leave are gone; else only after that.
        """
        counts, idle_soon, idle_now = self._open[row], self.idle_soon, self.idle_now
        self.touched.append(row)
        for soon, at_once, line, amount in fit.lines:
            less = amount * pods
            soon[row] -= less
            if counts:
                idle_soon[line] -= less
            if now:
                at_once[row] -= less
                if counts:
                    idle_now[line] -= less
        if fit.binding is not None:
            fit.binding.change(row, pods, now=now)
        if fit.packing is not None:
            fit.packing.change(row, pods, now=now)

    def untake(self, row: int, fit: "Fit", *, now: bool) -> None:
        """Undo a `take` that no cursor has seen since."""
        self.take(row, fit, -1, now=now)

    def give(self, row: int, fit: "Fit", *, now: bool) -> None:
        """The opposite of `take`; a bound pod gives its room back soon, not now."""
        self.untake(row, fit, now=now)
        self.freed.append(row)

    def add(self, row: int, need: Need, sign: int) -> None:
        """Room that others' pods hold comes, or goes again (-1): in `before` as well."""
        counted = self._open[row]
        for line, amount in need:
            more = sign * amount
            self.before[line, row] += more
            self._soon[line][row] += more
            self._now[line][row] += more
            if counted:
                self.idle_soon[line] += more
                self.idle_now[line] += more
        self.touched.append(row)
        if sign > 0:
            self.freed.append(row)

    def postpone(self, rows: Sequence[int], fit: "Fit") -> None:
        """Give back at once what pods took `now` as well as soon; it stays taken soon."""
        self.freed += rows
        self.touched += rows
        if not fit.is_plain:  # shapes that count pods count them again
            for row in rows:
                self.untake(row, fit, now=True)
                self.take(row, fit, now=False)
            return
        counted = sum(map(self._open.__getitem__, rows))
        for line, amount in fit.need:
            cells = self._now[line]
            for row in rows:
                cells[row] += amount
            self.idle_now[line] += amount * counted

    def kept_idle(self, ceiling: float) -> dict[int, int]:
        """By line: how much of all schedulable cpu and memory growth must leave idle."""
        totals = self.allocatable[:, self.open].sum(axis=1).tolist()
        lines = [self.names.index(name) for name in (CPU, MEMORY)]
        return {line: totals[line] - int(totals[line] * Fraction(str(ceiling))) for line in lines}


def fewest(pods: Iterable[Ints]) -> Ints:
    """How many each node takes, by how many each resource is enough for; int64[nodes]."""
    # Ten times as fast as np.min over a list, which it would first make into one array.
    return reduce(np.minimum, pods)


def lines(names: Iterable[str]) -> tuple[str, ...]:
    """The resources of a grid on which these are asked for."""
    return tuple(sorted({CPU, MEMORY, *names}))


def _within(table: list[list[int]]) -> Ints:
    try:
        found: Ints = np.array(table, dtype=np.int64)
    except OverflowError:  # nobody has so much; what is read may be any number
        table = [[max(min(amount, _MOST), -_MOST) for amount in line] for line in table]
        found = np.array(table, dtype=np.int64)
    return np.clip(found, -_MOST, _MOST)
