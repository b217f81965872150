"""A minimum that its user raised: what is missing to it is no extra, whatever the policy is."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from edl import reasons
from edl.planner.packing.pod_class import PodSetRequest
from edl.planner.passes.reclaim import Reservation, reserve_capacity
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.decisions import record_eviction
from edl.planner.snapshot.reclaimable import Reclaimable
from edl.planner.snapshot.role_allocation import NEARLY_DONE_MARGIN, RoleAllocation

if TYPE_CHECKING:
    from edl.planner.packing.node_capacity import NodeCapacity


def below_minimum(board: Snapshot) -> Iterator[RoleAllocation]:
    """Roles that run with fewer replicas than they should."""
    return (one for one in board.allocations if one.size < one.role.min and one.resizable)


def raise_to_minimum(grid: "NodeCapacity", extras: Reclaimable, standing: RoleAllocation) -> None:
    """One replica at a time, of room that is free, and of extras of its priority and below."""
    job, fit, bill = standing.job, standing.pod_class, standing.quota_request
    while standing.size < standing.role.min and not (standing.hold_reason or standing.reason):
        if bill and not bill.allows(now=False):
            return
        claim = Reservation(grid, [PodSetRequest(fit, 1)])
        if not reserve_capacity(claim, extras, job.priority + NEARLY_DONE_MARGIN, whole=True):
            return
        record_eviction(claim.evicted, reasons.room_for_minimum(job.key))
        ((row,),) = claim.nodes
        # The claim took it for soon only.
        grid.release(row, fit, now=False)
        standing.place(
            grid, row, now=fit.fits(row, now=True) and (not bill or bill.allows(now=True))
        )
        standing.min_replicas = standing.size
