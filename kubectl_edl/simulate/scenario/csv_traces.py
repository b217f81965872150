"""Traces of jobs as CSV, one line per job, as exported from schedulers' logs.

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
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Final, TypeVar

from msgspec.structs import replace

from edl.durations import parse_duration
from edl.errors import Denied, Finding
from edl.frameworks import FRAMEWORKS
from edl.model import Shape
from edl.parsing.manifest_reader import MOST_REPLICAS
from edl.quantities import PODS, Resources
from edl.simulator import ENDLESS, Amdahl, Training, Work, Workload, WorkloadRole, length, queued
from kubectl_edl.simulate.scenario.field_reader import LONGEST, TIME, TOO_LONG, amount

COLUMNS: Final = (
    "submit",
    "name",
    "min",
    "max",
    "cpu",
    "memory",
    "gpu",
    "length",
    "work",
    "serial",
    "priority",
    "framework",
)
_Value = TypeVar("_Value")
_RESOURCES: Final = {"cpu": "cpu", "memory": "memory", "gpu": "nvidia.com/gpu"}


def trace(where: str, text: str) -> tuple[Training, ...]:
    """The jobs of a trace in its order; raises Denied with the findings of all lines."""
    rows = csv.DictReader(StringIO(text), skipinitialspace=True)
    findings = list(_columns(where, _titles(rows)))
    found: list[Training | None] = []
    try:
        if not findings:
            found.extend(_Line(where, rows.line_num, row, findings).training() for row in rows)
    except csv.Error as error:  # raised for rows; errors in titles are reported above
        findings.append(Finding(f"{where}:{rows.line_num + 1}", f"not CSV: {error}"))
    if findings:
        raise Denied(findings)
    return tuple(one for one in found if one)


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


@dataclass(frozen=True, slots=True)
class _Line:
    where: str
    number: int
    row: Mapping[str | None, str | list[str] | None]
    """Cells by column; None maps to the cells beyond the last column."""
    findings: list[Finding]

    def training(self) -> Training | None:
        """The job; None if the line is invalid, which is reported."""
        before = len(self.findings)
        self._check_cells()
        at = self._read("submit", _seconds, 0.0, TIME)
        low = self._read("min", _replicas, 1, f"a whole number from 1 to {MOST_REPLICAS}")
        high = self._read("max", _replicas, low, f"a whole number from min to {MOST_REPLICAS}")
        role = WorkloadRole("", low, high, self._shape())
        work, priority = self._work(), self._read("priority", int, 0, "a whole number")
        return self._queued(role, priority, work, at) if len(self.findings) == before else None

    def _check_cells(self) -> None:
        surplus = [cell for cell in self.row.get(None) or () if cell.strip()]
        if surplus:
            cells = ", ".join(f'"{cell}"' for cell in surplus)
            self._found("", f"{cells} beyond the last column", "a cell for each column at most")
        if self._text("length") and self._text("work"):
            self._found("work", "length and work", "one of them")

    def _queued(self, role: WorkloadRole, priority: int, work: Work, at: float) -> Training | None:
        name = self._text("name") or f"trace-{self.number}"
        framework = self._text("framework") or "pytorch"
        known = FRAMEWORKS.get(framework)
        roles = [replace(role, role=known.worker if known else "")]
        try:
            return Training(queued(name, Workload(framework), roles, priority=priority), work, at)
        except ValueError as error:
            what, _, allowed = str(error).partition("; ")
            self._found("max" if known else "framework", what, allowed)
            return None

    def _shape(self) -> Shape:
        amounts = Resources.of({PODS: 1})
        for name, resource in _RESOURCES.items():
            text = self._text(name) or ("1" if name == "cpu" else "0")
            try:
                amounts += amount(resource, text)
            except ValueError as error:
                what, _, allowed = str(error).partition("; ")
                self._found(name, what, allowed.removeprefix("allowed: "))
        return Shape(amounts)

    def _work(self) -> Work:
        if self._text("length"):
            return length(self._read("length", _above_zero, 1.0, TIME))
        if self._text("work"):
            serial = self._read("serial", _share, 0.0, "a number from 0 to 1")
            return Work(self._read("work", _above_zero, 1.0, TIME), Amdahl(serial))
        return ENDLESS

    def _text(self, name: str) -> str:
        found = self.row.get(name)
        return found.strip() if isinstance(found, str) else ""

    def _read(
        self, name: str, read: Callable[[str], _Value], usual: _Value, allowed: str
    ) -> _Value:
        text = self._text(name)
        if not text and name != "submit":
            return usual
        try:
            return read(text)
        except OverflowError as error:
            self._found(name, f'"{text}" is {error}', allowed)
        except ValueError:
            self._found(name, f'"{text}"', allowed)
        return usual

    def _found(self, name: str, what: str, allowed: str) -> None:
        allowed = f"allowed: {allowed}" if allowed else ""
        path = ": ".join(filter(None, (f"{self.where}:{self.number}", name)))
        self.findings.append(Finding(path, what, allowed))


def _seconds(text: str) -> float:
    """Raises OverflowError if it is too long, ValueError if it is not a duration."""
    found = parse_duration(text)
    if found is None:
        raise ValueError(text)
    if found.total_seconds() > LONGEST:
        raise OverflowError(TOO_LONG)
    return found.total_seconds()


def _above_zero(text: str) -> float:
    seconds = _seconds(text)
    if not seconds:
        raise ValueError(text)
    return seconds


def _replicas(text: str) -> int:
    number = int(text)
    if not 1 <= number <= MOST_REPLICAS:
        raise ValueError(text)
    return number


def _share(text: str) -> float:
    share = float(text)
    if not 0 <= share <= 1:
        raise ValueError(text)
    return share
