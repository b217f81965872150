"""Values that should be strings: YAML reads `true`, `8` and an empty value as other types."""

import re
from datetime import UTC, datetime
from typing import Any, Final

from edl.errors import Finding

_WHOLE: Final = re.compile(r"[0-9]{1,18}")


def whole(text: str) -> int | None:
    """A whole number of the digits 0 to 9 that fits into 64 bits; None for anything else."""
    return int(text) if _WHOLE.fullmatch(text) else None


def timestamp(text: str) -> datetime | None:
    """An annotation's RFC 3339 time, in UTC; None if it is absent, invalid or without a zone."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else None
    except (ValueError, OverflowError):
        return None


def misread(path: str, value: Any) -> Finding:  # noqa: ANN401 - JSON enters here
    """The finding for a value that is not a string, with what to write instead."""
    if value is None:
        return Finding(path, "is empty", "write its value, or remove it")
    if isinstance(value, dict | list):
        return Finding(path, f"{value!r} is not a string", "one value")
    return Finding(path, f"{value!r} is not a string", f'quote it: "{written(value)}"')


def written(value: Any) -> str:  # noqa: ANN401 - JSON enters here
    """The string that the user most likely meant."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value)
