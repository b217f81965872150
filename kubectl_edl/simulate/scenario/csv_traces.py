"""Traces of jobs as CSV, one line per job, as exported from schedulers' logs.

A line is read as a job of a scenario, whose fields have the names of the columns in messages.

Columns, by their names in the first line, in any order; all but `submit` may be left out:

| column | meaning | default |
|---|---|---|
| submit | arrival after the beginning: seconds, or 90s, 5m, 2h30m | required |
| name | the job's name; of those that share one, all but the first get a number | trace-LINE |
| min, max | replicas | 1, and as min |
| cpu, memory, gpu | of one replica, as quantities | cpu 1 |
| length | seconds at any size | it never ends |
| work | seconds of one replica | |
| serial | with work: the share that more replicas do not make faster (Amdahl) | 0 |
| priority | a whole number | 0 |
| framework | one of ours | pytorch |
"""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from math import isfinite
from typing import Final, TypeAlias

from msgspec.structs import replace

from edl.errors import Finding, refuse
from edl.simulator import Amdahl, Training, Work
from kubectl_edl.resources.yaml_reader import Document, Origin
from kubectl_edl.simulate.scenario.field_reader import TIME, Reading
from kubectl_edl.simulate.scenario.scenario_jobs import training

_FIELDS: Final = {"submit": "at", "gpu": "gpus"}
"""Fields of a scenario's jobs, by column; other columns have the name of their field."""
_COLUMNS: Final[Mapping[str | int, str]] = {field: column for column, field in _FIELDS.items()}
COLUMNS: Final = (
    *("submit", "name", "min", "max", "cpu", "memory", "gpu"),
    *("length", "work", "serial", "priority", "framework"),
)
_WORDS: Final = frozenset({"name", "framework"})
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,18}")
_Row: TypeAlias = Mapping[str | None, str | list[str] | None]
"""Cells by column; None maps to the cells beyond the last column."""


def trace(where: str, text: str) -> tuple[Training, ...]:
    """The jobs of a trace in its order; raises Denied with the findings of all lines."""
    rows = csv.DictReader(StringIO(text), skipinitialspace=True)
    findings: list[tuple[int, Finding]] = [(1, one) for one in _columns(where, _titles(rows))]
    trainings: list[Training | None] = []
    try:
        if not findings:
            trainings.extend(_training(where, rows.line_num, row, findings) for row in rows)
    except csv.Error as error:  # raised for rows; errors in titles are reported above
        number = rows.line_num + 1
        findings.append((number, Finding(f"{where}:{number}", f"not CSV: {error}")))
    refuse(finding for _, finding in sorted(findings, key=lambda pair: pair[0]))
    return tuple(job for job in trainings if job)


def _titles(rows: "csv.DictReader[str]") -> Sequence[str]:
    try:
        return rows.fieldnames or ()
    except csv.Error:
        return ()


def _columns(where: str, names: Sequence[str]) -> Iterator[Finding]:
    allowed = f"allowed: {', '.join(COLUMNS)}"
    for name, number in Counter(names).items():
        if name not in COLUMNS:
            yield Finding(f"{where}:1: {name}", "is not a column", allowed)
        elif number > 1:
            yield Finding(f"{where}:1: {name}", "occurs twice", "allowed: each column once")
    if "submit" not in names:
        yield Finding(f"{where}:1: submit", "is missing", allowed)


def _training(
    where: str, number: int, row: _Row, findings: list[tuple[int, Finding]]
) -> Training | None:
    """The job; None if the line is invalid, which is reported."""
    cells = {name: cell.strip() for name, cell in row.items() if name and isinstance(cell, str)}
    value = {"cpu": 1} | {
        _FIELDS.get(name, name): _value(name, cell) for name, cell in cells.items() if cell
    }
    document = Document(value, Origin(where, 1, ""), number)
    field = Reading(document, _COLUMNS, findings).root()
    if surplus := ", ".join(f'"{cell}"' for cell in row.get(None) or () if cell.strip()):
        field.report(f"{surplus} beyond the last column", "a cell for each column at most")
    if not field["at"]:
        field["at"].report("is missing", TIME)
    serial = field["serial"].number(0, most=1)
    job = training(field, field["name"].text(f"trace-{number}"), field["at"].seconds(0))
    if job is None or not (serial and field["work"]):
        return job
    return replace(job, work=Work(job.work.seconds, Amdahl(serial)))


def _value(column: str, cell: str) -> str | int | float:
    """The number in a cell, also as pandas writes it (`5e-02`); otherwise its text."""
    if column in _WORDS:
        return cell
    if _WHOLE.fullmatch(cell):
        return int(cell)
    try:
        number = float(cell)
    except ValueError:
        return cell
    return number if isfinite(number) else cell
