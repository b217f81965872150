"""Ages in kubectl's format: `45s`, `3m20s`, `7h5m`, `2d3h`, `90d`, `2y40d`."""

from datetime import datetime, timedelta
from typing import Final

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY

# (limit, unit, rest): an age below `limit` seconds is written in whole `unit`s, followed by `rest`
# units if there is a remainder. As k8s.io/apimachinery/pkg/util/duration.HumanDuration.
_STEPS: Final = (
    (2 * _MINUTE, (1, "s"), None),
    (10 * _MINUTE, (_MINUTE, "m"), (1, "s")),
    (3 * _HOUR, (_MINUTE, "m"), None),
    (8 * _HOUR, (_HOUR, "h"), (_MINUTE, "m")),
    (2 * _DAY, (_HOUR, "h"), None),
    (8 * _DAY, (_DAY, "d"), (_HOUR, "h")),
    (2 * _YEAR, (_DAY, "d"), None),
    (8 * _YEAR, (_YEAR, "y"), (_DAY, "d")),
)
UNKNOWN: Final = "<unknown>"
_INVALID: Final = "<invalid>"
_SKEW: Final = timedelta(seconds=5)


def age(since: datetime | None, now: datetime) -> str:
    """The time from `since` to `now`; up to one second in the future is tolerated."""
    return UNKNOWN if since is None else duration(now - since)


def duration(length: timedelta) -> str:
    """A duration in at most two units."""
    seconds = int(length.total_seconds())
    if seconds < -1:
        return _INVALID
    seconds = max(seconds, 0)
    for limit, (unit, letter), rest in _STEPS:
        if seconds < limit:
            whole, left = divmod(seconds, unit)
            more = f"{left // rest[0]}{rest[1]}" if rest and left >= rest[0] else ""
            return f"{whole}{letter}{more}"
    return f"{seconds // _YEAR}y"


def ago(since: datetime, now: datetime) -> str:
    """`2m ago`, for sentences; a time in the future was written by a clock ahead of this one.

    A few seconds ahead, as clocks differ and commands take, are now.
    """
    passed = now - since
    if timedelta() < -passed <= _SKEW:
        passed = timedelta()
    if duration(passed) == _INVALID:
        return f"{duration(-passed)} ahead of this clock"
    return f"{duration(passed)} ago"
