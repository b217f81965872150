"""Jobs that start after a claim do not take the capacity that the claim waits for.

A claim has no pods yet, so the scheduler does not know of it: pods that start meanwhile may land
in its room, wherever the plan places them. Where gangs are preempted another one would then go for
it again: the first victim fits elsewhere by now, starts, lands in the claim's room, and so on.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from edl.feasibility.horizon import Horizon
from edl.planner.packing.pod_class import PodClass, PodSetRequest
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.decisions import PipelinedPods
from edl.planner.snapshot.role_allocation import Placement, RoleAllocation

if TYPE_CHECKING:
    from edl.planner.packing.node_capacity import Ints


@dataclass(slots=True)
class Precedence:
    """Protects the reservations of one plan once all replicas have their placements."""

    snapshot: Snapshot
    pipelined: list[PipelinedPods]
    gated: Mapping[PodClass, int]
    """Gated pods that have no node yet."""
    cost: Callable[[PodClass, PodClass], int]
    """How many pods of a shape one pod of another may keep from a node at most."""
    _open: "Ints" = field(init=False)
    """The future idle capacity, and that of all pods which the scheduler has yet to place."""

    _capacities: dict[int, list[int]] = field(default_factory=dict)
    _spare: dict[PodClass, int] = field(default_factory=dict)
    """Room besides that of the gated pods, by shape: where they are kept to domains, the least."""

    def __post_init__(self) -> None:
        self._open = self.snapshot.capacity.future_idle.copy()
        nodes: defaultdict[PodClass, list[int]] = defaultdict(list)
        for allocation in self.snapshot.allocations:
            nodes[allocation.pod_class] += [placement.node for placement in _loose(allocation)]
        for pod_class, found in nodes.items():
            pod_class.release_from(self._open, found)
        for pod_class, pods in self.gated.items():
            whole, spare = (
                self.snapshot.pod_class(pod_class.shape),
                self._room(pod_class) - pods,
            )
            self._spare[whole] = min(spare, self._spare.get(whole, spare))

    def hinders(
        self, number: int, starts: Mapping[PodClass, int], ahead: Mapping[PodClass, int]
    ) -> bool:
        """Whether the start with this number may take room that was promised before it.

        `starts` are its pods, `ahead` those that others are about to place; by shape.
        """
        for index, pipelined in enumerate(self.pipelined):
            for position, request in enumerate(
                pipelined.requests if pipelined.admitted_before <= number else ()
            ):
                if harm := self._harm(request.pod_class, starts.items()):
                    others = (other for other in pipelined.requests if other is not request)
                    harm += self._harm(request.pod_class, chain(others, ahead.items()))
                    if self._capacity(index)[position] - harm < request.pods:
                        return True
        return any(
            harm + self._harm(pod_class, ahead.items()) > spare
            for pod_class, spare in self._spare.items()
            if (harm := self._harm(pod_class, starts.items()))
        )

    def _harm(
        self, pod_class: PodClass, pods: Iterable[tuple[PodClass, int] | PodSetRequest]
    ) -> int:
        return sum(count * self.cost(pod_class, other) for other, count in pods)

    def _room(self, pod_class: PodClass) -> int:
        """How many pods of a shape there is room for, if no other pod were placed any more."""
        if pod_class.share_allocator is not None:
            return int(pod_class.pods_by_capacity(self._open, Horizon.EMPTY).sum())
        nodes = np.flatnonzero(pod_class.eligible)
        return int(pod_class.pods_by_resources(self._open[:, nodes], nodes).sum())

    def _capacity(self, index: int) -> list[int]:
        """How many pods of each request there is room for, if no other pod were placed any more."""
        if index not in self._capacities:
            pipelined, room = self.pipelined[index], self._open.copy()
            for request, nodes in zip(pipelined.requests, pipelined.nodes, strict=False):
                request.pod_class.release_from(room, nodes)
            found = [
                int(request.pod_class.pods_by_capacity(room, Horizon.EMPTY).sum())
                for request in pipelined.requests
            ]
            self._capacities[index] = found
        return self._capacities[index]


def max_displaced(pod_class: PodClass, other: PodClass) -> int:
    """How many pods of a shape one pod of another keeps from a node at most, by their sums."""
    if pod_class is other:
        return 1
    amounts = dict(pod_class.amounts)
    return max(
        (
            -(-amount // amounts[resource])
            for resource, amount in other.amounts
            if resource in amounts
        ),
        default=0,
    )


def _loose(allocation: RoleAllocation) -> list[Placement]:
    """Seats of pods that the scheduler has yet to place."""
    waiting = [
        allocation.placements[at] for at, _, _ in allocation.unscheduled if at < allocation.size
    ]
    return waiting + [
        placement
        for placement in allocation.placements
        if placement.is_new and placement.holds_idle
    ]
