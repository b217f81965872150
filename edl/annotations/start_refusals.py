"""Starts that the API server refused: their annotation, and when one is tried again.

A quota on Services, an admission webhook, a missing right: what refuses one training job's start
says nothing about the others, so it leaves the plan until a dry run of its start is accepted.
"""

from datetime import datetime, timedelta
from typing import Final

import msgspec
from msgspec.structs import replace

from edl.model import StartRefusal, TrainingJob

_FIRST: Final = timedelta(seconds=1)
_LONGEST: Final = timedelta(minutes=1)
_DOUBLINGS: Final = 16
_MOST_ATTEMPTS: Final = 10**6
"""The largest count of refusals that is believed; other clients may write any number."""
_MOST: Final = 1024
"""Characters of the API server's message that are kept, as many as an Event takes."""

_decoder: Final = msgspec.json.Decoder(StartRefusal)


def refused(before: StartRefusal | None, message: str, now: datetime) -> StartRefusal:
    """One more, after those that `before` counts."""
    attempts = before.attempts + 1 if before else 1
    return StartRefusal(now, attempts, " ".join(message.split())[:_MOST])


def time_left(refusal: StartRefusal, now: datetime) -> timedelta | None:
    """How long until the start is tried again: twice as long each time; None when it is due.

    A time that lies still further ahead was written by a clock that is wrong.
    """
    wait = min(_FIRST * 2 ** min(max(refusal.attempts - 1, 0), _DOUBLINGS), _LONGEST)
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


def text(refusal: StartRefusal) -> str:
    """The annotation that keeps it."""
    return msgspec.json.encode(refusal).decode()


def read(annotation: str) -> StartRefusal | None:
    """None if it is missing or invalid."""
    try:
        found = _decoder.decode(annotation)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return found if found.at.tzinfo and 0 < found.attempts <= _MOST_ATTEMPTS else None
