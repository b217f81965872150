"""An estimate of a future time, rounded so that it suggests no false precision."""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from edl.messages import lasting
from edl.model import Code, Reason

_EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)
HORIZON: Final = timedelta(days=30)
"""Nothing is estimated beyond this."""
_STEPS: Final = (
    (timedelta(minutes=1), timedelta(seconds=1)),
    (timedelta(minutes=2), timedelta(seconds=10)),
    (timedelta(minutes=10), timedelta(minutes=1)),
    (timedelta(hours=1), timedelta(minutes=5)),
    (timedelta(hours=4), timedelta(minutes=15)),
    (timedelta(days=1), timedelta(hours=1)),
    (HORIZON, timedelta(days=1)),
)
"""(distance up to which a step applies, step to which times are rounded)"""


class Certainty(StrEnum):
    """How reliable an estimate is."""

    NOW = "Now"
    ABOUT = "About"
    """If jobs end when expected, and no job is queued before it."""
    LATEST = "AtTheLatest"
    """The same, but sooner if a job without a known end ends.

    No bound while jobs are created: one of a higher priority, or of a team within its guarantee,
    starts first.
    """
    LATER = "LaterThan"
    """If jobs end when expected, not before: a time limit ended the simulation at this time.

    Without a time: at once.
    """
    UNKNOWN = "Unknown"
    NEVER = "Never"
    """Not with the present nodes and quotas, even if no other training job ran.

    Without a reason: the role gets no more pods, whatever changes.
    """


class Estimate(msgspec.Struct, frozen=True):
    """`at` is rounded, and None if unknown; `reason` says why, or what it depends on.

    `code`: that of the job's reason to wait, if `reason` only repeats its message.
    """

    certainty: Certainty
    at: datetime | None = None
    reason: str = ""
    code: Code | None = None


def waiting_for(certainty: Certainty, reason: Reason) -> Estimate:
    """The estimate of a job that waits for this reason."""
    return Estimate(certainty, reason=lasting(reason), code=reason.code)


def passed(now: datetime, wait: timedelta) -> datetime | None:
    """`now + wait`, rounded down like `rounded`; None if nothing is left of the wait."""
    step = _step(wait)
    instant = _EPOCH + (now + wait - _EPOCH) // step * step
    return instant if instant > now else None


def rounded(now: datetime, wait: timedelta, *, up: bool) -> datetime:
    """`now + wait`, rounded to a multiple of the step for that distance; always after `now`.

    Multiples of clock time, so that the same moment is rounded alike a little later. `up`: never
    earlier than the exact time.
    """
    step = _step(wait)
    past = now + wait - _EPOCH
    steps = -(-past // step) if up else (past + step / 2) // step
    instant = _EPOCH + steps * step
    return instant if instant > now else instant + step


def coarse(wait: timedelta) -> timedelta:
    """`wait`, rounded to its step; at least one step."""
    step = _step(wait)
    return max(round(wait / step), 1) * step


def coarse_bound(wait: timedelta) -> timedelta:
    """`wait`, rounded down to its step."""
    step = _step(wait)
    return wait // step * step


def _step(wait: timedelta) -> timedelta:
    return next((step for most, step in _STEPS if wait <= most), _STEPS[-1][1])
