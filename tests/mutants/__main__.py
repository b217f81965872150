"""`python -m tests.mutants`: does a test fail for each mutant of the list?

Each mutant is applied to a copy of the code, on which tests run until the first failure: the test
that killed it when the list was recorded, then all unit tests of its package. A mutant on which
they do not end is killed only if the list says that it hangs. Prints the others; the exit code is
1 if fewer than 95 % are killed, if a survivor has no reason in the list, or if the tests of a
mutant did not end. `--record` writes into the list which test killed each.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from pathlib import Path
from queue import SimpleQueue
from typing import Final, NamedTuple

from tests.mutants.listed import ROOT, Mutant, read, record

_COPIED: Final = (
    *("edl", "webhook", "reconciler", "certs", "kubectl_edl", "manifests", "sandbox", "dev"),
)
_READ: Final = ("tests", "examples", "docs", "pyproject.toml", "README.md", "SECURITY.md")
_KILLED: Final = (1, 2)
"""pytest's exit codes for a failed test, and for tests that could not be collected."""
_NOT_FOUND: Final = (4, 5)
"""pytest's exit codes where the named test is not there, and where no test was selected."""
_PROCESSOR_LIMIT: Final = 240
"""Seconds of processor time after which the tests of a mutant are ended: a busy machine is slow."""
_LIMIT: Final = 1800.0
"""Seconds after which tests that wait for something are ended."""
_GOAL: Final = 0.95
_LIMITED_PYTEST: Final = f"""
import resource, sys, pytest
resource.setrlimit(resource.RLIMIT_CPU, ({_PROCESSOR_LIMIT}, {_PROCESSOR_LIMIT + 10}))
sys.exit(pytest.main(sys.argv[1:]))
"""
_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) ([\w./-]+::\w+)", re.MULTILINE)
"""In pytest's summary: the file and the function, without the values of its parameters."""
_FAST: Final = "not laws and not integration and not e2e and not torture"


class Fate(StrEnum):
    """What became of a mutant."""

    KILLED = "killed"
    SURVIVES = "survives"
    TIMED_OUT = "timed out"


def fate(exit_code: int | None, mutant: Mutant) -> Fate:
    """By pytest's exit code; None where the tests did not end within the limit."""
    if exit_code is None:
        return Fate.KILLED if mutant.hangs else Fate.TIMED_OUT
    return Fate.KILLED if exit_code else Fate.SURVIVES


class Outcome(NamedTuple):
    """The fate of a mutant, and the file and function of the test that killed it."""

    fate: Fate
    killed_by: str = ""


class Copy:
    """A copy of the code, in which one mutant at a time lives."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name in _COPIED:
            shutil.copytree(ROOT / name, folder / name)
        for name in _READ:
            (folder / name).symlink_to(ROOT / name)

    def outcome(self, mutant: Mutant) -> Outcome:
        """What the tests say while the mutant is in the code."""
        path = self._folder / mutant.file
        text = path.read_text()
        path.write_text(mutant.of(text))
        try:
            if mutant.first_tests:
                first = self._run(mutant, (mutant.first_tests,))
                if first.fate is not Fate.SURVIVES:
                    return first
            return self._run(mutant, mutant.tests)
        finally:
            path.write_text(text)

    def check(self, tests: Sequence[str]) -> None:
        """Raises RuntimeError if one of the tests fails without a mutant: it would kill each."""
        exit_code, output = self._pytest(tests)
        if exit_code:
            raise RuntimeError(f"without a mutant: {output[-2000:]}")

    def _run(self, mutant: Mutant, tests: Sequence[str]) -> Outcome:
        exit_code, output = self._pytest(tests)
        if exit_code in _NOT_FOUND and tests != mutant.tests:
            return Outcome(Fate.SURVIVES)
        if exit_code not in (None, 0, *_KILLED):
            raise RuntimeError(f"{mutant}: {output[-2000:]}")
        failed = _FAILED.search(output)
        return Outcome(fate(exit_code, mutant), failed[1] if failed else "")

    def _pytest(self, tests: Sequence[str]) -> tuple[int | None, str]:
        """Its exit code and output; no exit code where the tests did not end within the limits."""
        options = ("-x", "-q", "--tb=no", "-rfE", "-p", "no:cacheprovider", "-m", _FAST)
        command = [sys.executable, "-c", _LIMITED_PYTEST, *options, *tests]
        environ = {**os.environ, "PYTHONPATH": str(self._folder), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                command,
                cwd=self._folder,
                env=environ,
                capture_output=True,
                timeout=_LIMIT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None, ""
        ended = done.returncode != -signal.SIGXCPU
        return done.returncode if ended else None, done.stdout.decode()


def outcomes(mutants: Sequence[Mutant], beside: int) -> list[Outcome]:
    """What became of each, found by this number of processes side by side."""
    with tempfile.TemporaryDirectory() as temporary:
        copies: SimpleQueue[Copy] = SimpleQueue()
        for number in range(beside):
            folder = Path(temporary, str(number))
            folder.mkdir()
            copy = Copy(folder)
            copies.put(copy)
        copy.check(sorted({mutant.killed_by for mutant in mutants if mutant.killed_by}))

        def find(mutant: Mutant) -> Outcome:
            copy = copies.get()
            try:
                found = copy.outcome(mutant)
            finally:
                copies.put(copy)
            killed = found.fate is Fate.KILLED
            print("." if killed else f"\n{found.fate}: {mutant}\n", end="", flush=True)  # noqa: T201
            return found

        with ThreadPoolExecutor(beside) as pool:
            return list(pool.map(find, mutants))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="files that begin so: edl/planner")
    parser.add_argument("--beside", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--record", action="store_true", help="write which tests killed them")
    given = parser.parse_args()
    mutants = [mutant for mutant in read() if mutant.file.startswith(given.only)]
    if not mutants:
        parser.error(f"--only {given.only}: the list has no mutant of such a file")
    found = outcomes(mutants, given.beside)
    if given.record:
        record({one: end.killed_by for one, end in zip(mutants, found, strict=True)})
    counts = Counter(outcome.fate for outcome in found)
    killed = counts[Fate.KILLED] / len(mutants)
    print(f"\n{len(mutants)} mutants, {killed:.1%} killed, {counts[Fate.TIMED_OUT]} timed out")  # noqa: T201
    survivors = [one for one, end in zip(mutants, found, strict=True) if end.fate is Fate.SURVIVES]
    for mutant in survivors:
        print(f"{mutant}\n    {mutant.survives or 'NO REASON'}")  # noqa: T201
    explained = all(mutant.survives for mutant in survivors)
    if killed < _GOAL or counts[Fate.TIMED_OUT] or not explained:
        sys.exit(1)


if __name__ == "__main__":
    main()
