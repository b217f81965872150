"""Claims of single pods: other owners' pods, and minimum pods of started roles without a node."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import chain
from typing import Final

from edl import reasons
from edl.job_state.lost_pods import has_lost_any, why_any_missing
from edl.model import Demand, Pod, Reason
from edl.model.causes.scarcity import UnplacedMinimum
from edl.planner.fit_errors.fit_error import minimum_fit_error, one_pod_error
from edl.planner.packing.node_capacity import NO_NODE
from edl.planner.packing.placement import Placement, Unscheduled
from edl.planner.packing.pod_class import PodSetRequest
from edl.planner.passes.admission.claim_sources import ClaimSources
from edl.planner.passes.admission.node_requests import NodeRequests
from edl.planner.passes.drain import (
    exceeded_by_replacement,
    is_movable,
    is_whole,
    nodes_that_go,
    others_are_ready,
    pods_that_may_leave,
    pods_that_must_leave,
)
from edl.planner.passes.node_clearing import NodeClearing
from edl.planner.passes.preemption.preemption import Preemptor
from edl.planner.passes.suspensions import minimum_patience
from edl.planner.reclaiming.capacity_claim import reserve_capacity
from edl.planner.reclaiming.reservation import Reservation
from edl.planner.snapshot.existing_placements import is_lost
from edl.planner.snapshot.extras.reclaimable import minimum_priority
from edl.planner.snapshot.restart_backoff import with_failed_starts
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.reclaim_priority import ReclaimScope

_STARTS: Final = timedelta(seconds=30)
"""Within this time after a start, a new pod belongs to the start and replaces no lost pod."""


def place_demand(sources: ClaimSources, demand: Demand) -> None:
    """Reserve for other owners' pending pods: idle capacity, then extras, then preemption."""
    snapshot = sources.snapshot
    pod_class = snapshot.pod_class(demand.shape)
    nodes = pod_class.idle.reserve_pods(demand.count)
    charge = snapshot.demand_charge(demand) if snapshot.teams else None
    if charge:
        charge.reserve(len(nodes))
    if len(nodes) < demand.count:
        sources.results.waiting[pod_class] += demand.count - len(nodes)
        requests = [PodSetRequest(pod_class, demand.count - len(nodes))]
        reason = reasons.room_for_demand(demand)
        scope = sources.scope(minimum_priority(demand.priority), charge, requests, requests[0].pods)
        reservation = Reservation(snapshot.capacity, requests, uncounted=charge)
        moves = NodeClearing(snapshot, sources.reclaimable, reservation, scope, reason).run()
        sources.results.moves += moves
        reserve_capacity(reservation, sources.reclaimable, scope, whole=False)
        moved = (move.allocation for move in moves)
        sources.record_evicted([*reservation.evicted, *moved], reason)
        freed = reservation.nodes[0]
        if charge:
            charge.reserve(len(freed))
        rest = PodSetRequest(pod_class, demand.count - len(nodes) - len(freed))
        if rest.pods and sources.may_preempt(demand, scope):
            preemptor = Preemptor((rest,), scope, reason, uncounted=charge)
            more = sources.preemption.as_many_as_possible(preemptor)
            if charge:
                charge.reserve(len(more))
            freed = freed + more
        nodes += freed
    if nodes:
        sources.results.pipeline([PodSetRequest(pod_class, len(nodes))], [nodes])


def place_minimum(sources: ClaimSources, roles: Sequence[RoleAllocation]) -> None:
    """Reserve for minimum pods of a job without a node: extras, its own included, or preemption.

    A gang that has just been started is suspended and queued again instead.
    """
    snapshot, job = sources.snapshot, roles[0].job
    if job.key in sources.results.suspended:
        return
    lacking = [
        (allocation, replica)
        for allocation in roles
        for replica in allocation.unscheduled
        if allocation.needs(replica) and allocation.placements[replica.position].node == NO_NODE
    ]
    if not job.keeps_running and any(_starts_without_room(*pair) for pair in lacking):
        why = with_failed_starts(snapshot, job, reasons.GANG_UNSCHEDULABLE_PLACEMENT)
        sources.results.suspended[job.key] = why
    elif lacking:
        _claim_for_minimum(sources, lacking)
        missing = why_any_missing(job) or _why_unplaced(sources, lacking)
        sources.results.let_wait(job.key, missing or reasons.minimum_pending(job.key))


def _claim_for_minimum(
    sources: ClaimSources, lacking: Sequence[tuple[RoleAllocation, Unscheduled]]
) -> None:
    """Reserve for all of these pods, or take nothing: a part of a minimum would not train.

    No job is preempted while some of them back off.
    """
    positions: defaultdict[RoleAllocation, list[int]] = defaultdict(list)
    for role, replica in lacking:
        if not _backs_off(role, replica):
            positions[role].append(replica.position)
        else:  # meanwhile an extra stands in for it
            role.min_replicas = min(role.min_replicas + 1, role.size)
    if not positions:
        return
    job = lacking[0][0].job
    roles = sorted(
        positions, key=lambda role: (role.pod_class.follows_others, -role.cluster_fraction)
    )
    requests, scope = _minimum_claim(sources, {role: len(positions[role]) for role in roles})
    preemptor = Preemptor(requests, scope, reasons.room_for_minimum(job.key))
    reservation = preemptor.reservation(sources.snapshot, preempts=False)
    if reserve_capacity(reservation, sources.reclaimable, scope, whole=True):
        sources.record_evicted(reservation.evicted, preemptor.reason)
        nodes = reservation.nodes
    else:
        backs_off = len(lacking) > sum(map(len, positions.values()))
        may = not backs_off and sources.may_preempt(job, scope)
        preempted = sources.preemption.run(preemptor) if may else None
        nodes = preempted.nodes if preempted else []
    for role, taken in zip(roles, nodes, strict=False):
        for position, node in zip(positions[role], taken, strict=True):
            role.assign(position, Placement(node, holds_idle=False, is_new=False))
    sources.forget_preemption()


def _minimum_claim(
    sources: ClaimSources, pods: Mapping[RoleAllocation, int]
) -> tuple[tuple[PodSetRequest, ...], ReclaimScope]:
    """The requests of these pods of one job's minimum, and what may be taken for them."""
    job = next(iter(pods)).job
    counts = [(allocation.role, count) for allocation, count in pods.items()]
    charge = sources.snapshot.quotas.request_of(job, counts).team
    requests = tuple(PodSetRequest(role.pod_class, count) for role, count in pods.items())
    return requests, sources.scope(minimum_priority(job.priority), charge, requests, 0)


def _why_unplaced(
    sources: ClaimSources, lacking: Sequence[tuple[RoleAllocation, Unscheduled]]
) -> Reason | None:
    """Why these pods got no node in this plan either; None if they did."""
    left = [
        (allocation, replica)
        for allocation, replica in lacking
        if allocation.placements[replica.position].node == NO_NODE
    ]
    if not left:
        return None
    snapshot, job, pods = sources.snapshot, left[0][0].job, Counter(role for role, _ in left)
    requests, scope = _minimum_claim(sources, pods)
    room = sources.reclaimable.capacity.with_idle(scope)
    lacks = minimum_fit_error(
        snapshot, [allocation.role.name for allocation in pods], requests, room
    )
    domain_sets = (snapshot.domains.kept_to(role.pod_class) for role in pods)
    domains = tuple(dict.fromkeys(chain.from_iterable(domain_sets)))
    waits = [minimum_patience(snapshot, job, replica.pod) for _, replica in left if replica.since]
    leaves = waits and not (job.problem or job.keeps_running)
    seconds = min(waits).total_seconds() if leaves else None
    return reasons.unplaced(UnplacedMinimum(lacks, domains, seconds))


def _backs_off(allocation: RoleAllocation, replica: Unscheduled) -> bool:
    """Whether the Job controller creates this pod after its back-off only, or it is refused so far.

    Until then no replica yields for it: others' new pods would take the room, and yield it again.
    """
    if is_lost(replica) and has_lost_any(allocation.role):
        return True
    template = allocation.role.template
    refused = template.pod_refusals or template.missing_class or exceeded_by_replacement(allocation)
    return replica.pod is None and bool(refused)


def _starts_without_room(allocation: RoleAllocation, replica: Unscheduled) -> bool:
    """Whether this gated pod belongs to its gang's start, and other pods have taken its node.

    Not if it has an assigned node, which may be absent only briefly. A pod created long after the
    start replaces another one, or a user has raised the minimum.
    """
    started, pod = allocation.job.started_at, replica.pod
    return (
        pod is not None
        and pod.unplaced
        and not allocation.job.problem
        and started is not None
        and replica.since is not None
        and replica.since - started < _STARTS
    )


def place_replacements(sources: ClaimSources, nodes: NodeRequests) -> None:
    """Reserve for replacements of minimum pods on cordoned nodes, before any job starts or grows.

    If no node fits one, extras of roles that resize without a restart yield, as a cordon may last
    for hours. If that fails, nodes are requested, for all of the role's pods that are to move.
    """
    going, cordoned = nodes_that_go(sources.snapshot.state.nodes)
    for allocation in filter(is_movable, sources.snapshot.allocations) if cordoned else ():
        pods = pods_that_may_leave(sources.snapshot, allocation, cordoned)
        least = [pod for pod in pods if pod.index < allocation.min_replicas]
        if not least:
            continue
        # Pods that must leave nodes about to be removed come first.
        why = None if going else _why_irreplaceable(sources, allocation, least[0])
        begins = why is not None and not exceeded_by_replacement(allocation)
        requested = nodes.request_missing(allocation, len(least), begins=begins, first=True)
        if why and is_whole(allocation, least[0]) and not requested:
            sources.results.irreplaceable[allocation] = why


def _why_irreplaceable(
    sources: ClaimSources, allocation: RoleAllocation, pod: Pod
) -> Reason | None:
    """Why no pod can replace this one now or later; None if one can, or another pod moves."""
    if not others_are_ready(allocation.role, pod):
        return None
    if exceeded := exceeded_by_replacement(allocation):
        return exceeded
    if _place_replacement(sources, allocation, pod):
        return None
    return one_pod_error(sources.snapshot, allocation.pod_class)


def _place_replacement(sources: ClaimSources, allocation: RoleAllocation, pod: Pod) -> bool:
    """Reserve for the replacement of a pod, now or later; False if nothing can be reserved."""
    snapshot, job, pod_class = sources.snapshot, allocation.job, allocation.pod_class
    if pod_class.idle.reserve_pods(1):
        sources.results.leaving[allocation] = (pod,)
        return True
    requests = [PodSetRequest(pod_class, 1)]
    reservation = Reservation(snapshot.capacity, requests)
    if reservation.complete():
        return True
    priority, charge = minimum_priority(job.priority), allocation.quota_request.team
    scope = sources.scope(priority, charge, requests, 0)
    if is_whole(allocation, pod) and sources.reclaim_live(reservation, scope):
        sources.record_evicted(reservation.evicted, reasons.room_for_minimum(job.key))
        return True
    reservation.discard(sources.reclaimable)
    return False


def reserve_replacements(sources: ClaimSources) -> None:
    """Reserve for the remaining pods that leave, after the last claim and before growth.

    Pods on nodes about to be removed come before pods on cordoned nodes.
    """
    snapshot, leaving = sources.snapshot, sources.results.leaving
    going, cordoned = nodes_that_go(snapshot.state.nodes)
    movable = [*filter(is_movable, snapshot.allocations)] if going or cordoned else []
    for allocation in movable:
        if pods := pods_that_must_leave(snapshot, allocation, going):
            allocation.pod_class.idle.reserve_pods(len(pods))
            leaving[allocation] = pods
    for allocation in movable:
        pods = () if allocation in leaving else pods_that_may_leave(snapshot, allocation, cordoned)
        may = (
            pods
            and others_are_ready(allocation.role, pods[0])
            and not exceeded_by_replacement(allocation)
        )
        if may and allocation.pod_class.idle.reserve_pods(1):
            leaving[allocation] = pods[:1]
