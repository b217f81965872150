"""Markdown as the pages of the reference have it."""

from collections.abc import Iterable


def table(headings: tuple[str, ...], rows: Iterable[Iterable[str]]) -> str:
    """A table, ending with a newline; a cell may hold any text of one line."""
    return "".join(map(_row, (headings, ("---",) * len(headings), *rows)))


def _row(cells: Iterable[str]) -> str:
    escaped = [cell.replace("|", r"\|") for cell in cells]
    return f"| {' | '.join(escaped)} |\n"
