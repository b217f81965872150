"""Future idle capacity for a whole gang: from extras first, then from preempted jobs if allowed."""

from edl import reasons
from edl.feasibility.horizon import FUTURE_IDLE, Horizon
from edl.planner.passes.admission import topology_placement
from edl.planner.passes.admission.claim_sources import ClaimSources
from edl.planner.passes.admission.gang import Gang
from edl.planner.passes.preemption.preemption import Preemptor
from edl.planner.passes.reclaim import Reservation, reserve_capacity
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.decisions import record_eviction
from edl.planner.snapshot.extras.reclaimable import Reclaimable, reclaim_order
from edl.planner.teams.reclaim_priority import ALL_IN_REACH, ReclaimScope


def reserve_for_gang(
    snapshot: Snapshot, reclaimable: Reclaimable, found: Gang, scope: ReclaimScope
) -> Reservation | None:
    """Reserve future idle capacity, reclaiming extras within `scope`, for the whole gang.

    Required domains are respected, preferred ones tried first. None, and no change, if it does not
    fit.
    """
    topology = found.job.topology
    reach = reclaimable.capacity.with_idle(scope) if topology else snapshot.capacity.future_idle
    for kept in topology_placement.restricted_to_domains(snapshot, found, reach, FUTURE_IDLE):
        for requests in topology_placement.in_preferred_domains(snapshot, kept, reach):
            reservation = Reservation(
                snapshot.capacity, list(requests), quota_request=found.quota_request
            )
            if reserve_capacity(reservation, reclaimable, scope, whole=True):
                return reservation
    return None


def claim_capacity(sources: ClaimSources, found: Gang, scope: ReclaimScope) -> Reservation | None:
    """Reserve for all pods, from extras, then by preemption; None, and no change, if that fails."""
    snapshot = sources.snapshot
    if found.partial and (reservation := _reserve_own(sources, found)):
        return reservation
    job = found.job
    to_start = reasons.room_for_minimum if found.partial else reasons.room_for_job
    reason = to_start(job.key)
    if reservation := reserve_for_gang(snapshot, sources.reclaimable, found, scope):
        sources.record_evicted(reservation.evicted, reason)
        return reservation
    # A gang whose last start failed might preempt jobs for nothing, again and again.
    if found.failed_before or not sources.may_preempt(scope):
        return None
    room = (
        snapshot.capacity_without_training_jobs
        if job.topology.required
        else snapshot.capacity.future_idle
    )
    for kept in topology_placement.restricted_to_domains(snapshot, found, room, Horizon.EMPTY):
        preemptor = Preemptor(kept.requests, scope, reason, found.quota_request)
        if reservation := sources.preemption.run(preemptor):
            sources.record_evicted(reservation.evicted, reason)
            return reservation
    return None


def _reserve_own(sources: ClaimSources, found: Gang) -> Reservation | None:
    """Reserve for the rest of a partial start from extras of the job's own started roles.

    Only those of roles that restart to resize: the job restarted for a size that did not fit.
    """
    snapshot = sources.snapshot
    own = [
        one
        for one in sources.reclaimable.allocations
        if one.job.key == found.job.key and one.restarts_to_resize
    ]
    reservation = Reservation(
        snapshot.capacity, list(found.requests), quota_request=found.quota_request
    )
    if not reserve_capacity(
        reservation,
        Reclaimable(snapshot, own, reclaim_order(snapshot)),
        ALL_IN_REACH,
        whole=True,
    ):
        return None
    sources.forget_reclaimable()  # its entries of these roles are outdated
    record_eviction(reservation.evicted, reasons.room_for_minimum(found.job.key))
    return reservation
