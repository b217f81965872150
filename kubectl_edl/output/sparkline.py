"""Sizes as bars, and sizes over time as a line of small bars."""

from collections.abc import Sequence
from math import ceil
from typing import Final

CELLS: Final = 12
"""Width of a bar; with a max of at most this many, one cell is one replica."""
_LEVELS: Final = "▁▂▃▄▅▆▇"


def bar(running: int, size: int, most: int) -> str:
    """`███░····`: running, pending, and up to max; a non-zero number shows at least one cell."""
    cells = min(most, CELLS)
    full = _share(running, most, cells)
    coming = max(_share(size, most, cells) - full, 0)
    return f"{'█' * full}{'░' * coming}".ljust(cells, "·").ljust(CELLS)


def _share(amount: int, most: int, cells: int) -> int:
    return min(ceil(amount * cells / most), cells) if amount > 0 and most else 0


def sparkline(values: Sequence[int | None], most: int) -> str:
    """One character per value: the lowest is 0, the highest `most`; a blank for None."""
    return "".join(" " if value is None else _LEVELS[_level(value, most)] for value in values)


def _level(value: int, most: int) -> int:
    top = len(_LEVELS) - 1
    return min(ceil(value * top / most), top) if value > 0 and most else 0
