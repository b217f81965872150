"""What may be said of a moment to come."""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

_EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)
HORIZON: Final = timedelta(days=30)
"""Nothing is said of what is farther away."""
_STEPS: Final = (
    (timedelta(minutes=1), timedelta(seconds=1)),
    (timedelta(minutes=2), timedelta(seconds=10)),
    (timedelta(minutes=10), timedelta(minutes=1)),
    (timedelta(hours=1), timedelta(minutes=5)),
    (timedelta(hours=4), timedelta(minutes=15)),
    (timedelta(days=1), timedelta(hours=1)),
    (HORIZON, timedelta(days=1)),
)
"""Up to so far away, estimates are told in steps of so much: no false precision."""


class Certainty(StrEnum):
    """How much an estimate means."""

    NOW = "Now"
    ABOUT = "About"
    """If jobs end as they say, and no other job comes before it."""
    LATEST = "AtTheLatest"
    """The same; sooner if a job without a known end ends."""
    UNKNOWN = "Unknown"
    NEVER = "Never"
    """Not on the present nodes and quotas, even if no other training job ran."""


class Estimate(msgspec.Struct, frozen=True):
    """`at` is rounded, and None where it is unknown; `reason` says why, or what it hangs on."""

    certainty: Certainty
    at: datetime | None = None
    reason: str = ""


def rounded(now: datetime, wait: timedelta, *, up: bool) -> datetime:
    """When it is so far away, on a clock whose steps suit the distance; later than now.

    On a clock, so that the same moment reads the same a little later.
    """
    step = _step(wait)
    past = now + wait - _EPOCH
    steps = -(-past // step) if up else (past + step / 2) // step
    found = _EPOCH + steps * step
    return found if found > now else found + step


def coarse(wait: timedelta) -> timedelta:
    """How far away it is, in such steps: one at least."""
    step = _step(wait)
    return max(round(wait / step), 1) * step


def _step(wait: timedelta) -> timedelta:
    return next((step for most, step in _STEPS if wait <= most), _STEPS[-1][1])
