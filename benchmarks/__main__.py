"""`python -m benchmarks`: run every benchmark and write what it printed into README.md here."""

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
README: Final = FOLDER / "README.md"
ALL: Final = {
    "decide.py": "One decision: processor time of the planner on one core",
    "state.py": "From the watch to the state: memory and time at 100,000 pods",
    "optimality.py": "The fair policy against the best plan there is",
    "estimates.py": "How good the estimates of when a job starts are",
    "simulate.py": "A simulated day with 1,000 jobs",
    "reviews.py": "The webhook over TLS, eight connections",
    "holding.py": "A review beside 1,000 connections that are only held",
    "startup.py": "The plugin's start, and its status of 1,000 jobs beside kubectl's",
    "failover.py": "How long nobody leads",
    "rotation.py": "Reviews while certificates follow each other",
    "latency.py": "On a real control plane: from the label to running pods",
}


def machine() -> str:
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    cores = len(os.sched_getaffinity(0))
    return f"{cores} cores, {memory:.0f} GiB, Python {platform.python_version()}"


def main() -> None:
    parts = [
        "# Measured figures",
        f"By `make bench` on {datetime.now(UTC):%Y-%m-%d}: {machine()}. Compare within a run only.",
    ]
    for script, title in ALL.items():
        print(f"{title} …", flush=True)
        module = f"benchmarks.{Path(script).stem}"
        done = subprocess.run(
            [sys.executable, "-m", module],
            cwd=FOLDER.parent,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        print(done.stdout)
        parts += [
            f"## {title}",
            f"`python -m {module}`",
            f"```\n{done.stdout.rstrip()}\n```",
        ]
    README.write_text("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
