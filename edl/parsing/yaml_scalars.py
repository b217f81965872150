"""How kubectl reads plain YAML scalars: neither as YAML 1.1 does nor as YAML 1.2."""

import re
from typing import Final

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
    """The YAML type of an unquoted scalar: str, int, float, bool, null or merge.

    Underscores in numbers are ignored; 010 is octal and 08 a decimal number; times are texts.
    """
    if plain in _TYPES or plain[0] not in "+-.0123456789":
        return _TYPES.get(plain, "str")
    digits = plain.replace("_", "")
    if _INT.fullmatch(digits):
        return "int"
    return "float" if _FLOAT.fullmatch(digits) else "str"
