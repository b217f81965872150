"""Where pods of one shape fit: worked out once a shape, then followed pod by pod."""

from collections.abc import Sequence
from copy import copy
from typing import Final, NamedTuple

import numpy as np

from edl.feasibility.eligibility import Mask
from edl.feasibility.gpu_shares import Horizon
from edl.model import Shape
from edl.planner.packing.best_fit import (
    BestFitCursor,
    ConstrainedCursor,
    SharedGpuCursor,
    nodes_that_fit,
)
from edl.planner.packing.node_capacity import Ints, NodeCapacity, by_scarcest_resource

_NO_NODE: Final = -1


class PodClass:
    """One shape on the grid: its need, the nodes it may use, and its cursors."""

    __slots__ = (
        "_both",
        "_grid",
        "_soon",
        "_usable",
        "binding",
        "eligible",
        "lines",
        "need",
        "packing",
        "shape",
    )

    def __init__(self, grid: NodeCapacity, shape: Shape, eligible: Mask) -> None:
        self.shape = shape
        self.need = grid.need(shape.requests)
        self.lines = grid.lines(self.need)
        self.eligible = eligible
        self.binding = grid.crowd.binding(shape) if grid.crowd and shape.rules else None
        """Rules about who is beside it, if it has or meets any."""
        self.packing = grid.devices.packing(shape) if grid.devices else None
        """The devices that its pods share, if they do."""
        self._grid = grid
        self._both: BestFitCursor | None = None
        self._soon: BestFitCursor | None = None
        self._usable: Mask | None = None

    def within(self, nodes: Mask) -> "PodClass":
        """The same shape on some of its nodes only; bool[nodes]."""
        found = copy(self)
        found.eligible = self.eligible & nodes
        found.renew()
        return found

    @property
    def both(self) -> BestFitCursor:
        """Nodes that have the room now, and not promised to anybody."""
        if self._both is None:
            self._both = self._cursor(now=True)
        return self._both

    @property
    def soon(self) -> BestFitCursor:
        """Nodes that will have the room, and not promised to anybody."""
        if self._soon is None:
            self._soon = self._cursor(now=False)
        return self._soon

    @property
    def usable(self) -> Mask:
        """Nodes that are large enough for one of its pods, whatever runs there; bool[nodes]."""
        if self._usable is None:
            self._usable = self.eligible.copy()
            for line, amount in self.need:
                self._usable &= self._grid.allocatable[line] >= amount
        return self._usable

    def contends(self, other: "PodClass") -> bool:
        """Whether pods of the other shape may take a place that pods of this one could have."""
        if (self.usable & other.usable).any():
            return True
        counted = other.binding.carried if other.binding else ()
        return self.binding is not None and not self.binding.counts.isdisjoint(counted)

    def renew(self) -> None:
        """Nobody has looked for room yet."""
        self._both = self._soon = self._usable = None

    def is_full(self) -> bool:
        """Whether no node has room for one more, also when everybody has left who leaves."""
        rows = np.flatnonzero(self.eligible)
        return self.is_plain and not nodes_that_fit(self._grid, self.need, rows, now=False).size

    def _cursor(self, *, now: bool) -> BestFitCursor:
        if self.binding is None and self.packing is None:
            return BestFitCursor(self._grid, self.need, self.eligible, now=now)
        if self.binding is None and self.packing is not None:
            return SharedGpuCursor(self._grid, self, self.packing, now=now)
        return ConstrainedCursor(self._grid, self, now=now)

    def allows(self, row: int, *, now: bool) -> bool:
        """Whether rules and devices let one more pod come to this node, whatever its sums."""
        if self.binding is not None and not self.binding.allows(row, now=now):
            return False
        return self.packing is None or self.packing.allows(row, now=now)

    def fits(self, row: int, *, now: bool) -> bool:
        """Whether a node that it may use has the room, and rules let it come there."""
        return self._grid.fits(row, self.need, now=now) and self.allows(row, now=now)

    def leave(self, rows: Sequence[int]) -> None:
        """Pods of this shape that are on their way out count soon no more."""
        for found in (self.binding, self.packing):
            for row in rows if found else ():
                if found and row != _NO_NODE:
                    found.change(row, -1, now=False)

    def returns(self, row: int, *, now: bool, bound: bool) -> bool:
        """Whether a node to which others came has room for a pod that has left it.

        `bound`: it is there in truth; `now`: it takes its room at once.
        """
        if self.packing is not None and not self.packing.returns(row, now=now, bound=bound):
            return False
        return self._grid.fits(row, self.need, now=now)

    @property
    def follows(self) -> bool:
        """Whether others must be placed before it (pod affinity to them)."""
        return self.binding is not None and self.binding.follows

    def capacity(self, room: Ints, horizon: Horizon) -> Ints:
        """How many pods of this shape each node takes; int64[nodes] for int64[resources, nodes]."""
        found = self.by_room(room, horizon)
        return found if self.binding is None else self.binding.most(found)

    def by_room(self, room: Ints, horizon: Horizon) -> Ints:
        """The same, whatever rules about other pods say."""
        found = self.by_sums(room)
        return found if self.packing is None else self.packing.most(found, horizon)

    def by_sums(self, room: Ints, rows: Ints | None = None) -> Ints:
        """The same, whatever other pods are there; `room` may be that of some nodes only."""
        eligible = self.eligible if rows is None else self.eligible[rows]
        if not self.need:
            return np.where(eligible, _UNBOUNDED, 0)
        most = by_scarcest_resource(room[line] // amount for line, amount in self.need)
        return np.where(eligible, np.maximum(most, 0), 0)

    @property
    def is_plain(self) -> bool:
        """Whether nothing but sums decides where its pods fit."""
        return self.binding is None and self.packing is None


_UNBOUNDED = 2**31


class PodSetRequest(NamedTuple):
    """Pods of one shape that ask for room together."""

    fit: PodClass
    pods: int


def pack(room: Ints, wants: Sequence[PodSetRequest], horizon: Horizon) -> list[int]:
    """How many pods of each want fit into `room` (left as it was), the first want first.

    Exact for one want. For several: tightest node first, which may miss a packing that exists.
    """
    left = room.copy() if len(wants) > 1 else room
    placed = []
    for fit, count in wants:
        if not count:
            placed.append(0)
            continue
        capacity = fit.capacity(left, horizon)
        placed.append(min(count, int(capacity.sum())))
        if len(wants) > 1:
            _fill(left, fit, capacity, count)
    return placed


def _fill(room: Ints, fit: PodClass, capacity: Ints, count: int) -> None:
    order = np.argsort(capacity, kind="stable")
    sorted_capacity = capacity[order]
    before = np.cumsum(sorted_capacity) - sorted_capacity
    filled = np.clip(count - before, 0, sorted_capacity)
    for line, amount in fit.need:
        room[line, order] -= filled * amount


def reserve_pods(grid: NodeCapacity, want: PodSetRequest, *, now: bool) -> list[int]:
    """Take room for as many pods as fit, at most what is wanted; the node of each."""
    rows: list[int] = []
    cursor = want.fit.both if now else want.fit.soon
    while len(rows) < want.pods and (row := cursor.find()) >= 0:
        grid.take(row, want.fit, now=now)
        rows.append(row)
    return rows


def unreserve_pods(grid: NodeCapacity, fit: PodClass, rows: Sequence[int], *, now: bool) -> None:
    """Undo `place`; its cursor must be brought back to where it stood."""
    for row in rows:
        grid.untake(row, fit, now=now)
