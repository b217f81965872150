"""Minimums and manual sizes that users have raised above the present size of a role that runs.

Like a gang that came at the same time, such a role takes nothing that a queue head waits for: what
it got would be kept from the head for as long as the job runs.

A role that resizes live gets one replica after the other, and requests nodes for the rest; a job
that restarts to resize is stopped only for the minimums of all its roles at once, as it could not
start with less.

A minimum for which the nodes would be too few even if no other training job ran takes nothing:
replicas that its job got would belong to its minimum, which claims never take, and it would not
reach that minimum with them.
"""

from collections.abc import Sequence

from edl import reasons
from edl.feasibility.eligibility import Ints
from edl.feasibility.horizon import FUTURE_IDLE, IDLE, Horizon
from edl.model import JobKey, Reason
from edl.planner.gangs.gang import Gang
from edl.planner.packing.pack_order import reserve_nodes
from edl.planner.packing.placement import reserve_in
from edl.planner.packing.pod_class import PodSetRequest
from edl.planner.passes.admission.claim_sources import ClaimSources
from edl.planner.passes.admission.node_requests import NodeRequests
from edl.planner.passes.admission.queue_heads import QueueHeads
from edl.planner.passes.whole_restarts import place, restart_gang, shortage, why_kept
from edl.planner.reclaiming.capacity_claim import reserve_capacity
from edl.planner.reclaiming.reservation import Reservation
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.extras.reclaimable import minimum_priority
from edl.planner.snapshot.restarts.job_restart import JobRestart, lacking
from edl.planner.snapshot.role_allocation import RoleAllocation, by_job
from edl.planner.teams.reclaim_priority import ReclaimScope
from edl.spec.allowed_sizes import most_replicas, with_work


def hold_unreachable_minimums(snapshot: Snapshot) -> None:
    """Deny growth to jobs with such a minimum, unless an autoscaler may add nodes."""
    if snapshot.autoscaled:
        return
    below = (
        allocation
        for allocation in snapshot.allocations
        if allocation.resizable and lacking(allocation)
    )
    for roles in by_job(below):
        if why := _why_unreachable(snapshot, roles):
            for role in roles:
                role.hold.deny_as_well(why)


def _why_unreachable(snapshot: Snapshot, below: Sequence[RoleAllocation]) -> Reason | None:
    """Why the nodes never hold the minimums of these roles of one job; None if they may.

    Its own pods stay where they are, but those that a restart has to place anew.
    """
    restart, rank = below[0].restart, below[0].queue_rank
    same_job = (one for one in snapshot.allocations if one.queue_rank == rank)
    roles = restart.roles if restart else [*same_job]
    gang = restart_gang(snapshot, roles if restart else below)
    room = snapshot.capacity_without_training_jobs.copy()
    for role in roles:
        reserve_in(role.pod_class, room, (one for one in role.placements if not one.stranded))
    short = shortage(snapshot, roles, gang, room, Horizon.EMPTY)
    fits = short.fitting == sum(need.pods for need in short.needs)
    return None if fits else reasons.gang(short, never=True)


def claimed(allocation: RoleAllocation) -> int:
    """How many replicas a started role lacks of its user's choice: its min, or its manual size."""
    role = allocation.role
    size = with_work(role, most_replicas(role) if allocation.manual else role.spec.min)
    return max(size - allocation.size, 0)


def serve_raise(
    sources: ClaimSources, heads: QueueHeads, nodes: NodeRequests, allocation: RoleAllocation
) -> None:
    """Add replicas up to the minimum, or let growth add those of a manual size.

    Neither if the pods would delay a queue head: the role keeps its size.
    """
    if not claimed(allocation):
        return
    restart = allocation.restart if allocation.lacks_places else None
    roles = restart.roles if restart else (allocation,)
    gang = restart_gang(sources.snapshot, roles, claimed)
    if first := _goes_first(heads, gang):
        allocation.hold.deny_as_well(reasons.goes_first(first))
        if restart:
            restart.deny_growth(reasons.goes_first(first))
    elif not (restart and lacking(allocation)):
        _raise_to_minimum(sources, allocation)
        _request_rest(sources.snapshot, nodes, allocation)
    elif _may_restart(restart) and not _raise_by_restart(sources, restart):
        _wait_in_turn(sources, heads, nodes, restart, gang)


def _wait_in_turn(
    sources: ClaimSources, heads: QueueHeads, nodes: NodeRequests, restart: JobRestart, gang: Gang
) -> None:
    """Request the nodes that a raise lacks; after `queue_patience` it goes first, as a gang would.

    One that only a quota refuses requests no nodes, and is first in that quota alone.
    """
    snapshot, job = sources.snapshot, gang.job
    below = [role for role in restart.roles if lacking(role)]
    since = min(role.role.growth_awaited_since or snapshot.clock.now for role in below)
    waited = snapshot.clock.elapsed_or_recheck(since, snapshot.limits.queue_patience)
    quota = gang.quota_request.exceeded(FUTURE_IDLE)
    fits = sources.without_jobs.fits(gang) and _why_unreachable(snapshot, below) is None
    if quota is None:
        nodes.request_raise(below, _within_reach(sources, gang))
        if fits and waited and gang.quota_request.allows(FUTURE_IDLE):
            heads.add(gang)
        return
    sizes = [(role.role, role.size + lacking(role)) for role in restart.roles]
    beside = snapshot.quotas.request_of(job, sizes).fits_beside_others
    if beside and waited and (fits or any(map(nodes.may_request_missing, below))):
        quota.head = quota.head or job.key


def _scope(sources: ClaimSources, gang: Gang) -> ReclaimScope:
    """What may yield to the pods of a raised minimum."""
    priority, charge = minimum_priority(gang.job.priority), gang.quota_request.team
    return sources.scope(priority, charge, gang.requests)


def _within_reach(sources: ClaimSources, gang: Gang) -> Ints:
    """What idle nodes and extras have for the pods of a raised minimum."""
    return sources.reclaimable.capacity.with_idle(_scope(sources, gang))


def _goes_first(heads: QueueHeads, gang: Gang) -> JobKey | None:
    """The queued job before which these pods may not start."""
    head = heads.delayed_by(gang)
    if head and not heads.yielded_before(gang, head):
        return head.job.key
    return gang.quota_request.head


def _raise_to_minimum(sources: ClaimSources, allocation: RoleAllocation) -> None:
    """Add replicas up to the minimum, one at a time: on idle capacity, then by reclaiming extras.

    So a minimum that a user has raised is reached before other growth, under every policy.
    """
    snapshot, reclaimable, job = sources.snapshot, sources.reclaimable, allocation.job
    pod_class, quota_request = allocation.pod_class, allocation.quota_request
    while allocation.size < allocation.role.spec.min and not (
        allocation.hold.reason or allocation.reason
    ):
        if not quota_request.allows(FUTURE_IDLE):
            return
        requests = [PodSetRequest(pod_class, 1)]
        scope = sources.scope(minimum_priority(job.priority), quota_request.team, requests)
        reservation = Reservation(snapshot.capacity, requests, uncounted=quota_request.team)
        if not reserve_capacity(reservation, reclaimable, scope, whole=True):
            return
        sources.record_evicted(reservation.evicted, reasons.room_for_minimum(job.key))
        ((node,),) = reservation.nodes
        # The reservation is of future idle capacity; `place` reserves anew, idle if possible.
        pod_class.future_idle.release(node)
        at_once = pod_class.idle.fits(node) and quota_request.allows(IDLE)
        allocation.place(node, IDLE if at_once else FUTURE_IDLE)
        allocation.min_replicas = allocation.size


def _request_rest(snapshot: Snapshot, nodes: NodeRequests, allocation: RoleAllocation) -> None:
    """Request nodes for what a role lacks of its minimum; while it is held, it keeps its requests.

    Replacements of its pods on cordoned nodes are requested before.
    """
    held = allocation.hold.reason or allocation.reason
    if lacking(allocation) and not nodes.has_request(allocation):
        nodes.request_raise([allocation], snapshot.capacity.future_idle, begins=not held)


def _may_restart(restart: JobRestart) -> bool:
    """Whether the plan may stop the job: no role is held, or changes its size for another cause."""
    roles = (role for role in restart.roles if role.restarts_to_resize)
    return not any(role.hold.reason or role.reason for role in roles)


def _raise_by_restart(sources: ClaimSources, restart: JobRestart) -> bool:
    """Place all that the job lacks of its minimums, or reserve that; else it keeps its size.

    The job runs on until all reserved places are idle, as a gang would wait for them.
    """
    snapshot, job, reclaimable = sources.snapshot, restart.job, sources.reclaimable
    gang = restart_gang(snapshot, restart.roles)
    requests, quota_request = list(gang.requests), gang.quota_request
    scope = _scope(sources, gang)
    restart.awaited, reservation = True, None
    if not reclaimable.quotas.exceeded(quota_request, scope):
        reservation = Reservation(snapshot.capacity, requests, quota_request=quota_request)
    if not (reservation and reserve_capacity(reservation, reclaimable, scope, whole=True)):
        restart.deny_growth(why_kept(restart, gang, reclaimable.capacity.with_idle(scope)))
        return False
    sources.record_evicted(reservation.evicted, reasons.room_for_minimum(job.key))
    for request, nodes in zip(requests, reservation.nodes, strict=True):
        for node in nodes:
            request.pod_class.future_idle.release(node)
    quota_request.release(FUTURE_IDLE)
    restart.awaited = not place(restart, gang, reservation.nodes)
    if restart.awaited:
        reserve_nodes(requests, reservation.nodes, FUTURE_IDLE)
        quota_request.reserve(FUTURE_IDLE)
        sources.results.pipeline(requests, reservation.nodes, job.key)
        restart.deny_growth(reasons.leaving(gang.pods))
    return True
