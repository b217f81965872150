"""Scale-ups with a timeout: ready in time, or reverted to the previous size.

The time runs from when the reconciler first sees the request. That time is stored on the Job, so it
survives a change of leader. et-operator's ScaleOut does the same, with 60 s.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from edl import contract, messages, reasons
from edl.annotations.time_text import timestamp
from edl.model import Reason, ResizePolicy, Role, TrainingJob
from edl.model.causes.reason_subjects import Growth
from edl.planner.plan import Resize
from edl.spec.allowed_sizes import with_unended

_ANSWERED: Final[Mapping[str, None]] = {
    contract.SCALE_TIMEOUT: None,
    contract.SCALE_FALLBACK: None,
    contract.SCALING: None,
}


def revert_overdue(job: TrainingJob, resizes: Sequence[Resize], now: datetime) -> list[Resize]:
    """The plan's resizes; a role that is overdue returns to its previous size instead."""
    late = {role.name: role for role in job.live if role.request.scaling and is_overdue(role, now)}
    if not late:
        return list(resizes)
    others = [resize for resize in resizes if resize.role not in late]
    grown = [role for role in late.values() if role.status.size > previous_size(role)]
    return others + [_revert(job, role) for role in grown]


def with_hold_cause(job: TrainingJob, reason: Reason | None, now: datetime) -> TrainingJob:
    """The job, its overdue roles with the plan's reason why they are not scaled up further.

    Once the host list of a revert is published, its workers count as gone, and the plan's reason is
    that a larger size waits for them: the revert keeps the cause with which it was published.
    """
    if not any(role.request.scaling and is_overdue(role, now) for role in job.live):
        return job
    begun = job.leaving.reason.about if job.leaving else None
    cause = messages.lasting(reason) if reason else ""
    if isinstance(begun, Growth):
        cause = begun.held
    return replace(job, roles=tuple(_with_cause(role, cause) for role in job.roles))


def _with_cause(role: Role, cause: str) -> Role:
    scaling = role.request.scaling
    if scaling is None or role.status.size >= (role.request.replicas or 0):
        return role
    return role.changed(scaling=replace(scaling, held=cause))


def _revert(job: TrainingJob, role: Role) -> Resize:
    # A job already stopped for the restart need not be stopped again.
    restart = role.spec.resizing is ResizePolicy.RESTART and not role.status.suspended
    size, previous = role.status.size, previous_size(role)
    return Resize(job.key, role.name, size, previous, revert_reason(role), restart)


def previous_size(role: Role) -> int:
    """The size to revert to: as recorded with the start time, else the current one.

    A larger one if only ranks that have ended would be left.
    """
    before, size = role.request.scaling.before if role.request.scaling else None, role.status.size
    return size if before is None else max(before, min(with_unended(role, before), size))


def revert_reason(role: Role) -> Reason:
    """The reason of reverting a scale-up."""
    timeout = role.request.scaling.timeout if role.request.scaling else None
    seconds = timeout.total_seconds() if timeout else None
    cause = role.request.scaling.held if role.request.scaling else ""
    growth = Growth(role.request.replicas, previous_size(role), seconds, cause)
    return replace(reasons.scale_failed(growth), failed_starts=role.record.failed_starts)


def is_overdue(role: Role, now: datetime) -> bool:
    """Whether a scale-up to its manual size has timed out; scale-downs cannot fail."""
    left = time_left(role, now)
    return left is not None and left <= timedelta()


def time_left(role: Role, now: datetime) -> timedelta | None:
    """The time left for a scale-up, negative if overdue; None if no time runs."""
    scaling = role.request.scaling
    if scaling is None or scaling.since is None or scaling.timeout is None:
        return None
    wanted = role.request.replicas
    if wanted is None or wanted <= previous_size(role) or is_reached(role):
        return None
    return scaling.timeout - (now - scaling.since)


def is_reached(role: Role) -> bool:
    """Whether it has its manual size, with every pod ready."""
    ready = sum(pod.ready and not pod.terminating for pod in role.status.pods)
    return (
        not role.status.suspended
        and role.status.size == role.request.replicas
        and ready >= role.status.size
    )


def is_answered(role: Role) -> bool:
    """Whether the scale request is settled: it has no timeout, or its size is ready."""
    scaling = role.request.scaling
    return scaling is not None and (scaling.timeout is None or is_reached(role))


def due_annotations(role: Role, now: datetime) -> dict[str, str | None]:
    """The annotations that are due: the recorded start, or the removal of a settled request."""
    if role.request.scaling is None:
        return {}
    if is_overdue(role, now):
        fallback = role.request.scaling.fallback
        return {**_ANSWERED, contract.REPLICAS: None if fallback is None else str(fallback)}
    if is_answered(role):
        return dict(_ANSWERED)
    if role.request.scaling.since is None and not role.status.suspended:
        begun = timestamp(now)
        return {contract.SCALING: f"{begun} {previous_size(role)} {role.request.replicas}"}
    return {}
