"""Starts that the API server refused: which one counts, and when one is tried again."""

from datetime import datetime, timedelta

from msgspec.structs import replace

from edl.annotations.attempt_backoff import STARTS
from edl.model import StartRefusal, TrainingJob


def time_left(refusal: StartRefusal, now: datetime) -> timedelta | None:
    """How long until the start is tried again; None when it is due.

    A time that lies still further ahead was written by a clock that is wrong.
    """
    wait = STARTS.pause(refusal)
    left = wait - (now - refusal.at)
    return left if timedelta() < left <= 2 * wait else None


def waits(job: TrainingJob) -> bool:
    """Whether a role of it is yet to start: only then a refused start concerns it."""
    return any(role.status.suspended for role in job.live)


def with_refusal(job: TrainingJob, known: StartRefusal | None = None) -> TrainingJob:
    """With the latest refusal of its start, of those on its Jobs and `known`.

    The number of attempts tells, for one may be written by a clock that is wrong.
    """
    if not waits(job):
        return job
    written = [role.record.refusal for role in job.roles if role.record.refusal]
    found = max(
        [*written, *filter(None, [known])], key=lambda one: (one.attempts, one.at), default=None
    )
    return job if found == job.refusal else replace(job, refusal=found)
