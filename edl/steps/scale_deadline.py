"""A scale-up with a time limit: ready in time, or reverted to the previous size.

The clock starts when the reconciler first sees the request, and is stored on the Job, so it
survives a change of leader. et-operator's ScaleOut does the same, with 60 s.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from edl import contract, reasons
from edl.model import Reason, ResizePolicy, Role, TrainingJob
from edl.model.reason_codes import Growth
from edl.planner.plan import Resize
from edl.steps import preconditioned_patches

_ANSWERED: Final[Mapping[str, None]] = {
    contract.SCALE_TIMEOUT: None,
    contract.SCALE_FALLBACK: None,
    contract.SCALING: None,
}


def limited(job: TrainingJob, resizes: Sequence[Resize], now: datetime) -> list[Resize]:
    """The plan's resizes; a role whose time is up goes back to its size before instead."""
    late = {role.name: role for role in job.live if role.request.scaling and overdue(role, now)}
    if not late:
        return list(resizes)
    kept = [resize for resize in resizes if resize.role not in late]
    return kept + [_back(job, role) for role in late.values() if role.status.size > before(role)]


def _back(job: TrainingJob, role: Role) -> Resize:
    # A job that is stopped for the restart at the new size need not be stopped again.
    restart = role.spec.resizing is ResizePolicy.RESTART and not role.status.suspended
    return Resize(job.key, role.name, role.status.size, before(role), failure(role), restart)


def before(role: Role) -> int:
    """The size to come back to: from when the clock was started, else the one now."""
    known = role.request.scaling.before if role.request.scaling else None
    return role.status.size if known is None else known


def failure(role: Role) -> Reason:
    """Why a growth is taken back."""
    timeout = role.request.scaling.timeout if role.request.scaling else None
    seconds = timeout.total_seconds() if timeout else None
    return reasons.scale_failed(Growth(role.request.replicas, before(role), seconds))


def overdue(role: Role, now: datetime) -> bool:
    """Whether its manual size did not come in time. Only growth can fail: a shrink always comes."""
    left = time_left(role, now)
    return left is not None and left <= timedelta()


def time_left(role: Role, now: datetime) -> timedelta | None:
    """How long its growth still has; None where no clock runs, or none need run any more."""
    scaling = role.request.scaling
    if scaling is None or scaling.since is None or scaling.timeout is None:
        return None
    if role.request.replicas is None or role.request.replicas <= before(role) or came(role):
        return None
    return scaling.timeout - (now - scaling.since)


def came(role: Role) -> bool:
    """Whether its manual size is there, with every pod ready."""
    ready = sum(pod.ready and not pod.terminating for pod in role.status.pods)
    return (
        not role.status.suspended
        and role.status.size == role.request.replicas
        and ready >= role.status.size
    )


def is_answered(role: Role) -> bool:
    """Whether a limit was set, and nothing is left to watch."""
    return role.request.scaling is not None and (role.request.scaling.timeout is None or came(role))


def notes(role: Role, now: datetime) -> dict[str, str | None]:
    """Annotations that are due: the clock's start, or the answer."""
    if role.request.scaling is None:
        return {}
    if overdue(role, now):
        fallback = role.request.scaling.fallback
        return {**_ANSWERED, contract.REPLICAS: None if fallback is None else str(fallback)}
    if is_answered(role):
        return dict(_ANSWERED)
    if role.request.scaling.since is None and not role.status.suspended:
        begun = preconditioned_patches.timestamp(now)
        return {contract.SCALING: f"{begun} {before(role)} {role.request.replicas}"}
    return {}
