"""Writes that the API server refused: which refusals count, and when they are tried again."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from edl.annotations.failed_attempts import WRITES, quoted
from edl.model import RefusedSize, RequestedSize, Role, TrainingJob, WriteRefusal


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
    running = {role.name: role for role in job.live if not role.status.suspended}
    new = (_refused(job, running[name], size) for name, size in sizes if name in running)
    found = {one.kind: one for one in (*before.sizes, *new)}
    return WriteRefusal(
        now,
        before.attempts + 1,
        quoted(message),
        tuple(found.values()),
        starts or before.starts,
        before.lifted and not starts,
    )


def _refused(job: TrainingJob, role: Role, size: int) -> RefusedSize:
    return RefusedSize(role.name, size, size > role.status.size, _request(job, role))


def _request(job: TrainingJob, role: Role) -> RequestedSize:
    return RequestedSize(role.spec.min, role.spec.max, role.request.replicas, job.paused)


def with_refusal(job: TrainingJob, known: WriteRefusal | None = None) -> TrainingJob:
    """The job with the latest refusal that concerns it, among those on its Jobs and `known`.

    The latest is the one with most attempts: its time may come from a wrong clock.
    """
    written = (role.record.refusal for role in job.roles)
    concerning = (_concerning(job, one) for one in (*written, known) if one)
    found = max(
        filter(None, concerning),
        key=lambda one: (one.attempts, one.at, one.lifted, -len(one.refused_sizes)),
        default=None,
    )
    return job if found == job.refusal else replace(job, refusal=found)


def concerns(job: TrainingJob, refusal: WriteRefusal) -> bool:
    """Whether a role of the job has yet to start, or to get a size, that was refused."""
    return _concerning(job, refusal) is not None


def _concerning(job: TrainingJob, refusal: WriteRefusal) -> WriteRefusal | None:
    """The refusal without a start that has been made, and without sizes that have been reached.

    A size that was refused for an earlier request of the users is left out, too.
    """
    roles = {role.name: role for role in job.live}
    sizes = tuple(
        one
        for one in refusal.sizes
        if (role := roles.get(one.role))
        and _lacks(role, one)
        and one.request == _request(job, role)
    )
    starts = refusal.starts and any(role.status.suspended for role in job.live)
    return replace(refusal, sizes=sizes, starts=starts) if sizes or starts else None


def _lacks(role: Role, refused: RefusedSize) -> bool:
    """Whether a role runs, and is still smaller, or larger, than the refused size."""
    if role.status.suspended:
        return False
    size = role.status.size
    return size < refused.size if refused.grows else size > refused.size
