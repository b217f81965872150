"""Whoever starts behind a claim leaves the room alone that the claim waits for.

A claim has no pods yet, so the scheduler does not know of it: pods of who starts meanwhile may land
in its room, wherever the plan seats them. Where gangs are preempted somebody would then go for it
again: the first victim fits elsewhere by now, starts, lands in the claim's room, and so on.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from edl.feasibility.gpu_shares import Horizon
from edl.planner.packing.pod_class import PodClass, PodSetRequest
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.decisions import PipelinedPods
from edl.planner.snapshot.role_allocation import NO_NODE, Placement, RoleAllocation

if TYPE_CHECKING:
    from edl.planner.packing.node_capacity import Ints


@dataclass(slots=True)
class Precedence:
    """Watches over the promises of one plan, after everybody has his seats."""

    board: Snapshot
    promises: list[PipelinedPods]
    gated: Mapping[PodClass, int]
    """Gated pods that have no node yet."""
    cost: Callable[[PodClass, PodClass], int]
    """How many pods of a shape one pod of another may keep from a node at most."""
    _open: "Ints" = field(init=False)
    """The room on `soon`, and that of all pods which the scheduler has yet to place."""

    _capacities: dict[int, list[int]] = field(default_factory=dict)
    _spare: dict[PodClass, int] = field(default_factory=dict)
    """Room besides that of the gated pods, by shape: where they are kept to domains, the least."""

    def __post_init__(self) -> None:
        self._open = self.board.grid.soon.copy()
        rows: defaultdict[PodClass, list[int]] = defaultdict(list)
        for standing in self.board.standings:
            rows[standing.fit] += [seat.row for seat in _loose(standing)]
        for fit, found in rows.items():
            _give(self._open, fit, found)
        for fit, pods in self.gated.items():
            whole, spare = self.board.rows_of(fit.shape).fit, self._room(fit) - pods
            self._spare[whole] = min(spare, self._spare.get(whole, spare))

    def hinders(
        self, number: int, starts: Mapping[PodClass, int], ahead: Mapping[PodClass, int]
    ) -> bool:
        """Whether the start with this number may take room that was promised before it.

        `starts` are its pods, `ahead` those that others are about to place; by shape.
        """
        for index, promise in enumerate(self.promises):
            for position, want in enumerate(promise.wants if promise.number <= number else ()):
                if harm := self._harm(want.fit, starts.items()):
                    others = (other for other in promise.wants if other is not want)
                    harm += self._harm(want.fit, chain(others, ahead.items()))
                    if self._capacity(index)[position] - harm < want.pods:
                        return True
        return any(
            harm + self._harm(fit, ahead.items()) > spare
            for fit, spare in self._spare.items()
            if (harm := self._harm(fit, starts.items()))
        )

    def _harm(self, fit: PodClass, pods: Iterable[tuple[PodClass, int] | PodSetRequest]) -> int:
        return sum(count * self.cost(fit, other) for other, count in pods)

    def _room(self, fit: PodClass) -> int:
        """How many pods of a shape there is room for, if nobody else were placed any more."""
        if fit.packing is not None:
            return int(fit.by_room(self._open, Horizon.EMPTY).sum())
        rows = np.flatnonzero(fit.eligible)
        return int(fit.by_sums(self._open[:, rows], rows).sum())

    def _capacity(self, index: int) -> list[int]:
        """How many pods of each want there is room for, if nobody else were placed any more."""
        if index not in self._capacities:
            promise, room = self.promises[index], self._open.copy()
            for want, rows in zip(promise.wants, promise.placed, strict=False):
                _give(room, want.fit, rows)
            found = [int(want.fit.by_room(room, Horizon.EMPTY).sum()) for want in promise.wants]
            self._capacities[index] = found
        return self._capacities[index]


def max_displaced(fit: PodClass, other: PodClass) -> int:
    """How many pods of a shape one pod of another keeps from a node at most, by their sums."""
    if fit is other:
        return 1
    need = dict(fit.need)
    return max((-(-amount // need[line]) for line, amount in other.need if line in need), default=0)


def _loose(standing: RoleAllocation) -> list[Placement]:
    """Seats of pods that the scheduler has yet to place."""
    waiting = [standing.seats[at] for at, _, _ in standing.unbound if at < standing.size]
    return waiting + [seat for seat in standing.seats if seat.fresh and seat.now]


def _give(room: "Ints", fit: PodClass, rows: Iterable[int]) -> None:
    found = np.array([row for row in rows if row != NO_NODE], dtype=np.int64)
    counts = np.bincount(found, minlength=room.shape[1])
    for line, amount in fit.need:
        room[line] += counts * amount
