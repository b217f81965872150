"""Suspensions and scale-downs that precede all claims.

Causes: pauses, failed starts, lost pods, manual sizes, a lowered max, unschedulable extras, and
exceeded quotas that take capacity back: extras yield for these, minimums stay.
"""

from collections.abc import Collection, Iterable, Iterator
from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from edl import reasons
from edl.contract import Provision
from edl.job_state import last_changes, phases
from edl.job_state.final_failures import final_failure
from edl.job_state.lost_peers import lost_peer
from edl.job_state.lost_pods import has_lost_any, stands_still
from edl.model import Code, JobKey, Pod, Reason, TrainingJob
from edl.planner.packing.placement import Unscheduled
from edl.planner.pass_results import PassResults, record_eviction
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.extras.reclaimable import Reclaimable, reclaim_order
from edl.planner.snapshot.restart_backoff import (
    with_attempts,
    with_failed_starts,
)
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.reclaim_priority import ALL_IN_REACH
from edl.spec.allowed_sizes import most_replicas, start_pods

_MAX_RESTARTS_IN_A_ROW: Final = 3
"""Restarts of the whole job for containers that failed early. Then Kubernetes restarts these alone,
and ends the Job as its `backoffLimit` says."""


def suspend_jobs(snapshot: Snapshot, results: PassResults) -> None:
    """Suspend paused jobs, failed starts and jobs that lost a pod; they leave the plan.

    A job that a suspension would end, or that the API server refuses to suspend, keeps its
    capacity.
    """
    for job in snapshot.jobs:
        if job.paused:
            results.let_wait(job.key, phases.why_paused(job))
    for allocation in snapshot.unsettled:
        job = allocation.job
        if job.keeps_running:
            continue
        if job.paused:
            results.suspended[job.key] = reasons.PAUSED
        elif (
            why := (phases.blocked(job) if job.refused else None)
            or _half_stopped(allocation)
            or _lost(snapshot, job)
            or _minimum_pending(snapshot, allocation)
        ):
            results.suspended.setdefault(job.key, why)
    release_suspended(snapshot, results.suspended)
    # A plan does not resize a role of size 0.
    snapshot.unsettled = [role for role in snapshot.unsettled if role.placements]
    snapshot.allocations = [role for role in snapshot.allocations if role.placements]
    if results.wait_reasons:
        snapshot.jobs = [job for job in snapshot.jobs if job.key not in results.wait_reasons]


def release_suspended(snapshot: Snapshot, suspended: Collection[JobKey]) -> None:
    """Remove suspended training jobs from the plan, and release their capacity."""
    for allocation in snapshot.unsettled if suspended else ():
        while allocation.job.key in suspended and allocation.placements:
            allocation.evict()
    drop_suspended(snapshot, suspended)


def drop_suspended(snapshot: Snapshot, suspended: Collection[JobKey]) -> None:
    """Remove suspended training jobs from the plan, which may still hold their capacity."""
    if suspended:
        snapshot.unsettled = _without(snapshot.unsettled, suspended)
        snapshot.allocations = _without(snapshot.allocations, suspended)
        snapshot.jobs = [job for job in snapshot.jobs if job.key not in suspended]


def _without(roles: Iterable[RoleAllocation], jobs: Collection[JobKey]) -> list[RoleAllocation]:
    return [role for role in roles if role.job.key not in jobs]


def _half_stopped(allocation: RoleAllocation) -> Reason | None:
    """Why other roles of its job were stopped to resize while this one still runs.

    The reconciler failed between the two writes. A role that was resized after they were stopped
    does not count: then it is their start that is incomplete.
    """
    began = allocation.role.record.resized_at
    stopped = (role for role in allocation.job.live if role.status.suspended)
    why = (
        role.record.last
        for role in stopped
        if last_changes.stopped_to_resize(role)
        and not (began and role.record.resized_at and role.record.resized_at <= began)
    )
    return next(why, None)


def _lost(snapshot: Snapshot, job: TrainingJob) -> Reason | None:
    """The reason to restart the whole job, as its pods wait for a peer that is gone."""
    lost = lost_peer(job)
    if lost is None or job.problem or job.has_succeeded_pods or final_failure(job):
        return None
    elapsed, limits = snapshot.clock.elapsed_or_recheck, snapshot.limits
    due = elapsed(lost.at, limits.loss_patience)
    reason = reasons.restart(lost.reason)
    if lost.reason.code is Code.POD_LOST:
        return with_attempts(snapshot, job, reason) if due else None
    last = [role.record.last for role in job.live if role.record.last]
    before = [one.attempts + 1 for one in last if lost.early and one.code is lost.reason.code]
    # No back-off of the Job controller delays the next start, so this one has to last.
    due = elapsed(job.started_at, limits.restart_cooldown) and due
    if not due or (restarts := max(before, default=0)) >= _MAX_RESTARTS_IN_A_ROW:
        return None
    return replace(with_failed_starts(snapshot, job, reason), attempts=restarts)


def _minimum_pending(snapshot: Snapshot, allocation: RoleAllocation) -> Reason | None:
    """Why a pod of the minimum has waited for scheduling longer than `minimum_patience`.

    This includes replacements of a running gang's lost pods, from the new pod's creation.
    """
    job = allocation.job
    if job.problem or not any(_late(snapshot, allocation)) or _continues(snapshot, job):
        return None
    return with_failed_starts(snapshot, job, _failed_start(snapshot, job))


def _continues(snapshot: Snapshot, job: TrainingJob) -> bool:
    """Whether a job that lost pods trains on, and could not start again if it were stopped.

    The API server refuses its pods: an administrator has lowered a quota, or changed a rule.
    """
    if not any(map(has_lost_any, job.live)) or stands_still(job):
        return False
    refused = any(role.template.pod_refusals or role.template.missing_class for role in job.live)
    pods = [(role, start_pods(role)) for role in job.live]
    return refused or snapshot.quotas.request_of(job, pods).never_allowed_by is not None


def _late(snapshot: Snapshot, allocation: RoleAllocation) -> Iterator[Unscheduled]:
    """Replicas of the minimum that have waited for scheduling longer than their limit."""
    elapsed = snapshot.clock.elapsed_or_recheck
    return (
        replica
        for replica in allocation.unscheduled
        if allocation.needs(replica) and replica.since is not None
        if elapsed(replica.since, minimum_patience(snapshot, allocation.job, replica.pod))
    )


def _failed_start(snapshot: Snapshot, job: TrainingJob) -> Reason:
    """Why the minimum of a start was not scheduled: the API server refused pods, or no node fits.

    Pods of all roles count: those that exist are not placed while others are missing.
    """
    roles = (allocation for allocation in snapshot.unsettled if allocation.job.key == job.key)
    late = [replica.pod for allocation in roles for replica in _late(snapshot, allocation)]
    if not all(late):
        return reasons.GANG_UNSCHEDULABLE_CREATION
    waiting = [pod.scheduling for pod in late if pod]
    # An unanswered pod says most, then one that was refused; of several, the first replica's.
    scheduling = max(waiting, key=lambda attempt: (bool(attempt.scheduler), bool(attempt.refusal)))
    return reasons.gang_pending(scheduling.scheduler, scheduling.refusal)


def minimum_patience(snapshot: Snapshot, job: TrainingJob, pod: Pod | None) -> timedelta:
    """How long a pod of the minimum may wait: the gang limit.

    With an autoscaler, a replacement in a gang that has run waits `provisioning_timeout` if that is
    longer. The gang has run if the pod was created more than the gang limit after the start.
    """
    limits, began = snapshot.limits, job.started_at
    ran = pod is not None and began is not None and pod.created_at - began > limits.gang_limit
    comes = snapshot.autoscaled and job.provisioning.provision is not Provision.NEVER
    return (
        max(limits.gang_limit, limits.provisioning.provisioning_timeout)
        if ran and comes
        else limits.gang_limit
    )


def shrink_to_limits(snapshot: Snapshot) -> None:
    """Scale down to manual sizes and a lowered max, and remove extras that stayed pending."""
    for allocation in snapshot.unsettled:
        if allocation.resizable:
            reason = reasons.MANUAL_SIZE if allocation.manual else reasons.ABOVE_MAX
            _shrink_to(allocation, most_replicas(allocation.role), reason)
            pending = _pending_extras(snapshot, allocation)
            created = all(replica.pod for replica in pending)
            why = reasons.UNSCHEDULABLE if created else reasons.UNSCHEDULABLE_CREATION
            _shrink_to(allocation, allocation.size - len(pending), why)


def _shrink_to(allocation: RoleAllocation, size: int, reason: Reason) -> None:
    if allocation.size > max(size, allocation.min_replicas):
        record_eviction([allocation], reason)
        allocation.hold.reserves_capacity = reason.code is not Code.UNSCHEDULABLE
        while allocation.size > max(size, allocation.min_replicas):
            allocation.evict()
        allocation.forget_evicted_pods()


def _pending_extras(snapshot: Snapshot, allocation: RoleAllocation) -> list[Unscheduled]:
    """The replicas above the minimum that have waited longer than the pending limit.

    The highest indexes are removed, whichever is pending; a pending pod then uses their capacity.
    None while a scale request with its own timeout is in progress.
    """
    if allocation.role.request.scaling and allocation.role.request.scaling.timeout:
        return []
    return [
        replica
        for replica in allocation.unscheduled
        if replica.position < allocation.size and not allocation.needs(replica)
        if snapshot.clock.elapsed_or_recheck(replica.since, snapshot.limits.pending_limit)
    ]


def reclaim_quotas(snapshot: Snapshot) -> None:
    """Scale down the roles that count in an exceeded quota, in the order in which extras yield."""
    for quota in snapshot.quotas.lines.values():
        if quota.spec.takes_back and quota.future_remaining < 0:
            counting = [
                allocation
                for allocation in snapshot.allocations
                if allocation.resizable and allocation.quota_request.amount(quota)
            ]
            reclaimable = Reclaimable(snapshot, counting, reclaim_order(snapshot))
            queue = reclaimable.queue
            while quota.future_remaining < 0 and (allocation := queue.next(ALL_IN_REACH)):
                reclaimable.evict(allocation)
                record_eviction([allocation], reasons.over_quota(quota.spec))
                queue.requeue(allocation)
            for allocation in counting:
                allocation.forget_evicted_pods()
