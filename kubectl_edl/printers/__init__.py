"""The forms that `-o` chooses from."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from kubectl_edl.printers.documents import print_json, print_names, print_yaml
from kubectl_edl.printers.report import Report
from kubectl_edl.printers.table import Layout, render

Printer = Callable[[Report, Layout], str]


def print_table(report: Report, layout: Layout) -> str:
    """Sections with an empty line between them; tables without rows are left out."""
    sections = (
        section if isinstance(section, str) else render(section, layout)
        for section in report.sections
    )
    return "\n".join(section for section in sections if section)


def print_wide(report: Report, layout: Layout) -> str:
    return print_table(report, replace(layout, wide=True))


PRINTERS: Final[Mapping[str, Printer]] = {
    "table": print_table,
    "wide": print_wide,
    "json": print_json,
    "yaml": print_yaml,
    "name": print_names,
}
