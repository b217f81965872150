"""The output of `kubectl edl inject`: manifests, differences, or findings."""

import difflib
from collections.abc import Callable, Mapping
from typing import Final

from edl.inject.explain_changes import FieldChange, changes
from kubectl_edl.inject.injector import InjectedStream, Injection
from kubectl_edl.output import serialize
from kubectl_edl.output.table import Column, Layout, Table, render
from kubectl_edl.output.yaml_writer import dump, joined

_CHANGES: Final[tuple[Column[FieldChange], ...]] = (
    Column("PATH", lambda change: change.path),
    Column("VALUE", lambda change: " ".join(change.what.split()), shrinks=True),
    Column("WHY", lambda change: change.why),
)


def yaml_stream(stream: InjectedStream, layout: Layout) -> str:  # noqa: ARG001 (all forms share this signature)
    """The documents as text; only changed ones are rewritten."""
    return joined(one.text for one in stream.documents)


def json_stream(stream: InjectedStream, layout: Layout) -> str:  # noqa: ARG001 (the same)
    return serialize.json_stream(stream.values)


def differences(stream: InjectedStream, layout: Layout) -> str:  # noqa: ARG001 (the same)
    """A unified diff for each changed manifest."""
    return "".join(_difference(injection) for injection in stream.injections)


def reasons(stream: InjectedStream, layout: Layout) -> str:
    """A table for each changed manifest: path, value, reason."""
    return "\n".join(_explained(injection, layout) for injection in stream.injections)


FORMS: Final[Mapping[str, Callable[[InjectedStream, Layout], str]]] = {
    "yaml": yaml_stream,
    "json": json_stream,
    "diff": differences,
    "explain": reasons,
}


def _difference(injection: Injection) -> str:
    before, after = (dump(one).splitlines() for one in (injection.before, injection.after))
    title = f"{injection.name} ({injection.where})"
    lines = difflib.unified_diff(before, after, f"given {title}", f"stored {title}", lineterm="")
    return "".join(f"{line}\n" for line in lines)


def _explained(injection: Injection, layout: Layout) -> str:
    table = Table.of(_CHANGES, changes(injection.before, injection.after))
    return f"{injection.name} ({injection.where})\n{render(table, layout)}"
