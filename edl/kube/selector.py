"""Label selectors, as the API spells them: `a=b,c!=d,e in (f,g),h notin (i),j,!k`."""

import re
from collections.abc import Mapping
from typing import Final

_TERM: Final = re.compile(
    r"\s*(?:"
    r"(?P<key>[^\s,=!()]+)\s*(?P<operator>==|=|!=|\s(?:not)?in\b)\s*"
    r"(?:\((?P<several>[^()]*)\)|(?P<one>[^\s,()]*))"
    r"|(?P<absent>!)?\s*(?P<name>[^\s,=!()]+)"
    r")\s*(?:,|$)"
)


_KEY: Final = r"[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?"
_VALUE: Final = r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?"
_REQUIREMENT: Final = re.compile(
    rf"\s*({_KEY}\s*(==|=|!=|>|<)\s*{_VALUE}"
    rf"|{_KEY}\s+(not)?in\s*\(\s*{_VALUE}\s*(,\s*{_VALUE}\s*)*\)"
    rf"|!?\s*{_KEY})\s*"
)


def is_selector(text: str) -> bool:
    """Whether the API server would take it."""
    place = 0
    while found := _REQUIREMENT.match(text, place):
        if found.end() == len(text):
            return True
        if text[found.end()] != ",":
            return False
        place = found.end() + 1
    return not text


def matches(selector: str, labels: Mapping[str, str]) -> bool:
    """Raise ValueError for a selector that the API would refuse."""
    position = 0
    while position < len(selector):
        term = _TERM.match(selector, position)
        if term is None:
            raise ValueError(f'"{selector}" is not a label selector; such as app=web,tier!=test')
        if not _holds(term, labels):
            return False
        position = term.end()
    return True


def _holds(term: re.Match[str], labels: Mapping[str, str]) -> bool:
    if name := term["name"]:
        return (name in labels) != bool(term["absent"])
    several = term["several"]
    wanted = {value.strip() for value in several.split(",")} if several else {term["one"] or ""}
    found = labels.get(term["key"])
    return (found in wanted) != (term["operator"].strip() in ("!=", "notin"))
