"""The output of `kubectl edl inject`: manifests, differences, or findings."""

from collections.abc import Callable, Mapping
from typing import Final

from edl.inject.explain_changes import FieldChange, changes
from kubectl_edl.inject.injector import InjectedStream, Injection
from kubectl_edl.output.line_diff import line_diff
from kubectl_edl.output.serialize import json_stream
from kubectl_edl.output.table import Column, Layout, Table, render
from kubectl_edl.output.yaml_writer import dump, joined

_CHANGES: Final[tuple[Column[FieldChange], ...]] = (
    Column("PATH", lambda change: change.path),
    Column("VALUE", lambda change: " ".join(change.what.split()), shrinks=True),
    Column("WHY", lambda change: change.why),
)


FORMS: Final[Mapping[str, Callable[[InjectedStream, Layout], str]]] = {
    "yaml": lambda stream, _: joined(document.text for document in stream.documents),
    "json": lambda stream, _: json_stream(stream.values),
    "diff": lambda stream, _: "".join(map(_difference, stream.injections)),
    "explain": lambda stream, layout: "\n".join(
        _explained(injection, layout) for injection in stream.injections
    ),
}
"""Functions by output format; as YAML, only changed documents are rewritten."""


def _difference(injection: Injection) -> str:
    title = f"{injection.name} ({injection.where})"
    titles = (f"given {title}", f"stored {title}")
    before, after = (dump(state).splitlines() for state in (injection.before, injection.after))
    lines = line_diff(before, after, titles)
    return "".join(f"{line}\n" for line in lines)


def _explained(injection: Injection, layout: Layout) -> str:
    table = Table.of(_CHANGES, changes(injection.before, injection.after))
    return f"{injection.name} ({injection.where})\n{render(table, layout)}"
