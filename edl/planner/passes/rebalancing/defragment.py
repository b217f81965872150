"""One replica more, by moving seats that this plan has given: nobody sits there yet.

Growth seats one replica after the other, each on the fullest node, so that small ones may leave
gaps that no large one fits. Here all of them are seated anew, the largest first.
"""

from typing import Final

import numpy as np

from edl.feasibility.gpu_shares import Horizon
from edl.planner.packing.pod_class import PodClass
from edl.planner.passes.growth import GrowthCeiling
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.role_allocation import NO_NODE, Placement, RoleAllocation

_MOST: Final = 64
"""Seats that are moved together: with more of them gaps hardly matter."""


def defragment_for(board: Snapshot, ceiling: GrowthCeiling, taker: RoleAllocation) -> bool:
    """Whether the taker found a place so; if not, nothing has changed.

    Smaller ones of this plan wait until the scheduler has placed it: else they would take its room.
    """
    given = _given(board)
    bill = taker.quota_request
    may = 0 < len(given) <= _MOST and taker.pod_class.constraints is None and not taker.starts
    if (
        not may
        or (bill and not bill.allows(now=True))
        or not ceiling.allows(taker.pod_class, now=True)
    ):
        return False
    asked = sorted(
        [*given, (taker, taker.size)], key=lambda one: (-one[0].cluster_fraction, one[0].rank)
    )
    devices = board.capacity.gpu_shares
    before = devices.checkpoint() if devices else None
    _give_back(board, given)
    found = _seat_all(board, asked)
    if found is None:
        for standing, place in given:
            board.capacity.reserve(standing.placements[place].node, standing.pod_class, now=True)
        if devices and before:
            devices.restore(before)
        return False
    for (standing, place), row in zip(asked, found, strict=True):
        if place < standing.size:
            standing.placements[place] = standing.placements[place]._replace(node=row)
    # It was taken with the others: `sit` takes it again, with what it counts.
    row = found[asked.index((taker, taker.size))]
    board.capacity.release(row, taker.pod_class, now=True)
    taker.place(board.capacity, row, now=True)
    _let_it_go_first(board, taker)
    return True


Replica = tuple[RoleAllocation, int]


def _given(board: Snapshot) -> list[Replica]:
    """The seats that replicas of running jobs take now; rules and reserved room stay.

    Of more than `_MOST` only the first few: so many are not moved.
    """
    given: list[Replica] = []
    for standing in board.allocations:
        if not standing.changed or standing.starts or standing.pod_class.constraints is not None:
            continue
        size = standing.size
        given += [(standing, place) for place in range(size - _fresh(standing.placements), size)]
        if len(given) > _MOST:
            break
    return given


def _fresh(seats: list[Placement]) -> int:
    """How many of the last seats are new, and taken now."""
    count = 0
    while count < len(seats) and seats[-1 - count].is_new and seats[-1 - count].holds_idle:
        count += 1
    return count


def _give_back(board: Snapshot, given: list[Replica]) -> None:
    for standing, place in given:
        board.capacity.release(standing.placements[place].node, standing.pod_class, now=True)


def _seat_all(board: Snapshot, asked: list[Replica]) -> list[int] | None:
    """A node for each, in this order, the fullest that takes it; None, and no change."""
    rows: list[int] = []
    for standing, _ in asked:
        row = _tightest(board, standing.pod_class)
        if row == NO_NODE:
            for (other, _), taken in zip(asked, rows, strict=False):
                board.capacity.release(taken, other.pod_class, now=True)
            return None
        board.capacity.reserve(row, standing.pod_class, now=True)
        rows.append(row)
    return rows


def _tightest(board: Snapshot, fit: PodClass) -> int:
    room = np.minimum(board.capacity.idle, board.capacity.future_idle)
    rows = np.flatnonzero(fit.pods_per_node(room, Horizon.IDLE) > 0)
    parts = [room[line, rows] / (board.resource_totals[line] or 1) for line, _ in fit.amounts]
    order = np.argsort(np.sum(parts, axis=0), kind="stable") if parts else np.arange(len(rows))
    # Sums may have room that no device has.
    fullest = (int(rows[place]) for place in order)
    return next((row for row in fullest if fit.allows(row, now=True)), NO_NODE)


def _let_it_go_first(board: Snapshot, taker: RoleAllocation) -> None:
    for standing in board.allocations:
        if (
            standing.cluster_fraction < taker.cluster_fraction
            and not standing.starts
            and standing.pod_class.constraints is None
        ):
            standing.defer(board.capacity, standing.growth)
