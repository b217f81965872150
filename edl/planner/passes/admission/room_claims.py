"""Room for a gang that is not free yet."""

from edl.feasibility.gpu_shares import Horizon
from edl.planner.passes.admission import topology_placement
from edl.planner.passes.admission.gang import Gang
from edl.planner.passes.reclaim import Reservation, reserve_capacity
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.reclaimable import Reclaimable


def reserve_for_gang(
    board: Snapshot, extras: Reclaimable, found: Gang, level: float
) -> Reservation | None:
    """Room that is idle, or that extras within this level hold; None, and no change.

    In the domains that the gang requires, and near each other where it prefers that.
    """
    asks = found.job.topology
    reach = extras.capacity.with_idle(level) if asks else board.capacity.future_idle
    for kept in topology_placement.restricted_to_domains(board, found, reach, Horizon.FUTURE_IDLE):
        for wants in topology_placement.in_preferred_domains(board, kept, reach):
            claim = Reservation(board.capacity, list(wants), quota_request=found.quota_request)
            if reserve_capacity(claim, extras, level, whole=True):
                return claim
    return None
