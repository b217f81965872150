"""Claims of single pods: of other owners, and of started roles whose minimum lacks nodes."""

from collections.abc import Iterator, Sequence
from typing import Final

from edl import reasons
from edl.feasibility.horizon import FUTURE_IDLE, IDLE
from edl.model import Demand, Pod, TrainingJob
from edl.planner.packing.pod_class import PodSetRequest
from edl.planner.passes.admission.claim_sources import ClaimSources
from edl.planner.passes.drain import (
    is_whole,
    movable_allocations,
    nodes_that_go,
    pods_that_may_leave,
    pods_that_must_leave,
    quota_allows_replacement,
)
from edl.planner.passes.named_moves import Displacement, moved_allocations
from edl.planner.passes.preemption.preemption import Preemptor
from edl.planner.passes.reclaim import Reservation, reserve_capacity
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.decisions import record_eviction
from edl.planner.snapshot.reclaimable import Reclaimable
from edl.planner.snapshot.restart_backoff import gang_failure
from edl.planner.snapshot.role_allocation import NO_NODE, Placement, RoleAllocation
from edl.planner.teams.reclaim_priority import Margin, ReclaimPriority


def place_demand(sources: ClaimSources, demand: Demand) -> None:
    """Pods of other owners that are pending come to idle capacity, then take extras."""
    snapshot = sources.snapshot
    pod_class = snapshot.pod_class(demand.shape)
    nodes = pod_class.idle.reserve_pods(demand.count)
    if len(nodes) < demand.count:
        requests = [PodSetRequest(pod_class, demand.count - len(nodes))]
        reason = reasons.room_for_demand(demand)
        priority = ReclaimPriority(demand.priority, Margin.NEARLY_DONE)
        charge = snapshot.demand_charge(demand, demand.count) if snapshot.teams else None
        scope = snapshot.reclaim_scope(priority, charge, requests)
        reservation = Reservation(snapshot.capacity, requests)
        moves = Displacement(snapshot, sources.reclaimable, reservation, scope, reason).run()
        sources.decisions.moves += moves
        reserve_capacity(reservation, sources.reclaimable, scope, whole=False)
        sources.record_evicted([*reservation.evicted, *moved_allocations(moves)], reason)
        nodes += reservation.nodes[0]
        rest = PodSetRequest(pod_class, demand.count - len(nodes))
        nodes += sources.preempt(Preemptor((rest,), demand.priority, scope, reason))
    if snapshot.teams:
        snapshot.demand_charge(demand, 1).reserve(len(nodes))
    if nodes:
        sources.decisions.pipeline([PodSetRequest(pod_class, len(nodes))], [nodes])


def place_minimum(sources: ClaimSources, allocation: RoleAllocation) -> None:
    """A started role without a node for its minimum takes extras, its own among them.

    Where that is not enough for a gang that starts, it gives its nodes back at once.
    """
    snapshot = sources.snapshot
    lacking = [
        position
        for position, _, _ in allocation.unscheduled
        if position < allocation.min_replicas and allocation.placements[position].node == NO_NODE
    ]
    if not lacking:
        return
    job = allocation.job
    requests = [PodSetRequest(allocation.pod_class, len(lacking))]
    reason = reasons.room_for_minimum(job.key)
    charge = allocation.quota_request.team if allocation.quota_request else None
    scope = snapshot.reclaim_scope(_priority(job), charge, requests, 0)
    reservation = Reservation(snapshot.capacity, requests)
    reserve_capacity(reservation, sources.reclaimable, scope, whole=False)
    sources.record_evicted(reservation.evicted, reason)
    rest = PodSetRequest(allocation.pod_class, len(lacking) - len(reservation.nodes[0]))
    nodes = reservation.nodes[0] + sources.preempt(Preemptor((rest,), job.priority, scope, reason))
    for position, node in zip(lacking, nodes, strict=False):
        allocation.assign(position, Placement(node, holds_idle=False, is_new=False))
    sources.drop_suspended()
    if len(nodes) < len(lacking) and _just_started(snapshot, allocation):
        why = gang_failure(snapshot, job, reasons.NODES_TAKEN)
        sources.decisions.suspended.setdefault(job.key, why)
    else:
        sources.decisions.hold(job.key, reasons.minimum_pending(job.key))


def _just_started(snapshot: Snapshot, allocation: RoleAllocation) -> bool:
    """Whether it starts on nodes of the plan's choice, and may not have come together yet."""
    started, limit = allocation.job.started_at, snapshot.limits.gang_limit
    return (
        allocation.role.template.gated
        and started is not None
        and not snapshot.has_passed(started, limit)
    )


def place_replacements(sources: ClaimSources) -> None:
    """Pods leave nodes that are about to go: their replacements have room before others grow.

    First those that must leave: the room that they need is not there for those that only may.
    """
    going, cordoned = nodes_that_go(sources.snapshot.state.nodes)
    if not (going or cordoned):
        return
    leaving = sources.decisions.leaving
    for one in (movable := movable_allocations(sources.snapshot)):
        if pods := pods_that_must_leave(sources.snapshot, one, going):
            one.pod_class.idle.reserve_pods(len(pods))
            leaving[one] = pods
    for one in movable:
        if one not in leaving and (pods := pods_that_may_leave(sources.snapshot, one, cordoned)):
            _place_replacement(sources, one, pods)


def _place_replacement(
    sources: ClaimSources, allocation: RoleAllocation, pods: Sequence[Pod]
) -> None:
    """One of these, to where a node has room; for one of the minimum extras make room."""
    snapshot, job, pod_class = sources.snapshot, allocation.job, allocation.pod_class
    if not quota_allows_replacement(snapshot, job, allocation.role):
        return
    if pod_class.idle.reserve_pods(1):
        sources.decisions.leaving[allocation] = pods[:1]
        return
    pod = next((pod for pod in pods if pod.index < allocation.min_replicas), None)
    if pod is None:
        return
    requests = [PodSetRequest(pod_class, 1)]
    reservation = Reservation(snapshot.capacity, requests)
    if reservation.complete():
        return  # the room is on its way
    if not is_whole(allocation, pod):
        reservation.discard(sources.reclaimable)
        return
    charge = allocation.quota_request.team if allocation.quota_request else None
    scope = snapshot.reclaim_scope(_priority(job), charge, requests, 0)
    reserve_capacity(reservation, sources.reclaimable, scope, whole=True)
    sources.record_evicted(reservation.evicted, reasons.room_for_minimum(job.key))


# After a user raises a minimum, the missing replicas come first under every policy.

_MARGIN: Final = Margin.NEARLY_DONE


def _priority(job: TrainingJob) -> ReclaimPriority:
    """For pods of a minimum that has started."""
    return ReclaimPriority(job.priority, Margin.NEARLY_DONE)


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
        allocation.hold.reason or allocation.reason
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
