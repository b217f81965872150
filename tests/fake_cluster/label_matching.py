"""Whether labels match a selector: `a=b,c!=d,e in (f,g),h notin (i),j,!k`."""

import re
from collections.abc import Mapping
from typing import Final

_KEY: Final = r"[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?"
_VALUE: Final = r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?"
_REQUIREMENT: Final = re.compile(
    rf"\s*(?:(?P<key>{_KEY})(?:\s*(?P<operator>==|=|!=|>|<)\s*(?P<one>{_VALUE})"
    rf"|\s+(?P<set>in|notin)\s*\((?P<several>\s*{_VALUE}\s*(?:,\s*{_VALUE}\s*)*)\))"
    rf"|(?P<absent>!)?\s*(?P<name>{_KEY}))\s*(?P<end>,|$)"
)


def matches(selector: str, labels: Mapping[str, str]) -> bool:
    """Whether the labels match. Raises ValueError for an unreadable selector."""
    return all(_holds(found, labels) for found in _requirements(selector))


def _requirements(text: str) -> list[re.Match[str]]:
    all_found, place, more = list[re.Match[str]](), 0, bool(text)
    while more:
        found = _REQUIREMENT.match(text, place)
        if found is None:
            raise ValueError(f'"{text}" is not a label selector; such as app=web,tier!=test')
        all_found.append(found)
        place, more = found.end(), found["end"] == ","
    return all_found


def _holds(found: re.Match[str], labels: Mapping[str, str]) -> bool:
    if name := found["name"]:
        return (name in labels) != bool(found["absent"])
    own, operator = labels.get(found["key"]), found["operator"] or found["set"]
    if operator in ("<", ">"):
        sign = 1 if operator == ">" else -1
        if own is None or not own.isdecimal():
            return False
        return sign * int(own) > sign * int(found["one"])
    several = found["several"]
    wanted = {found["one"]} if several is None else {one.strip() for one in several.split(",")}
    return (own in wanted) != (operator in ("!=", "notin"))
