"""The pages of docs/reference that are generated from code."""

from collections.abc import Iterable


def table(headings: tuple[str, ...], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table, ending with a newline; cells may contain any text without line breaks."""
    return "".join(map(_row, (headings, ("---",) * len(headings), *rows)))


def _row(cells: Iterable[str]) -> str:
    escaped = [cell.replace("|", r"\|") for cell in cells]
    return f"| {' | '.join(escaped)} |\n"
