"""Sizes as bars, and sizes over time as a line of small bars."""

from collections.abc import Sequence
from math import ceil
from typing import Final

CELLS: Final = 12
"""Width of a bar; up to this max, one cell is one replica."""
_LEVELS: Final = "▁▂▃▄▅▆▇"


def bar(running: int, size: int, most: int) -> str:
    """`███░····`: what runs, what is on its way, and what there may be; never a wrong nothing."""
    cells = min(most, CELLS)
    full = _share(running, most, cells)
    coming = max(_share(size, most, cells) - full, 0)
    return f"{'█' * full}{'░' * coming}".ljust(cells, "·").ljust(CELLS)


def _share(amount: int, most: int, cells: int) -> int:
    return min(ceil(amount * cells / most), cells) if amount > 0 and most else 0


def sparkline(values: Sequence[int | None], most: int) -> str:
    """A sign a value: the lowest is 0, the highest `most`; a blank where nothing was."""
    return "".join(" " if value is None else _LEVELS[_level(value, most)] for value in values)


def _level(value: int, most: int) -> int:
    top = len(_LEVELS) - 1
    return min(ceil(value * top / most), top) if value > 0 and most else 0
