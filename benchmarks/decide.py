"""How much processor time one decision takes: `python benchmarks/decide.py [--runs 7] [--seed 1]`.

Three situations at each size: a full plan after a big release (half of all pods ended, so half of
the room is free), nothing to do, and one new gang of 32 pods.
"""

import argparse
import gc
import resource
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from statistics import median
from time import process_time
from typing import NamedTuple

from edl.model import (
    ClusterState,
    JobKey,
    Node,
    Pod,
    PodPhase,
    Resizing,
    Role,
    Shape,
    TrainingJob,
)
from edl.planner.decide import decide
from edl.planner.limits import Limits
from edl.planner.plan import Plan
from edl.planner.policies import POLICIES
from edl.resources import Resources

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
GI = 2**30


class Size(NamedTuple):
    nodes: int
    pods: int
    jobs: int


SIZES = (Size(1_000, 10_000, 500), Size(10_000, 100_000, 5_000))


def shapes(random: Random, count: int) -> list[Shape]:
    """CPU shapes of several sizes, a quarter with GPUs; some want a zone."""
    return [
        Shape(
            Resources.of(
                {
                    "cpu": random.choice((500, 1000, 2000, 4000)),
                    "memory": random.choice((1, 2, 4, 8)) * GI,
                    "pods": 1,
                    "nvidia.com/gpu": 1 if number % 4 == 0 else 0,
                }
            ),
            node_selector=(("zone", random.choice("abc")),) if number % 5 == 0 else (),
        )
        for number in range(count)
    ]


def nodes(random: Random, count: int) -> list[Node]:
    """Mixed nodes; every third has GPUs."""
    return [
        Node(
            f"node-{number:05}",
            Resources.of(
                {
                    "cpu": random.choice((16, 24, 32)) * 1000,
                    "memory": random.choice((64, 128)) * GI,
                    "pods": 110,
                    "nvidia.com/gpu": 8 if number % 3 == 0 else 0,
                }
            ),
            Resources.of({"cpu": 1000, "memory": 2 * GI, "pods": 3}),
            Resources(),
            labels={"zone": "abc"[number % 3]},
        )
        for number in range(count)
    ]


def pod(index: int, on: str) -> Pod:
    return Pod(f"pod-{index}", index, on, PodPhase.RUNNING, True, False, (), NOON, "1")  # noqa: FBT003


def training(number: int, shape: Shape, low: int, high: int) -> TrainingJob:
    name = f"job-{number:05}"
    role = Role(
        name="worker",
        job=name,
        uid=name,
        version="1",
        min=low,
        max=high,
        size=low,
        suspended=True,
        resizing=Resizing.LIVE,
        decides=True,
        serves=False,
        tandem=True,
        shape=shape,
    )
    queued = NOON - timedelta(hours=2, seconds=-number)
    return TrainingJob(JobKey("team", name), "tensorflow", (role,), queued)


def started(job: TrainingJob, size: int, where: Iterator[str]) -> TrainingJob:
    pods = tuple(pod(index, next(where)) for index in range(size))
    role = replace(job.roles[0], size=size, suspended=False, pods=pods)
    return replace(job, roles=(role,), started_at=NOON - timedelta(hours=1))


class Filler:
    """Finds nodes for pods one after another: a simple scheduler, for building states."""

    def __init__(self, found: list[Node]) -> None:
        self._nodes = found
        self._free = [dict((node.allocatable - node.used).items) for node in found]
        self._at: dict[Shape, int] = {}

    def where(self, shape: Shape, most: int) -> list[str]:
        """Nodes for at most so many pods."""
        placed: list[str] = []
        at = self._at.get(shape, 0)
        selector = dict(shape.node_selector)
        while len(placed) < most and at < len(self._nodes):
            node, free = self._nodes[at], self._free[at]
            zone = selector.get("zone")
            matches = zone is None or (node.labels or {})["zone"] == zone
            if matches and all(free.get(name, 0) >= amount for name, amount in shape.requests):
                for name, amount in shape.requests:
                    free[name] -= amount
                placed.append(node.name)
            else:
                at += 1
        self._at[shape] = at
        return placed

    def nodes(self) -> tuple[Node, ...]:
        return tuple(
            replace(node, used=node.allocatable - Resources.of(free))
            for node, free in zip(self._nodes, self._free, strict=True)
        )


def running(size: Size, share: float, seed: int) -> ClusterState:
    """`size.jobs` jobs run `share` of `size.pods` pods together."""
    random = Random(seed)  # noqa: S311 (no secret depends on it)
    filler = Filler(nodes(random, size.nodes))
    kinds = shapes(random, 40)
    each = size.pods // size.jobs
    jobs = []
    for number in range(size.jobs):
        job = training(number, random.choice(kinds), random.randint(1, each // 4), each * 2)
        wanted = max(job.roles[0].min, int(each * share))
        where = filler.where(job.roles[0].shape, wanted)
        if len(where) >= job.roles[0].min:
            job = started(job, len(where), iter(where))
        jobs.append(job)
    return ClusterState(NOON, filler.nodes(), tuple(jobs))


def settled(state: ClusterState, limits: Limits) -> ClusterState:
    """The same cluster after everything that can be done has been done."""
    for _ in range(40):
        plan = decide(state, POLICIES["fair"], limits)
        if not (plan.resizes or plan.admissions or plan.suspensions):
            return state
        state = acted(state, plan)
    raise SystemExit("the plan does not settle")


def acted(state: ClusterState, plan: Plan) -> ClusterState:
    """Do a plan at once, with the same simple scheduler."""
    sizes = {resize.job: resize.after for resize in plan.resizes}
    sizes |= {found.job: dict(found.sizes)["worker"] for found in plan.admissions}
    reasons = {resize.job: resize.reason for resize in plan.resizes}
    noted = [_noted(job, reasons.get(job.key), state.observed_at) for job in state.jobs]
    kept = [_shrunk(job, sizes.get(job.key)) for job in noted]
    gone: dict[str, Resources] = {}
    for before, after in zip(state.jobs, kept, strict=True):
        for found in before.roles[0].pods[len(after.roles[0].pods) :]:
            gone[found.node] = gone.get(found.node, Resources()) + before.roles[0].shape.requests
    freed = [
        replace(node, used=node.used - gone.get(node.name, Resources())) for node in state.nodes
    ]
    filler = Filler(freed)
    later = state.observed_at + timedelta(minutes=10)
    jobs = tuple(_grown(job, sizes.get(job.key), filler) for job in kept)
    return ClusterState(later, filler.nodes(), jobs)


def _noted(job: TrainingJob, reason: str | None, now: datetime) -> TrainingJob:
    if reason is None:
        return job
    return replace(job, roles=(replace(job.roles[0], resized_at=now, reason=reason),))


def _shrunk(job: TrainingJob, size: int | None) -> TrainingJob:
    role = job.roles[0]
    if size is None or size >= role.size:
        return job
    return replace(job, roles=(replace(role, size=size, pods=role.pods[:size]),))


def _grown(job: TrainingJob, size: int | None, filler: Filler) -> TrainingJob:
    role = job.roles[0]
    if size is None or size <= len(role.pods):
        return job
    have = [found.node for found in role.pods]
    return started(
        job, size, iter([*have, *filler.where(role.shape, size - len(have)), *[""] * size])
    )


def with_gang(state: ClusterState) -> ClusterState:
    shape = Shape(Resources.of({"cpu": 2000, "memory": 4 * GI, "pods": 1}))
    job = replace(training(99_999, shape, 32, 64), queued_at=state.observed_at)
    return replace(state, jobs=(*state.jobs, job))


def measure(work: Callable[[], Plan], runs: int) -> tuple[list[float], Plan]:
    """Milliseconds of each run."""
    gc.collect()
    gc.freeze()  # as the reconciler does: the collector need not walk the state again
    times = []
    for _ in range(runs):
        start = process_time()
        plan = work()
        times.append((process_time() - start) * 1000)
    return times, plan


def report(size: Size, name: str, state: ClusterState, runs: int) -> None:
    limits, policy = Limits(), POLICIES["fair"]
    times, plan = measure(lambda: decide(state, policy, limits), runs)
    grown = sum(max(found.after - found.before, 0) for found in plan.resizes)
    grown += sum(count for found in plan.admissions for _, count in found.sizes)
    shrunk = sum(max(found.before - found.after, 0) for found in plan.resizes)
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    pods = sum(len(role.pods) for job in state.jobs for role in job.roles)
    print(
        f"{size.nodes:>6} {pods:>7} {size.jobs:>6}  {name:<28}"
        f"{median(times):>9.0f} {max(times):>8.0f} {grown:>8} {shrunk:>7} {mib:>9.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--largest", type=int, default=10_000, help="most nodes")
    options = parser.parse_args()
    print(
        f"{'nodes':>6} {'pods':>7} {'jobs':>6}  {'situation':<28}"
        f"{'median ms':>9} {'max ms':>8} {'grown':>8} {'shrunk':>7} {'RSS MiB':>9}"
    )
    for size in SIZES:
        if size.nodes <= options.largest:
            report(size, "after a big release", running(size, 0.5, options.seed), options.runs)
            full = settled(running(size, 1.0, options.seed), Limits())
            report(size, "nothing to do", full, options.runs)
            report(size, "a new gang of 32 pods", with_gang(full), options.runs)


if __name__ == "__main__":
    main()
