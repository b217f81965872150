"""The tables of docs/reference/labels.md."""

from collections.abc import Callable, Iterable
from typing import Final

from dev.reference import table
from edl.contract import registry
from edl.contract.registry import ContractEntry, EntryKind, Setter

_HEADINGS: Final = ("NAME", "WHERE", "SET BY", "VALUES", "MEANING")
_ON_NAMESPACES: Final = (EntryKind.NAMESPACE, EntryKind.NAMESPACE_ANNOTATION)
_OBJECTS: Final = (EntryKind.LABEL, EntryKind.ANNOTATION)

SECTIONS: Final[tuple[tuple[str, Callable[[ContractEntry], bool]], ...]] = (
    (
        "For users: labels and annotations of Jobs and pods",
        lambda entry: entry.setter is Setter.USER and entry.kind in _OBJECTS,
    ),
    (
        "For administrators: labels and annotations of Namespaces",
        lambda entry: entry.kind in _ON_NAMESPACES,
    ),
    (
        "For training programs: environment variables",
        lambda entry: entry.kind is EntryKind.ENV,
    ),
    ("For training programs: files", lambda entry: entry.kind is EntryKind.PATH),
    (
        "For debugging: what kubectl-edl writes",
        lambda entry: entry.setter is not Setter.USER and entry.kind in (*_OBJECTS, EntryKind.GATE),
    ),
)
"""Heading and filter of each section, one per audience; every entry belongs to exactly one."""


def tables() -> str:
    """The contract as Markdown: a heading and a table per audience, ending with a newline."""
    return "\n".join(
        f"## {title}\n\n{_table(filter(has, registry.ENTRIES))}" for title, has in SECTIONS
    )


def _table(entries: Iterable[ContractEntry]) -> str:
    """The table of these entries, without columns in which all entries have the same value."""
    cells = [_cells(entry) for entry in entries]
    columns = list(zip(_HEADINGS, *cells, strict=True))
    kept = [column for column in columns if len(set(column[1:])) > 1]
    heading, *rows = zip(*kept, strict=True)
    return table(heading, rows)


def _cells(entry: ContractEntry) -> tuple[str, ...]:
    return (f"`{entry.name}`", entry.kind, entry.setter, entry.values, entry.meaning)
