"""Failed attempts of a training job, kept in annotations, and the back-off after each.

The back-off doubles with each failure. Other clients may write the annotation, so its values are
bounded.
"""

from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from edl.model import FailedAttempt

_DOUBLINGS: Final = 16
_MOST_ATTEMPTS: Final = 10**6
"""The largest count of attempts that is accepted."""
MOST: Final = 1024
"""Characters of a quoted message that are kept: as many as an Event holds."""
_Attempt = TypeVar("_Attempt", bound=FailedAttempt)


class Backoff(NamedTuple):
    """The first and the longest pause between attempts."""

    first: timedelta
    longest: timedelta

    def pause(self, failure: FailedAttempt) -> timedelta:
        """How long to wait after this failure before the next attempt."""
        doublings = min(max(failure.attempts - 1, 0), _DOUBLINGS)
        return min(self.first * (1 << doublings), self.longest)


STARTS: Final = Backoff(timedelta(seconds=1), timedelta(minutes=1))
"""A quota on Services, an admission webhook or a missing permission that refuses one job's start
says nothing about other jobs. The job therefore leaves the plan until a dry run of its start
succeeds."""
NODES: Final = Backoff(timedelta(minutes=1), timedelta(minutes=30))
"""As Kueue does with ProvisioningRequests (backoffBaseSeconds 60, backoffMaxSeconds 1800)."""


def failed(
    kind: type[_Attempt], before: FailedAttempt | None, message: str, now: datetime
) -> _Attempt:
    """One more failure, after those that `before` counts."""
    return kind(now, before.attempts + 1 if before else 1, quoted(message))


def quoted(message: str) -> str:
    """A foreign message on one line, cut to `MOST` characters."""
    shown = (one if one.isprintable() else " " for one in message[: 4 * MOST])
    line = " ".join("".join(shown).split())
    return line if len(line) <= MOST else f"{line[: MOST - 1]}…"


def text(failure: FailedAttempt) -> str:
    """The annotation's text."""
    return msgspec.json.encode(failure).decode()


def read(annotation: str, kind: type[_Attempt]) -> _Attempt | None:
    """The failure in an annotation; None if it is missing or invalid."""
    try:
        found = msgspec.json.decode(annotation, type=kind)
    except (msgspec.MsgspecError, RecursionError):
        return None
    if not found.at.tzinfo or not 0 < found.attempts <= _MOST_ATTEMPTS:
        return None
    return replace(found, message=quoted(found.message))
