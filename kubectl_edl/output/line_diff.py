"""Unified diffs of two texts in near-linear work.

difflib needs time by the cube of the lines if they are repeated, so it compares small regions only.
A large region loses its equal head and tail, then is divided at its rarest lines, over and over.
"""

from bisect import bisect
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from difflib import Match, SequenceMatcher
from typing import Final, NamedTuple, TypeAlias

_Lines: TypeAlias = Sequence[str]
_Block: TypeAlias = tuple[int, int, int]
"""An equal part of both texts: its places and its length."""
_SMALL: Final = 2000
"""Most lines, and pairs of equal lines, of a region that difflib compares."""
_LEVELS: Final = 8
"""How often a region is divided; what is large even then is replaced as a whole."""


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
        blocks = [Match(0, 0, 0)]
        for i, j, size in _blocks(before, after):
            last = blocks[-1]
            if (last.a + last.size, last.b + last.size) == (i, j):
                blocks[-1] = Match(last.a, last.b, last.size + size)
            elif size:
                blocks.append(Match(i, j, size))
        return [*(block for block in blocks if block.size), Match(len(before), len(after), 0)]


def _blocks(before: _Lines, after: _Lines, levels: int = _LEVELS) -> Iterator[_Block]:
    """Equal blocks, in the order of both texts; empty ones may be among them."""
    if not (before and after):
        return
    if _is_small(before, after):
        yield from SequenceMatcher(None, before, after).get_matching_blocks()
        return
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    if not (head or tail):
        yield from _divided(before, after, levels)
        return
    i, j = len(before) - tail, len(after) - tail
    yield 0, 0, head
    yield from _moved(_blocks(before[head:i], after[head:j], levels), head, head)
    yield i, j, tail


def _divided(before: _Lines, after: _Lines, levels: int) -> Iterator[_Block]:
    """Blocks of a large region; none without a line to divide it."""
    anchors = _anchors(before, after) if levels else []
    i0 = j0 = 0
    for i, j in (*anchors, (len(before), len(after))) if anchors else ():
        yield from _moved(_blocks(before[i0:i], after[j0:j], levels - 1), i0, j0)
        yield i, j, int(i < len(before))
        i0, j0 = i + 1, j + 1


def _is_small(before: _Lines, after: _Lines) -> bool:
    lines = len(before) + len(after)
    if lines > _SMALL:
        return False
    times = Counter(after)
    return lines + sum(times[line] for line in before) <= _SMALL


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
    """Places of the rarest lines: the longest sequence in the order of both."""
    ends: list[int] = []
    last: list[_Anchor] = []
    for i, j in _rarest(before, after):
        length = bisect(ends, j)
        anchor = _Anchor(i, j, last[length - 1] if length else None)
        ends[length : length + 1], last[length : length + 1] = [j], [anchor]
    places, current = [], last[-1] if last else None
    while current:
        places.append((current.i, current.j))
        current = current.previous
    return places[::-1]


def _rarest(before: _Lines, after: _Lines) -> Iterator[tuple[int, int]]:
    """Pairs of places of the lines that occur least often, and equally often in both texts."""
    old, new = Counter(before), Counter(after)
    equally = {line: times for line, times in old.items() if times == new.get(line)}
    fewest = min(equally.values(), default=0)
    places = {line: deque[int]() for line, times in equally.items() if times == fewest}
    for j, line in enumerate(after):
        if line in places:
            places[line].append(j)
    return ((i, places[line].popleft()) for i, line in enumerate(before) if line in places)
