"""Nodes that did not come: as they are written on a Job, and when they are asked for again.

Twice as long each time, from one minute to half an hour, as Kueue does with ProvisioningRequests
(`retryStrategy`: backoffBaseSeconds 60, backoffMaxSeconds 1800).
"""

from datetime import datetime, timedelta
from typing import Final

import msgspec
from msgspec.structs import replace

from edl.model import ProvisioningFailure

_FIRST: Final = timedelta(minutes=1)
_LONGEST: Final = timedelta(minutes=30)
_DOUBLINGS: Final = 5
_MOST_ATTEMPTS: Final = 10**6
"""The largest count of attempts that is believed; other clients may write any number."""
MOST: Final = 512
"""Characters of the autoscaler's words that are kept."""

_decoder: Final = msgspec.json.Decoder(ProvisioningFailure)


def failed(before: ProvisioningFailure | None, message: str, now: datetime) -> ProvisioningFailure:
    """One more, after those that `before` counts."""
    attempts = before.attempts + 1 if before else 1
    return ProvisioningFailure(now, attempts, quoted(message))


def quoted(message: str) -> str:
    """Others' words on one line, cut to what is kept of them."""
    shown = (one if one.isprintable() else " " for one in message[: 4 * MOST])
    line = " ".join("".join(shown).split())
    return line if len(line) <= MOST else f"{line[: MOST - 1]}…"


def pause(failure: ProvisioningFailure) -> timedelta:
    """How long nothing is asked for after it."""
    doublings = min(max(failure.attempts - 1, 0), _DOUBLINGS)
    return min(_FIRST * (1 << doublings), _LONGEST)


def text(failure: ProvisioningFailure) -> str:
    """The annotation that keeps it."""
    return msgspec.json.encode(failure).decode()


def read(annotation: str) -> ProvisioningFailure | None:
    """None where there is none, or none of ours."""
    try:
        found = _decoder.decode(annotation)
    except (msgspec.MsgspecError, RecursionError):
        return None
    if not found.at.tzinfo or not 0 < found.attempts <= _MOST_ATTEMPTS:
        return None
    return replace(found, message=quoted(found.message))
