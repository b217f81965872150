"""The table of docs/reference/labels.md. `python -m edl.contract.contract_markdown` prints it."""

import sys
from collections.abc import Iterable

from edl.contract import registry
from edl.contract.registry import ContractEntry

_HEADINGS = ("NAME", "WHERE", "SET BY", "VALUES", "MEANING")


def table() -> str:
    """Every entry of the contract as one row of a Markdown table, ending with a newline."""
    rows = (_HEADINGS, ("---",) * len(_HEADINGS), *map(_cells, registry.ENTRIES))
    return "".join(_row(cells) for cells in rows)


def _cells(entry: ContractEntry) -> tuple[str, ...]:
    return (f"`{entry.name}`", entry.kind, entry.setter, entry.values, entry.meaning)


def _row(cells: Iterable[str]) -> str:
    escaped = [cell.replace("|", r"\|") for cell in cells]
    return f"| {' | '.join(escaped)} |\n"


if __name__ == "__main__":
    sys.stdout.write(table())
