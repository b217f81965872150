"""Before anybody gets room: pauses, failed starts, manual sizes, extras that found no node."""

from datetime import datetime

from edl import phases, reasons
from edl.frameworks import restarts_together
from edl.model import Reason, TrainingJob
from edl.planner.snapshot import last_resizes
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.decisions import Decisions, record_eviction
from edl.planner.snapshot.growth_gates import nearly_done
from edl.planner.snapshot.restart_backoff import gang_failure, with_attempts
from edl.planner.snapshot.role_allocation import RoleAllocation, manual_size


def suspend_jobs(board: Snapshot, ledger: Decisions) -> None:
    """Take paused jobs, and gangs that did not come together, off the board."""
    for job in board.jobs:
        if job.paused:
            ledger.hold(job.key, reasons.PAUSED)
    for standing in board.unsettled:
        if standing.job.paused:
            ledger.suspended[standing.job.key] = reasons.PAUSED
        elif why := _refused(standing) or _half_stopped(standing) or _lost(board, standing):
            ledger.suspended.setdefault(standing.job.key, why)
        elif _minimum_pending(board, standing):
            ledger.suspended.setdefault(standing.job.key, gang_failure(board, standing.job))
    for standing in board.unsettled:
        while standing.job.key in ledger.suspended and standing.placements:
            standing.evict(board.capacity)
    board.unsettled = [found for found in board.unsettled if found.placements]
    board.allocations = [found for found in board.allocations if found.placements]
    if off := ledger.held.keys() | ledger.suspended:
        board.jobs = [job for job in board.jobs if job.key not in off]


def _refused(standing: RoleAllocation) -> Reason | None:
    """Why the rest of a start that is half written cannot be: it gives its room back."""
    return phases.blocked(standing.job) if standing.job.refused else None


def _half_stopped(standing: RoleAllocation) -> Reason | None:
    """Why the other roles of its training job were stopped, where a crash left this one running.

    Where it began after they were stopped, their start is what the crash left half done.
    """
    began = standing.role.resized_at
    stopped = (role for role in standing.job.live if role.suspended)
    why = (
        role.last
        for role in stopped
        if last_resizes.stopped_to_resize(role)
        and not (began and role.resized_at and role.resized_at < began)
    )
    return next(why, None)


def _lost(board: Snapshot, standing: RoleAllocation) -> Reason | None:
    """Frameworks that cannot go on without one of them start again, all together."""
    job, limits = standing.job, board.limits
    again = None if standing.role.lost or not restarts_together(job) else _began_alone(job)
    # Most have lost nobody: only then all pods are looked at.
    if not (standing.role.lost or again) or job.problem or nearly_done(job):
        return None
    if again is None:
        return (
            with_attempts(board, job, reasons.restart(reasons.LOST))
            if board.has_passed(job.started_at, limits.loss_patience)
            else None
        )
    # The Job counts no failure then: only time keeps who crashes at every start from spinning.
    due = board.has_passed(again, limits.loss_patience)
    due = board.has_passed(job.started_at, limits.restart_cooldown) and due
    return with_attempts(board, job, reasons.restart(reasons.RESTARTED_ALONE)) if due else None


def _began_alone(job: TrainingJob) -> datetime | None:
    """When a container began again while others went on; None where all did, or none."""
    # Most jobs are through here: nothing began again.
    if not job.began_again:
        return None
    pods = [pod for role in job.live for pod in role.pods]
    times = [pod.restarted_at for pod in pods if not (pod.ended or pod.terminating)]
    again = [time for time in times if time]
    return max(again) if 0 < len(again) < len(times) else None


def _minimum_pending(board: Snapshot, standing: RoleAllocation) -> bool:
    """Whether a pod of the minimum has waited for the scheduler beyond the gang limit.

    A running gang that lost a node is half a gang too: counted from the new pod's creation.
    """
    return not standing.job.problem and any(
        board.has_passed(since, board.limits.gang_limit)
        for position, since, _ in standing.unscheduled
        if position < standing.min_replicas
    )


def shrink_to_limits(board: Snapshot) -> None:
    """Shrinks that wait for nobody: manual sizes, a lowered max, extras that stayed pending."""
    for standing in board.unsettled:
        if standing.resizable:
            manual = manual_size(standing.role)
            size = standing.role.max if manual is None else manual
            _shrink_to(
                board, standing, size, reasons.ABOVE_MAX if manual is None else reasons.MANUAL
            )
            pending = _pending_extras(board, standing)
            _shrink_to(board, standing, standing.size - pending, reasons.STAYED_PENDING)


def _shrink_to(board: Snapshot, standing: RoleAllocation, size: int, reason: Reason) -> None:
    if standing.size > max(size, standing.min_replicas):
        record_eviction([standing], reason)
        standing.reserves_capacity = reason != reasons.STAYED_PENDING
        while standing.size > max(size, standing.min_replicas):
            standing.evict(board.capacity)
        standing.unscheduled = [
            found for found in standing.unscheduled if found.position < standing.size
        ]


def _pending_extras(board: Snapshot, standing: RoleAllocation) -> int:
    """How many replicas above the minimum have waited beyond the pending limit.

    Whichever they are, the highest index goes: a pending pod takes its place. A growth that must
    come in a time of its own has that time.
    """
    if standing.role.scaling and standing.role.scaling.timeout:
        return 0
    return sum(
        board.has_passed(since, board.limits.pending_limit)
        for position, since, _ in standing.unscheduled
        if standing.min_replicas <= position < standing.size
    )
