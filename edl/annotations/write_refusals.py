"""Writes that the API server refused: which refusals count, and when they are tried again."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from edl.annotations.failed_attempts import WRITES, quoted
from edl.model import RefusedSize, Role, TrainingJob, WriteRefusal


def time_left(refusal: WriteRefusal, now: datetime) -> timedelta | None:
    """How long until the writes are tried again; None if that is due.

    A time left of more than twice the back-off comes from a wrong clock, and is ignored.
    """
    wait = WRITES.after(refusal.attempts)
    left = wait - (now - refusal.at)
    return left if timedelta() < left <= 2 * wait else None


def refused(
    job: TrainingJob,
    sizes: Sequence[tuple[str, int]],
    message: str,
    now: datetime,
    *,
    starts: bool = False,
) -> WriteRefusal:
    """One more refusal: of the job's start, or of `sizes`, the (role, replicas) of running roles.

    Writes that were refused before, and not accepted since, remain refused.
    """
    before = job.refusal or WriteRefusal(now, 0)
    kept = WriteRefusal(now, 0) if before.lifted else before
    running = {role.name: role.status.size for role in job.live if not role.status.suspended}
    new = (RefusedSize(name, size, size > running[name]) for name, size in sizes if name in running)
    found = {one.kind: one for one in (*kept.sizes, *new)}
    return WriteRefusal(
        now, before.attempts + 1, quoted(message), tuple(found.values()), starts or kept.starts
    )


def with_refusal(job: TrainingJob, known: WriteRefusal | None = None) -> TrainingJob:
    """The job with the latest refusal that concerns it, among those on its Jobs and `known`.

    The latest is the one with most attempts: its time may come from a wrong clock.
    """
    written = (role.record.refusal for role in job.roles)
    concerning = (_concerning(job, one) for one in (*written, known) if one)
    found = max(
        filter(None, concerning),
        key=lambda one: (one.attempts, one.at, one.lifted),
        default=None,
    )
    return job if found == job.refusal else replace(job, refusal=found)


def concerns(job: TrainingJob, refusal: WriteRefusal) -> bool:
    """Whether a role of the job has yet to start, or to get a size, that was refused."""
    return _concerning(job, refusal) is not None


def _concerning(job: TrainingJob, refusal: WriteRefusal) -> WriteRefusal | None:
    """The refusal without a start that has been made, and without sizes that have been reached."""
    roles = {role.name: role for role in job.live}
    sizes = tuple(one for one in refusal.sizes if _lacks(roles.get(one.role), one))
    starts = refusal.starts and any(role.status.suspended for role in job.live)
    return replace(refusal, sizes=sizes, starts=starts) if sizes or starts else None


def _lacks(role: Role | None, refused: RefusedSize) -> bool:
    """Whether a role runs, and is still smaller, or larger, than the refused size."""
    if role is None or role.status.suspended:
        return False
    size = role.status.size
    return size < refused.size if refused.grows else size > refused.size
