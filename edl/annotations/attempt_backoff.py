"""What failed for a training job, as an annotation keeps it, and when it is tried again.

Twice as long each time. Other clients may write the annotation: what they say is bounded.
"""

from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from edl.model import FailedAttempt

_DOUBLINGS: Final = 16
_MOST_ATTEMPTS: Final = 10**6
"""The largest count of attempts that is believed."""
MOST: Final = 1024
"""Characters of others' words that are kept, as many as an Event takes."""
_Attempt = TypeVar("_Attempt", bound=FailedAttempt)


class Backoff(NamedTuple):
    """From the first pause to the longest."""

    first: timedelta
    longest: timedelta

    def pause(self, failure: FailedAttempt) -> timedelta:
        """How long nothing is tried after it."""
        doublings = min(max(failure.attempts - 1, 0), _DOUBLINGS)
        return min(self.first * (1 << doublings), self.longest)


STARTS: Final = Backoff(timedelta(seconds=1), timedelta(minutes=1))
"""A quota on Services, an admission webhook, a missing right: what refuses one training job's start
says nothing about the others, so it leaves the plan until a dry run of its start is accepted."""
NODES: Final = Backoff(timedelta(minutes=1), timedelta(minutes=30))
"""As Kueue does with ProvisioningRequests (backoffBaseSeconds 60, backoffMaxSeconds 1800)."""


def failed(
    kind: type[_Attempt], before: FailedAttempt | None, message: str, now: datetime
) -> _Attempt:
    """One more, after those that `before` counts."""
    return kind(now, before.attempts + 1 if before else 1, quoted(message))


def quoted(message: str) -> str:
    """Others' words on one line, cut to what is kept of them."""
    shown = (one if one.isprintable() else " " for one in message[: 4 * MOST])
    line = " ".join("".join(shown).split())
    return line if len(line) <= MOST else f"{line[: MOST - 1]}…"


def text(failure: FailedAttempt) -> str:
    """The annotation that keeps it."""
    return msgspec.json.encode(failure).decode()


def read(annotation: str, kind: type[_Attempt]) -> _Attempt | None:
    """None where there is none, or none of ours."""
    try:
        found = msgspec.json.decode(annotation, type=kind)
    except (msgspec.MsgspecError, RecursionError):
        return None
    if not found.at.tzinfo or not 0 < found.attempts <= _MOST_ATTEMPTS:
        return None
    return replace(found, message=quoted(found.message))
