"""After a user raises a minimum, the missing replicas come first under every policy."""

from collections.abc import Iterator
from typing import Final

from edl import reasons
from edl.feasibility.horizon import FUTURE_IDLE, IDLE
from edl.planner.packing.pod_class import PodSetRequest
from edl.planner.passes.reclaim import Reservation, reserve_capacity
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.decisions import record_eviction
from edl.planner.snapshot.reclaimable import Reclaimable
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.reclaim_priority import Margin, ReclaimPriority

_MARGIN: Final = Margin.NEARLY_DONE


def below_minimum(snapshot: Snapshot) -> Iterator[RoleAllocation]:
    """Roles that run with fewer replicas than they should."""
    return (one for one in snapshot.allocations if one.size < one.role.spec.min and one.resizable)


def raise_to_minimum(
    snapshot: Snapshot, reclaimable: Reclaimable, allocation: RoleAllocation
) -> None:
    """One replica at a time, of room that is free, and of extras of its priority and below."""
    job, pod_class, quota_request = allocation.job, allocation.pod_class, allocation.quota_request
    capacity, priority = snapshot.capacity, ReclaimPriority(allocation.job.priority, _MARGIN)
    charge = quota_request.team if quota_request else None
    while allocation.size < allocation.role.spec.min and not (
        allocation.hold_reason or allocation.reason
    ):
        if quota_request and not quota_request.allows(FUTURE_IDLE):
            return
        requests = [PodSetRequest(pod_class, 1)]
        scope = snapshot.reclaim_scope(priority, charge, requests)
        reservation = Reservation(capacity, requests)
        if not reserve_capacity(reservation, reclaimable, scope, whole=True):
            return
        record_eviction(reservation.evicted, reasons.room_for_minimum(job.key))
        ((node,),) = reservation.nodes
        # The claim took it for soon only.
        pod_class.future_idle.release(node)
        at_once = pod_class.idle.fits(node) and (not quota_request or quota_request.allows(IDLE))
        allocation.place(node, IDLE if at_once else FUTURE_IDLE)
        allocation.min_replicas = allocation.size
