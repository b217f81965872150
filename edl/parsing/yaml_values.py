"""Values that should be strings: YAML reads `true`, `8` and an empty value as other types."""

import re
from datetime import UTC, datetime
from typing import Any, Final

from edl.errors import Finding

_YEARS: Final = range(1970, 2200)
"""Years of plausible times: the sum of one and a duration is a date."""
_WHOLE: Final = re.compile(r"[0-9]{1,18}")
_TYPES: Final = {
    word: kind
    for kind, words in (
        ("bool", "y yes on true n no off false"),
        ("null", "~ null"),
        ("float", ".nan .NaN .inf +.inf -.inf .Inf +.Inf -.Inf"),
        ("merge", "<<"),
    )
    for lower in words.split()
    for word in (lower, lower.capitalize(), lower.upper())
} | {"": "null"}
_INT: Final = re.compile(r"[-+]?(0|[1-9][0-9]*|0[oO]?[0-7]+|0[bB][01]+|0[xX][0-9a-fA-F]+)")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


def scalar_type(plain: str) -> str:
    """The YAML type that kubectl gives an unquoted scalar: str, int, float, bool, null or merge.

    Underscores in numbers are ignored; 010 is octal and 08 a decimal number; times are texts.
    """
    if plain in _TYPES or plain[0] not in "+-.0123456789":
        return _TYPES.get(plain, "str")
    digits = plain.replace("_", "")
    if _INT.fullmatch(digits):
        return "int"
    return "float" if _FLOAT.fullmatch(digits) else "str"


def whole(text: str) -> int | None:
    """A whole number of the digits 0 to 9 that fits into 64 bits; None for anything else."""
    return int(text) if _WHOLE.fullmatch(text) else None


def timestamp(text: str) -> datetime | None:
    """An RFC 3339 time, in UTC; None if it is absent, invalid, absurd or without a zone."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.astimezone(UTC) if moment.tzinfo and moment.year in _YEARS else None


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
