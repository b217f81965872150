"""Aligned columns, as `kubectl get` prints them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

_GAP: Final = "   "
_NARROWEST: Final = 12
_CUT: Final = "..."
NOTHING: Final = "<none>"
"""What an empty cell shows, so that columns can be counted."""


@dataclass(frozen=True, slots=True)
class Column:
    """`wide`: shown with `-o wide` only. `shrinks`: cut first on a terminal that is too narrow."""

    title: str
    wide: bool = False
    shrinks: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows hold a cell for every column, wide ones included."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]

    def only(self, indexes: Sequence[int]) -> "Table":
        """The same columns with some of the rows."""
        return replace(self, rows=tuple(self.rows[index] for index in indexes))

    def narrow(self) -> "Table":
        """Without the columns for `-o wide`."""
        shown = [index for index, column in enumerate(self.columns) if not column.wide]
        return Table(
            tuple(self.columns[index] for index in shown),
            tuple(tuple(row[index] for index in shown) for row in self.rows),
        )


@dataclass(frozen=True, slots=True)
class Layout:
    """How a table is to be laid out.

    `width` is the terminal's, None where lines may be of any length. `header` is left out for
    lines that continue an earlier table, which keep at least its column widths: `floor`.
    """

    wide: bool = False
    width: int | None = None
    header: bool = True
    floor: tuple[int, ...] = ()


def render(table: Table, layout: Layout) -> str:
    """Lines that end with a newline each; empty for a table without rows."""
    if not table.rows:
        return ""
    lines = _lines(table, layout)
    columns = _shown(table, layout).columns
    sizes = _fitted(widths(table, layout), columns, layout.width)
    return "".join(_line(line, sizes) for line in (lines if layout.header else lines[1:]))


def widths(table: Table, layout: Layout) -> tuple[int, ...]:
    """The width that each shown column needs, `layout.floor` at least."""
    needed = [max(map(len, column)) for column in zip(*_lines(table, layout), strict=True)]
    floor = layout.floor or (0,) * len(needed)
    return tuple(max(pair) for pair in zip(needed, floor, strict=True))


def _shown(table: Table, layout: Layout) -> Table:
    return table if layout.wide else table.narrow()


def _lines(table: Table, layout: Layout) -> list[list[str]]:
    """The titles and the rows, every cell filled."""
    shown = _shown(table, layout)
    titles = tuple(column.title for column in shown.columns)
    return [[cell or NOTHING for cell in line] for line in (titles, *shown.rows)]


def _fitted(needed: Sequence[int], columns: Sequence[Column], width: int | None) -> list[int]:
    """Takes what is too much for the terminal from the columns that shrink, the widest first."""
    sizes = list(needed)
    excess = 0 if width is None else sum(sizes) + len(_GAP) * (len(sizes) - 1) - width
    shrinking = [index for index, column in enumerate(columns) if column.shrinks]
    for index in sorted(shrinking, key=lambda index: -sizes[index]):
        taken = max(0, min(excess, sizes[index] - _NARROWEST))
        sizes[index] -= taken
        excess -= taken
    return sizes


def _line(cells: Sequence[str], sizes: Sequence[int]) -> str:
    fitted = [_cell(cell, size) for cell, size in zip(cells, sizes, strict=True)]
    return _GAP.join(fitted).rstrip() + "\n"


def _cell(text: str, size: int) -> str:
    cut = text if len(text) <= size else text[: size - len(_CUT)] + _CUT
    return cut.ljust(size)
