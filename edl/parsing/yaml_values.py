"""Values that should be texts: YAML reads `true`, `8` and nothing at all as something else."""

import re
from datetime import UTC, datetime
from typing import Any, Final

from edl.errors import Finding

_WHOLE: Final = re.compile(r"[0-9]{1,18}")


def whole(text: str) -> int | None:
    """A whole number that 64 bits hold, of the digits 0 to 9 alone; None for anything else."""
    return int(text) if _WHOLE.fullmatch(text) else None


def timestamp(text: str) -> datetime | None:
    """An RFC 3339 time of an annotation, in UTC; None when it is absent, or has no zone."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else None
    except (ValueError, OverflowError):
        return None


def misread(path: str, value: Any) -> Finding:  # noqa: ANN401 - JSON enters here
    """What to write instead."""
    if value is None:
        return Finding(path, "is empty", "write its value, or remove it")
    if isinstance(value, dict | list):
        return Finding(path, f"{value!r} is not a string", "one value")
    return Finding(path, f"{value!r} is not a string", f'quote it: "{written(value)}"')


def written(value: Any) -> str:  # noqa: ANN401 - JSON enters here
    """As its user most likely meant it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value)
