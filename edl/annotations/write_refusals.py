"""Writes that the API server refused: which refusals count, and when each is tried again."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import chain

from msgspec.structs import replace

from edl.annotations.failed_attempts import MAX_ATTEMPTS, WRITES, quoted
from edl.model import RefusedSize, RequestedSize, Role, TrainingJob, WriteRefusal


def time_left(refusal: WriteRefusal, now: datetime) -> timedelta | None:
    """How long until the write is tried again; None if that is due.

    A time left of more than twice the back-off comes from a wrong clock, and is ignored.
    """
    wait = WRITES.after(refusal.attempts)
    left = wait - (now - refusal.at)
    return left if timedelta() < left <= 2 * wait else None


def refused(
    job: TrainingJob,
    sizes: Iterable[tuple[str, int]],
    message: str,
    now: datetime,
    *,
    starts: bool = False,
) -> Iterator[WriteRefusal]:
    """One more refusal of each: the job's start, and `sizes`, (role, replicas) of running roles.

    Those that have no effect are left out: the start has been made, or the size been reached.
    """
    attempts = {refusal.kind: refusal.attempts for refusal in job.refusals}
    running = {role.name: role for role in job.live if not role.status.suspended}
    resized = (_refused(job, running[name], size) for name, size in sizes if name in running)
    for size in (*((None,) if starts else ()), *resized):
        refusal = WriteRefusal(now, 1, quoted(message), size)
        count = min(attempts.get(refusal.kind, 0) + 1, MAX_ATTEMPTS)  # more are not read back
        refusal = replace(refusal, attempts=count)
        if _concerns(job, refusal):
            yield refusal


def _refused(job: TrainingJob, role: Role, size: int) -> RefusedSize:
    return RefusedSize(role.name, size, size > role.status.size, _request(job, role))


def _request(job: TrainingJob, role: Role) -> RequestedSize:
    return RequestedSize(role.spec.min, role.spec.max, role.request.replicas, job.paused)


def with_refusals(job: TrainingJob, others: Iterable[WriteRefusal] = ()) -> TrainingJob:
    """The job with the latest refusal of each kind, among those on its Jobs and `others`.

    Those without an effect are left out. The latest is the one with most attempts: its
    time may come from a wrong clock.
    """
    written = chain.from_iterable(role.record.refusals or () for role in job.roles)
    concerning = (refusal for refusal in (*written, *others) if _concerns(job, refusal))
    ordered = sorted(concerning, key=lambda one: (one.kind, one.attempts, one.at, one.lifted))
    latest = tuple({refusal.kind: refusal for refusal in ordered}.values())
    return job if latest == job.refusals else replace(job, refusals=latest)


def of_role(job: TrainingJob, role: Role) -> tuple[WriteRefusal, ...]:
    """The refusals that a role's Job records: of its sizes; the first Job also of the start."""
    names = (role.name, "") if role.name == job.roles[0].name else (role.name,)
    return tuple(one for one in job.refusals if (one.size.role if one.size else "") in names)


def _concerns(job: TrainingJob, refusal: WriteRefusal) -> bool:
    """Whether a role has yet to start, or to get the size that was refused.

    A size that was refused for an earlier request of the users does not count.
    """
    size = refusal.size
    if size is None:
        return any(role.status.suspended for role in job.live)
    role = next((role for role in job.live if role.name == size.role), None)
    return role is not None and _lacks(role, size) and size.request == _request(job, role)


def _lacks(role: Role, refused: RefusedSize) -> bool:
    """Whether a role runs, and is still smaller, or larger, than the refused size."""
    if role.status.suspended:
        return False
    size = role.status.size
    return size < refused.size if refused.grows else size > refused.size
