"""How long the plugin takes to start and to answer.

`python -m benchmarks.control_plane.startup [--jobs 1000]`

Whole processes, one after the other in turns, so that all of them meet the same machine: Python
alone, `--help`, and `status` of 1,000 running Jobs beside `kubectl get jobs` of the same ones.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from typing import Final, NamedTuple

from benchmarks.control_plane.latency import NAMESPACE, cluster, create, job, running, seconds_until
from edl.kube.api.client import ApiClient

WRITERS: Final = 8
LABELS: Final = {"framework": "none", "min": "1", "max": "1"}
KUBECTL_JOBS: Final = "kubectl get jobs"
GOALS: Final = {"kubectl-edl --help": 150, "kubectl-edl status": 400}
"""The goals in milliseconds, on an idle machine."""


def ways(kubectl: Path) -> dict[str, list[str]]:
    """The command lines, by their names in the table."""
    edl = str(Path(sys.executable).parent / "kubectl-edl")
    return {
        "python -c pass": [sys.executable, "-c", "pass"],
        "kubectl-edl --help": [edl, "--help"],
        "kubectl edl --help": [str(kubectl), "edl", "--help"],
        "kubectl-edl status --help": [edl, "status", "--help"],
        KUBECTL_JOBS: [str(kubectl), "get", "jobs", "-n", NAMESPACE],
        "kubectl-edl status": [edl, "status", "-n", NAMESPACE],
        "kubectl edl status": [str(kubectl), "edl", "status", "-n", NAMESPACE],
    }


class Took(NamedTuple):
    """Wall-clock and processor milliseconds; the latter hardly depend on the machine's load."""

    clock: float
    processor: float


def took(command: list[str], environ: Mapping[str, str]) -> Took:
    before, begun = getrusage(RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, env=environ, stdout=subprocess.DEVNULL, check=True)
    after, ended = getrusage(RUSAGE_CHILDREN), time.perf_counter()
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Took((ended - begun) * 1000, spent * 1000)


def fill(api: ApiClient, jobs: int) -> None:
    """Create `jobs` running one-pod Jobs, each of which is a training job."""

    def one(number: int) -> None:
        create(api, _named(number))

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(one, range(jobs)))
    seconds_until(lambda: running(api, "bench=startup") == jobs)


def _named(number: int) -> dict[str, object]:
    manifest = job("startup", LABELS, 1)
    manifest["metadata"]["name"] = f"sweep-{number:04}"
    return manifest


def report(found: Mapping[str, list[Took]]) -> None:
    beside = median(one.clock for one in found[KUBECTL_JOBS])
    titles = ("median ms", "best ms", "CPU ms", "goal ms", "x get jobs")
    print(f"{'':<28}" + "".join(f"{title:>12}" for title in titles))
    for way, turns in found.items():
        clocks = [one.clock for one in turns]
        spent = median(one.processor for one in turns)
        figures = (f"{median(clocks):.0f}", f"{min(clocks):.0f}", f"{spent:.0f}")
        goal, ratio = GOALS.get(way, ""), f"{median(clocks) / beside:.2f}"
        print(f"{way:<28}" + "".join(f"{cell:>12}" for cell in (*figures, goal, ratio)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    with cluster() as (sandbox, api):
        fill(api, options.jobs)
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        environ = {**os.environ, **sandbox.kubectl_environment(), "PATH": path}
        # pip compiles what it installs. Here the first turn does, unless this forbids it.
        environ.pop("PYTHONDONTWRITEBYTECODE", None)
        commands = ways(sandbox.kubectl_path)
        found: dict[str, list[Took]] = {way: [] for way in commands}
        for turn in range(options.runs + 1):
            for way, command in commands.items():
                one = took(command, environ)
                if turn:  # the first turn only fills caches
                    found[way].append(one)
        report(found)


if __name__ == "__main__":
    main()
