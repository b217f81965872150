"""Prevents moves whose freed capacity the next plan would reserve for roles in their cooldown.

The next plan assigns anew all capacity without a pod: what growth reserves in this plan, and what
its moves free. A role in its cooldown that is less satisfied than the recipient would come first,
so the recipient would get nothing and another donor would yield.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from edl.feasibility.eligibility import Ints
from edl.feasibility.horizon import FUTURE_IDLE
from edl.planner.packing.pod_class import PodClass
from edl.planner.passes.growth import GrowthCeiling, could_reserve
from edl.planner.reclaiming.reservation import Reservation
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.role_allocation import RoleAllocation


@dataclass(slots=True)
class CooldownHolds:
    """One held role per pod class and quota, each less satisfied than all later recipients."""

    snapshot: Snapshot
    ceiling: GrowthCeiling
    _found: dict[tuple[PodClass, int], tuple[RoleAllocation, Ints]] = field(default_factory=dict)
    """Also the capacity pipelined in this plan for roles after it; int64[resources, nodes]."""

    def add(self, allocation: RoleAllocation) -> None:
        kind = (allocation.pod_class, id(allocation.quota_request))
        if kind not in self._found:
            self._found[kind] = (allocation, self._kept_after(allocation))

    def _kept_after(self, allocation: RoleAllocation) -> Ints:
        turn = self.snapshot.satisfaction(allocation), allocation.rank
        share = self.snapshot.policy.satisfaction
        room = np.zeros_like(self.snapshot.capacity.future_idle)
        for other in (role for role in self.snapshot.allocations if role.pipelined):
            for place, node in _kept(other):
                if (share(other, place), other.rank) > turn:
                    other.pod_class.release_in(room, (node,))
        return room

    def keep(self, pod_class: PodClass, node: int) -> None:
        """Count a recipient's pipelined replica on this node."""
        for _, room in self._found.values():
            pod_class.release_in(room, (node,))

    def would_reserve(self) -> bool:
        """Whether the next plan would reserve capacity for one of the held roles."""
        soon = self.snapshot.capacity.future_idle
        return any(
            could_reserve(self.ceiling, allocation, soon + room)
            for allocation, room in self._found.values()
        )

    def would_take(self, reservation: Reservation) -> bool:
        """Whether it would reserve what a move to one recipient has freed."""
        ((node, *_), *_), (request, *_) = reservation.nodes, reservation.requests
        request.pod_class.future_idle.release(node)
        reservation.quota_request.release(FUTURE_IDLE)
        would = self.would_reserve()
        request.pod_class.future_idle.reserve(node)
        reservation.quota_request.reserve(FUTURE_IDLE)
        return would


def _kept(allocation: RoleAllocation) -> Iterator[tuple[int, int]]:
    """(position, node) of its pipelined replicas, the last one first."""
    for place in reversed(range(allocation.size)):
        placement = allocation.placements[place]
        if not placement.is_new:
            return
        if not placement.holds_idle:
            yield place, placement.node
