"""Gangs from their arrival to their minimum on nodes.

`python -m benchmarks.scheduling.placement [--clusters 40]`

Simulated: gangs that fill their nodes exactly, random mixes, and random clusters in which other
tenants' pods come and go all the time. A gang is half placed while it holds nodes, and for some
role fewer than its minimum. Horovod's are not counted as such: their launchers wait for workers.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import reduce
from math import ceil
from operator import add
from random import Random
from statistics import fmean
from time import process_time
from typing import Final, NamedTuple

from edl.model import (
    Node,
    PodAffinityTerm,
    PodConstraints,
    Requirement,
    Selector,
    Shape,
    TrainingJob,
)
from edl.planner.policies import POLICIES
from edl.quantities import Resources
from edl.simulator import (
    Elastic,
    Scenario,
    Service,
    Timing,
    Training,
    Work,
    Workload,
    WorkloadRole,
    length,
    queued,
    simulate,
)

HOST: Final = "kubernetes.io/hostname"
DAY: Final = 86_400.0
GANGS: Final = 64
"""The number of gangs in each random cluster."""


class NamedScenario(NamedTuple):
    name: str
    cluster: Scenario


@dataclass(frozen=True, slots=True)
class PlacementFigures:
    """The results of the gangs of one scenario, or of several together. All times in seconds."""

    waits: list[float]
    """From each gang's arrival until its minimum was ready."""
    half: list[float]
    """How long the gangs that were ever half placed were so."""
    never: int
    """Gangs that never ran."""
    stops: int
    """Suspensions of gangs that had started."""
    pod_stops: int
    """Pods that were deleted or lost before their gang's end."""
    decisions: int
    processor: float

    def __add__(self, other: "PlacementFigures") -> "PlacementFigures":
        pairs = ((getattr(self, one.name), getattr(other, one.name)) for one in fields(self))
        return PlacementFigures(*(mine + yours for mine, yours in pairs))


# -- scenarios ---------------------------------------------------------------------------------


def shape(cpu: int, gpu: int = 0, pool: str = "", rules: PodConstraints | None = None) -> Shape:
    room = {"cpu": cpu, "memory": f"{cpu}Gi", "nvidia.com/gpu": gpu, "pods": 1}
    selector = (("pool", pool),) if pool else ()
    return Shape(Resources.parse(room), node_selector=selector, constraints=rules)


def node(number: int, cpu: int, gpu: int = 0, pool: str = "") -> Node:
    name = f"node-{number:03}"
    room = {"cpu": cpu, "memory": f"{max(64, 4 * cpu)}Gi", "nvidia.com/gpu": gpu, "pods": 110}
    labels = {HOST: name, "pool": pool}
    return Node(name, Resources.parse(room), Resources(), Resources(), labels=labels)


def exact_fit() -> NamedScenario:
    """Two parameter servers of 1 CPU and two workers of 3 CPU fill one node of 8 CPU."""
    roles = [WorkloadRole("ps", 2, 2, shape(1)), WorkloadRole("worker", 2, 2, shape(3))]
    kind = Workload("tensorflow", "ps")
    jobs = [Training(queued(f"job-{one:03}", kind, roles), length(600)) for one in range(40)]
    return NamedScenario(
        "exact fit", Scenario(tuple(node(one, 8) for one in range(40)), tuple(jobs))
    )


def mixes() -> Iterator[NamedScenario]:
    """Sixty gangs of two roles in five minutes on thirty nodes, of fixed size or elastic."""
    for growth in (1, 2):
        for seed in (1, 2, 3):
            random = Random(seed)  # noqa: S311 - it only mixes
            nodes = tuple(node(one, random.choice((8, 16))) for one in range(30))
            jobs = tuple(_mixed(random, one, growth) for one in range(60))
            kind = "elastic" if growth > 1 else "fixed"
            yield NamedScenario(f"{kind} mix {seed}", Scenario(nodes, jobs))


def _mixed(random: Random, number: int, growth: int) -> Training:
    cpu, workers = random.choice((1, 2, 3, 5)), random.randint(1, 4)
    servers = random.randint(1, 2)
    roles = [
        WorkloadRole("ps", servers, servers, shape(1)),
        WorkloadRole("worker", workers, workers * growth, shape(cpu)),
    ]
    job = queued(f"job-{number:03}", Workload("tensorflow", "ps"), roles)
    return Training(job, Work(random.randint(100, 900) * workers), at=random.randint(0, 300))


def clusters(count: int) -> Iterator[NamedScenario]:
    """Clusters of 8 to 24 nodes in two pools, some with GPUs; gangs request more than that."""
    for seed in range(count):
        random = Random(seed)  # noqa: S311 - it only mixes
        nodes = [_drawn_node(random, number) for number in range(random.randint(8, 24))]
        jobs = [_gang(random, number) for number in range(GANGS)]
        lengths = [random.uniform(60, 600) for _ in jobs]
        cpu = sum(one.allocatable.get("cpu") for one in nodes)
        asked = sum(map(_least_work, jobs, lengths))
        until = 0.6 * asked / cpu
        trainings = tuple(
            Training(job, _work(job, seconds), at=random.uniform(0, until))
            for job, seconds in zip(jobs, lengths, strict=True)
        )
        services = tuple(_service(random, number, until) for number in range(4))
        settings = Timing(tie=random.randrange)
        yield NamedScenario(
            f"cluster {seed}", Scenario(tuple(nodes), trainings, services, settings=settings)
        )


def _drawn_node(random: Random, number: int) -> Node:
    """Every third node has GPUs, every second is in pool a: every gang fits every cluster."""
    cpu, pool = random.choice((8, 16, 32)), "ab"[number % 2]
    return node(number, cpu, 0, pool) if number % 3 else node(number, 32, 4, pool)


def _gang(random: Random, number: int) -> TrainingJob:
    """One gang in six has a single role that is resized live: its pods are not gated."""
    name, small, least = f"job-{number:03}", shape(1), random.randint(1, 6)
    large, most = _drawn_shape(random, name), least * random.choice((1, 1, 2, 4))
    worker, two = WorkloadRole("worker", least, most, large), random.randint(1, 2)
    roles = (
        (Workload("tensorflow", "ps"), [WorkloadRole("ps", two, two, small), worker]),
        (Workload("tensorflow"), [WorkloadRole("chief", 1, 1, small), worker]),
        (Workload("horovod"), [WorkloadRole("launcher", 1, 1, small), worker]),
        (
            Workload("paddle"),
            [WorkloadRole("master", 1, 1, small), WorkloadRole("trainer", least, most, large)],
        ),
        (
            Workload("mxnet", "dist"),
            [
                WorkloadRole("scheduler", 1, 1, small),
                WorkloadRole("server", two, two, small),
                worker,
            ],
        ),
        (Workload("pytorch"), [worker]),
    )
    return queued(name, *random.choice(roles), priority=random.choice((0, 0, 0, 10)))


def _drawn_shape(random: Random, name: str) -> Shape:
    """Some pods request a GPU and a pool, some a node without another worker of their gang."""
    cpu, way = random.choice((1, 2, 3, 5)), random.random()
    if way < 0.15:
        own = Selector(("default",), (Requirement("job", "In", (name,)),))
        return shape(
            cpu,
            rules=PodConstraints(
                "default", (("job", name),), anti_affinity=(PodAffinityTerm(HOST, own),)
            ),
        )
    return shape(cpu, int(way < 0.35), random.choice(("", "", "a")))


def _least_work(job: TrainingJob, seconds: float) -> float:
    """The work of the job's minimum, in thousandths of a CPU times seconds."""
    return seconds * sum(
        role.spec.min * role.template.shape.requests.get("cpu") for role in job.roles
    )


def _work(job: TrainingJob, seconds: float) -> Work:
    """The work that the job's minimum does in these seconds."""
    role = next((role for role in job.roles if role.spec.max > role.spec.min), job.roles[-1])
    return Work(seconds * role.spec.min)


def _service(random: Random, number: int, until: float) -> Service:
    """Another tenant's pods, whose number changes every thirty seconds or so."""
    steps, at = [], 0.0
    while (at := at + random.expovariate(1 / 30)) < 1.5 * until:
        steps.append((at, random.randint(0, 6)))
    asks = shape(random.choice((1, 2, 4)))
    priority = random.choice((0, 0, 1000))
    return Service(f"tenant-{number}", asks, (*steps, (1.5 * until, 0)), priority)


# -- figures -----------------------------------------------------------------------------------


def measured(scenario: NamedScenario, control_mode: Elastic) -> PlacementFigures:
    begin = process_time()
    result = simulate(scenario.cluster, control_mode, until=DAY)
    frameworks = {one.key: one.job.framework for one in scenario.cluster.trainings}
    half = [gang.below_min for gang in result.jobs if frameworks[gang.key] != "horovod"]
    return PlacementFigures(
        waits=[gang.wait for gang in result.jobs],
        half=[seconds for seconds in half if seconds],
        never=result.never,
        stops=result.stops,
        pod_stops=result.pod_stops,
        decisions=result.timeline.decisions,
        processor=process_time() - begin,
    )


HEAD: Final = (
    f"{'':15}{'gangs':>6}{'never':>6}  running after  50 %    90 %    99 %   100 %    mean"
    f"{'half placed':>14}{'for':>9}{'stops':>7}{'pod stops':>11}{'decisions':>11}{'CPU':>9}"
)


def line(name: str, found: PlacementFigures) -> str:
    waits = sorted(found.waits)
    parts = [waits[ceil(part * len(waits)) - 1] for part in (0.5, 0.9, 0.99, 1)]
    times = "".join(f"{seconds:6.0f} s" for seconds in (*parts, fmean(waits)))
    return (
        f"{name:15}{len(waits):6}{found.never:6}{'':11}{times}{len(found.half):14}"
        f"{sum(found.half):7.0f} s{found.stops:7}{found.pod_stops:11}{found.decisions:11}"
        f"{found.processor:7.1f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, default=40)
    parser.add_argument("--policy", choices=POLICIES, default="fair")
    parser.add_argument("--each", action="store_true", help="a line for each cluster")
    asked = parser.parse_args()
    control_mode = Elastic(POLICIES[asked.policy])
    print(HEAD)
    for scenario in (exact_fit(), *mixes()):
        print(line(scenario.name, measured(scenario, control_mode)), flush=True)
    every = []
    for scenario in clusters(asked.clusters):
        every.append(measured(scenario, control_mode))
        if asked.each:
            print(line(scenario.name, every[-1]), flush=True)
    if every:
        print(line(f"{len(every)} clusters", reduce(add, every)))


if __name__ == "__main__":
    main()
