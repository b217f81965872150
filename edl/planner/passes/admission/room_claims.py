"""Room for a gang that is not free yet."""

from edl.feasibility.gpu_shares import Horizon
from edl.planner.passes.admission import topology_placement
from edl.planner.passes.admission.gang import Gang
from edl.planner.passes.reclaim import Claim, make_room
from edl.planner.snapshot.board import Board
from edl.planner.snapshot.reclaimable import Extras


def of_extras(board: Board, extras: Extras, found: Gang, level: float) -> Claim | None:
    """Room that is idle, or that extras within this level hold; None, and no change.

    In the domains that the gang requires, and near each other where it prefers that.
    """
    asks = found.job.topology
    reach = extras.spare.room(level) if asks else board.grid.soon
    for kept in topology_placement.kept(board, found, reach, Horizon.FUTURE_IDLE):
        for wants in topology_placement.near(board, kept, reach):
            claim = Claim(board.grid, list(wants), bill=found.bill)
            if make_room(claim, extras, level, whole=True):
                return claim
    return None
