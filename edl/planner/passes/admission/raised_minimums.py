"""A minimum that its user raised: what is missing to it is no extra, whatever the policy is."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from edl import reasons
from edl.planner.packing.pod_class import Want
from edl.planner.passes.reclaim import Claim, make_room
from edl.planner.snapshot.board import Board
from edl.planner.snapshot.decisions import note_yield
from edl.planner.snapshot.reclaimable import Extras
from edl.planner.snapshot.role_allocation import FINISHING, Standing

if TYPE_CHECKING:
    from edl.planner.packing.node_capacity import Grid


def lacking(board: Board) -> Iterator[Standing]:
    """Roles that run with fewer replicas than they should."""
    return (one for one in board.standings if one.size < one.role.min and one.moves)


def raise_to_minimum(grid: "Grid", extras: Extras, standing: Standing) -> None:
    """One replica at a time, of room that is free, and of extras of its priority and below."""
    job, fit, bill = standing.job, standing.fit, standing.bill
    while standing.size < standing.role.min and not (standing.held or standing.reason):
        if bill and not bill.allows(now=False):
            return
        claim = Claim(grid, [Want(fit, 1)])
        if not make_room(claim, extras, job.priority + FINISHING, whole=True):
            return
        note_yield(claim.risen, reasons.room_for_minimum(job.key))
        ((row,),) = claim.placed
        # The claim took it for soon only.
        grid.give(row, fit, now=False)
        standing.sit(
            grid, row, now=fit.takes(row, now=True) and (not bill or bill.allows(now=True))
        )
        standing.floor = standing.size
