"""Unified diffs of two texts in bounded work.

difflib needs time by the cube of the lines if they are repeated, so the equal head and tail are cut
off first, and all between them is replaced if it would still take too long.
"""

from collections.abc import Iterator, Sequence
from difflib import Match, SequenceMatcher
from typing import Final, TypeAlias

_Lines: TypeAlias = Sequence[str]
_MOST: Final = 100_000_000
"""The most lines, times pairs of equal lines, that difflib compares: a second or two."""


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
    def __init__(self, before: _Lines, after: _Lines) -> None:
        super().__init__(None, (), ())
        self._texts = before, after

    def get_matching_blocks(self) -> list[Match]:
        before, after = self._texts
        head = _common(before, after)
        tail = _common(before[head:][::-1], after[head:][::-1])
        i, j = len(before) - tail, len(after) - tail
        old, new = before[head:i], after[head:j]
        inner = SequenceMatcher(None, old, new)
        places: dict[str, list[int]] = inner.b2j  # type: ignore[attr-defined]  # typeshed lacks it
        pairs = sum(len(places.get(line, ())) for line in old)
        blocks: list[Match] = []
        if pairs * (len(old) + len(new)) <= _MOST:
            blocks = inner.get_matching_blocks()
        return [
            Match(0, 0, head),
            *(Match(a + head, b + head, size) for a, b, size in blocks if size),
            Match(i, j, tail),
            Match(len(before), len(after), 0),
        ]


def _common(before: _Lines, after: _Lines) -> int:
    """The number of equal lines at the beginning."""
    pairs = enumerate(zip(before, after, strict=False))
    return next((i for i, (old, new) in pairs if old != new), min(len(before), len(after)))
