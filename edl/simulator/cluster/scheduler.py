"""kube-scheduler: pods one after another, each on the node that it scores highest.

The queue's order is PrioritySort (priority, then time). Which nodes may take a pod is decided by
the planner's own rules; among those NodeResourcesFit's LeastAllocated and
NodeResourcesBalancedAllocation decide, both with weight 1 as by default; of equals the first node
is taken, where kube-scheduler draws. A pod that a plan has placed has one node to go to.
"""

from bisect import insort
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edl.feasibility.eligibility import Ints
from edl.model import Shape
from edl.quantities import CPU, MEMORY
from edl.simulator.cluster.simulated_nodes import SimulatedNodes

_LEAST: Final = {CPU: 100, MEMORY: 200 * 2**20}
"""What a pod that asks for nothing counts for in scores (schedutil, non-zero requests)."""
_FULL: Final = 100


class PendingPod(NamedTuple):
    """A pod without a node, in its place in the queue: smaller goes first."""

    rank: tuple[int, float, int]
    """Priority (negative), time, serial number."""
    pod: str
    bind: Callable[[str], None]
    """Puts it on the node of this name."""
    node: str = ""
    """The only node to which it may go, where a plan has given it one."""


@dataclass(slots=True)
class Scheduler:
    """Pods that wait for a node, a line for each shape: one that does not fit blocks all behind.

    Placed pods are in one line of their own: none stands for another, and each costs one look at
    its node. `tie` picks one of several equally good nodes.
    """

    sim_nodes: SimulatedNodes
    tie: Callable[[int], int] = lambda _count: 0
    _left: int = 0
    _lines: dict[Shape, deque[PendingPod]] = field(default_factory=dict)
    _placed: list[tuple[PendingPod, Shape]] = field(default_factory=list)
    _gone: set[str] = field(default_factory=set)

    def add(self, shape: Shape, pod: PendingPod) -> None:
        if pod.node:
            insort(self._placed, (pod, shape), key=_rank)
            return
        line = self._lines.setdefault(shape, deque())
        if line and pod.rank < line[-1].rank:
            line.append(pod)
            self._lines[shape] = deque(sorted(line))
        else:
            line.append(pod)

    def drop(self, pod: str) -> None:
        """It waits no more."""
        self._gone.add(pod)

    def run(self) -> bool:
        """Bind whatever fits; whether anything was bound."""
        bound = again = self._bind()
        # A pod that came may have made a place for others that follow it or spread with it.
        while again and self._ruled():
            again = self._bind()
        return bound

    def _ruled(self) -> bool:
        """Whether a pod that waits has rules about others."""
        placed = (shape for _, shape in self._placed)
        return any(shape.constraints for shape in (*self._lines, *placed))

    def _bind(self) -> bool:
        scores = {shape: _Scores(self.sim_nodes, shape) for shape in self._lines}
        placed, self._placed = deque(self._placed), []
        bound = False
        while True:
            first = self._first(scores)
            bound |= self._bind_placed(placed, first, scores)
            if first is None:
                return bound
            _, shape = first
            column = scores[shape].best(self.tie)
            if column is None:
                del scores[shape]
                continue
            self._lines[shape].popleft().bind(self.sim_nodes.name(column))
            _look_at(column, scores)
            bound = True

    def _bind_placed(
        self,
        placed: deque[tuple[PendingPod, Shape]],
        until: tuple[PendingPod, Shape] | None,
        scores: dict[Shape, "_Scores"],
    ) -> bool:
        """Bind the placed pods whose turn is before `until`; those without room wait on."""
        bound = False
        while placed and (until is None or _rank(placed[0]) < _rank(until)):
            pod, shape = placed.popleft()
            if pod.pod in self._gone:
                self._gone.discard(pod.pod)
            elif (column := self.sim_nodes.room(shape, pod.node)) is None:
                self._placed.append((pod, shape))
            else:
                pod.bind(pod.node)
                _look_at(column, scores)
                bound = True
        return bound

    def heads(self) -> list[tuple[Shape, PendingPod]]:
        """The first pod that waits of each shape, and all that a plan has placed, in order."""
        firsts = [(head, shape) for shape in list(self._lines) for head in self._head(shape)]
        placed = [(pod, shape) for pod, shape in self._placed if pod.pod not in self._gone]
        return [(shape, pod) for pod, shape in sorted([*firsts, *placed], key=_rank)]

    def waiting(self) -> dict[Shape, int]:
        """Pods that no plan has placed, by shape, in the order of their first ones."""
        shapes = [shape for shape, pod in self.heads() if not pod.node]
        return {
            shape: sum(pod.pod not in self._gone for pod in self._lines[shape]) for shape in shapes
        }

    def surprised(self) -> bool:
        """Whether more pods wait now than after the last run."""
        pods = chain(chain.from_iterable(self._lines.values()), (pod for pod, _ in self._placed))
        before, self._left = self._left, sum(pod.pod not in self._gone for pod in pods)
        return self._left > before

    def _first(self, shapes: dict[Shape, "_Scores"]) -> tuple[PendingPod, Shape] | None:
        heads = [(head, shape) for shape in list(shapes) for head in self._head(shape)]
        return min(heads, key=_rank, default=None)

    def _head(self, shape: Shape) -> Iterator[PendingPod]:
        """The first of a line that still waits, if any."""
        line = self._lines.get(shape, deque())
        while line and line[0].pod in self._gone:
            self._gone.discard(line.popleft().pod)
        if line:
            yield line[0]
        else:
            self._lines.pop(shape, None)


def _rank(waiting: tuple[PendingPod, Shape]) -> tuple[int, float, int]:
    return waiting[0].rank


def _look_at(column: int, scores: dict[Shape, "_Scores"]) -> None:
    """Again at this node, after something went there."""
    for one in scores.values():
        one.look_at(column)


class _Scores:
    """The score of each node for one more pod of a shape; -1 where it has no room, or never may.

    What other pods forbid is asked when a node is chosen: it changes with each pod that comes.
    """

    def __init__(self, sim_nodes: SimulatedNodes, shape: Shape) -> None:
        self._sim_nodes = sim_nodes
        self._shape = shape
        self._need = sim_nodes.need(shape)
        self._asked = self._need > 0
        self._mask = sim_nodes.mask(shape)
        lines = [sim_nodes.names.index(name) for name in (CPU, MEMORY)]
        self._lines = np.array(lines)
        least = np.array([_LEAST[sim_nodes.names[line]] for line in lines], dtype=np.int64)
        self._counted = np.maximum(self._need[self._lines], least)
        self._scores = self._of(np.arange(len(sim_nodes.columns)))

    def best(self, tie: Callable[[int], int]) -> int | None:
        """The node's column; None where none may take it."""
        scores = self._scores
        while scores.size and (highest := scores.max()) >= 0:
            equal = [
                column
                for column in np.flatnonzero(scores == highest).tolist()
                if self._sim_nodes.allows(self._shape, column)
            ]
            if equal:
                found: int = equal[tie(len(equal))]
                return found
            scores = np.where(scores == highest, -1.0, scores)
        return None

    def look_at(self, column: int) -> None:
        """Again, after something went there."""
        if self._scores[column] >= 0:
            self._scores[column] = self._of(np.array([column]))[0]

    def _of(self, columns: Ints) -> NDArray[np.float64]:
        sim_nodes = self._sim_nodes
        free = sim_nodes.allocatable[:, columns] - sim_nodes.used[:, columns]
        fits = (free[self._asked] >= self._need[self._asked, None]).all(axis=0)
        most = np.maximum(sim_nodes.allocatable[self._lines][:, columns], 1)
        taken = np.minimum(sim_nodes.used[self._lines][:, columns] + self._counted[:, None], most)
        least = ((most - taken) * _FULL // most).sum(axis=0) // len(self._lines)
        spread = np.abs(taken[0] / most[0] - taken[1] / most[1]) / 2
        balanced = np.floor((1 - spread) * _FULL)
        return np.where(fits & self._mask[columns], least + balanced, -1.0)
