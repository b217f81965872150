"""Room for a gang that is not free yet."""

from edl.feasibility.gpu_shares import Horizon
from edl.planner.passes.admission import topology_placement
from edl.planner.passes.admission.gang import Gang
from edl.planner.passes.reclaim import Reservation, reserve_capacity
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.reclaimable import Reclaimable
from edl.planner.teams.reclaim_priority import ReclaimScope


def reserve_for_gang(
    snapshot: Snapshot, reclaimable: Reclaimable, found: Gang, scope: ReclaimScope
) -> Reservation | None:
    """Room that is idle, or that extras within this level hold; None, and no change.

    In the domains that the gang requires, and near each other where it prefers that.
    """
    asks = found.job.topology
    reach = reclaimable.capacity.with_idle(scope) if asks else snapshot.capacity.future_idle
    for kept in topology_placement.restricted_to_domains(
        snapshot, found, reach, Horizon.FUTURE_IDLE
    ):
        for requests in topology_placement.in_preferred_domains(snapshot, kept, reach):
            reservation = Reservation(
                snapshot.capacity, list(requests), quota_request=found.quota_request
            )
            if reserve_capacity(reservation, reclaimable, scope, whole=True):
                return reservation
    return None
