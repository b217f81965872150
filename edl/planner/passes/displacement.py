"""Replicas leave a node by name for pods that may use few nodes.

A Job drops its highest indexes, wherever they run: to free one node that way would end most of a
role. So a replica moves from the node to one that has room for it. Where none has, its role gives
up the highest index, and the replica takes that room once it is free. A role that restarts for a
new size is placed anew, so only its number of replicas matters.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from edl.annotations import clearings
from edl.feasibility.eligibility import Mask
from edl.feasibility.gpu_shares import Horizon
from edl.model import JobKey, Reason
from edl.planner.packing.pod_class import PodClass
from edl.planner.passes.drain import (
    keeping_one_ready,
    quota_allows_replacement,
    roles_with_movable_pods,
)
from edl.planner.passes.reclaim import Reservation
from edl.planner.plan import Drain
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.decisions import ReplicaMove
from edl.planner.snapshot.reclaimable import Reclaimable
from edl.planner.snapshot.role_allocation import NO_NODE, Placement, RoleAllocation


@dataclass(slots=True)
class Displacement:
    """Clears nodes for one claim."""

    snapshot: Snapshot
    reclaimable: Reclaimable
    reservation: Reservation
    reclaim_priority: float
    reason: Reason
    moves: list[ReplicaMove] = field(default_factory=list)

    def run(self) -> list[ReplicaMove]:
        """Place what can be placed by clearing nodes one at a time; what moves for it."""
        for (fit, count), rows in zip(
            self.reservation.requests, self.reservation.nodes, strict=True
        ):
            while len(rows) < count and _is_narrow(self.snapshot, fit):
                row = self._target(fit)
                blocking = self._blocking(fit, row) if row != NO_NODE else []
                if not blocking:
                    break
                for standing, position in blocking:
                    self._clear(fit, standing, position)
                self.snapshot.capacity.reserve(row, fit, now=False)
                rows.append(row)
        return self.moves

    def _target(self, fit: PodClass) -> int:
        """The node that lacks least for one more pod, of those that extras can make room on."""
        soon = self.snapshot.capacity.future_idle
        room = self.reclaimable.capacity.with_idle(self.reclaim_priority)
        rows = np.flatnonzero(fit.pods_per_node(room, Horizon.EMPTY) > 0)
        if not rows.size:
            return NO_NODE
        lacks = [np.maximum(amount - soon[line, rows], 0) / amount for line, amount in fit.amounts]
        return int(rows[np.argmin(np.sum(lacks, axis=0))])

    def _blocking(self, fit: PodClass, row: int) -> list[tuple[RoleAllocation, int]]:
        """The extras to clear from this node, each with its position; none if not enough leave."""
        soon = self.snapshot.capacity.future_idle
        lacking = {line: amount - int(soon[line, row]) for line, amount in fit.amounts}
        found: list[tuple[RoleAllocation, int]] = []
        seen = []
        while _short(lacking) and (standing := self.reclaimable.next(self.reclaim_priority)):
            seen.append(standing)
            for position in self._positions(standing, row):
                if not any(lacking.get(line, 0) > 0 for line, _ in standing.pod_class.amounts):
                    break
                found.append((standing, position))
                for line, amount in standing.pod_class.amounts:
                    lacking[line] = lacking.get(line, 0) - amount
        for standing in seen:
            self.reclaimable.requeue(standing)
        return [] if _short(lacking) else found

    def _positions(self, standing: RoleAllocation, row: int) -> Iterator[int]:
        """Extras of a role on this node that may leave it, the highest first."""
        if not standing.restarts_to_resize and not self._may_move(standing, row):
            return
        for position in reversed(range(self.reclaimable.min_replicas(standing), standing.size)):
            if standing.placements[position].node == row:
                yield position

    def _may_move(self, standing: RoleAllocation, row: int) -> bool:
        """Not where replicas of this role came back whenever one was moved off this node."""
        if standing.role not in roles_with_movable_pods(standing.job):
            return False
        rows = self.snapshot.capacity.index
        return all(
            rows.get(one.node) != row or self.snapshot.has_passed(one.at, clearings.REMEMBERED)
            for one in clearings.in_vain(standing.role)
        )

    def _clear(self, fit: PodClass, standing: RoleAllocation, position: int) -> None:
        seat = standing.placements[position]
        to = None if standing.restarts_to_resize else self._elsewhere(standing, ~fit.eligible)
        if to is None:
            # The highest index goes, and this replica gets the room that it leaves.
            standing.placements[position] = standing.placements[-1]
            standing.placements[-1] = seat
            risen = self.reclaimable.evict(standing)
            self.reservation.evicted.setdefault(standing, []).append(risen)
            return
        self.reclaimable.move(standing, position, to)
        if position not in {one.position for one in standing.unscheduled}:
            self.moves.append(ReplicaMove(standing, seat.node, to.holds_idle, self.reason))

    def _elsewhere(self, standing: RoleAllocation, allowed: Mask) -> Placement | None:
        """The fullest node with room for this replica, one with room at once before others."""
        board, fit = self.snapshot, standing.pod_class
        if not quota_allows_replacement(board, standing.job, standing.role):
            return None
        capacity = fit.pods_per_node(board.capacity.future_idle, Horizon.FUTURE_IDLE)
        rows = np.flatnonzero((capacity > 0) & allowed)
        order = rows[np.argsort(capacity[rows], kind="stable")].tolist()
        for now in (True, False):
            row = next((row for row in order if fit.fits(row, now=now)), NO_NODE)
            if row != NO_NODE:
                return Placement(row, holds_idle=now, is_new=False)
        return None


def _short(lacking: dict[int, int]) -> bool:
    return any(amount > 0 for amount in lacking.values())


def _is_narrow(board: Snapshot, fit: PodClass) -> bool:
    """Whether only some nodes will do, and no rule or device but room keeps the pod off them."""
    plain = fit.constraints is None and fit.share_allocator is None
    return plain and bool((board.capacity.schedulable & ~fit.eligible).any())


def drains_of_moves(
    board: Snapshot, moves: Sequence[ReplicaMove], busy: frozenset[JobKey]
) -> tuple[Drain, ...]:
    """What moves at once; what waits for room, or whose job changes its size, moves later."""
    names = list(board.capacity.index)
    due = [move for move in moves if move.at_once and move.allocation.job.key not in busy]
    standings = dict.fromkeys(move.allocation for move in due)
    found = (_evacuation(one, [move for move in due if move.allocation is one], names)
             for one in standings)  # fmt: skip
    return tuple(one for one in found if one.pods)


def _evacuation(
    standing: RoleAllocation, moves: Sequence[ReplicaMove], names: Sequence[str]
) -> Drain:
    counts = Counter(names[move.node] for move in moves)
    clears = tuple(sorted(counts))
    pods = []
    for pod in sorted(standing.role.pods, key=lambda pod: (-pod.index, pod.name)):
        if counts[pod.node] > 0 and not (pod.terminating or pod.ended):
            counts[pod.node] -= 1
            pods.append(pod)
    leaving = tuple(pod.name for pod in keeping_one_ready(standing.role, pods))
    return Drain(standing.job.key, standing.role.name, leaving, moves[0].reason, clears)


def moved_allocations(moves: Iterable[ReplicaMove]) -> list[RoleAllocation]:
    return list(dict.fromkeys(move.allocation for move in moves))
