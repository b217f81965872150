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
    """Smallest first; `Extras.next` compares its first part with the claim's level."""


def reclaim_order(board: Snapshot) -> ReclaimOrder:
    """Demands, gangs and minimums take extras down to the floor, the lowest priority first.

    Under a policy that keeps jobs together then whose highest index is elsewhere.
    """
    homes = AnchorNodes(board.allocations) if board.policy.colocate else None

    def key(standing: RoleAllocation) -> tuple[float, bool, float]:
        near = homes is not None and not homes.last_is_elsewhere(standing)
        return standing.reclaim_priority, near, -board.satisfaction(standing)

    return ReclaimOrder(min_replicas=lambda standing: standing.min_replicas, key=key)


def reclaim_priority_of(board: Snapshot, job: TrainingJob) -> float:
    """Whose extras a job that waits may take: who has just come, only those of lower priorities."""
    patience = board.policy.reclaim_delay
    if patience and not board.has_passed(job.queued_at, patience):
        return job.priority - 0.5
    if board.any_nearly_done and board.has_passed(job.queued_at, board.limits.queue_patience):
        return job.priority + NEARLY_DONE_MARGIN
    return job.priority


class ReclaimableCapacity:
    """The room that extras hold, by level of the claims that may have it."""

    def __init__(
        self, grid: NodeCapacity, standings: Iterable[RoleAllocation], rules: ReclaimOrder
    ) -> None:
        self._capacity = grid
        self._by_priority: dict[float, Ints] = {}
        rows: dict[tuple[float, PodClass], list[int]] = defaultdict(list)
        for standing in standings:
            seats = standing.placements[rules.min_replicas(standing) :]
            rows[standing.reclaim_priority, standing.pod_class] += map(_node, seats)
        for (level, fit), found in rows.items():
            self._add_all(level, fit, np.array(found, dtype=np.int64))

    def _add_all(self, level: float, fit: PodClass, rows: Ints) -> None:
        counts = np.bincount(rows[rows >= 0], minlength=len(self._capacity.index))
        for line, amount in fit.amounts:
            self._of(level)[line] += counts * amount

    def _of(self, level: float) -> Ints:
        if level not in self._by_priority:
            self._by_priority[level] = np.zeros_like(self._capacity.future_idle)
        return self._by_priority[level]

    def add(self, standing: RoleAllocation, seat: Placement, sign: int) -> None:
        if seat.node != NO_NODE:
            found = self._of(standing.reclaim_priority)
            for line, amount in standing.pod_class.amounts:
                found[line, seat.node] += sign * amount

    def with_idle(self, level: float) -> Ints:
        """The room on `soon` if all extras within reach were gone."""
        found: Ints = self._capacity.future_idle.copy()
        for key, extras in self._by_priority.items():
            if key <= level:
                found += extras
        return found


class Reclaimable:
    """Replicas that may be taken, the next to yield first."""

    def __init__(
        self, board: Snapshot, standings: Sequence[RoleAllocation], rules: ReclaimOrder
    ) -> None:
        self._capacity = board.capacity
        self._order = rules
        self.allocations = self._unsorted = standings
        self._heap: list[tuple[float, bool, float, int, int, RoleAllocation]] = []
        self._latest: dict[RoleAllocation, int] = {}
        self.capacity = ReclaimableCapacity(board.capacity, standings, rules)

    def next(self, level: float) -> RoleAllocation | None:
        """The role that yields next to a claim of this level; it leaves the heap."""
        if self._unsorted:
            self._sort()
        while self._heap and self._heap[0][0] <= level:
            *_, serial, standing = heappop(self._heap)
            if self._latest[standing] == serial:
                return standing
        return None

    def _sort(self) -> None:
        """Most claims take nothing: only now the order of yielding matters."""
        latest, least, key = self._latest, self._order.min_replicas, self._order.key
        latest |= {standing: latest.get(standing, 0) + 1 for standing in self._unsorted}
        self._heap += [
            (*key(standing), -standing.rank, latest[standing], standing)
            for standing in self._unsorted
            if standing.size > least(standing)
        ]
        heapify(self._heap)
        self._unsorted = ()

    def requeue(self, standing: RoleAllocation) -> None:
        """Into the heap again, as it stands now; an older entry counts no more."""
        serial = self._latest.get(standing, 0) + 1
        self._latest[standing] = serial
        if standing.size > self._order.min_replicas(standing):
            heappush(self._heap, (*self._order.key(standing), -standing.rank, serial, standing))

    def exceeded_quota(self, bill: QuotaRequest, level: float) -> QuotaLine | None:
        """The first budget that stays short although all extras within reach were gone."""
        short = (line for line, cost in bill.amounts if not self._allows(line, cost, level))
        return next(short, None)

    def _allows(self, line: QuotaLine, cost: int, level: float) -> bool:
        if line.future_remaining >= cost:
            return True
        if line.refused and cost >= line.refused[0] and level <= line.refused[1]:
            return False
        left = line.future_remaining
        for standing in self.allocations:
            if standing.quota_request and standing.reclaim_priority <= level:
                extras = standing.size - self._order.min_replicas(standing)
                left += max(extras, 0) * standing.quota_request.amount(line)
        if left < cost:
            line.refused = (cost, level)
        return left >= cost

    def min_replicas(self, standing: RoleAllocation) -> int:
        """So many replicas of this role are no extras."""
        return self._order.min_replicas(standing)

    def move(self, standing: RoleAllocation, position: int, to: Placement) -> None:
        """An extra goes to another node; its own gives its room back soon."""
        seat = standing.placements[position]
        self._capacity.release(seat.node, standing.pod_class, now=seat.holds_idle)
        self._capacity.reserve(to.node, standing.pod_class, now=to.holds_idle)
        standing.assign(position, to)
        self.capacity.add(standing, seat, -1)
        self.capacity.add(standing, to, 1)

    def evict(self, standing: RoleAllocation) -> Placement:
        seat = standing.evict(self._capacity)
        self.capacity.add(standing, seat, -1)
        return seat

    def restore(self, standing: RoleAllocation, seat: Placement) -> None:
        standing.restore(self._capacity, seat)
        self.capacity.add(standing, seat, 1)
