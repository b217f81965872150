"""Teams that borrow and reclaim: `python -m benchmarks.scheduling.teams [--teams 2 5] [--seeds 3]`.

Ours and Kueue, one after the other on a fresh control plane of the sandbox, with the same nodes and
the same trace: one team borrows the whole cluster, owners come back in bursts.
"""

import argparse
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from typing import Final

from benchmarks.report.processor import processor
from benchmarks.scheduling import runs
from benchmarks.scheduling.teams.accounting import Figures, figures
from benchmarks.scheduling.teams.contestants import CONTESTANTS, Contestant
from benchmarks.scheduling.teams.observe import JobObserver
from benchmarks.scheduling.teams.trace import Trace, nodes, trace
from edl.errors import Conflict
from edl.kube.api.client import ApiClient, connect
from edl.model import ObjectRef
from sandbox import temporary_sandbox

HEAD: Final = (
    f"{'':<34}{'gangs':>6}{'started':>8}{'wait, s':>9}{'worst, s':>9}{'evicted':>8}"
    f"{'lost, s':>9}{'resizes':>8}{'GPUs used':>10}{'Jain':>6}{'CPU s':>7}"
)


def measure(contestant: Contestant, given: Trace) -> tuple[Figures, float]:
    """One run; returns its figures and the processor seconds of the whole control plane."""
    with temporary_sandbox("teams", nodes()) as sandbox:
        api = connect(str(sandbox.kubeconfig))
        for team in given.guaranteed:
            sandbox.kubectl("create", "namespace", team)
        contestant.install(sandbox, api, given)
        with JobObserver(str(sandbox.kubeconfig), given) as observer:
            before, begun = processor(sandbox), time.monotonic()
            observer.begin(begun)
            submit(contestant, api, given, begun)
            time.sleep(max(given.lasts - (time.monotonic() - begun), 0))
            spent = sum(processor(sandbox).values()) - sum(before.values())
            return figures(given, observer.tracks()), spent


def submit(contestant: Contestant, api: ApiClient, given: Trace, begun: float) -> None:
    for submission in given.submissions:
        time.sleep(max(submission.at - (time.monotonic() - begun), 0))
        for job in contestant.jobs(submission):
            with suppress(Conflict):
                api.create(ObjectRef("Job", submission.team, job["metadata"]["name"]), job)


def line(name: str, found: Figures, spent: float) -> str:
    return (
        f"{name:<34}{found.gangs:>6.4g}{found.gangs_started:>8.4g}{found.owner_median:>9.1f}"
        f"{found.owner_worst:>9.1f}{found.evicted:>8.4g}{found.lost:>9.0f}{found.resizes:>8.4g}"
        f"{found.utilisation:>10.1%}{found.jain:>6.3f}{spent:>7.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--teams", type=int, nargs="*", default=[2, 5])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--contestants", nargs="*", choices=CONTESTANTS, default=list(CONTESTANTS))
    options = parser.parse_args()
    print(HEAD)
    runs.print_runs(line, played(options))


def played(options: argparse.Namespace) -> Iterator[tuple[str, int, Figures, float]]:
    for teams, seed, name in product(options.teams, range(options.seeds), options.contestants):
        yield f"{teams} teams, {name}", seed, *measure(CONTESTANTS[name], trace(seed, teams))


if __name__ == "__main__":
    main()
