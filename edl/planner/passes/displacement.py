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

    board: Snapshot
    extras: Reclaimable
    claim: Reservation
    level: float
    reason: Reason
    moves: list[ReplicaMove] = field(default_factory=list)

    def run(self) -> list[ReplicaMove]:
        """Place what can be placed by clearing nodes one at a time; what moves for it."""
        for (fit, count), rows in zip(self.claim.wants, self.claim.placed, strict=True):
            while len(rows) < count and _is_narrow(self.board, fit):
                row = self._target(fit)
                blocking = self._blocking(fit, row) if row != NO_NODE else []
                if not blocking:
                    break
                for standing, position in blocking:
                    self._clear(fit, standing, position)
                self.board.grid.take(row, fit, now=False)
                rows.append(row)
        return self.moves

    def _target(self, fit: PodClass) -> int:
        """The node that lacks least for one more pod, of those that extras can make room on."""
        soon = self.board.grid.soon
        room = self.extras.spare.room(self.level)
        rows = np.flatnonzero(fit.capacity(room, Horizon.EMPTY) > 0)
        if not rows.size:
            return NO_NODE
        lacks = [np.maximum(amount - soon[line, rows], 0) / amount for line, amount in fit.need]
        return int(rows[np.argmin(np.sum(lacks, axis=0))])

    def _blocking(self, fit: PodClass, row: int) -> list[tuple[RoleAllocation, int]]:
        """The extras to clear from this node, each with its position; none if not enough leave."""
        soon = self.board.grid.soon
        lacking = {line: amount - int(soon[line, row]) for line, amount in fit.need}
        found: list[tuple[RoleAllocation, int]] = []
        seen = []
        while _short(lacking) and (standing := self.extras.next(self.level)):
            seen.append(standing)
            for position in self._positions(standing, row):
                if not any(lacking.get(line, 0) > 0 for line, _ in standing.fit.need):
                    break
                found.append((standing, position))
                for line, amount in standing.fit.need:
                    lacking[line] = lacking.get(line, 0) - amount
        for standing in seen:
            self.extras.back(standing)
        return [] if _short(lacking) else found

    def _positions(self, standing: RoleAllocation, row: int) -> Iterator[int]:
        """Extras of a role on this node that may leave it, the highest first."""
        if not standing.restarts and not self._may_move(standing, row):
            return
        for position in reversed(range(self.extras.least(standing), standing.size)):
            if standing.seats[position].row == row:
                yield position

    def _may_move(self, standing: RoleAllocation, row: int) -> bool:
        """Not where replicas of this role came back whenever one was moved off this node."""
        if standing.role not in roles_with_movable_pods(standing.job):
            return False
        rows = self.board.grid.rows
        return all(
            rows.get(one.node) != row or self.board.past(one.at, clearings.REMEMBERED)
            for one in clearings.in_vain(standing.role)
        )

    def _clear(self, fit: PodClass, standing: RoleAllocation, position: int) -> None:
        seat = standing.seats[position]
        to = None if standing.restarts else self._elsewhere(standing, ~fit.eligible)
        if to is None:
            # The highest index goes, and this replica gets the room that it leaves.
            standing.seats[position] = standing.seats[-1]
            standing.seats[-1] = seat
            risen = self.extras.rise(standing)
            self.claim.risen.setdefault(standing, []).append(risen)
            return
        self.extras.move(standing, position, to)
        if position not in {one.position for one in standing.unbound}:
            self.moves.append(ReplicaMove(standing, seat.row, to.now, self.reason))

    def _elsewhere(self, standing: RoleAllocation, allowed: Mask) -> Placement | None:
        """The fullest node with room for this replica, one with room at once before others."""
        board, fit = self.board, standing.fit
        if not quota_allows_replacement(board, standing.job, standing.role):
            return None
        capacity = fit.capacity(board.grid.soon, Horizon.FUTURE_IDLE)
        rows = np.flatnonzero((capacity > 0) & allowed)
        order = rows[np.argsort(capacity[rows], kind="stable")].tolist()
        for now in (True, False):
            row = next((row for row in order if fit.fits(row, now=now)), NO_NODE)
            if row != NO_NODE:
                return Placement(row, now=now, fresh=False)
        return None


def _short(lacking: dict[int, int]) -> bool:
    return any(amount > 0 for amount in lacking.values())


def _is_narrow(board: Snapshot, fit: PodClass) -> bool:
    """Whether only some nodes will do, and no rule or device but room keeps the pod off them."""
    plain = fit.binding is None and fit.packing is None
    return plain and bool((board.grid.open & ~fit.eligible).any())


def drains_of_moves(
    board: Snapshot, moves: Sequence[ReplicaMove], busy: frozenset[JobKey]
) -> tuple[Drain, ...]:
    """What moves at once; what waits for room, or whose job changes its size, moves later."""
    names = list(board.grid.rows)
    due = [move for move in moves if move.now and move.standing.job.key not in busy]
    standings = dict.fromkeys(move.standing for move in due)
    found = (_evacuation(one, [move for move in due if move.standing is one], names)
             for one in standings)  # fmt: skip
    return tuple(one for one in found if one.pods)


def _evacuation(
    standing: RoleAllocation, moves: Sequence[ReplicaMove], names: Sequence[str]
) -> Drain:
    counts = Counter(names[move.row] for move in moves)
    clears = tuple(sorted(counts))
    pods = []
    for pod in sorted(standing.role.pods, key=lambda pod: (-pod.index, pod.name)):
        if counts[pod.node] > 0 and not (pod.terminating or pod.ended):
            counts[pod.node] -= 1
            pods.append(pod)
    leaving = tuple(pod.name for pod in keeping_one_ready(standing.role, pods))
    return Drain(standing.job.key, standing.role.name, leaving, moves[0].reason, clears)


def moved_allocations(moves: Iterable[ReplicaMove]) -> list[RoleAllocation]:
    return list(dict.fromkeys(move.standing for move in moves))
