"""Durations as users type them in flags, annotations, scenarios and traces.

`60`, `60s`, `5m`, `1h30m`, `1d`: a bare number is seconds, as for kubectl.
"""

import re
from datetime import timedelta
from typing import Final

_UNITS: Final = ("days", "hours", "minutes", "seconds")
_BARE: Final = re.compile(r"[0-9]{1,13}(\.[0-9]{1,20})?")
_WITH_UNITS: Final = re.compile(
    r"(?=.)((?P<days>[0-9]{1,7})d)?((?P<hours>[0-9]{1,7})h)?((?P<minutes>[0-9]{1,7})m)?"
    r"((?P<seconds>[0-9]{1,7}(\.[0-9]{1,9})?)s)?"
)
EXAMPLES: Final = "60s, 5m, 2h30m or 1d"
SHORTEST: Final = timedelta(milliseconds=1)
_TOO_LONG: Final = timedelta(days=10_000_000)
_SHORT: Final = timedelta(minutes=2)
_SIZES: Final = ((86_400, "d"), (3600, "h"), (60, "m"))


def parse_duration(text: str) -> timedelta | None:
    """The duration that a text names; None if it names none, or one that is too short or long."""
    if _BARE.fullmatch(text):
        length = timedelta(seconds=float(text))
    elif match := _WITH_UNITS.fullmatch(text):
        length = timedelta(**{unit: float(match[unit] or 0) for unit in _UNITS})
    else:
        return None
    return length if not length or SHORTEST <= length < _TOO_LONG else None


def duration_text(length: timedelta) -> str:
    """As `parse_duration` reads it, to the millisecond: `90s`, `5m`, `1h30m`, `1d`."""
    left, milliseconds = divmod(round(length / timedelta(milliseconds=1)), 1000)
    text = ""
    for size, unit in _SIZES if length > _SHORT else ():
        amount, left = divmod(left, size)
        text += f"{amount}{unit}" if amount else ""
    seconds = left + milliseconds / 1000
    return f"{text}{seconds:g}s" if seconds or not text else text
