"""Output formats: how each prints a report, and a changed object with `--watch`."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace

from edl.errors import EdlError
from kubectl_edl.output.report import JsonDocument, Report
from kubectl_edl.output.safe_text import ascii_only, harmless_lines
from kubectl_edl.output.serialize import json_text, yaml_text
from kubectl_edl.output.table import Layout, Table, render

Print = Callable[[Report, Layout], str]
FORMS: Final = ("table", "wide", "json", "yaml", "name")
_WITH_TEXT: Final = (
    "custom-columns",
    "custom-columns-file",
    "jsonpath",
    "jsonpath-as-json",
    "jsonpath-file",
)
_Result = TypeVar("_Result")


class InvalidOutput(EdlError):
    """An unknown output format, or one with an invalid template."""


class OutputForm(msgspec.Struct, frozen=True):
    """One format. `table` returns a list's only table, `prints_one` prints a changed object."""

    prints: Print
    table: Callable[[Report], Table | None] = lambda _: None
    prints_one: Callable[[JsonDocument], str] | None = None
    people: bool = False
    """For people: redrawn on a terminal, and without output if there are no objects."""


def print_report(report: Report, layout: Layout) -> str:
    """Sections separated by empty lines; tables without rows are omitted."""
    sections = (
        _text(section, layout) if isinstance(section, str) else render(section, layout)
        for section in report.sections
    )
    return "\n".join(section for section in sections if section)


@lru_cache
def form(spelled: str) -> OutputForm:
    """Parse `json`, `jsonpath={.items[*].phase}`, …. Raises InvalidOutput."""
    if plain := _PLAIN.get(spelled):
        return plain
    name, _, text = spelled.partition("=")
    if name not in _WITH_TEXT:
        raise InvalidOutput(f'-o "{spelled}": unknown; one of {", ".join((*FORMS, *_WITH_TEXT))}')
    if not text:
        raise InvalidOutput(f"-o {name}: add {_EXAMPLES[name]}")
    from kubectl_edl.output.jsonpath import TemplateError

    try:
        return _made(name, text)
    except OSError as error:
        raise InvalidOutput(f"-o {name}: {text}: {error.strerror}") from error
    except (TemplateError, UnicodeDecodeError) as error:
        raise InvalidOutput(f"-o {name}: {error}") from error


def _made(name: str, text: str) -> OutputForm:
    content = Path(text).read_text("utf-8-sig") if name.endswith("-file") else text
    if name.startswith("custom-columns"):
        from kubectl_edl.output import custom_columns

        read = custom_columns.of_file if name.endswith("-file") else custom_columns.of_spec
        return _in_columns(read(content))
    return _in_template(content, as_json=name == "jsonpath-as-json")


def _in_columns(table: Callable[[Report], Table]) -> OutputForm:
    def read(report: Report) -> Table:
        return _applied(lambda: table(report))

    # As in kubectl, neither truncated nor transliterated.
    return OutputForm(
        lambda report, layout: render(
            read(report), Layout(header=layout.header, floor=layout.floor)
        ),
        read,
    )


def _in_template(text: str, *, as_json: bool) -> OutputForm:
    from kubectl_edl.output import jsonpath

    template = jsonpath.template(text)
    execute = jsonpath.as_json if as_json else jsonpath.execute

    def one(document: JsonDocument) -> str:
        return _applied(lambda: execute(template, document))

    return OutputForm(lambda report, _: one(report.document), prints_one=one)


def _applied(act: Callable[[], _Result]) -> _Result:
    from kubectl_edl.output.jsonpath import TemplateError

    try:
        return act()
    except TemplateError as error:
        raise InvalidOutput(f"-o: {error}") from error


def _text(section: str, layout: Layout) -> str:
    text = harmless_lines(section)
    return text if layout.unicode else ascii_only(text)


def _list_table(report: Report) -> Table | None:
    """The table of a list; None for a report about one object."""
    first = report.sections[0]
    return first if report.list_kind and isinstance(first, Table) else None


_EXAMPLES: Final[Mapping[str, str]] = {
    "custom-columns": "=NAME:.metadata.name,PHASE:.phase",
    "custom-columns-file": "=FILE, with a line of titles and a line of fields",
    "jsonpath": "='{.items[*].metadata.name}'",
    "jsonpath-as-json": "='{.items[*].metadata.name}'",
    "jsonpath-file": "=FILE, with a template",
}


_PLAIN: Final[Mapping[str, OutputForm]] = {
    "table": OutputForm(print_report, _list_table, people=True),
    "wide": OutputForm(
        lambda report, layout: print_report(report, replace(layout, wide=True)),
        _list_table,
        people=True,
    ),
    "json": OutputForm(lambda report, _: json_text(report.document), prints_one=json_text),
    "yaml": OutputForm(
        lambda report, _: yaml_text(report.document),
        prints_one=lambda document: f"---\n{yaml_text(document)}",
    ),
    "name": OutputForm(lambda report, _: "".join(f"{name}\n" for name in report.names)),
}
