"""Tables of aligned columns, as `kubectl get` prints them."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final, Generic, TypeVar
from unicodedata import category, east_asian_width

import msgspec
from msgspec.structs import replace

from kubectl_edl.output.color import painted
from kubectl_edl.output.safe_text import ascii_only, harmless

_GAP: Final = "   "
_LEAST_WIDTH: Final = 3
"""kubectl's columns have at least six characters, three of them the gap (GetNewTabWriter)."""
_NARROWEST: Final = 12
_LONGEST_CELL: Final = 160
"""The most columns of a `bounded` cell; `-o wide` prints it whole."""
_CUT: Final = {True: "…", False: "..."}
NOTHING: Final = "<none>"
"""The text of an empty cell, so that scripts can count columns."""
_Item = TypeVar("_Item")


class Column(msgspec.Struct, Generic[_Item], frozen=True):
    """A title, and a function for an item's cell.

    `wide`: shown only with `-o wide`, which truncates nothing. `shrinks`: truncated first on a
    narrow terminal. `bounded`: truncated at a fixed length on every output. `spare`: omitted if
    shrinking is not enough, the highest value first, the rightmost among equals; 0 is never
    omitted. `last`: truncated if that is not enough. Other columns are never truncated, so that
    names can be copied. `blank`: an empty cell stays empty. `colour` returns a cell's colour.
    """

    title: str
    cell: Callable[[_Item], str] = str
    wide: bool = False
    shrinks: bool = False
    bounded: bool = False
    spare: int = 0
    last: bool = False
    blank: bool = False
    colour: Callable[[str], str] | None = None


class Table(msgspec.Struct, frozen=True):
    """Columns, and an item for each row. A cell is computed only for an output that shows it."""

    columns: tuple[Column[Any], ...]
    items: tuple[Any, ...]

    @classmethod
    def of(cls, columns: Iterable[Column[_Item]], items: Iterable[_Item]) -> "Table":
        """One row per item."""
        return cls(tuple(columns), tuple(items))

    @classmethod
    def of_rows(cls, columns: Iterable[Column[Any]], rows: Iterable[Sequence[str]]) -> "Table":
        """One row per sequence of cells, with one for each column, including wide ones."""
        return cls.of([replace(one, cell=itemgetter(n)) for n, one in enumerate(columns)], rows)

    @property
    def rows(self) -> list[list[str]]:
        return [[column.cell(item) for column in self.columns] for item in self.items]

    def only(self, indexes: Sequence[int]) -> "Table":
        """The same columns with only these rows."""
        return replace(self, items=tuple(self.items[index] for index in indexes))

    def narrow(self) -> "Table":
        """The table without the columns for `-o wide`."""
        return replace(self, columns=tuple(column for column in self.columns if not column.wide))


class Layout(msgspec.Struct, frozen=True):
    """The layout of a table.

    `width` and `height` are the terminal's, None for unlimited. `header` is off for rows that
    continue an earlier table, whose column widths (`floor`) they keep at least.
    """

    wide: bool = False
    width: int | None = None
    header: bool = True
    floor: tuple[int, ...] = ()
    height: int | None = None
    unicode: bool = True
    """Whether the terminal supports more than ASCII."""
    coloured: bool = False


def in_namespaces(namespace: str, cell: Callable[[_Item], str]) -> tuple[Column[_Item], ...]:
    """The column NAMESPACE if all namespaces are shown; empty if `namespace` is given."""
    return () if namespace else (Column("NAMESPACE", cell),)


def nothing_in(namespace: str, what: str) -> str:
    """The message for an empty list: `No training jobs found in team-a namespace.`."""
    return f"No {what}{f' in {namespace} namespace' if namespace else ''}."


def render(table: Table, layout: Layout) -> str:
    """The table as lines, each with a newline; empty for a table without rows."""
    if not table.items:
        return ""
    every = _shown(table, layout)
    lines = _lines(every, layout)
    needed = _needed(lines, layout)
    shown = _spared(needed, every.columns, layout)
    columns = [every.columns[n] for n in shown]
    width = None if layout.wide else layout.width
    sizes = _fitted([needed[n] for n in shown], columns, width)
    cells = ([line[n] for n in shown] for line in lines)
    plain = replace(layout, coloured=False)
    header = _line(next(cells), sizes, columns, plain)
    rows = (_line(line, sizes, columns, layout) for line in cells)
    return "".join((header if layout.header else "", *rows))


def widths(table: Table, layout: Layout) -> tuple[int, ...]:
    """The width that each shown column needs, at least `layout.floor`."""
    return _needed(_lines(_shown(table, layout), layout), layout)


def _needed(lines: Sequence[Sequence[str]], layout: Layout) -> tuple[int, ...]:
    needed = [max(_LEAST_WIDTH, *map(display_width, column)) for column in zip(*lines, strict=True)]
    floor = layout.floor if len(layout.floor) == len(needed) else (0,) * len(needed)
    return tuple(max(pair) for pair in zip(needed, floor, strict=True))


def _shown(table: Table, layout: Layout) -> Table:
    return table if layout.wide else table.narrow()


def _lines(shown: Table, layout: Layout) -> list[list[str]]:
    """The titles and the rows, with empty cells filled."""
    titles = [column.title for column in shown.columns]
    rows = [
        [_filled(cell, column, layout) for cell, column in zip(row, shown.columns, strict=True)]
        for row in shown.rows
    ]
    return [titles, *rows]


def _filled(cell: str, column: Column[Any], layout: Layout) -> str:
    if not cell:
        return "" if column.blank else NOTHING
    text = harmless(cell)
    if column.bounded and not layout.wide:
        text = _shortened(text, _LONGEST_CELL, layout)
    return text if layout.unicode or text.isascii() else ascii_only(text)


def _spared(needed: Sequence[int], columns: Sequence[Column[Any]], layout: Layout) -> Sequence[int]:
    """The columns that a terminal has room for: spare ones are omitted; `-o wide` keeps all."""
    shown = list(range(len(columns)))
    while layout.width is not None and not layout.wide:
        spare = [(columns[n].spare, n) for n in shown if columns[n].spare]
        least = sum(min(needed[n], _NARROWEST) if columns[n].shrinks else needed[n] for n in shown)
        if not spare or least + len(_GAP) * (len(shown) - 1) <= layout.width:
            break
        shown.remove(max(spare)[1])
    return shown


def _fitted(needed: Sequence[int], columns: Sequence[Column[Any]], width: int | None) -> list[int]:
    """Column widths that fit the terminal: columns that shrink lose width, the widest first."""
    sizes = list(needed)
    excess = 0 if width is None else sum(sizes) + len(_GAP) * (len(sizes) - 1) - width
    cut = [index for index, column in enumerate(columns) if column.shrinks or column.last]
    for index in sorted(cut, key=lambda index: (columns[index].last, -sizes[index])):
        taken = max(0, min(excess, sizes[index] - _NARROWEST))
        sizes[index] -= taken
        excess -= taken
    return sizes


def _line(
    cells: Sequence[str], sizes: Sequence[int], columns: Sequence[Column[Any]], layout: Layout
) -> str:
    pairs = zip(cells, sizes, strict=True)
    fitted = [padded(_shortened(cell, size, layout), size) for cell, size in pairs]
    last = max((number for number, cell in enumerate(fitted) if cell.strip()), default=0)
    fitted = [*fitted[:last], fitted[last].rstrip()]
    if layout.coloured:
        fitted = [_coloured(cell, column) for cell, column in zip(fitted, columns, strict=False)]
    return _GAP.join(fitted) + "\n"


def _coloured(cell: str, column: Column[Any]) -> str:
    """Colour the text of a cell, but not the padding after it."""
    if column.colour is None:
        return cell
    text = cell.rstrip()
    return painted(text, column.colour(text)) + cell[len(text) :]


def _shortened(text: str, size: int, layout: Layout) -> str:
    cut = _CUT[layout.unicode]
    return text if display_width(text) <= size else cut_to(text, size - len(cut)) + cut


def display_width(text: str) -> int:
    """Columns of a text without control sequences."""
    return len(text) if text.isascii() else sum(map(_of_letter, text))


def cut_to(text: str, most: int) -> str:
    """The longest prefix of at most `most` columns."""
    if text.isascii():
        return text[: max(most, 0)]
    left = most
    for place, letter in enumerate(text):
        left -= _of_letter(letter)
        if left < 0:
            return text[:place]
    return text


def padded(text: str, least: int) -> str:
    """The text, padded with blanks to at least `least` columns."""
    return text + " " * (least - display_width(text))


@lru_cache(maxsize=1024)
def _of_letter(letter: str) -> int:
    if category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(letter) in ("W", "F") else 1
