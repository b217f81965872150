"""kube-scheduler: binds pods one after another, each to the node with the highest score.

The queue's order is PrioritySort (priority, then time). The planner's own rules decide which nodes
are feasible. The score is the sum of NodeResourcesFit's LeastAllocated and
NodeResourcesBalancedAllocation, both with the default weight 1. Among equals the first node is
taken; kube-scheduler draws one at random. A pod with an assigned node has that one candidate.
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
"""Requests that scores assume for a pod without requests (schedutil, non-zero requests)."""
_FULL: Final = 100


class PendingPod(NamedTuple):
    """A pending pod; the one with the smallest rank is bound first."""

    rank: tuple[int, float, int]
    """(negated priority, time, serial number)"""
    pod: str
    bind: Callable[[str], None]
    """Binds it to the node of this name."""
    node: str = ""
    """The only node to which it may be bound, if a plan has assigned one."""


@dataclass(slots=True)
class Scheduler:
    """Pending pods, one FIFO per shape: if its head does not fit, no pod behind it does.

    Pods with an assigned node are in one list of their own, each checked against its node. `tie`
    picks one of several equally good nodes.
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
        """Remove a pending pod from the queue."""
        self._gone.add(pod)

    def run(self) -> bool:
        """Bind all pods that fit; whether any was bound."""
        bound = again = self._bind()
        # A bound pod may satisfy affinity or spread constraints of pods that did not fit before.
        while again and self._ruled():
            again = self._bind()
        return bound

    def _ruled(self) -> bool:
        """Whether a pending pod has placement constraints."""
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
        """Bind pods with an assigned node whose rank is below `until`; others stay pending."""
        bound = False
        while placed and (until is None or _rank(placed[0]) < _rank(until)):
            pod, shape = placed.popleft()
            if pod.pod in self._gone:
                self._gone.discard(pod.pod)
            elif (column := self.sim_nodes.fitting_column(shape, pod.node)) is None:
                self._placed.append((pod, shape))
            else:
                pod.bind(pod.node)
                _look_at(column, scores)
                bound = True
        return bound

    def heads(self) -> list[tuple[Shape, PendingPod]]:
        """The first pending pod of each shape, and all with an assigned node, by rank."""
        firsts = [(head, shape) for shape in list(self._lines) for head in self._head(shape)]
        placed = [(pod, shape) for pod, shape in self._placed if pod.pod not in self._gone]
        return [(shape, pod) for pod, shape in sorted([*firsts, *placed], key=_rank)]

    def waiting(self) -> dict[Shape, int]:
        """Pending pods without an assigned node, by shape, in the order of their first ones."""
        shapes = [shape for shape, pod in self.heads() if not pod.node]
        return {
            shape: sum(pod.pod not in self._gone for pod in self._lines[shape]) for shape in shapes
        }

    def surprised(self) -> bool:
        """Whether more pods are pending now than after the last run."""
        pods = chain(chain.from_iterable(self._lines.values()), (pod for pod, _ in self._placed))
        before, self._left = self._left, sum(pod.pod not in self._gone for pod in pods)
        return self._left > before

    def _first(self, shapes: dict[Shape, "_Scores"]) -> tuple[PendingPod, Shape] | None:
        heads = [(head, shape) for shape in list(shapes) for head in self._head(shape)]
        return min(heads, key=_rank, default=None)

    def _head(self, shape: Shape) -> Iterator[PendingPod]:
        """The first pod of a queue that is still pending, if any."""
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
    """Recompute all scores of a node, after a pod was bound to it."""
    for shape_scores in scores.values():
        shape_scores.look_at(column)


class _Scores:
    """The score of each node for one more pod of a shape; -1 if the pod does not fit there.

    Placement constraints are checked when a node is chosen, as each bound pod changes them.
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
        """The column of the best feasible node; None if there is none."""
        scores = self._scores
        while scores.size and (highest := scores.max()) >= 0:
            equal = [
                column
                for column in np.flatnonzero(scores == highest).tolist()
                if self._sim_nodes.allows(self._shape, column)
            ]
            if equal:
                column: int = equal[tie(len(equal))]
                return column
            scores = np.where(scores == highest, -1.0, scores)
        return None

    def look_at(self, column: int) -> None:
        """Recompute the score of a node, after a pod was bound to it."""
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
