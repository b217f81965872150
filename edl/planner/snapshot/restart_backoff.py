"""Back-off of restarts, and of gangs that failed to start or lost pods (`gang_backoff`).

A job that restarts to resize keeps its size for a cooldown, which doubles with each restart; the
reason of the last resize counts them (`Reason.attempts`). A failed restart waits six cooldowns, and
counts however long ago it was. A restart failed if the job came back smaller than planned, its pods
were unschedulable, or the job for which it gave up replicas has not used their capacity. Growth
onto nodes that extras had to leave within an hour failed too, if restarts had been counted before;
it waits less long, because those may have had other causes. Any other size that has lasted for two
(doubled) cooldowns resets the count.

A role that resizes live waits twice the pending limit after growth whose pods got no nodes, doubled
each time in a row.

Only growth and donations to rebalancing wait. Gangs, minimums and other owners' pods of equal or
higher priority take extras at any time, so that none of them starves; a lower max, quotas, lost
pods and unschedulable pods do not wait either.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from edl import reasons
from edl.job_state import last_changes
from edl.job_state.lost_pods import pods_delayed_until
from edl.model import Code, Reason, Restart, Role, TrainingJob
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.role_allocation import RoleAllocation

_FAILED_FACTOR: Final = 6
"""Wait after a failed restart, in cooldowns: each attempt costs two restarts."""
_LASTING: Final = 2
"""In cooldowns: a size that has lasted this long was worth its restart."""
_IN_VAIN: Final = 2
"""After this many recent restarts of any cause, one that leaves unneeded nodes has failed: growth
may be one of them, and an earlier departure the other. Each further one doubles the wait."""
_NODES_LASTING: Final = timedelta(hours=1)
"""Growth onto nodes that became unneeded earlier than this was not worth its restart."""
_MAX_DOUBLINGS: Final = 4
"""Most doublings after failed restarts: 8 hours with a cooldown of 5 minutes."""
_GANG_LASTING: Final = 3
"""In gang limits: a gang that falls below its minimum later than this has run before."""
_TAKEN: Final = timedelta(seconds=10)
"""Wait after the first start whose nodes other owners' pods took: capacity existed just before."""
_MAX_USEFUL_DOUBLINGS: Final = 2
"""Most doublings after other restarts: 20 minutes with a cooldown of 5 minutes."""


def backoff_of(snapshot: Snapshot, allocation: RoleAllocation) -> tuple[Reason, datetime] | None:
    """Why, and until when, a role keeps its size after a failed resize; None if it need not."""
    job, role = allocation.job, allocation.role
    why, changed = failed_change(snapshot, job, role), last_change_time(job, role)
    if why is None or changed is None:
        return None
    wait = (
        _wait_after_failure(snapshot, role)
        if allocation.restarts_to_resize
        else 2 * snapshot.limits.pending_limit * (1 << _recorded_attempts(role))
    )
    return None if snapshot.clock.elapsed_or_recheck(changed, wait) else (why, changed + wait)


def usual_cooldown(snapshot: Snapshot, allocation: RoleAllocation) -> timedelta:
    """The flags' cooldown, doubled for each recent restart of a role that restarts to resize."""
    if not allocation.restarts_to_resize:
        return snapshot.limits.growth_cooldown
    times = min(_recorded_attempts(allocation.role), _MAX_USEFUL_DOUBLINGS)
    return snapshot.limits.restart_cooldown * (1 << times)


def last_change_time(job: TrainingJob, role: Role) -> datetime | None:
    """When the job was started or the role resized, whichever was later; None if neither."""
    return max(filter(None, (job.started_at, role.record.resized_at)), default=None)


def failed_change(snapshot: Snapshot, job: TrainingJob, role: Role) -> Reason | None:
    """The reason to hold a role whose last resize failed; None after any other."""
    if last_changes.growth_failed(job.key, role) or last_changes.was_unschedulable(role):
        return reasons.BACK_OFF_GROWTH
    if last_changes.left_unneeded_nodes(role) and _recorded_attempts(role) >= _IN_VAIN:
        return reasons.BACK_OFF_GROWTH
    key = last_changes.reclaimed_for(snapshot.policy.rebalance_code, role)
    other = snapshot.referenced_jobs.get(key) if key else None
    if other is None:
        return None
    if last_changes.was_reclaimed(role):
        return reasons.BACK_OFF_RECLAMATION if _has_suspended_role(other) else None
    return None if _changed_since(other, role.record.resized_at) else reasons.BACK_OFF_GROWTH


def with_failed_starts(snapshot: Snapshot, job: TrainingJob, reason: Reason) -> Reason:
    """The reason to change or suspend a started gang, with the failed starts before its last one.

    The count ends once the gang has run for `_GANG_LASTING` gang limits, and no earlier: extras
    that are removed from a start, a restart without them, a removal of pods by name or a scale-up
    that timed out do not make it succeed.
    """
    lasting = _GANG_LASTING * snapshot.limits.gang_limit
    starts = max((role.record.failed_starts for role in job.live), default=0)
    if not starts or snapshot.clock.elapsed_or_recheck(job.started_at, lasting):
        return reason
    return replace(reason, failed_starts=starts)


def gang_backoff(snapshot: Snapshot, job: TrainingJob) -> tuple[Reason, datetime] | None:
    """Why and until when a gang waits after failed starts or lost pods; None if it need not."""
    later = pods_delayed_until(job, snapshot.clock.now)
    if later and not snapshot.clock.elapsed_or_recheck(later, timedelta()):
        return reasons.BACK_OFF_RECREATION, later
    failed = failed_starts(job.live)
    if not failed or job.started_at is None or _resumed_since(job, job.started_at):
        return None
    taken = any(last_changes.nodes_were_taken(role) for role in job.live)
    wait = (_TAKEN if taken else 2 * snapshot.limits.gang_limit) * (1 << failed - 1)
    if snapshot.clock.elapsed_or_recheck(job.started_at, wait):
        return None
    causes = (role.record.last for role in job.live if last_changes.gang_was_unschedulable(role))
    return reasons.after_failed_start(next(causes, None)), job.started_at + wait


def _resumed_since(job: TrainingJob, started: datetime) -> bool:
    """Whether its user has ended a pause after that start: the next start is tried at once."""
    times = (role.record.resumed_at for role in job.roles)
    return job.just_resumed or any(time > started for time in times if time)


def failed_starts(roles: Iterable[Role]) -> int:
    """The number of failed starts of a gang in a row, at most `_MAX_DOUBLINGS` + 1."""
    failed = filter(last_changes.gang_was_unschedulable, roles)
    return max((min(role.record.failed_starts, _MAX_DOUBLINGS) + 1 for role in failed), default=0)


def with_attempts(snapshot: Snapshot, job: TrainingJob, reason: Reason) -> Reason:
    """The reason of a job's next restart, with the counts of restarts and failed starts before."""
    attempts = (_attempts(snapshot, job, role, reason.code) for role in job.live)
    return replace(with_failed_starts(snapshot, job, reason), attempts=max(attempts))


def with_failed_growth(role: Role, reason: Reason) -> Reason:
    """The reason to resize a role live, with how many times in a row its growth had failed."""
    recorded, attempts = _recorded_attempts(role), 0
    if last_changes.was_unschedulable(role) and reason.code is not Code.UNSCHEDULABLE:
        attempts = min(recorded + 1, _MAX_DOUBLINGS)
    elif reason.code is Code.UNSCHEDULABLE:
        attempts = recorded
    return replace(reason, attempts=attempts) if attempts else reason


def _attempts(snapshot: Snapshot, job: TrainingJob, role: Role, code: Code) -> int:
    """The count of a restart with this reason code."""
    failed, left = failed_change(snapshot, job, role), last_changes.left_unneeded_nodes(role)
    if role.restart is Restart.NONE and not failed:
        return 0
    if left and code is Code.NODE_UNNEEDED:  # its extras leave one node after the other
        return _recorded_attempts(role)
    lasting = _LASTING * _failure_wait(snapshot, role) / _FAILED_FACTOR
    if left or code is Code.NODE_UNNEEDED:
        lasting = max(lasting, _NODES_LASTING)
    lasted = snapshot.clock.elapsed_or_recheck(last_change_time(job, role), lasting)
    return 0 if lasted and not failed else min(_recorded_attempts(role) + 1, _MAX_DOUBLINGS)


def _recorded_attempts(role: Role) -> int:
    """The recorded attempts, capped: any client may write the annotation, with up to 100."""
    return min(role.record.last.attempts, _MAX_DOUBLINGS) if role.record.last else 0


def _failure_wait(snapshot: Snapshot, role: Role) -> timedelta:
    return _FAILED_FACTOR * snapshot.limits.restart_cooldown * (1 << _recorded_attempts(role))


def _wait_after_failure(snapshot: Snapshot, role: Role) -> timedelta:
    """The wait after a failed restart."""
    left = last_changes.left_unneeded_nodes(role)
    return _failure_wait(snapshot, role) / (1 << _IN_VAIN if left else 1)


def _has_suspended_role(job: TrainingJob) -> bool:
    """Whether some role of a job that is not paused is suspended."""
    return not job.paused and any(role.status.suspended for role in job.live)


def _changed_since(job: TrainingJob, since: datetime | None) -> bool:
    moments = (job.started_at, *(role.record.resized_at for role in job.live))
    return since is None or any(moment is not None and moment > since for moment in moments)
