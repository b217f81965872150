"""`python -m tests.matrix [RELEASE …]`: the integration tests on every supported Kubernetes.

Each release is a run of `make integration` (TESTS, LEAST_INTEGRATION and so on reach it), newest
first. What each test file did there is kept in docs/compatibility.json, whatever part of them ran,
and docs/compatibility.md is made of that. `--page` makes the page only, and
forgets test files that there are no more.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from benchmarks.report import circumstances
from sandbox.builds.recipe import version
from sandbox.releases import RELEASES, VARIABLE, control_plane

ROOT: Final = Path(__file__).parents[1]
RECORD: Final = ROOT / "docs" / "compatibility.json"
PAGE: Final = ROOT / "docs" / "compatibility.md"
_MARKS: Final = re.compile(r"(<!-- matrix -->\n).*?(\n<!-- end of matrix -->)", re.DOTALL)
_FEW: Final = 20
"""The integration tests are some fifty files; of fewer than these the page names each."""
_BAD: Final = ("failure", "error")
_NOT_PASSED: Final = (*_BAD, "skipped")


class Outcome(msgspec.Struct, frozen=True):
    """What the tests of one file did; `date` is UTC."""

    passed: int
    skipped: int
    failed: tuple[str, ...]
    patch: str
    """The release in full, such as v1.35.4."""
    commit: str
    date: str


Record = dict[str, dict[str, Outcome]]
"""By release and test file."""


def read(path: Path) -> Record:
    return msgspec.json.decode(path.read_bytes(), type=Record) if path.exists() else {}


def write(path: Path, record: Record) -> None:
    ordered = {minor: dict(sorted(record[minor].items())) for minor in RELEASES if minor in record}
    path.write_bytes(msgspec.json.format(msgspec.json.encode(ordered)) + b"\n")


def there(record: Record) -> Record:
    """Without the test files that there are no more."""
    return {
        minor: {file: outcome for file, outcome in files.items() if (ROOT / file).exists()}
        for minor, files in record.items()
    }


def outcomes(report: str, patch: str, commit: str) -> dict[str, Outcome]:
    """What a run's JUnit report says, a test file each."""
    cases: dict[str, list[ET.Element]] = {}
    for case in ET.fromstring(report).iter("testcase"):  # noqa: S314 - pytest's own
        cases.setdefault(_file(case), []).append(case)
    date = circumstances.now()
    return {
        file: Outcome(
            passed=sum(all(case.find(kind) is None for kind in _NOT_PASSED) for case in found),
            skipped=sum(case.find("skipped") is not None for case in found),
            failed=tuple(_failed(found)),
            patch=patch,
            commit=commit,
            date=date,
        )
        for file, found in cases.items()
    }


def passed_alone(found: Outcome) -> Outcome:
    """The outcome in a green lane, where tests that failed beside others have passed alone."""
    return replace(found, passed=found.passed + len(found.failed), failed=())


def _file(case: ET.Element) -> str:
    """Where it was collected: pytest's `file` is where it is written, also of an inherited test."""
    parts = case.get("classname", "").split(".")
    paths = ("/".join(parts[:count]) + ".py" for count in range(len(parts), 0, -1))
    return next((path for path in paths if (ROOT / path).exists()), case.get("file", ""))


def _failed(cases: Iterable[ET.Element]) -> Iterator[str]:
    bad = (case for case in cases if any(case.find(kind) is not None for kind in _BAD))
    yield from dict.fromkeys(case.get("name", "") for case in bad)


def run(minor: str, commit: str) -> tuple[bool, dict[str, Outcome]]:
    """Whether the lane was green on this release, and what each file did."""
    patch = version(control_plane(minor))
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        options = f"--junit-xml={report} -o junit_family=xunit1 -o junit_logging=no"
        environ = {**os.environ, VARIABLE: minor, "PYTEST_ADDOPTS": options}
        done = subprocess.run(["make", "integration"], cwd=ROOT, env=environ, check=False)
        found = outcomes(report.read_text(), patch, commit) if report.exists() else {}
    if not done.returncode:
        found = {file: passed_alone(one) for file, one in found.items()}
    return not done.returncode and bool(found), found


def table(record: Record) -> str:
    """A row for each release; below it, what failed, and what ran where that was little."""
    head = "| Kubernetes | tested as | passed | failed | skipped | test files | last run |"
    rows = [_row(minor, record.get(minor, {})) for minor in reversed(RELEASES)]
    return "\n".join([head, "|---|---|---|---|---|---|---|", *rows, *_told(record)])


def _row(minor: str, files: Mapping[str, Outcome]) -> str:
    if not files:
        return f"| {minor} | {version(control_plane(minor))} | never run | | | | |"
    found = files.values()
    patches = ", ".join(sorted({outcome.patch for outcome in found}))
    counts = (
        sum(outcome.passed for outcome in found),
        sum(len(outcome.failed) for outcome in found),
        sum(outcome.skipped for outcome in found),
    )
    last = max(outcome.date for outcome in found)
    cells = (*map(str, counts), str(len(files)), f"{last}, {_commits(found)}")
    return f"| {minor} | {patches} | {' | '.join(cells)} |"


def _commits(found: Collection[Outcome]) -> str:
    """The commit of most files first; how many files each had, where there are several."""
    most = Counter(outcome.commit for outcome in found).most_common()
    if len(most) == 1:
        return f"`{most[0][0]}`"
    return ", ".join(f"`{commit}` ({count} of {len(found)} files)" for commit, count in most)


def _told(record: Record) -> Iterator[str]:
    for minor, files in sorted(record.items(), reverse=True):
        bad = [f"`{name}` ({_short(f)})" for f, o in files.items() for name in o.failed]
        if bad:
            yield f"\nFailed on {minor}: {', '.join(bad)}."
        if len(files) < _FEW:
            yield f"\nOn {minor} only these test files ran: {', '.join(map(_short, files))}."
        elif missing := sorted(set().union(*record.values()) - files.keys()):
            yield f"\nOn {minor} these test files did not run: {', '.join(map(_short, missing))}."


def _short(file: str) -> str:
    return file.removeprefix("tests/").removesuffix(".py")


def page(text: str, record: Record) -> str:
    return _MARKS.sub(lambda found: f"{found[1]}{table(record)}{found[2]}", text)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.matrix", description=__doc__)
    parser.add_argument("releases", nargs="*", metavar="RELEASE", help=", ".join(RELEASES))
    parser.add_argument("--page", action="store_true", help="only docs/compatibility.md")
    given = parser.parse_args()
    if unknown := set(given.releases) - set(RELEASES):
        parser.error(f"{', '.join(unknown)}: must be among {', '.join(RELEASES)}")
    if not given.page and (named := os.environ.get("EDL_KUBECONFIG")):
        parser.error(f"EDL_KUBECONFIG={named} is one cluster of one release: unset it")
    green, commit = True, circumstances.commit()
    for minor in () if given.page else given.releases or reversed(RELEASES):
        passed, found = run(minor, commit)
        green = green and passed
        record = read(RECORD)
        write(RECORD, record | {minor: record.get(minor, {}) | found})
    write(RECORD, there(read(RECORD)))
    PAGE.write_text(page(PAGE.read_text(), read(RECORD)))
    sys.exit(0 if green else 1)


if __name__ == "__main__":
    main()
