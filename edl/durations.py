"""Durations as users type them in flags, annotations, scenarios and traces.

`60`, `60s`, `5m`, `1h30m`, `1d`: a bare number is seconds, as for kubectl.
"""

import re
from datetime import timedelta
from typing import Final

_UNITS: Final = ("days", "hours", "minutes", "seconds")
_BARE: Final = re.compile(r"[0-9]{1,13}(\.[0-9]{1,9})?")
_WITH_UNITS: Final = re.compile(
    r"(?=.)" + "".join(f"((?P<{unit}>[0-9]{{1,7}}){unit[0]})?" for unit in _UNITS)
)
EXAMPLES: Final = "60s, 5m, 2h30m or 1d"
_SHORT: Final = timedelta(minutes=2)
_SIZES: Final = ((86_400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def parse_duration(text: str) -> timedelta | None:
    """The duration that a text names; None if the text is not one."""
    if _BARE.fullmatch(text):
        return timedelta(seconds=float(text))
    match = _WITH_UNITS.fullmatch(text)
    return timedelta(**{unit: int(match[unit] or 0) for unit in _UNITS}) if match else None


def duration_text(length: timedelta) -> str:
    """As `parse_duration` reads it, to the millisecond: `90s`, `5m`, `1h30m`, `1d`."""
    left = round(length.total_seconds(), 3)
    if length <= _SHORT:
        return f"{left:g}s"
    parts = []
    for size, unit in _SIZES:
        amount, left = (left, 0) if size == 1 else divmod(left, size)
        parts += [f"{amount:g}{unit}"] if amount else []
    return "".join(parts)
