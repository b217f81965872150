"""`-o custom-columns=NAME:.metadata.name,SIZE:.roles[0].size`, as kubectl prints them."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from kubectl_edl.output import jsonpath
from kubectl_edl.output.jsonpath.jsonpath_steps import Path
from kubectl_edl.output.report import Report
from kubectl_edl.output.table import Column, Table

ReadTable: TypeAlias = Callable[[Report], Table]
"""One row per object; raises TemplateError for a path that cannot be applied."""


def of_spec(spec: str) -> ReadTable:
    """Parse `TITLE:FIELD,…`. Raises TemplateError."""
    pairs = [part.partition(":") for part in spec.split(",")]
    for title, colon, field in pairs:
        if not (colon and field):
            raise jsonpath.TemplateError(
                f'"{title}{colon}" is not TITLE:FIELD, such as NAME:.metadata.name'
            )
    return _columns([title for title, _, _ in pairs], [field for _, _, field in pairs])


def of_file(text: str) -> ReadTable:
    """Parse a line of titles and a line of fields, separated by blanks. Raises TemplateError."""
    titles, fields = ([*text.splitlines(), "", ""][number].split() for number in (0, 1))
    if not titles or len(titles) != len(fields):
        raise jsonpath.TemplateError(
            f"{len(titles)} titles and {len(fields)} fields; a line of titles and a line of as "
            "many fields, such as NAME PHASE and metadata.name phase"
        )
    return _columns(titles, fields)


def _columns(titles: Sequence[str], fields: Sequence[str]) -> ReadTable:
    paths = [jsonpath.relaxed(field) for field in fields]
    columns = [Column[Sequence[str]](title, blank=True) for title in titles]
    return lambda report: Table.of_rows(
        columns, [[_cell(path, item) for path in paths] for item in report.objects]
    )


def _cell(path: Path, document: object) -> str:
    values = jsonpath.selected(path, document)
    return ",".join(map(jsonpath.go_text, values)) if values else "<none>"
