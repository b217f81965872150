"""Nodes that come and go: `python -m benchmarks.scheduling.autoscaled [--seeds 1]`.

Ours and Kueue, one after the other on a fresh control plane of the sandbox with a real Karpenter
and no nodes, with the same jobs: each is done when its work is, and is deleted then.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Final

from benchmarks.report.processor import processor
from benchmarks.scheduling import runs
from benchmarks.scheduling.autoscaled.contestants import CONTESTANTS, Contestant
from benchmarks.scheduling.autoscaled.course import Course, Figures, Observer, begin
from benchmarks.scheduling.autoscaled.trace import NAMESPACE, PODS, POOL, Submission, trace
from edl.kube.api.client import ApiClient, connect
from edl.model import ObjectRef
from edl.writes import Json
from sandbox import temporary_sandbox
from sandbox.autoscaler import add_karpenter
from sandbox.objects.node_pools import NodePool

LOOK: Final = 0.25
"""The seconds between two reads."""
HORIZON: Final = 1200.0
"""The seconds after which a run ends, even if jobs are not done."""
HEAD: Final = (
    f"{'':<48}{'done':>5}{'mean, s':>9}{'slowest, s':>11}{'wait, s':>9}{'node-hours':>11}"
    f"{'used':>7}{'nodes':>6}{'changes':>8}{'CPU s':>7}"
)


def measure(
    contestant: Contestant, submissions: tuple[Submission, ...], pool: NodePool
) -> tuple[Figures, float]:
    """Run until no node is left; returns figures and the control plane's processor seconds."""
    with temporary_sandbox("autoscaled") as sandbox:
        add_karpenter(sandbox, pool)
        sandbox.kubectl("create", "namespace", NAMESPACE)
        contestant.install(sandbox)
        with Observer(str(sandbox.kubeconfig), contestant.suffix) as observer:
            before = processor(sandbox)
            course = play(contestant, connect(str(sandbox.kubeconfig)), observer, submissions)
        spent = sum(processor(sandbox).values()) - sum(before.values())
        return course.figures(PODS), spent


def play(
    contestant: Contestant, api: ApiClient, observer: Observer, submissions: tuple[Submission, ...]
) -> Course:
    course, due, begun = begin(submissions), list(submissions), time.monotonic()
    while (now := time.monotonic() - begun) < HORIZON:
        while due and due[0].at <= now:
            for job in contestant.jobs(due.pop(0).name):
                api.create(_reference(job), job)
        running, nodes = observer.look()
        for name in course.look(now, running, nodes):
            for job in contestant.jobs(name):
                api.delete(_reference(job))
        if course.finished() and not nodes:
            break
        time.sleep(LOOK)
    return course


def _reference(job: Json) -> ObjectRef:
    return ObjectRef("Job", NAMESPACE, job["metadata"]["name"])


def line(name: str, found: Figures, spent: float) -> str:
    return (
        f"{name:<48}{found.done:>5.4g}{found.completion:>9.1f}{found.slowest:>11.1f}"
        f"{found.wait:>9.1f}{found.node_hours:>11.2f}{found.used:>7.1%}{found.nodes:>6.3g}"
        f"{found.changes:>8.4g}{spent:>7.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--contestants", nargs="*", choices=CONTESTANTS, default=list(CONTESTANTS))
    parser.add_argument("--empty-budget", default=POOL.empty_budget, help="as of the NodePool")
    options = parser.parse_args()
    print(HEAD)
    runs.print_runs(line, played(options))


def played(options: argparse.Namespace) -> Iterator[tuple[str, int, Figures, float]]:
    pool = replace(POOL, empty_budget=options.empty_budget)
    for seed, name in product(range(options.seeds), options.contestants):
        yield name, seed, *measure(CONTESTANTS[name], trace(seed), pool)


if __name__ == "__main__":
    main()
