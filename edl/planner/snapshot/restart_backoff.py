"""Back-off of restarts, and of gangs that failed to start (`gang_backoff_until`).

Until the next restart is due a training job keeps its size.
The reason of the last change counts them (`Reason.attempts`): each one doubles the time. A restart
that failed waits six times as long, and counts whenever the next one comes: the job came back
smaller than planned, its pods were unschedulable, or the job for which it gave up replicas has not
taken their capacity. A size that has lasted for two such times ends the count.

Growth and giving for an equal share wait so long. What takes precedence, so that nothing starves:
gangs, minimums and others' pods of its priority and above take its extras at any time; a lower max,
quotas, lost pods and pods that found no node never wait either.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from edl import reasons
from edl.model import Reason, Restart, Role, TrainingJob
from edl.planner.snapshot import last_resizes
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.role_allocation import RoleAllocation

_FAILED_FACTOR: Final = 6
"""In cooldowns, after a restart that reached nothing: to find out takes two restarts."""
_LASTING: Final = 2
"""In cooldowns: a size that has lasted so long was worth its restart."""
_MOST: Final = 4
"""Doublings at most after a restart that reached nothing: 8 hours, with a cooldown of 5 minutes."""
_GANG_LASTING: Final = 3
"""In gang limits: a gang that came to less than its minimum so late has run before."""
_TAKEN: Final = timedelta(seconds=10)
"""After the first start whose nodes went to pods of others: there was room a moment before."""
_MOST_WORTHWHILE: Final = 2
"""Doublings at most after any other: 20 minutes."""


def backoff_of(snapshot: Snapshot, allocation: RoleAllocation) -> tuple[Reason, datetime] | None:
    """Why, and until when, a role keeps its size after a change that reached nothing."""
    job, role = allocation.job, allocation.role
    why, changed = failed_change(snapshot, job, role), last_change_time(job, role)
    if why is None or changed is None:
        return None
    wait = (
        _rest(snapshot, role)
        if allocation.restarts_to_resize
        else 2 * snapshot.limits.pending_limit
    )
    return None if snapshot.has_passed(changed, wait) else (why, changed + wait)


def doubled_cooldown(cooldown: timedelta, allocation: RoleAllocation) -> timedelta:
    """How long it keeps its size after any other change, where the flags say so much."""
    times = min(_before(allocation.role), _MOST_WORTHWHILE) if allocation.restarts_to_resize else 0
    return cooldown * (1 << times)


def last_change_time(job: TrainingJob, role: Role) -> datetime | None:
    """When it was started or resized."""
    return max(filter(None, (job.started_at, role.record.resized_at)), default=None)


def failed_change(snapshot: Snapshot, job: TrainingJob, role: Role) -> Reason | None:
    """The reason to hold a role whose last resize failed; None after any other."""
    if last_resizes.growth_failed(job.key, role) or last_resizes.was_unschedulable(role):
        return reasons.GROWS_LATER
    key = last_resizes.reclaimed_for(snapshot.policy.rebalance_code, role)
    other = snapshot.referenced_jobs.get(key) if key else None
    if other is None:
        return None
    if last_resizes.was_reclaimed(role):
        return reasons.RECLAIM_UNUSED if _waits(other) else None
    return None if _changed_since(other, role.record.resized_at) else reasons.GROWS_LATER


def gang_failure(
    snapshot: Snapshot, job: TrainingJob, reason: Reason = reasons.GANG_PENDING
) -> Reason:
    """Why a gang is suspended that did not come together, with how often that was so before."""
    if snapshot.has_passed(job.started_at, _GANG_LASTING * snapshot.limits.gang_limit):
        return reason
    starts = (
        role.record.last.attempts
        for role in job.live
        if role.record.last and last_resizes.was_admitted(role)
    )
    return replace(reason, attempts=max(starts, default=0))


def gang_backoff_until(snapshot: Snapshot, job: TrainingJob) -> datetime | None:
    """Until when a gang waits that did not come together; None if it does not."""
    failed = failed_starts(job.live)
    if not failed or job.started_at is None:
        return None
    taken = any(last_resizes.nodes_were_taken(role) for role in job.live)
    wait = (_TAKEN if taken else 2 * snapshot.limits.gang_limit) * (1 << failed - 1)
    return None if snapshot.has_passed(job.started_at, wait) else job.started_at + wait


def failed_starts(roles: Iterable[Role]) -> int:
    """How many starts of a gang in a row came to nothing."""
    failed = (role.record.last for role in roles if last_resizes.gang_was_unschedulable(role))
    return max((min(last.attempts, _MOST) + 1 for last in failed if last), default=0)


def with_attempts(snapshot: Snapshot, job: TrainingJob, reason: Reason) -> Reason:
    """The reason of a job's next restart, with how many came before it."""
    return replace(reason, attempts=max(_attempts(snapshot, job, role) for role in job.live))


def _attempts(snapshot: Snapshot, job: TrainingJob, role: Role) -> int:
    if role.restart is Restart.NONE and not failed_change(snapshot, job, role):
        return 0
    lasted = snapshot.has_passed(
        last_change_time(job, role), _LASTING * _rest(snapshot, role) / _FAILED_FACTOR
    )
    return 0 if lasted and not failed_change(snapshot, job, role) else min(_before(role) + 1, _MOST)


def _before(role: Role) -> int:
    """Others may write the annotation, too: any number up to 100 may stand there."""
    return min(role.record.last.attempts, _MOST) if role.record.last else 0


def _rest(snapshot: Snapshot, role: Role) -> timedelta:
    return _FAILED_FACTOR * snapshot.limits.restart_cooldown * (1 << _before(role))


def _waits(job: TrainingJob) -> bool:
    """Whether it has not started, or not for long."""
    return not job.paused and any(role.status.suspended for role in job.live)


def _changed_since(job: TrainingJob, since: datetime | None) -> bool:
    moments = (job.started_at, *(role.record.resized_at for role in job.live))
    return since is None or any(moment is not None and moment > since for moment in moments)
