"""Label selectors in the API's syntax: `a=b,c!=d,e in (f,g),h notin (i),j,!k`."""

import re
from typing import Final

from edl.dns_names import is_label_key, is_label_value

_COMMA: Final = re.compile(r",(?![^(]*\))")
"""A comma between requirements, not one in a set of values."""
_WORD: Final = r"[^\s!=<>(),]"
_REQUIREMENT: Final = re.compile(
    rf"\s*(?P<absent>!\s*)?(?P<key>{_WORD}+)\s*(?(absent)|(?:"
    rf"(?:==?|!=)\s*(?P<value>{_WORD}*)|[<>]\s*(?P<number>[0-9]{{1,30}})"
    r"|(?<=\s)(?:not)?in\s*\((?P<values>[^()]*)\))?)\s*"
)


def is_selector(text: str) -> bool:
    """Whether the API server would accept the selector (apimachinery, labels.Parse)."""
    return not text.strip() or all(map(_is_requirement, _COMMA.split(text)))


def _is_requirement(text: str) -> bool:
    if (match := _REQUIREMENT.fullmatch(text)) is None or not is_label_key(match["key"]):
        return False
    values = (match["values"] or match["value"] or "").split(",")
    is_integer = int(match["number"] or 0) < 1 << 63
    return is_integer and all(is_label_value(value.strip()) for value in values)
