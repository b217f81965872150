"""Unified diffs of two texts in near-linear work.

difflib needs time by the square of the lines, so it compares small regions only. A large region is
reduced to what differs, then divided at the lines that occur once in both texts.
"""

from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import Match, SequenceMatcher
from typing import Final, NamedTuple, TypeAlias

_Lines: TypeAlias = Sequence[str]
_Block: TypeAlias = tuple[int, int, int]
"""An equal part of both texts: its places and its length."""
_SMALL: Final = 400
"""Most lines of a region that difflib compares."""


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
        super().__init__(None, before, after)
        self._texts = before, after

    def get_matching_blocks(self) -> list[Match]:
        """Adjacent blocks are joined, as the base class joins its own."""
        before, after = self._texts
        found = [Match(0, 0, 0)]
        for i, j, size in _blocks(before, after):
            last = found[-1]
            if (last.a + last.size, last.b + last.size) == (i, j):
                found[-1] = Match(last.a, last.b, last.size + size)
            elif size:
                found.append(Match(i, j, size))
        return [*(one for one in found if one.size), Match(len(before), len(after), 0)]


def _blocks(before: _Lines, after: _Lines) -> Iterator[_Block]:
    """Equal blocks, in the order of both texts; empty ones may be among them."""
    if _is_small(before, after):
        yield from SequenceMatcher(None, before, after).get_matching_blocks()
        return
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    i, j = len(before) - tail, len(after) - tail
    yield 0, 0, head
    yield from _moved(_divided(before[head:i], after[head:j]), head, head)
    yield i, j, tail


def _divided(before: _Lines, after: _Lines) -> Iterator[_Block]:
    """Blocks of a region; a part that stays large without a line to divide it has none."""
    i0 = j0 = 0
    anchors = [] if _is_small(before, after) else _anchors(before, after)
    for i, j in (*anchors, (len(before), len(after))):
        old, new = before[i0:i], after[j0:j]
        if old and new and _is_small(old, new):
            yield from _moved(SequenceMatcher(None, old, new).get_matching_blocks(), i0, j0)
        yield i, j, int(i < len(before))
        i0, j0 = i + 1, j + 1


def _is_small(before: _Lines, after: _Lines) -> bool:
    return max(len(before), len(after)) <= _SMALL


def _common(before: _Lines, after: _Lines) -> int:
    """The number of equal lines at the beginning."""
    pairs = enumerate(zip(before, after, strict=False))
    return next((i for i, (old, new) in pairs if old != new), min(len(before), len(after)))


def _moved(blocks: Iterable[_Block], i: int, j: int) -> Iterator[_Block]:
    return ((a + i, b + j, size) for a, b, size in blocks)


class _Anchor(NamedTuple):
    i: int
    j: int
    previous: "_Anchor | None"


def _anchors(before: _Lines, after: _Lines) -> list[tuple[int, int]]:
    """Places of lines that occur once in both texts: the longest sequence in the order of both."""
    old, new = _unique(before), _unique(after)
    ends: list[int] = []
    last: list[_Anchor] = []
    for line, i in old.items():
        if (j := new.get(line)) is not None:
            length = bisect(ends, j)
            anchor = _Anchor(i, j, last[length - 1] if length else None)
            ends[length : length + 1], last[length : length + 1] = [j], [anchor]
    found, current = [], last[-1] if last else None
    while current:
        found.append((current.i, current.j))
        current = current.previous
    return found[::-1]


def _unique(lines: _Lines) -> dict[str, int]:
    """The lines that occur once, with their places."""
    times = Counter(lines)
    return {line: place for place, line in enumerate(lines) if times[line] == 1}
