"""Printing a report once, or again and again as the cluster changes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from edl.errors import Unreachable
from edl.writes import Json
from kubectl_edl.options import Reading
from kubectl_edl.printers import PRINTERS
from kubectl_edl.printers.documents import json_text, yaml_text
from kubectl_edl.printers.report import Report
from kubectl_edl.printers.table import Layout, Table, widths
from kubectl_edl.world import World

_TABLES: Final = frozenset({"table", "wide"})
Read = Callable[[], Report]


def show(world: World, reading: Reading, read: Read) -> None:
    """Once."""
    report = read()
    _say_beside(world, reading, report)
    if report.objects or reading.output not in _TABLES:
        world.out.write(PRINTERS[reading.output](report, Layout(width=world.width)))


def follow(world: World, reading: Reading, read: Read, changes: Iterator[None]) -> None:
    """Until `changes` end: a terminal's table is drawn again, everything else goes on in lines."""
    if world.width is not None and reading.output in _TABLES:
        drawn = ""
        for report in _reports(world, read, changes):
            world.out.write(_over(drawn))
            drawn = PRINTERS[reading.output](report, Layout(width=world.width))
            drawn = drawn or f"{report.nothing}\n"
            world.out.write(drawn)
            world.out.flush()
        return
    lines = _Lines(reading.output)
    for number, report in enumerate(_reports(world, read, changes)):
        if number == 0:
            _say_beside(world, reading, report)
        world.out.write(lines.news(report))
        world.out.flush()


def _over(drawn: str) -> str:
    """Back to where the last picture began, and nothing below: what stood above it stays."""
    lines = drawn.count("\n")
    return f"\x1b[{lines}F\x1b[J" if lines else ""


class _Lines:
    """Remembers what was printed, and prints what is new or different since."""

    def __init__(self, output: str) -> None:
        self._output = output
        self._shown: dict[tuple[str, str], object] = {}
        self._floor: tuple[int, ...] = ()

    def news(self, report: Report) -> str:
        found = dict(zip(map(_key, report.objects), self._contents(report), strict=True))
        new = [
            index
            for index, (key, content) in enumerate(found.items())
            if self._shown.get(key) != content
        ]
        self._shown = found
        if not new:
            return ""
        return self._text(report.only(new) if report.list_kind else report)

    def _contents(self, report: Report) -> Sequence[object]:
        """What must differ to be news: of a list in a table its cells, without the age."""
        table = _list_table(report)
        if table is None or self._output not in _TABLES:
            return report.objects
        visible = table if self._output == "wide" else table.narrow()
        return [row[:-1] for row in visible.rows]

    def _text(self, report: Report) -> str:
        if self._output == "json":
            return "".join(json_text(one) for one in report.objects)
        if self._output == "yaml":
            return "".join(f"---\n{yaml_text(one)}" for one in report.objects)
        layout = Layout(header=not self._floor, floor=self._floor)
        if (table := _list_table(report)) is not None:
            wide = replace(layout, wide=self._output == "wide")
            self._floor = widths(table, wide)
            return PRINTERS[self._output](report, layout)
        return PRINTERS[self._output](report, Layout()) + "\n"


def _reports(world: World, read: Read, changes: Iterator[None]) -> Iterator[Report]:
    """One report now and one after each change; an API server that is away is waited for."""
    yield read()
    away = False
    for _ in changes:
        try:
            yield read()
        except Unreachable as error:
            if not away:
                world.warn(f"waiting: {error}")
            away = True
        else:
            away = False


def _say_beside(world: World, reading: Reading, report: Report) -> None:
    """What is not the answer goes to stderr."""
    for hint in report.hints:
        world.warn(hint)
    if not report.objects and reading.output in _TABLES:
        world.warn(report.nothing)


def _list_table(report: Report) -> Table | None:
    """The table of a list, None for a report about one object."""
    first = report.sections[0]
    return first if report.list_kind and isinstance(first, Table) else None


def _key(document: Json) -> tuple[str, str]:
    metadata = document["metadata"]
    return metadata["namespace"], metadata["name"]
