"""A training job's phase, read off its roles: nothing is stored that could be derived."""

from datetime import datetime, timedelta
from typing import Final

from edl import reasons
from edl.contract import CleanUp
from edl.model import (
    Code,
    JobEnd,
    Phase,
    PodPhase,
    Reason,
    ResizePolicy,
    Restart,
    Role,
    TrainingJob,
)

_MADE_BY: Final = timedelta(seconds=10)
"""A pod that is so much younger than a resize was made by it; a later one replaces a lost one."""


def ending(job: TrainingJob) -> JobEnd | None:
    """How the training job ended: as its deciding role did; before that, with any that failed.

    A Job fails when its retries are used up, so a training job without it would wait for ever.
    Complete at size 0 does not decide: `edl.steps.finish` ended that Job because another failed.
    """
    decided = next(
        (role.status.ending for role in job.roles if role.spec.is_leader and role.status.size), None
    )
    failed = any(role.status.ending is JobEnd.FAILED for role in job.roles)
    return decided or (JobEnd.FAILED if failed else None)


def blocked(job: TrainingJob) -> Reason:
    """Why plans leave out a job that has a `blocker`."""
    code = Code.INVALID if job.problem else Code.START_REFUSED
    return reasons.quoted(code, job.blocker)


def unready(job: TrainingJob) -> Reason | None:
    """What keeps a job from being planned that neither room nor time helps."""
    if job.blocker:
        return blocked(job)
    return reasons.incomplete(job.missing) if job.missing else None


def phase(job: TrainingJob) -> Phase:
    """The phase, as users watch it."""
    end = ending(job)
    if end is not None:
        return _ended(job, end)
    if all(role.status.suspended for role in job.live):
        return _waiting(job)
    if job.missing:
        return Phase.INCOMPLETE
    if any(_scales(job, role) for role in job.live):
        return Phase.SCALING
    if any(below_minimum(role) or not runs(role) for role in job.live):
        return Phase.STARTING
    return Phase.RUNNING


def waits(job: TrainingJob) -> bool:
    """Whether it waits in the queue, or for a moment to return to its nodes at a new size."""
    return phase(job) in (Phase.QUEUED, Phase.SCALING) and all(
        role.status.suspended for role in job.live
    )


def _ended(job: TrainingJob, end: JobEnd) -> Phase:
    if job.live and job.clean_up is not CleanUp.NONE:
        return Phase.FINISHING
    return Phase.SUCCEEDED if end is JobEnd.COMPLETE else Phase.FAILED


def _waiting(job: TrainingJob) -> Phase:
    if job.paused:
        return Phase.PAUSED
    if any(role.restart is Restart.STOPPED for role in job.live):
        return Phase.SCALING
    return Phase.INCOMPLETE if job.missing else Phase.QUEUED


def runs(role: Role) -> bool:
    """Whether the role's minimum is at work: running now, or already done."""
    at_work = sum(
        pod.ready or pod.phase is PodPhase.SUCCEEDED
        for pod in role.status.pods
        if not pod.terminating
    )
    return not role.status.suspended and at_work + _gone(role) >= min(
        role.spec.min, role.status.size
    )


def below_minimum(role: Role) -> int:
    """How many replicas the size of a started role lacks of its minimum, which was raised."""
    if role.status.suspended or role.status.ending:
        return 0
    remaining = role.status.remaining
    least = role.spec.min if remaining is None else min(role.spec.min, remaining)
    return max(least - role.status.size, 0)


def why_below_minimum(job: TrainingJob) -> Reason | None:
    """What to say of a job with fewer replicas than its minimum."""
    lacks = sum(map(below_minimum, job.live))
    return reasons.below_minimum(lacks) if lacks else None


def _gone(role: Role) -> int:
    """How many have ended for good, and their pods are not there any more."""
    return (
        len(role.status.completed_indexes - {pod.index for pod in role.status.pods})
        if role.status.completed_indexes
        else 0
    )


def _scales(job: TrainingJob, role: Role) -> bool:
    """Whether a new size of this role is on its way: pods of it come, or leave."""
    if role.status.suspended:
        return role.restart is Restart.STOPPED
    if role.request.removing or (role.request.scaling and role.request.scaling.since):
        return True
    resized, started = role.record.resized_at, job.started_at
    if role.spec.resizing is ResizePolicy.FIXED or resized is None:
        return False
    if role.spec.indexed and any(
        pod.terminating and pod.index >= role.status.size for pod in role.status.pods
    ):
        return True
    # Below its minimum it counts as starting, unless it restarts for its size.
    grown = runs(role) and (started is None or resized > started)
    return (grown or role.restart is Restart.STARTED) and _comes(role, resized)


def _comes(role: Role, resized: datetime) -> bool:
    """Whether pods that this resize asked for do not run yet."""
    there = sum(not pod.terminating for pod in role.status.pods)
    if role.spec.indexed and there + _gone(role) < role.status.size:
        return True
    return any(
        not (pod.ready or pod.ended or pod.terminating) and pod.created_at - resized < _MADE_BY
        for pod in role.status.pods
        if pod.created_at >= resized
    )
