"""Builds the plan from the snapshot: sizes before and after, and why roles do not grow further."""

from collections.abc import Iterable, Iterator
from copy import copy
from datetime import timedelta
from operator import attrgetter

from msgspec.structs import replace

from edl import reasons
from edl.job_state import last_changes, phases
from edl.model import Code, JobKey, Reason, Role
from edl.model.causes.reason_subjects import Size
from edl.planner.decision import Decision
from edl.planner.decision_limits import ATOMIC_CLASS, Limits, Provisioner
from edl.planner.growth_reasons import GrowthReasons
from edl.planner.packing.node_capacity import NO_NODE
from edl.planner.packing.placement import DONE, Placement
from edl.planner.pass_results import PassResults
from edl.planner.passes.drain import drains
from edl.planner.passes.node_assignment import node_assignments
from edl.planner.passes.node_clearing import drains_of_moves
from edl.planner.passes.staying_pods import staying_pods
from edl.planner.passes.whole_restarts import restart_gang, why_kept
from edl.planner.plan import (
    Admission,
    Drain,
    Plan,
    ProvisioningRequest,
    RequestClass,
    Resize,
    Suspension,
    WaitingJob,
)
from edl.planner.reclaiming.removal_choice import drains_of_removals
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.restart_backoff import (
    with_attempts,
    with_failed_growth,
    with_failed_starts,
)
from edl.planner.snapshot.restarts.job_restart import lacking
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.snapshot.started_domains import in_domain_order
from edl.spec.allowed_sizes import manual_size, with_work


def build_plan(decision: Decision) -> Plan:
    """The plan of a decision, which it leaves as it is."""
    results, snapshot = decision.results, copy(decision.snapshot)
    snapshot.clock = clock = snapshot.clock.fork()
    allocations = [
        allocation
        for allocation in sorted(snapshot.allocations, key=attrgetter("rank"))
        if allocation.job.key not in results.suspended
    ]
    waiting = _waiting(allocations)
    patience = (role.hold.patience for role in waiting)
    clock.rechecks += [left for left in patience if left > timedelta()]
    plan = Plan(
        admissions=tuple(_admissions(snapshot, results)),
        # Scale-downs first: they free the capacity that growth needs.
        resizes=tuple(
            sorted(_resizes(snapshot, allocations), key=lambda resize: resize.after > resize.before)
        ),
        suspensions=tuple(Suspension(key, reason) for key, reason in results.suspended.items()),
        waiting=results.waiting_jobs(_not_growing(decision, allocations)),
        node_assignments=node_assignments(snapshot, allocations),
        unneeded=results.unneeded,
        requests=tuple(_requests(snapshot.limits, results)),
        unprovisioned=tuple(results.unprovisioned),
        growth_waits=tuple((allocation.job.key, allocation.role.name) for allocation in waiting),
    )
    moved = _drains(snapshot, results, plan.changed_jobs)
    staying = staying_pods(snapshot, results, moved)
    again = min(clock.rechecks, default=None)
    return replace(plan, drains=moved, staying=staying, recheck_after=again)


def _drains(snapshot: Snapshot, results: PassResults, busy: frozenset[JobKey]) -> tuple[Drain, ...]:
    moved = drains_of_moves(snapshot, results.moves, busy)
    named = drains_of_removals(snapshot)
    return (*moved, *named, *drains(snapshot, results, busy | {drain.job for drain in moved}))


def _requests(limits: Limits, results: PassResults) -> Iterator[ProvisioningRequest]:
    for key, pods in results.requests.items():
        yield ProvisioningRequest(
            key,
            tuple(pods.items()),
            limits.provisioning.provisional_image,
            limits.provisioning.provisioning_timeout,
            _request_class(limits),
        )


def _admissions(snapshot: Snapshot, results: PassResults) -> Iterator[Admission]:
    for key, (reason, allocations) in results.admitted.items():
        sizes = {allocation.role.name: allocation.allocated for allocation in allocations}
        names = (role.name for role in allocations[0].job.roles if role.name in sizes)
        gated = (allocation for allocation in allocations if allocation.role.template.gated)
        nodes = tuple(
            (
                allocation.role.name,
                _by_index(allocation, _assigned(snapshot, allocation, _created(allocation))),
            )
            for allocation in gated
        )
        grown = [
            reasons.grown(allocation.allocated, _max(allocation.role))
            for allocation in allocations
            if allocation.allocated > allocation.min_replicas
        ]
        why = reasons.grew_smaller(reason) if _growth_reverted(allocations) else reason
        started = tuple((name, sizes[name]) for name in names)
        yield Admission(key, started, why, tuple(grown), nodes)


def _assigned(
    snapshot: Snapshot, allocation: RoleAllocation, placements: Iterable[Placement]
) -> tuple[str, ...]:
    """The nodes of these replicas, by completion index; () if one of them has none."""
    names = snapshot.capacity.node_names
    nodes = [placement.node for placement in placements]
    if NO_NODE in nodes:
        return ()
    return tuple(names[node] for node in in_domain_order(snapshot, allocation, nodes))


def _resizes(snapshot: Snapshot, allocations: Iterable[RoleAllocation]) -> Iterator[Resize]:
    for allocation in allocations:
        if not allocation.changed:
            continue
        before, after = allocation.role.status.size, allocation.planned_size
        if before != after and not allocation.starts:
            reason = (allocation.reason if after < before else None) or _grown(allocation)
            job, restart = allocation.job, allocation.restarts_to_resize
            counted = with_attempts if restart else with_failed_starts
            reason = counted(snapshot, job, reason)
            reason = reason if restart else with_failed_growth(allocation.role, reason)
            placed = allocation.placements[:after] if restart else _created(allocation)
            gated = allocation.role.template.gated and (restart or after > before)
            nodes = _assigned(snapshot, allocation, placed) if gated else ()
            yield Resize(job.key, allocation.role.name, before, after, reason, restart, nodes)


def _not_growing(
    decision: Decision, allocations: Iterable[RoleAllocation]
) -> dict[JobKey, WaitingJob]:
    """Why started roles keep their sizes: the first of each job, unless it waits already."""
    growth = GrowthReasons(decision.snapshot, decision.ceiling)
    waiting, kept_sizes = decision.results.wait_reasons, dict[JobKey, WaitingJob]()
    for allocation in allocations:
        key = allocation.job.key
        if allocation.reason or allocation.starts or key in kept_sizes or key in waiting:
            continue
        if entry := _why_not_growing(growth, allocation):
            kept_sizes[key] = entry
    return kept_sizes


def _why_not_growing(growth: GrowthReasons, allocation: RoleAllocation) -> WaitingJob | None:
    """Why a started role does not grow; None if its max is why."""
    key, snapshot = allocation.job.key, growth.snapshot
    if why := phases.unready(allocation.job) or phases.why_kept(allocation.job):
        return WaitingJob(key, why)
    if allocation.planned_size < allocation.max_replicas:
        reason = allocation.hold.reason or growth.why_no_more(allocation)
        moving = reason.code is Code.REBALANCING
        until = snapshot.moves.until if moving else allocation.hold.until
        return WaitingJob(key, reason, until=until)
    if (restart := allocation.restart) and restart.keeps_above_limits(allocation):
        gang = restart_gang(snapshot, restart.roles)
        return WaitingJob(key, why_kept(restart, gang, snapshot.capacity.future_idle))
    return None


def _grown(allocation: RoleAllocation) -> Reason:
    """Why a role gets its planned size, which is larger than its size."""
    bounds, size = allocation.role.spec, allocation.planned_size
    wanted = manual_size(allocation.role)
    if wanted is not None:
        in_part = allocation.restarts_to_resize and size < wanted
        return replace(reasons.MANUAL_SIZE, about=Size(size, wanted) if in_part else None)
    minimum = allocation.role.status.size < size == bounds.min
    return reasons.grown(size, _max(allocation.role), minimum=minimum)


def _max(role: Role) -> int:
    """Its max; the number of its work items that remain if that is lower."""
    return with_work(role, role.spec.max)


def _waiting(allocations: Iterable[RoleAllocation]) -> list[RoleAllocation]:
    """Roles whose growth, or raised minimum, waits to be one step, or restarts their job."""
    return [role for role in allocations if role.awaits_growth or _awaits_raise(role)]


def _awaits_raise(role: RoleAllocation) -> bool:
    restart = role.restart
    return restart is not None and restart.awaited and lacking(role) > 0


def _created(allocation: RoleAllocation) -> list[Placement]:
    """The replicas that this plan creates."""
    return [placement for placement in allocation.placements if _is_created(placement)]


def _is_created(placement: Placement) -> bool:
    return placement.is_new and placement.holds_idle


def _by_index(allocation: RoleAllocation, nodes: tuple[str, ...]) -> tuple[str, ...]:
    """A node for each replica that starts; any stands for ranks that have ended, without pods."""
    if len(nodes) == allocation.allocated or not nodes:
        return nodes
    given = iter(nodes)
    first = (
        placement
        for placement in allocation.placements
        if placement is DONE or _is_created(placement)
    )
    return tuple(nodes[0] if placement is DONE else next(given) for placement in first)


def _growth_reverted(allocations: Iterable[RoleAllocation]) -> bool:
    """Whether a role was stopped to grow and starts smaller: it would soon be stopped again."""
    return any(
        last_changes.stopped_to_grow(allocation.role)
        and allocation.allocated < allocation.role.status.size
        for allocation in allocations
    )


def _request_class(limits: Limits) -> RequestClass | None:
    """The class of ProvisioningRequests; None if provisional pods are configured.

    Only cluster-autoscaler's atomic class has `ValidUntilSeconds`, how long it may keep trying.
    """
    if limits.provisioning.provisioner is not Provisioner.REQUEST:
        return None
    pairs = (
        parameter.split("=", 1)
        for parameter in limits.provisioning.provisioning_parameters.split(",")
        if parameter
    )
    parameters = dict(pairs)
    if limits.provisioning.provisioning_class == ATOMIC_CLASS:
        until = int(limits.provisioning.provisioning_timeout.total_seconds())
        parameters = {"ValidUntilSeconds": str(until)} | parameters
    return RequestClass(limits.provisioning.provisioning_class, tuple(sorted(parameters.items())))
