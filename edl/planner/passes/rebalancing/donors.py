"""Roles that may donate a replica, as arrays, so that one vectorised search finds the best."""

from collections.abc import Iterable, Sequence
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from edl import reasons
from edl.feasibility.eligibility import Ints
from edl.feasibility.horizon import FUTURE_IDLE, IDLE
from edl.planner.packing.node_capacity import NO_NODE
from edl.planner.packing.placement import taken_by
from edl.planner.packing.pod_class import PodClass, PodSetRequest
from edl.planner.passes.growth import GrowthCeiling
from edl.planner.reclaiming.reservation import Reservation
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.extras.minimum_nodes import any_may_leave
from edl.planner.snapshot.extras.node_search import clearing
from edl.planner.snapshot.quota_balance import QuotaLine, QuotaRequest
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.reclaim_priority import TeamRight

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Donors:
    """Satisfaction, last node and requests of each donor; call `refresh` after a change."""

    def __init__(self, snapshot: Snapshot, allocations: Sequence[RoleAllocation]) -> None:
        self._snapshot = snapshot
        self.allocations = allocations
        self._share, self._after = np.empty(len(allocations)), np.empty(len(allocations))
        self._node = np.empty(len(allocations), dtype=np.int64)
        self._amounts = self._needs()
        for place, allocation in enumerate(allocations):
            self._read(place, allocation)
        self._priority = np.array([donor.job.priority for donor in allocations], dtype=np.int64)
        self._rank = np.array([donor.rank for donor in allocations], dtype=np.int64)
        self._by_quota: dict[QuotaLine, Ints] = {}
        self._places = {allocation: place for place, allocation in enumerate(allocations)}
        self._helpful: dict[PodClass, Ints] = {}
        self._most: dict[tuple[PodClass | None, int], float] = {}
        """By (pod class or None for any, priority), the highest satisfaction that a donor keeps."""

    def _needs(self) -> Ints:
        """What one replica of each role requests; int64[resources, roles]."""
        numbers = {
            pod_class: number
            for number, pod_class in enumerate({donor.pod_class for donor in self.allocations})
        }
        table = np.zeros((len(self._snapshot.capacity.resources), len(numbers)), dtype=np.int64)
        for pod_class, number in numbers.items():
            for row, amount in pod_class.amounts:
                table[row, number] = amount
        return table[:, [numbers[donor.pod_class] for donor in self.allocations]]

    def refresh(self, allocation: RoleAllocation) -> None:
        """Read a role again after its size changed."""
        self._helpful.clear()
        self._most.clear()
        if (place := self._places.get(allocation)) is not None:
            self._read(place, allocation)

    def _read(self, place: int, allocation: RoleAllocation) -> None:
        gives = allocation.size > allocation.min_replicas
        self._share[place] = self._snapshot.satisfaction(allocation)
        self._after[place] = self._snapshot.satisfaction(allocation, -1) if gives else -inf
        self._node[place] = allocation.placements[-1].node if gives else NO_NODE
        if gives and allocation.pod_class.claims_devices:
            self._amounts[:, place] = 0
            for row, amount in taken_by(allocation.pod_class, allocation.placements[-1]).items():
                self._amounts[row, place] = amount

    def any_for(self, recipient: RoleAllocation, pod_class: PodClass | None = None) -> bool:
        """Whether a donor (that helps this pod class) stays more satisfied than the recipient."""
        key = (pod_class, recipient.job.priority)
        most = self._most.get(key)
        if most is None:
            after, priority = self._after, self._priority
            if pod_class is not None:
                places = self._helping(pod_class)
                after, priority = after[places], priority[places]
            most = float(np.max(after[priority <= recipient.job.priority], initial=-inf))
            self._most[key] = most
        return most > self._snapshot.satisfaction(recipient)

    def _helping(self, pod_class: PodClass) -> Ints:
        places = self._helpful.get(pod_class)
        if places is None:
            places = self.helpful(pod_class, np.arange(len(self.allocations)))
            self._helpful[pod_class] = places
        return places

    def candidates(self, recipient: RoleAllocation) -> Ints:
        """Indexes of donors that stay more satisfied than the recipient is now."""
        fair = self._after > self._snapshot.satisfaction(recipient)
        return np.flatnonzero(fair & (self._priority <= recipient.job.priority))

    def helpful(self, pod_class: PodClass, places: Ints) -> Ints:
        """Those of the donors `places` whose last replica frees its node for one such pod."""
        places = places[self._node[places] != NO_NODE]
        nodes = self._node[places]
        helps: NDArray[np.bool_] = pod_class.eligible[nodes]
        for row, amount in pod_class.amounts:
            helps = helps & (
                self._snapshot.capacity.future_idle[row, nodes] + self._amounts[row, places]
                >= amount
            )
        return places[helps]

    def relieving_quotas(
        self, quota_request: QuotaRequest, places: Ints, *, together: bool
    ) -> Ints:
        """Those of the donors `places` whose last replica relieves all insufficient quotas.

        Sufficiently by itself, or, with `together`, at least a part of what is missing.
        """
        pays: NDArray[np.bool_] = np.ones(len(places), dtype=np.bool_)
        for quota, cost in quota_request.amounts:
            if quota.future_remaining < cost:
                least = 1 if together else cost - quota.future_remaining
                pays = pays & (self._costs(quota)[places] >= least)
        return places[pays]

    def _costs(self, quota: QuotaLine) -> Ints:
        if quota not in self._by_quota:
            costs = [allocation.quota_request.amount(quota) for allocation in self.allocations]
            self._by_quota[quota] = np.array(costs, dtype=np.int64)
        return self._by_quota[quota]

    def most_satisfied(self, places: Ints) -> RoleAllocation:
        """The most satisfied of these donors; among equals the last in the total order."""
        share = self._share[places]
        best = places[share == share.max()]
        return self.allocations[int(best[np.argmax(self._rank[best])])]


def reservation_of_one(ceiling: GrowthCeiling, recipient: RoleAllocation) -> Reservation:
    """A reservation for one more replica, to be completed by donors."""
    request = PodSetRequest(recipient.pod_class, 1)
    capacity = ceiling.snapshot.capacity
    return Reservation(capacity, [request], ceiling.holds, recipient.quota_request)


def record_donations(
    snapshot: Snapshot,
    recipient: RoleAllocation,
    donors: Iterable[RoleAllocation],
    right: TeamRight | None = None,
) -> list[RoleAllocation]:
    """Record the reason of donors that lose a pod; returns these. `right`: to other teams'."""
    code = snapshot.policy.rebalance_code
    smaller = [donor for donor in donors if donor.size < donor.role.status.size]
    for donor in smaller:
        owed = right is not None and right.owns(donor.team)
        donor.reason = donor.reason or reasons.gave(code, recipient.job.key, guaranteed=owed)
    return smaller


def replace_last(reservation: Reservation, donor: RoleAllocation) -> bool:
    """Place the only pod of a reservation where the last replica of the first donor is.

    The pod has no node yet. False, and no change, if it does not fit there for this replica alone.
    """
    (request,), (nodes,) = reservation.requests, reservation.nodes
    pod_class, node = request.pod_class, donor.placements[-1].node
    plain = pod_class.is_unconstrained and donor.pod_class.is_unconstrained
    if node == NO_NODE or any_may_leave(donor) or not (plain and pod_class.eligible[node]):
        return False
    if not clearing(reservation.capacity, pod_class, node, [(donor, -1)]):
        return False
    placement = donor.evict()
    pod_class.future_idle.reserve(node)
    nodes.append(node)
    if reservation.complete():
        reservation.evicted[donor] = [placement]
        return True
    pod_class.future_idle.unreserve(nodes.pop())
    donor.restore(placement)
    return False


def place_freed(snapshot: Snapshot, recipient: RoleAllocation, reservation: Reservation) -> None:
    """Add the replica of a reservation: at once if no pod has to leave for it, else pipelined.

    Donors of replicas that this plan creates lose no pod.
    """
    node, request = reservation.nodes[0][0], recipient.quota_request
    at_once = not (
        recipient.hold.reason
        or recipient.gave_replicas
        or snapshot.waits_for_moves(recipient, recipient.size)
    )
    if at_once and all(
        placement.holds_idle for evicted in reservation.evicted.values() for placement in evicted
    ):
        recipient.pod_class.future_idle.release(node)
        request.release(FUTURE_IDLE)
        fits = recipient.pod_class.idle.fits(node) and request.allows(IDLE)
        recipient.place(node, IDLE if fits else FUTURE_IDLE)
    else:
        recipient.place_pipelined(node)
