"""Raised minimums for which the nodes would be too few even if no other training job ran.

A job with such a minimum keeps its size: replicas that it got would belong to its minimum, which
claims never take, and it would not reach that minimum with them.
"""

from collections.abc import Sequence

from edl import reasons
from edl.feasibility.horizon import Horizon
from edl.model import Reason
from edl.model.causes.scarcity import ResourceNeed, Shortage
from edl.planner.fit_errors.fit_error import scarcest
from edl.planner.packing.placement import reserve_in
from edl.planner.packing.pod_class import PodSetRequest, pack
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.role_allocation import RoleAllocation, by_job
from edl.spec.allowed_sizes import with_work


def hold_unreachable_minimums(snapshot: Snapshot) -> None:
    """Deny growth to jobs with such a minimum, unless an autoscaler may add nodes."""
    if snapshot.autoscaled:
        return
    below = (
        allocation
        for allocation in snapshot.allocations
        if allocation.resizable and _lacks(allocation)
    )
    for roles in by_job(below):
        if why := _why_unreachable(snapshot, roles):
            for role in roles:
                role.hold.deny_as_well(why)


def _why_unreachable(snapshot: Snapshot, below: Sequence[RoleAllocation]) -> Reason | None:
    """Why the nodes never hold the minimums of these roles of one job; None if they may."""
    room = snapshot.capacity_without_training_jobs.copy()
    for allocation in snapshot.allocations:
        if allocation.queue_rank == below[0].queue_rank:
            reserve_in(allocation.pod_class, room, allocation.placements)
    requests = [PodSetRequest(role.pod_class, _lacks(role)) for role in below]
    placed = pack(room, requests, Horizon.EMPTY)
    if placed == [request.pods for request in requests]:
        return None
    needs = tuple(
        ResourceNeed(
            allocation.role.name,
            allocation.size + _lacks(allocation),
            allocation.pod_class.shape.requests,
        )
        for allocation in below
    )
    fitting = sum(placed) + sum(role.size for role in below)
    lack = scarcest(snapshot, room, requests, Horizon.EMPTY)
    return reasons.gang(Shortage(needs, fitting, lack), never=True)


def _lacks(allocation: RoleAllocation) -> int:
    """How many replicas a started role lacks of its minimum, or of its remaining work items."""
    least = with_work(allocation.role, allocation.role.spec.min)
    return 0 if allocation.starts else max(least - allocation.size, 0)
