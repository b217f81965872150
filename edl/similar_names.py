"""The known name that a misspelt one resembles most, for findings and warnings."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

SIMILAR: Final = 0.7
"""The least similarity (difflib) of a suggested name."""
LONGEST: Final = 63
"""Characters of names that are compared: no known name is longer."""


def nearest(name: str, known: Iterable[str], cutoff: float = SIMILAR) -> str:
    """The most similar known name, whatever its case; empty if none is similar.

    The cost is bounded: a name that is longer than any known one is not compared.
    """
    if len(name) > LONGEST:
        return ""
    folded = {one.casefold(): one for one in known}
    close = get_close_matches(name.casefold(), folded, 1, cutoff)
    return folded[close[0]] if close else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean worker? `, as the beginning of what is allowed; empty if none is similar."""
    found = nearest(name, known)
    return f"did you mean {found}? " if found else ""
