"""The known names that a misspelt one resembles most, for findings, warnings and errors."""

from collections.abc import Iterable
from typing import Final

SIMILAR: Final = 0.7
"""The least similarity (difflib) of a suggested name."""
_SIMILAR_KEY: Final = 0.9
"""The least similarity of a suggested label key: most have a domain in common."""
LONGEST: Final = 63
"""Characters of names that are compared: no known name is longer."""


def nearest(name: str, names: Iterable[str], cutoff: float = SIMILAR) -> str:
    """The most similar known name; empty if none is similar."""
    return next(iter(_similar(name, names, cutoff, 1)), "")


def similar_key(key: str, names: Iterable[str]) -> str:
    """The known label key that this one misspells; empty if it resembles none enough."""
    return nearest(key, names, _SIMILAR_KEY)


def did_you_mean(name: str, names: Iterable[str], cutoff: float = SIMILAR, *, most: int = 1) -> str:
    """`did you mean ps or worker?` with the most similar names; empty if none is similar."""
    close = _similar(name, names, cutoff, most)
    return f"did you mean {' or '.join(close)}?" if close else ""


def _similar(name: str, names: Iterable[str], cutoff: float, most: int) -> list[str]:
    """Whatever their case. The cost is bounded: a name that is too long is not compared."""
    from difflib import get_close_matches  # noqa: PLC0415 - most commands need none

    if len(name) > LONGEST:
        return []
    folded = {candidate.casefold(): candidate for candidate in names}
    return [folded[match] for match in get_close_matches(name.casefold(), folded, most, cutoff)]
