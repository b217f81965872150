"""How long training stands still: `python -m benchmarks.stalls`, from what `make e2e` recorded.

`EDL_STALLS=FILE make e2e` appends a line of JSON for each stall. With FILE =
benchmarks/stalls.jsonl, runs add up there, and this writes the table of all of them into stalls.md
beside it and between the marks of docs/performance.md.
"""

import argparse
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Final

import msgspec

from benchmarks.report import circumstances

FOLDER: Final = Path(__file__).parent
RECORDS: Final = FOLDER / "stalls.jsonl"
REPORT: Final = FOLDER / "stalls.md"
PAGE: Final = FOLDER.parent / "docs" / "performance.md"
VARIABLE: Final = "EDL_STALLS"
_MARKS: Final = re.compile(r"(<!-- stalls -->\n).*?(\n<!-- end of stalls -->)", re.DOTALL)


class Stall(msgspec.Struct, frozen=True):
    """The longest time without a training step around an event, in seconds; `date` is UTC."""

    framework: str
    case: str
    seconds: float
    commit: str
    date: str
    machine: str


def append(framework: str, case: str, seconds: float) -> None:
    """Append a stall to the file that EDL_STALLS names; without it nothing is recorded."""
    if not (path := os.environ.get(VARIABLE)):
        return
    stall = Stall(
        framework,
        case,
        round(seconds, 2),
        circumstances.commit(),
        circumstances.now(),
        circumstances.machine(),
    )
    with Path(path).open("ab") as file:
        file.write(msgspec.json.encode(stall) + b"\n")


def read(path: Path) -> list[Stall]:
    return [msgspec.json.decode(line, type=Stall) for line in path.read_bytes().splitlines()]


def table(found: Iterable[Stall]) -> str:
    """One row per case, by framework, in the order in which cases were first recorded."""
    cases: dict[tuple[str, str], list[float]] = {}
    for stall in found:
        cases.setdefault((stall.framework, stall.case), []).append(stall.seconds)
    frameworks = list(dict.fromkeys(framework for framework, _ in cases))
    rows = [
        _row(framework, case, cases[framework, case])
        for framework in frameworks
        for case in (case for name, case in cases if name == framework)
    ]
    head = "| framework | what happens | seconds without a step: median (least–most) | n |"
    return "\n".join([head, "|---|---|---|---|", *rows])


def _row(framework: str, case: str, seconds: Sequence[float]) -> str:
    middle, least, most = (f"{f(seconds):.1f}" for f in (median, min, max))
    spread = middle if len(seconds) == 1 else f"{middle} ({least}–{most})"
    return f"| {framework} | {case} | {spread} | {len(seconds)} |"


def provenance(found: Sequence[Stall]) -> Iterator[str]:
    """When, with which commits and where the stalls were measured."""
    days = sorted({stall.date[:10] for stall in found})
    commits = sorted({stall.commit for stall in found})
    yield f"{days[0]} to {days[-1]}, commits {', '.join(f'`{one}`' for one in commits)}"
    yield from sorted({stall.machine for stall in found})


def with_table(text: str, rows: str) -> str:
    """The document with the table between its marks. Raises ValueError if there are no marks."""
    found, count = _MARKS.subn(lambda marks: f"{marks[1]}{rows}{marks[2]}", text)
    if count != 1:
        raise ValueError("no marks <!-- stalls --> and <!-- end of stalls -->")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", type=Path, nargs="?", default=RECORDS)
    found = read(parser.parse_args().records)
    rows = table(found)
    REPORT.write_text(
        "# How long training stands still\n\n"
        f"By `make e2e` with `{VARIABLE}` set, and `python -m benchmarks.stalls`: the longest time "
        "between two steps around each event.\n"
        f"{'; '.join(provenance(found))}.\n\n{rows}\n"
    )
    PAGE.write_text(with_table(PAGE.read_text(), rows))


if __name__ == "__main__":
    main()
