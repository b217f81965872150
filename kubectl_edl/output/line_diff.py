"""Unified diffs of two texts in bounded work.

difflib needs time by the cube of the lines if they are repeated, so its work is counted. A region
that would take too long is compared by its unique lines; beyond that, it keeps its equal head and
tail, and all between them is replaced.
"""

from collections.abc import Iterator, Sequence
from difflib import Match, SequenceMatcher
from typing import Final, TypeAlias

_Lines: TypeAlias = Sequence[str]
_MAX_PAIRS: Final = 5_000_000
"""The most pairs of equal lines that difflib looks at: about a second."""


def line_diff(before: _Lines, after: _Lines, titles: tuple[str, str]) -> Iterator[str]:
    """The lines of the diff, in the format of `difflib.unified_diff`; none for equal texts."""
    heading = [f"--- {titles[0]}", f"+++ {titles[1]}"]
    for group in _Matcher(before, after).get_grouped_opcodes():
        yield from heading
        heading = []
        (_, i, _, j, _), (_, _, i_end, _, j_end) = group[0], group[-1]
        yield f"@@ -{_range(i, i_end)} +{_range(j, j_end)} @@"
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from (f" {line}" for line in before[i1:i2])
            else:
                yield from (f"-{line}" for line in before[i1:i2])
                yield from (f"+{line}" for line in after[j1:j2])


def _range(start: int, stop: int) -> str:
    """`7,3`: from line 7, three lines; an empty range has the line before it."""
    length = stop - start
    return f"{start + 1}" if length == 1 else f"{start + bool(length)},{length}"


class _Matcher(SequenceMatcher[str]):
    b2j: dict[str, list[int]]
    """By line, where the other text has it: an attribute of difflib's that typeshed lacks."""

    def __init__(self, before: _Lines, after: _Lines) -> None:
        super().__init__(None, before, after, autojunk=False)
        unique = {line: places for line, places in self.b2j.items() if len(places) == 1}
        self._places = self.b2j, unique
        self._texts = before, after
        self._left = _MAX_PAIRS

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> Match:
        """The longest that can be found in time, else the equal head or tail of the region."""
        old, new = self._texts[0][alo:ahi], self._texts[1][blo:bhi]
        for places in self._places:
            work = sum(1 + len(places.get(line, ())) for line in old)
            if work <= self._left:
                self._left -= work
                self.b2j = places
                if (match := super().find_longest_match(alo, ahi, blo, bhi)).size:
                    return match
        if size := _common(old, new):
            return Match(alo, blo, size)
        size = _common(old[::-1], new[::-1])
        return Match(alo + len(old) - size, blo + len(new) - size, size)


def _common(before: _Lines, after: _Lines) -> int:
    """The number of equal lines at the beginning."""
    pairs = enumerate(zip(before, after, strict=False))
    return next((i for i, (old, new) in pairs if old != new), min(len(before), len(after)))
