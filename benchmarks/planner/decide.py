"""Processor time of one decision, and of one after a change, at four sizes.

`python -m benchmarks.planner.decide [--runs 5] [--seed 1] [--largest 10000]
[--plot benchmarks/decide.png]`

From scratch: a full plan after a big release (half of all pods ended, so half of the room is free),
nothing to do, and one new gang of 32 pods; and where each of the planner's rules decides
(`benchmarks.planner.situations`). With a memory, which recalls a plan where it is still the plan:
what is decided after one change in the cluster in which there was nothing to do. Beside it: the
most resident memory since the row before.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from math import log
from pathlib import Path
from statistics import median
from time import process_time
from typing import Final

from msgspec.structs import replace

from benchmarks.planner.clusters import Size, running, settled, with_gang
from benchmarks.planner.situations import SITUATIONS, Situation
from benchmarks.report.processor import forget_peak, memory_mib
from edl.model import ClusterState, Pod, PodPhase, TrainingJob
from edl.planner.decide import decide
from edl.planner.decision_limits import Limits
from edl.planner.plan import Plan
from edl.planner.plan_cache import PlanCache
from edl.planner.policies import POLICIES
from edl.steps.plan_steps import steps
from edl.steps.unchanged_jobs import UnchangedJobs
from reconciler.controller import free_decision
from reconciler.manager import tune_garbage_collector

SIZES: Final = tuple(Size(nodes, nodes * 10, nodes // 2) for nodes in (1250, 2500, 5000, 10_000))
LIMITS: Final = Limits()
POLICY: Final = POLICIES["fair"]
Times = dict[str, list[float]]
"""The median milliseconds of each situation, one number per size."""


def first_pod(state: ClusterState, change: Callable[[Pod], Pod]) -> ClusterState:
    """The state with one pod of a job in the middle changed."""
    job = state.jobs[len(state.jobs) // 2]
    role = job.roles[0]
    pods = (change(role.status.pods[0]), *role.status.pods[1:])
    return with_job(state, replace(job, roles=(role.changed(pods=pods),)))


def with_job(state: ClusterState, changed: TrainingJob) -> ClusterState:
    jobs = (changed if job.key == changed.key else job for job in state.jobs)
    return replace(state, jobs=tuple(jobs))


def without_job(state: ClusterState) -> ClusterState:
    """The state after a training job has ended and is deleted with its pods."""
    gone = state.jobs[len(state.jobs) // 2]
    role = gone.roles[0]
    used = {pod.node: role.template.shape.requests for pod in role.status.pods}
    nodes = (
        replace(node, used=node.used - used[node.name]) if node.name in used else node
        for node in state.nodes
    )
    return replace(
        state, nodes=tuple(nodes), jobs=tuple(job for job in state.jobs if job is not gone)
    )


CHANGES: Final[Mapping[str, Callable[[ClusterState], ClusterState]]] = {
    "a second later": lambda state: replace(
        state, observed_at=state.observed_at + timedelta(seconds=1)
    ),
    "one pod is not ready": lambda state: first_pod(state, lambda pod: replace(pod, ready=False)),
    "one pod has failed": lambda state: first_pod(
        state, lambda pod: replace(pod, phase=PodPhase.FAILED, ready=False)
    ),
    "one new gang": with_gang,
    "one job has ended": without_job,
    "one node is gone": lambda state: replace(state, nodes=state.nodes[1:]),
}


def measure(work: Callable[[], object], runs: int) -> list[float]:
    """The milliseconds of each run."""
    times = []
    for _ in range(runs):
        start = process_time()
        work()
        times.append((process_time() - start) * 1000)
        free_decision()
    return times


def after(state: ClusterState, change: Callable[[ClusterState], ClusterState]) -> float:
    """The milliseconds of one decision with a plan cache that was filled by the previous state."""
    memory, later = PlanCache(), change(state)
    decide(state, POLICY, LIMITS, memory)
    return measure(lambda: decide(later, POLICY, LIMITS, memory), 1)[0]


def report(size: Size, name: str, times: Sequence[float], note: str = "") -> float:
    head = f"{size.nodes:>6} {size.pods:>7} {size.jobs:>6}  {name:<30}"
    peak = memory_mib("VmHWM")
    print(f"{head}{median(times):>9.1f} {max(times):>8.1f} {peak:>8.0f}  {note}", flush=True)
    forget_peak()
    return median(times)


def moved(plan: Plan) -> str:
    grown = sum(max(found.after - found.before, 0) for found in plan.resizes)
    grown += sum(count for found in plan.admissions for _, count in found.sizes)
    shrunk = sum(max(found.before - found.after, 0) for found in plan.resizes)
    off = f", {len(plan.suspensions)} suspended" if plan.suspensions else ""
    return f"+{grown} -{shrunk} pods, {len(plan.waiting)} waiting{off}"


def measure_all(size: Size, runs: int, seed: int) -> dict[str, float]:
    found: dict[str, float] = {}
    full = settled(running(size, 1.0, seed), LIMITS)
    states = {
        "after a big release": running(size, 0.5, seed),
        "nothing to do": full,
        "a new gang of 32 pods": with_gang(full),
    }
    tune_garbage_collector()
    for name, state in states.items():
        times = measure(lambda: decide(state, POLICY, LIMITS), runs)  # noqa: B023 - called at once
        found[name] = report(size, name, times, moved(decide(state, POLICY, LIMITS)))
    for name, change in CHANGES.items():
        times = [after(full, change) for _ in range(min(runs, 3))]
        found[f"then {name}"] = report(size, f"then {name}", times)
    plan, quiet = decide(full, POLICY, LIMITS), UnchangedJobs()
    found["steps"] = report(size, "its steps", measure(lambda: steps(plan, full), runs))
    steps(plan, full, quiet)
    again = measure(lambda: steps(plan, full, quiet), runs)
    found["steps again"] = report(size, "its steps again", again)
    for name, make in SITUATIONS.items():
        found[name] = ruled(size, name, make(size, seed), runs)
    return found


def ruled(size: Size, name: str, situation: Situation, runs: int) -> float:
    state, limits = situation
    tune_garbage_collector()
    times = measure(lambda: decide(state, POLICY, limits), runs)
    return report(size, name, times, moved(decide(state, POLICY, limits)))


def growth(sizes: Sequence[Size], times: Times) -> None:
    """Print the exponent with which each time grows with the size; 1 is linear.

    A time that does not rise with every size has none.
    """
    for name, found in times.items():
        if found != sorted(found):
            print(f"{name:<34} does not grow steadily: measure it on a quiet machine")
            continue
        power = log(found[-1] / found[0]) / log(sizes[-1].nodes / sizes[0].nodes)
        print(f"{name:<34} grows with the size to the power of {power:.2f}")


def plot(sizes: Sequence[Size], times: Times, path: Path) -> None:
    import matplotlib as mpl  # noqa: PLC0415 - only `--plot` needs the extra `plots`

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415 - the same

    figure, axes = plt.subplots(figsize=(9, 6), layout="constrained")
    nodes = [size.nodes for size in sizes]
    for name, found in times.items():
        style = "--" if name.startswith("then") else ":" if name.startswith("steps") else "-"
        axes.loglog(nodes, found, style, marker="o", label=name)
    base = times["nothing to do"][0]
    axes.loglog(nodes, [base * one / nodes[0] for one in nodes], color="0.7", label="linear")
    axes.set_xticks(nodes, [f"{size.nodes}\n{size.pods}\n{size.jobs}" for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("nodes, pods and training jobs")
    axes.set_ylabel("processor time (ms)")
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--largest", type=int, default=10_000, help="most nodes")
    parser.add_argument("--plot", type=Path, help="draw it into this file")
    options = parser.parse_args()
    titles = f"{'situation':<30}{'median ms':>9} {'max ms':>8} {'MiB':>8}"
    print(f"{'nodes':>6} {'pods':>7} {'jobs':>6}  {titles}")
    sizes = [size for size in SIZES if size.nodes <= options.largest]
    times: Times = {}
    for size in sizes:
        for name, found in measure_all(size, options.runs, options.seed).items():
            times.setdefault(name, []).append(found)
    if len(sizes) > 1:
        growth(sizes, times)
    if options.plot:
        plot(sizes, times, options.plot)


if __name__ == "__main__":
    main()
