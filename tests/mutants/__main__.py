"""`python -m tests.mutants`: does a test fail for each mutant of the list?

Each mutant is applied to a copy of the code, on which the unit tests of its package run until the
first failure. Prints the survivors; the exit code is 1 if fewer than 95 % are killed, or if a
survivor has no reason in the list.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from tests.mutants.listed import ROOT, Mutant, read

_COPIED: Final = ("edl", "webhook", "reconciler", "certs", "kubectl_edl", "manifests", "sandbox")
_READ: Final = ("tests", "examples", "docs", "pyproject.toml", "README.md", "SECURITY.md")
_KILLED: Final = (1, 2)
"""pytest's exit codes for a failed test, and for tests that could not be collected."""
_LIMIT: Final = 240.0
"""Seconds after which a mutant that hangs its tests counts as killed."""
_GOAL: Final = 0.95
_FAST: Final = "not laws and not integration and not e2e and not torture"


class Copy:
    """A copy of the code, in which one mutant at a time lives."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name in _COPIED:
            shutil.copytree(ROOT / name, folder / name)
        for name in _READ:
            (folder / name).symlink_to(ROOT / name)

    def kills(self, mutant: Mutant) -> bool:
        """Whether a test fails while the mutant is in the code."""
        path = self._folder / mutant.file
        text = path.read_text()
        path.write_text(mutant.of(text))
        try:
            return self._fails(mutant.tests)
        finally:
            path.write_text(text)

    def _fails(self, tests: Sequence[str]) -> bool:
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
            return True
        if done.returncode not in (0, *_KILLED):
            raise RuntimeError(done.stdout.decode()[-2000:])
        return done.returncode in _KILLED


def survivors(mutants: Sequence[Mutant], beside: int) -> list[Mutant]:
    """Those for which no test fails, found by so many processes side by side."""
    with tempfile.TemporaryDirectory() as temporary:
        copies: SimpleQueue[Copy] = SimpleQueue()
        for number in range(beside):
            folder = Path(temporary, str(number))
            folder.mkdir()
            copies.put(Copy(folder))

        def survives(mutant: Mutant) -> bool:
            copy = copies.get()
            try:
                killed = copy.kills(mutant)
            finally:
                copies.put(copy)
            print("." if killed else f"\nsurvives: {mutant}", end="", flush=True)  # noqa: T201
            return not killed

        with ThreadPoolExecutor(beside) as pool:
            found = list(pool.map(survives, mutants))
    return [mutant for mutant, lives in zip(mutants, found, strict=True) if lives]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="files that begin so: edl/planner")
    parser.add_argument("--beside", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    mutants = [mutant for mutant in read() if mutant.file.startswith(given.only)]
    found = survivors(mutants, given.beside)
    killed = 1 - len(found) / len(mutants)
    print(f"\n{len(mutants)} mutants, {killed:.1%} killed")  # noqa: T201
    for mutant in found:
        print(f"{mutant}\n    {mutant.survives or 'NO REASON'}")  # noqa: T201
    if killed < _GOAL or not all(mutant.survives for mutant in found):
        sys.exit(1)


if __name__ == "__main__":
    main()
