"""The circumstances of figures: the machine, time, load and commit that every record names."""

import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from benchmarks.scheduling import kueue
from sandbox.builds.recipe import version
from sandbox.releases import wanted

HERE: Final = Path(__file__).parent
WRITTEN: Final = (
    "README.md",
    "decide.png",
    "experiments/README.md",
    "experiments/results",
    "stalls.md",
    "stalls.jsonl",
)
"""The files that `python -m benchmarks` and its parts write here."""
_MATRIX: Final = ("docs/compatibility.json", "docs/compatibility.md")
_RECORDS: Final = (*(f"benchmarks/{name}" for name in WRITTEN), *_MATRIX)
_CODE: Final = ("--", ":/", *(f":(top,exclude){path}" for path in _RECORDS))


def machine() -> str:
    """The processor's model, cores, memory and kernel, and versions of the measured programs."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    cores = len(os.sched_getaffinity(0))
    parts = (
        f"{cores} cores of {processor_model()}",
        f"{memory:.0f} GiB",
        f"{platform.system()} {platform.release().partition('-')[0]}",
        f"Python {platform.python_version()}",
        f"Kubernetes {version(wanted(os.environ)).lstrip('v')}",
        f"Kueue {version(kueue.RECIPE).lstrip('v')}",
    )
    return ", ".join(parts)


def processor_model() -> str:
    """The processor's model as the kernel names it."""
    path = Path("/proc/cpuinfo")
    text = path.read_text() if path.exists() else ""
    found = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    return found[1] if found else platform.machine()


def load() -> float:
    """The load average of the last minute."""
    return round(os.getloadavg()[0], 2)


def now() -> str:
    """The time in UTC, to the minute."""
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M}"


def changed(folder: Path = HERE) -> list[str]:
    """Files that differ from the commit, also new ones, without those that measuring writes."""
    return _git(folder, "status", "--porcelain", *_CODE).splitlines()


def commit(folder: Path = HERE) -> str:
    """The last commit that changed more than figures; with a + if files differ from it."""
    head = _git(folder, "log", "-1", "--format=%h", *_CODE).strip()
    return head + "+" * bool(changed(folder))


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout
