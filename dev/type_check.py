"""`python -m dev.type_check`: mypy, which a new clone begins with what it found in another one.

mypy takes a source for unchanged if its size and its time of change, in seconds, are the same, and
else compares its content: only what differs is checked anew, a second of processor time instead of
thirty. Files of another clone have other times, unless both were checked out in the same second.
Each clone has a cache of its own, as mypy may run in several at once.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sandbox.files import locked
from sandbox.paths import CHECKOUT, places

OWN: Final = CHECKOUT / ".mypy_cache"
COMMAND: Final = (sys.executable, "-m", "mypy")


def check(own: Path, kept: Path, command: Sequence[str] = COMMAND) -> int:
    """The exit code of mypy. `own`: this clone's cache; `kept`: a copy of one without errors."""
    with locked(kept.with_suffix(".lock")):
        if not own.exists() and kept.exists():
            shutil.copytree(kept, own)
    code = subprocess.run(command, check=False).returncode
    if code == 0 and own.exists():
        with locked(kept.with_suffix(".lock")):
            _keep(own, kept)
    return code


def _keep(own: Path, kept: Path) -> None:
    """A killed process leaves the copy from before, or none."""
    with tempfile.TemporaryDirectory(dir=kept.parent, prefix=f".{kept.name}-") as work:
        copy = Path(work) / "copy"
        shutil.copytree(own, copy)
        shutil.rmtree(kept, ignore_errors=True)
        copy.rename(kept)


if __name__ == "__main__":
    sys.exit(check(OWN, places(os.environ).cache / "mypy"))
