"""`python -m tests.mutants`: does a test fail for each mutant of the list?

Each mutant is applied to a copy of the code, on which the unit tests of its package run until the
first failure. A mutant on which they do not end is killed only if the list says that it hangs: a
busy machine is slow, too. Prints the others; the exit code is 1 if fewer than 95 % are killed, if a
survivor has no reason in the list, or if the tests of a mutant did not end.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from tests.mutants.listed import ROOT, Mutant, read

_COPIED: Final = (
    *("edl", "webhook", "reconciler", "certs", "kubectl_edl", "manifests", "sandbox", "dev"),
)
_READ: Final = ("tests", "examples", "docs", "pyproject.toml", "README.md", "SECURITY.md")
_KILLED: Final = (1, 2)
"""pytest's exit codes for a failed test, and for tests that could not be collected."""
_LIMIT: Final = 240.0
"""Seconds after which the tests of a mutant are ended."""
_GOAL: Final = 0.95
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


class Copy:
    """A copy of the code, in which one mutant at a time lives."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name in _COPIED:
            shutil.copytree(ROOT / name, folder / name)
        for name in _READ:
            (folder / name).symlink_to(ROOT / name)

    def fate(self, mutant: Mutant) -> Fate:
        """What the tests say while the mutant is in the code."""
        path = self._folder / mutant.file
        text = path.read_text()
        path.write_text(mutant.of(text))
        try:
            return fate(self._exit_code(mutant.tests), mutant)
        finally:
            path.write_text(text)

    def _exit_code(self, tests: Sequence[str]) -> int | None:
        options = ("-x", "-q", "-p", "no:cacheprovider", "-m", _FAST)
        command = [sys.executable, "-m", "pytest", *options, *tests]
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
            return None
        if done.returncode not in (0, *_KILLED):
            raise RuntimeError(done.stdout.decode()[-2000:])
        return done.returncode


def fates(mutants: Sequence[Mutant], beside: int) -> list[Fate]:
    """What became of each, found by so many processes side by side."""
    with tempfile.TemporaryDirectory() as temporary:
        copies: SimpleQueue[Copy] = SimpleQueue()
        for number in range(beside):
            folder = Path(temporary, str(number))
            folder.mkdir()
            copies.put(Copy(folder))

        def find(mutant: Mutant) -> Fate:
            copy = copies.get()
            try:
                found = copy.fate(mutant)
            finally:
                copies.put(copy)
            print("." if found is Fate.KILLED else f"\n{found}: {mutant}", end="", flush=True)  # noqa: T201
            return found

        with ThreadPoolExecutor(beside) as pool:
            return list(pool.map(find, mutants))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="files that begin so: edl/planner")
    parser.add_argument("--beside", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    mutants = [mutant for mutant in read() if mutant.file.startswith(given.only)]
    if not mutants:
        parser.error(f"--only {given.only}: the list has no mutant of such a file")
    found = fates(mutants, given.beside)
    counts = Counter(found)
    killed = counts[Fate.KILLED] / len(mutants)
    print(f"\n{len(mutants)} mutants, {killed:.1%} killed, {counts[Fate.TIMED_OUT]} timed out")  # noqa: T201
    survivors = [one for one, end in zip(mutants, found, strict=True) if end is Fate.SURVIVES]
    for mutant in survivors:
        print(f"{mutant}\n    {mutant.survives or 'NO REASON'}")  # noqa: T201
    explained = all(mutant.survives for mutant in survivors)
    if killed < _GOAL or counts[Fate.TIMED_OUT] or not explained:
        sys.exit(1)


if __name__ == "__main__":
    main()
