"""2,000 one-pod Jobs released at once, on the sandbox.

`python -m benchmarks.control_plane.release [--runs 5]`

Three contestants, one after another in each run, each on a fresh control plane with 60 simulated
nodes: a bare pool of eight threads that only patches `suspend: false`, which is what a release
costs at least; kubectl-edl; and Kueue. Each holds the Jobs first and is released then. Compare
within a run.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from benchmarks.control_plane import bare
from benchmarks.control_plane.observer import observer
from benchmarks.follow import observed
from benchmarks.report.processor import busy_seconds, processor
from benchmarks.scheduling import kueue
from dev.installation import install
from edl import contract
from edl.kube.api.client import ApiClient, connect
from edl.kube.cluster import ListOptions
from edl.model import ObjectRef
from sandbox import NodeGroup, Sandbox, temporary_sandbox

NAMESPACE: Final = "default"
JOBS: Final = 2000
NODES: Final = NodeGroup(count=60, cpu="32", memory="128Gi")
THREADS: Final = 8
QUIET: Final = 3.0
"""The seconds without a change of any Job after which the controllers count as settled."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """How Jobs are held and released: `hold` runs before they are created, `release` afterwards.

    `queued`: the number of Jobs that the queueing system has observed.
    """

    labels: Mapping[str, str]
    suspended: bool
    hold: Callable[[Sandbox, ApiClient], None]
    queued: Callable[[Sandbox, ApiClient], int]
    release: Callable[[Sandbox, ApiClient, Sequence[str]], None]


@dataclass(frozen=True, slots=True)
class Figures:
    """One release: seconds from its first request until half, all are released, all pods run.

    `cpu`: milliseconds of processor time per Job, by process, until all pods run, because a slow
    release overlaps with the start of its pods. `others`: cores used by other processes meanwhile.
    """

    rate: float
    half: float
    last: float
    running: float
    cpu: Mapping[str, float]
    others: float


def nothing(_sandbox: Sandbox, _api: ApiClient) -> None:
    """Do nothing: Jobs that are created suspended need no further step to be held."""


def patch_each(sandbox: Sandbox, _api: ApiClient, names: Sequence[str]) -> None:
    bare.release(sandbox.kubeconfig, NAMESPACE, names, THREADS)


def hold_by_cordon(sandbox: Sandbox, api: ApiClient) -> None:
    _cordon(api, cordoned=True)
    install(sandbox, sandbox.folder / "edl")


def uncordon(_sandbox: Sandbox, api: ApiClient, _names: Sequence[str]) -> None:
    _cordon(api, cordoned=False)


def _cordon(api: ApiClient, *, cordoned: bool) -> None:
    names = [f"{NODES.name_prefix}-{number:03d}" for number in range(NODES.count)]
    with ThreadPoolExecutor(THREADS) as pool:
        body = {"spec": {"unschedulable": cordoned}}
        list(pool.map(lambda name: api.patch(ObjectRef("Node", "", name), body), names))


def all_jobs(_sandbox: Sandbox, api: ApiClient) -> int:
    return len(api.list(ListOptions("Job", NAMESPACE)).items)


def explained(_sandbox: Sandbox, api: ApiClient) -> int:
    """The number of queued Jobs whose annotation states why they wait."""
    jobs = observed(api.list(ListOptions("Job", NAMESPACE)).items)
    return sum(contract.REASON in job.metadata.annotations for job in jobs)


BARE, OURS, KUEUE = "bare pool", "kubectl-edl", "Kueue"
CONTESTANTS: Final = {
    BARE: Contestant({}, suspended=True, hold=nothing, queued=all_jobs, release=patch_each),
    OURS: Contestant(
        {contract.FRAMEWORK: "none"},
        suspended=False,
        hold=hold_by_cordon,
        queued=explained,
        release=uncordon,
    ),
    KUEUE: Contestant(
        kueue.LABELS,
        suspended=True,
        hold=lambda sandbox, _: kueue.install(sandbox, NAMESPACE),
        queued=lambda sandbox, _: kueue.workloads(sandbox, NAMESPACE),
        release=lambda sandbox, *_: kueue.open_queue(sandbox),
    ),
}


def job(name: str, contestant: Contestant) -> dict[str, Any]:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "100m"}}}
    pod = {"restartPolicy": "Never", "containers": [container]}
    return {
        "metadata": {"name": name, "labels": dict(contestant.labels)},
        "spec": {"suspend": contestant.suspended, "template": {"spec": pod}},
    }


def create(api: ApiClient, contestant: Contestant, jobs: int) -> list[str]:
    names = [f"job-{number:04d}" for number in range(jobs)]
    with ThreadPoolExecutor(THREADS) as pool:
        list(
            pool.map(
                lambda n: api.create(ObjectRef("Job", NAMESPACE, n), job(n, contestant)), names
            )
        )
    return names


def settle(sandbox: Sandbox, api: ApiClient, contestant: Contestant, jobs: int) -> None:
    """Wait until the queueing system has observed all Jobs and Jobs have stopped changing."""
    known: set[str] = set()
    while True:
        found = observed(api.list(ListOptions("Job", NAMESPACE)).items)
        held = all(job.spec.suspend for job in found)
        versions = {job.metadata.resourceVersion for job in found}
        if held and versions == known and contestant.queued(sandbox, api) == jobs:
            return
        known = versions
        time.sleep(QUIET)


def measure(contestant: Contestant, jobs: int) -> Figures:
    with temporary_sandbox("bench", NODES) as sandbox:
        api = connect(str(sandbox.kubeconfig))
        contestant.hold(sandbox, api)
        names = create(api, contestant, jobs)
        settle(sandbox, api, contestant, jobs)
        with observer(str(sandbox.kubeconfig), NAMESPACE, jobs) as seen:
            before, busy = processor(sandbox), busy_seconds()
            begun = time.monotonic()
            contestant.release(sandbox, api, names)
            released = [moment - begun for moment in seen.released()]
            running = seen.running()[-1] - begun
            took = time.monotonic() - begun
            spent = {name: now - before[name] for name, now in processor(sandbox).items()}
            others = busy_seconds() - busy - sum(spent.values())
        return Figures(
            rate=jobs / released[-1],
            half=released[jobs // 2],
            last=released[-1],
            running=running,
            cpu={name: 1000 * seconds / jobs for name, seconds in spent.items()},
            others=others / took,
        )


def order(run: int) -> list[str]:
    """The contestants in the order of a run: each comes first in turn, for a fair comparison."""
    names = list(CONTESTANTS)
    first = run % len(names)
    return names[first:] + names[:first]


def spread(values: Sequence[float], digits: int = 1) -> str:
    """The median, followed by the minimum and maximum."""
    found = (median(values), min(values), max(values))
    middle, least, most = (f"{value:.{digits}f}" for value in found)
    return f"{middle} ({least}–{most})"


def table(results: Mapping[str, Sequence[Figures]]) -> Iterator[str]:
    titles = ("runs", "admissions/s", "half after, s", "last after, s", "all run after, s")
    yield f"{'':<14}{titles[0]:>6}" + "".join(f"{title:>22}" for title in titles[1:])
    for name, found in results.items():
        cells = (
            spread([one.rate for one in found], 0),
            *(
                spread([getattr(one, field) for one in found])
                for field in ("half", "last", "running")
            ),
        )
        yield f"{name:<14}{len(found):>6}" + "".join(f"{cell:>22}" for cell in cells)


def ratios(results: Mapping[str, Sequence[Figures]]) -> Iterator[str]:
    """The ratios of release rates within each run, and their median."""
    for other in (name for name in results if name != OURS and OURS in results):
        pairs = zip(results[OURS], results[other], strict=True)
        found = [ours.rate / theirs.rate for ours, theirs in pairs]
        each = ", ".join(f"{ratio:.2f}" for ratio in found)
        yield f"kubectl-edl ÷ {other}: {median(found):.2f} (each run: {each})"


def processors(results: Mapping[str, Sequence[Figures]]) -> Iterator[str]:
    """The processor time of each contestant until all pods run."""
    processes = sorted({name for found in results.values() for one in found for name in one.cpu})
    yield f"{'processor ms for each Job':<26}" + "".join(f"{name:>22}" for name in results)
    rows = {
        process: [[one.cpu.get(process, 0.0) for one in of] for of in results.values()]
        for process in processes
    }
    rows["all of them"] = [[sum(one.cpu.values()) for one in of] for of in results.values()]
    rows["cores busy with others"] = [[one.others for one in of] for of in results.values()]
    for name, row in rows.items():
        yield f"{name:<26}" + "".join(f"{spread(values, 2):>22}" for values in row)


def report(results: Mapping[str, Sequence[Figures]]) -> str:
    return "\n".join((*table(results), "", *ratios(results), "", *processors(results)))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--contestants", nargs="+", choices=CONTESTANTS, default=list(CONTESTANTS))
    return parser.parse_args()


def main() -> None:
    options = parse()
    results: dict[str, list[Figures]] = {
        name: [] for name in CONTESTANTS if name in options.contestants
    }
    if KUEUE in results:
        kueue.program()
    for run in range(options.runs):
        for name in (name for name in order(run) if name in results):
            load = os.getloadavg()[0]
            found = measure(CONTESTANTS[name], options.jobs)
            results[name].append(found)
            print(
                f"run {run + 1}, {name:<12} {found.rate:6.1f}/s, half after {found.half:.1f} s, "
                f"last {found.last:.1f} s, all run {found.running:.1f} s; load average before "
                f"{load:.1f}, others busy on {found.others:.2f} cores",
                flush=True,
            )
    print(report(results))


if __name__ == "__main__":
    main()
