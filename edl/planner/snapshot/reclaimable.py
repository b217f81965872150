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

_node: Final = attrgetter("row")


class ReclaimOrder(msgspec.Struct, frozen=True):
    """Which replicas may be taken: how far down each role goes, and which role yields first."""

    least: Callable[[RoleAllocation], int]
    key: Callable[[RoleAllocation], tuple[float, bool, float]]
    """Smallest first; `Extras.next` compares its first part with the claim's level."""


def reclaim_order(board: Snapshot) -> ReclaimOrder:
    """Demands, gangs and minimums take extras down to the floor, the lowest priority first.

    Under a policy that keeps jobs together then whose highest index is elsewhere.
    """
    homes = AnchorNodes(board.standings) if board.policy.together else None

    def key(standing: RoleAllocation) -> tuple[float, bool, float]:
        near = homes is not None and not homes.remote(standing)
        return standing.level, near, -board.share(standing)

    return ReclaimOrder(least=lambda standing: standing.floor, key=key)


def reclaim_priority_of(board: Snapshot, job: TrainingJob) -> float:
    """Whose extras a job that waits may take: who has just come, only those of lower priorities."""
    patience = board.policy.patience
    if patience and not board.past(job.queued_at, patience):
        return job.priority - 0.5
    if board.finishing and board.past(job.queued_at, board.limits.queue_patience):
        return job.priority + NEARLY_DONE_MARGIN
    return job.priority


class ReclaimableCapacity:
    """The room that extras hold, by level of the claims that may have it."""

    def __init__(
        self, grid: NodeCapacity, standings: Iterable[RoleAllocation], rules: ReclaimOrder
    ) -> None:
        self._grid = grid
        self._by_level: dict[float, Ints] = {}
        rows: dict[tuple[float, PodClass], list[int]] = defaultdict(list)
        for standing in standings:
            seats = standing.seats[rules.least(standing) :]
            rows[standing.level, standing.fit] += map(_node, seats)
        for (level, fit), found in rows.items():
            self._add_all(level, fit, np.array(found, dtype=np.int64))

    def _add_all(self, level: float, fit: PodClass, rows: Ints) -> None:
        counts = np.bincount(rows[rows >= 0], minlength=len(self._grid.rows))
        for line, amount in fit.need:
            self._of(level)[line] += counts * amount

    def _of(self, level: float) -> Ints:
        if level not in self._by_level:
            self._by_level[level] = np.zeros_like(self._grid.soon)
        return self._by_level[level]

    def add(self, standing: RoleAllocation, seat: Placement, sign: int) -> None:
        if seat.row != NO_NODE:
            found = self._of(standing.level)
            for line, amount in standing.fit.need:
                found[line, seat.row] += sign * amount

    def room(self, level: float) -> Ints:
        """The room on `soon` if all extras within reach were gone."""
        found: Ints = self._grid.soon.copy()
        for key, extras in self._by_level.items():
            if key <= level:
                found += extras
        return found


class Reclaimable:
    """Replicas that may be taken, the next to yield first."""

    def __init__(
        self, board: Snapshot, standings: Sequence[RoleAllocation], rules: ReclaimOrder
    ) -> None:
        self._grid = board.grid
        self._rules = rules
        self.all = self._unsorted = standings
        self._heap: list[tuple[float, bool, float, int, int, RoleAllocation]] = []
        self._latest: dict[RoleAllocation, int] = {}
        self.spare = ReclaimableCapacity(board.grid, standings, rules)

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
        latest, least, key = self._latest, self._rules.least, self._rules.key
        latest |= {standing: latest.get(standing, 0) + 1 for standing in self._unsorted}
        self._heap += [
            (*key(standing), -standing.rank, latest[standing], standing)
            for standing in self._unsorted
            if standing.size > least(standing)
        ]
        heapify(self._heap)
        self._unsorted = ()

    def back(self, standing: RoleAllocation) -> None:
        """Into the heap again, as it stands now; an older entry counts no more."""
        serial = self._latest.get(standing, 0) + 1
        self._latest[standing] = serial
        if standing.size > self._rules.least(standing):
            heappush(self._heap, (*self._rules.key(standing), -standing.rank, serial, standing))

    def allow(self, bill: QuotaRequest, level: float) -> QuotaLine | None:
        """The first budget that stays short although all extras within reach were gone."""
        short = (line for line, cost in bill.costs if not self._allows(line, cost, level))
        return next(short, None)

    def _allows(self, line: QuotaLine, cost: int, level: float) -> bool:
        if line.soon >= cost:
            return True
        if line.refused and cost >= line.refused[0] and level <= line.refused[1]:
            return False
        left = line.soon
        for standing in self.all:
            if standing.bill and standing.level <= level:
                extras = standing.size - self._rules.least(standing)
                left += max(extras, 0) * standing.bill.cost(line)
        if left < cost:
            line.refused = (cost, level)
        return left >= cost

    def least(self, standing: RoleAllocation) -> int:
        """So many replicas of this role are no extras."""
        return self._rules.least(standing)

    def move(self, standing: RoleAllocation, position: int, to: Placement) -> None:
        """An extra goes to another node; its own gives its room back soon."""
        seat = standing.seats[position]
        self._grid.give(seat.row, standing.fit, now=seat.now)
        self._grid.take(to.row, standing.fit, now=to.now)
        standing.take_place(position, to)
        self.spare.add(standing, seat, -1)
        self.spare.add(standing, to, 1)

    def rise(self, standing: RoleAllocation) -> Placement:
        seat = standing.rise(self._grid)
        self.spare.add(standing, seat, -1)
        return seat

    def stay(self, standing: RoleAllocation, seat: Placement) -> None:
        standing.stay(self._grid, seat)
        self.spare.add(standing, seat, 1)
