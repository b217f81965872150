"""Replicas above a minimum, which claims may take: whose goes next, and the room of all of them.

The lowest priority first, then whom the policy finds most satisfied, and of each role its last
replica.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from operator import attrgetter
from typing import Final

import msgspec
import numpy as np

from edl.model import TrainingJob
from edl.planner.packing.node_capacity import Ints, NodeCapacity
from edl.planner.packing.pod_class import PodClass
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.colocation import AnchorNodes
from edl.planner.snapshot.quota_balance import QuotaLine, QuotaRequest
from edl.planner.snapshot.role_allocation import (
    NEARLY_DONE_MARGIN,
    NO_NODE,
    Placement,
    RoleAllocation,
)

_node: Final = attrgetter("node")


class ReclaimOrder(msgspec.Struct, frozen=True):
    """Which replicas may be taken: how far down each role goes, and which role yields first."""

    min_replicas: Callable[[RoleAllocation], int]
    key: Callable[[RoleAllocation], tuple[float, bool, float]]
    """Smallest first; `Reclaimable.next` compares its first part with the reclaim priority."""


def reclaim_order(snapshot: Snapshot) -> ReclaimOrder:
    """Demands, gangs and minimums take extras down to the floor, the lowest priority first.

    Under a policy that keeps jobs together then whose highest index is elsewhere.
    """
    anchors = AnchorNodes(snapshot.allocations) if snapshot.policy.colocate else None

    def key(allocation: RoleAllocation) -> tuple[float, bool, float]:
        near = anchors is not None and not anchors.last_is_elsewhere(allocation)
        return allocation.reclaim_priority, near, -snapshot.satisfaction(allocation)

    return ReclaimOrder(min_replicas=lambda allocation: allocation.min_replicas, key=key)


def reclaim_priority_of(snapshot: Snapshot, job: TrainingJob) -> float:
    """Whose extras a job that waits may take: who has just come, only those of lower priorities."""
    patience = snapshot.policy.reclaim_delay
    if patience and not snapshot.has_passed(job.queued_at, patience):
        return job.priority - 0.5
    if snapshot.any_nearly_done and snapshot.has_passed(
        job.queued_at, snapshot.limits.queue_patience
    ):
        return job.priority + NEARLY_DONE_MARGIN
    return job.priority


class ReclaimableCapacity:
    """The room that extras hold, by level of the claims that may have it."""

    def __init__(
        self, capacity: NodeCapacity, allocations: Iterable[RoleAllocation], rules: ReclaimOrder
    ) -> None:
        self._capacity = capacity
        self._by_priority: dict[float, Ints] = {}
        nodes: dict[tuple[float, PodClass], list[int]] = defaultdict(list)
        for allocation in allocations:
            placements = allocation.placements[rules.min_replicas(allocation) :]
            nodes[allocation.reclaim_priority, allocation.pod_class] += map(_node, placements)
        for (reclaim_priority, pod_class), found in nodes.items():
            self._add_all(reclaim_priority, pod_class, np.array(found, dtype=np.int64))

    def _add_all(self, reclaim_priority: float, pod_class: PodClass, nodes: Ints) -> None:
        counts = np.bincount(nodes[nodes >= 0], minlength=len(self._capacity.index))
        for resource, amount in pod_class.amounts:
            self._of(reclaim_priority)[resource] += counts * amount

    def _of(self, reclaim_priority: float) -> Ints:
        if reclaim_priority not in self._by_priority:
            self._by_priority[reclaim_priority] = np.zeros_like(self._capacity.future_idle)
        return self._by_priority[reclaim_priority]

    def add(self, allocation: RoleAllocation, placement: Placement, sign: int) -> None:
        if placement.node != NO_NODE:
            found = self._of(allocation.reclaim_priority)
            for resource, amount in allocation.pod_class.amounts:
                found[resource, placement.node] += sign * amount

    def with_idle(self, reclaim_priority: float) -> Ints:
        """The future idle capacity if all reclaimable replicas within reach were evicted."""
        found: Ints = self._capacity.future_idle.copy()
        for key, reclaimable in self._by_priority.items():
            if key <= reclaim_priority:
                found += reclaimable
        return found


class Reclaimable:
    """Replicas that may be taken, the next to yield first."""

    def __init__(
        self, snapshot: Snapshot, allocations: Sequence[RoleAllocation], rules: ReclaimOrder
    ) -> None:
        self._capacity = snapshot.capacity
        self._order = rules
        self.allocations = self._unsorted = allocations
        self._heap: list[tuple[float, bool, float, int, int, RoleAllocation]] = []
        self._latest: dict[RoleAllocation, int] = {}
        self.capacity = ReclaimableCapacity(snapshot.capacity, allocations, rules)

    def next(self, reclaim_priority: float) -> RoleAllocation | None:
        """The role that yields next to a claim of this level; it leaves the heap."""
        if self._unsorted:
            self._sort()
        while self._heap and self._heap[0][0] <= reclaim_priority:
            *_, serial, allocation = heappop(self._heap)
            if self._latest[allocation] == serial:
                return allocation
        return None

    def _sort(self) -> None:
        """Most claims take nothing: only now the order of yielding matters."""
        latest, least, key = self._latest, self._order.min_replicas, self._order.key
        latest |= {allocation: latest.get(allocation, 0) + 1 for allocation in self._unsorted}
        self._heap += [
            (*key(allocation), -allocation.rank, latest[allocation], allocation)
            for allocation in self._unsorted
            if allocation.size > least(allocation)
        ]
        heapify(self._heap)
        self._unsorted = ()

    def requeue(self, allocation: RoleAllocation) -> None:
        """Into the heap again, as it stands now; an older entry counts no more."""
        serial = self._latest.get(allocation, 0) + 1
        self._latest[allocation] = serial
        if allocation.size > self._order.min_replicas(allocation):
            heappush(
                self._heap, (*self._order.key(allocation), -allocation.rank, serial, allocation)
            )

    def exceeded_quota(
        self, quota_request: QuotaRequest, reclaim_priority: float
    ) -> QuotaLine | None:
        """The first budget that stays short although all extras within reach were gone."""
        short = (
            resource
            for resource, cost in quota_request.amounts
            if not self._allows(resource, cost, reclaim_priority)
        )
        return next(short, None)

    def _allows(self, quota: QuotaLine, cost: int, reclaim_priority: float) -> bool:
        if quota.future_remaining >= cost:
            return True
        if quota.refused and cost >= quota.refused[0] and reclaim_priority <= quota.refused[1]:
            return False
        left = quota.future_remaining
        for allocation in self.allocations:
            if allocation.quota_request and allocation.reclaim_priority <= reclaim_priority:
                reclaimable = allocation.size - self._order.min_replicas(allocation)
                left += max(reclaimable, 0) * allocation.quota_request.amount(quota)
        if left < cost:
            quota.refused = (cost, reclaim_priority)
        return left >= cost

    def min_replicas(self, allocation: RoleAllocation) -> int:
        """So many replicas of this role are no extras."""
        return self._order.min_replicas(allocation)

    def move(self, allocation: RoleAllocation, position: int, to: Placement) -> None:
        """An extra goes to another node; its own gives its room back soon."""
        placement = allocation.placements[position]
        self._capacity.release(placement.node, allocation.pod_class, now=placement.holds_idle)
        self._capacity.reserve(to.node, allocation.pod_class, now=to.holds_idle)
        allocation.assign(position, to)
        self.capacity.add(allocation, placement, -1)
        self.capacity.add(allocation, to, 1)

    def evict(self, allocation: RoleAllocation) -> Placement:
        placement = allocation.evict(self._capacity)
        self.capacity.add(allocation, placement, -1)
        return placement

    def restore(self, allocation: RoleAllocation, placement: Placement) -> None:
        allocation.restore(self._capacity, placement)
        self.capacity.add(allocation, placement, 1)
