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

    snapshot: Snapshot
    pipelined: list[PipelinedPods]
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
        self._open = self.snapshot.capacity.future_idle.copy()
        rows: defaultdict[PodClass, list[int]] = defaultdict(list)
        for standing in self.snapshot.allocations:
            rows[standing.pod_class] += [seat.node for seat in _loose(standing)]
        for fit, found in rows.items():
            _give(self._open, fit, found)
        for fit, pods in self.gated.items():
            whole, spare = (
                self.snapshot.pod_class_state(fit.shape).pod_class,
                self._room(fit) - pods,
            )
            self._spare[whole] = min(spare, self._spare.get(whole, spare))

    def hinders(
        self, number: int, starts: Mapping[PodClass, int], ahead: Mapping[PodClass, int]
    ) -> bool:
        """Whether the start with this number may take room that was promised before it.

        `starts` are its pods, `ahead` those that others are about to place; by shape.
        """
        for index, promise in enumerate(self.pipelined):
            for position, want in enumerate(
                promise.requests if promise.admitted_before <= number else ()
            ):
                if harm := self._harm(want.pod_class, starts.items()):
                    others = (other for other in promise.requests if other is not want)
                    harm += self._harm(want.pod_class, chain(others, ahead.items()))
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
        if fit.share_allocator is not None:
            return int(fit.pods_by_capacity(self._open, Horizon.EMPTY).sum())
        rows = np.flatnonzero(fit.eligible)
        return int(fit.pods_by_resources(self._open[:, rows], rows).sum())

    def _capacity(self, index: int) -> list[int]:
        """How many pods of each want there is room for, if nobody else were placed any more."""
        if index not in self._capacities:
            promise, room = self.pipelined[index], self._open.copy()
            for want, rows in zip(promise.requests, promise.nodes, strict=False):
                _give(room, want.pod_class, rows)
            found = [
                int(want.pod_class.pods_by_capacity(room, Horizon.EMPTY).sum())
                for want in promise.requests
            ]
            self._capacities[index] = found
        return self._capacities[index]


def max_displaced(fit: PodClass, other: PodClass) -> int:
    """How many pods of a shape one pod of another keeps from a node at most, by their sums."""
    if fit is other:
        return 1
    need = dict(fit.amounts)
    return max(
        (-(-amount // need[line]) for line, amount in other.amounts if line in need), default=0
    )


def _loose(standing: RoleAllocation) -> list[Placement]:
    """Seats of pods that the scheduler has yet to place."""
    waiting = [standing.placements[at] for at, _, _ in standing.unscheduled if at < standing.size]
    return waiting + [seat for seat in standing.placements if seat.is_new and seat.holds_idle]


def _give(room: "Ints", fit: PodClass, rows: Iterable[int]) -> None:
    found = np.array([row for row in rows if row != NO_NODE], dtype=np.int64)
    counts = np.bincount(found, minlength=room.shape[1])
    for line, amount in fit.amounts:
        room[line] += counts * amount
