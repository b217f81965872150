"""Figures that tests measure: rows among their properties, printed by title at the end of a run."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

_FIGURE: Final = "figure: "


def titled(title: str) -> str:
    """The name of a test's property that is a row under this title."""
    return _FIGURE + title


def by_title(properties: Iterable[tuple[str, object]]) -> Mapping[str, list[str]]:
    """The rows among the properties of tests."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name, row in properties:
        if name.startswith(_FIGURE):
            found[name.removeprefix(_FIGURE)].append(str(row))
    return found
