"""Starts that the API server refused: which refusal counts, and when the start is tried again."""

from datetime import datetime, timedelta

from msgspec.structs import replace

from edl.annotations.failed_attempts import STARTS
from edl.model import StartRefusal, TrainingJob


def time_left(refusal: StartRefusal, now: datetime) -> timedelta | None:
    """How long until the start is tried again; None if it is due.

    A time left of more than twice the back-off comes from a wrong clock, and is ignored.
    """
    wait = STARTS.after(refusal.attempts)
    left = wait - (now - refusal.at)
    return left if timedelta() < left <= 2 * wait else None


def waits(job: TrainingJob) -> bool:
    """Whether a role of the job has yet to start: only then a refused start concerns it."""
    return any(role.status.suspended for role in job.live)


def with_refusal(job: TrainingJob, known: StartRefusal | None = None) -> TrainingJob:
    """The job with the latest refusal of its start, among those on its Jobs and `known`.

    The latest is the one with most attempts: its time may come from a wrong clock.
    """
    if not waits(job):
        return job
    written = [role.record.refusal for role in job.roles if role.record.refusal]
    found = max(
        [*written, *filter(None, [known])], key=lambda one: (one.attempts, one.at), default=None
    )
    return job if found == job.refusal else replace(job, refusal=found)
