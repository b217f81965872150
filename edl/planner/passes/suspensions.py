"""Before capacity is assigned: pauses, failed starts, manual sizes, unschedulable extras."""

from datetime import datetime, timedelta

from edl import phases, reasons
from edl.contract import Provision
from edl.frameworks import restarts_together
from edl.model import Pod, Reason, TrainingJob
from edl.planner.snapshot import last_resizes
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.decisions import Decisions, record_eviction
from edl.planner.snapshot.growth_gates import has_succeeded_pods
from edl.planner.snapshot.restart_backoff import gang_failure, with_attempts
from edl.planner.snapshot.role_allocation import RoleAllocation, most_replicas


def suspend_jobs(snapshot: Snapshot, decisions: Decisions) -> None:
    """Take paused jobs, and gangs that did not come together, out of the plan."""
    for job in snapshot.jobs:
        if job.paused:
            decisions.hold(job.key, reasons.PAUSED)
    for allocation in snapshot.unsettled:
        if allocation.job.paused:
            decisions.suspended[allocation.job.key] = reasons.PAUSED
        elif (
            why := _refused(allocation) or _half_stopped(allocation) or _lost(snapshot, allocation)
        ):
            decisions.suspended.setdefault(allocation.job.key, why)
        elif _minimum_pending(snapshot, allocation):
            decisions.suspended.setdefault(
                allocation.job.key, gang_failure(snapshot, allocation.job)
            )
    drop_suspended(snapshot, decisions)
    if decisions.held:
        snapshot.jobs = [job for job in snapshot.jobs if job.key not in decisions.held]


def drop_suspended(snapshot: Snapshot, decisions: Decisions) -> None:
    """Take suspended training jobs out of the plan; their room comes back."""
    gone = decisions.suspended
    for allocation in snapshot.unsettled if gone else ():
        while allocation.job.key in gone and allocation.placements:
            allocation.evict()
    snapshot.unsettled = [found for found in snapshot.unsettled if found.placements]
    snapshot.allocations = [found for found in snapshot.allocations if found.placements]
    if gone:
        snapshot.jobs = [job for job in snapshot.jobs if job.key not in gone]


def _refused(allocation: RoleAllocation) -> Reason | None:
    """Why the rest of a start that is half written cannot be: it gives its room back."""
    return phases.blocked(allocation.job) if allocation.job.refused else None


def _half_stopped(allocation: RoleAllocation) -> Reason | None:
    """Why the other roles of its training job were stopped, where a crash left this one running.

    Where it began after they were stopped, their start is what the crash left half done.
    """
    began = allocation.role.record.resized_at
    stopped = (role for role in allocation.job.live if role.status.suspended)
    why = (
        role.record.last
        for role in stopped
        if last_resizes.stopped_to_resize(role)
        and not (began and role.record.resized_at and role.record.resized_at < began)
    )
    return next(why, None)


def _lost(snapshot: Snapshot, allocation: RoleAllocation) -> Reason | None:
    """Frameworks that cannot go on without one of them start again, all together."""
    job, limits = allocation.job, snapshot.limits
    again = None if allocation.role.status.lost or not restarts_together(job) else _began_alone(job)
    # Most have lost no pod: only then all pods are looked at.
    if not (allocation.role.status.lost or again) or job.problem or has_succeeded_pods(job):
        return None
    if again is None:
        return (
            with_attempts(snapshot, job, reasons.restart(reasons.LOST))
            if snapshot.has_passed(job.started_at, limits.loss_patience)
            else None
        )
    # The Job counts no failure then: only time stops a job that crashes at every start.
    due = snapshot.has_passed(again, limits.loss_patience)
    due = snapshot.has_passed(job.started_at, limits.restart_cooldown) and due
    return with_attempts(snapshot, job, reasons.restart(reasons.RESTARTED_ALONE)) if due else None


def _began_alone(job: TrainingJob) -> datetime | None:
    """When a container began again while others went on; None where all did, or none."""
    # Most jobs are through here: nothing began again.
    if not job.began_again:
        return None
    pods = [pod for role in job.live for pod in role.status.pods]
    times = [pod.restarted_at for pod in pods if not (pod.ended or pod.terminating)]
    again = [time for time in times if time]
    return max(again) if 0 < len(again) < len(times) else None


def _minimum_pending(snapshot: Snapshot, allocation: RoleAllocation) -> bool:
    """Whether a pod of the minimum has waited for the scheduler beyond the gang limit.

    A running gang that lost a node is half a gang too: counted from the new pod's creation.
    """
    return not allocation.job.problem and any(
        since is not None and snapshot.has_passed(since, _patience(snapshot, allocation.job, pod))
        for position, since, pod in allocation.unscheduled
        if position < allocation.min_replicas
    )


def _patience(snapshot: Snapshot, job: TrainingJob, pod: Pod | None) -> timedelta:
    """A gang that ran waits as long as an autoscaler may take for a node, where there is one.

    It ran where the pod was made long after its start; a node may be given to any pod late.
    """
    limits, began = snapshot.limits, job.started_at
    ran = pod is not None and began is not None and pod.created_at - began > limits.gang_limit
    comes = snapshot.autoscaled and job.provisioning.wish is not Provision.NEVER
    return (
        max(limits.gang_limit, limits.provisioning_timeout) if ran and comes else limits.gang_limit
    )


def shrink_to_limits(snapshot: Snapshot) -> None:
    """Shrinks at once: manual sizes, a lowered max, extras that stayed pending."""
    for allocation in snapshot.unsettled:
        if allocation.resizable:
            reason = reasons.MANUAL if allocation.manual else reasons.ABOVE_MAX
            _shrink_to(allocation, most_replicas(allocation.role), reason)
            pending = _pending_extras(snapshot, allocation)
            _shrink_to(allocation, allocation.size - pending, reasons.STAYED_PENDING)


def _shrink_to(allocation: RoleAllocation, size: int, reason: Reason) -> None:
    if allocation.size > max(size, allocation.min_replicas):
        record_eviction([allocation], reason)
        allocation.hold.reserves_capacity = reason != reasons.STAYED_PENDING
        while allocation.size > max(size, allocation.min_replicas):
            allocation.evict()
        allocation.forget_evicted_pods()


def _pending_extras(snapshot: Snapshot, allocation: RoleAllocation) -> int:
    """How many replicas above the minimum have waited beyond the pending limit.

    Whichever they are, the highest index goes: a pending pod takes its place. A growth that must
    come in a time of its own has that time.
    """
    if allocation.role.request.scaling and allocation.role.request.scaling.timeout:
        return 0
    return sum(
        snapshot.has_passed(since, snapshot.limits.pending_limit)
        for position, since, _ in allocation.unscheduled
        if allocation.min_replicas <= position < allocation.size
    )
