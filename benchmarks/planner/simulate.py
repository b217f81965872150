"""A simulated day with 1,000 jobs.

`python -m benchmarks.planner.simulate [--jobs 1000] [--nodes 150]`

Processor time of the whole simulation on one core, under each policy and without us.
"""

import argparse
from random import Random
from time import process_time
from typing import TYPE_CHECKING

from edl.model import Node, Shape
from edl.planner.policies import POLICIES
from edl.quantities import Resources
from edl.simulator import (
    Amdahl,
    Elastic,
    Plain,
    Result,
    Scenario,
    Training,
    Work,
    Workload,
    WorkloadRole,
    queued,
    simulate,
)

if TYPE_CHECKING:
    from edl.simulator import ControlMode

DAY = 86_400.0
SIZES = ((1, 4), (2, 8), (2, 16), (4, 32))
SHAPES = tuple(
    Shape(Resources.parse({"cpu": cpu, "memory": memory, "nvidia.com/gpu": gpu, "pods": 1}))
    for cpu, memory, gpu in ((1, "2Gi", 0), (2, "8Gi", 0), (4, "8Gi", 0), (4, "16Gi", 1))
)


def nodes(count: int) -> tuple[Node, ...]:
    """Nodes, of which every third has GPUs."""
    return tuple(
        Node(
            f"node-{number:03}",
            Resources.parse(
                {
                    "cpu": 16,
                    "memory": "64Gi",
                    "nvidia.com/gpu": 4 if number % 3 == 0 else 0,
                    "pods": 110,
                }
            ),
            Resources(),
            Resources(),
        )
        for number in range(count)
    )


def scenario(jobs: int, node_count: int, seed: int) -> Scenario:
    """Poisson arrivals over the day; the amount of work about fills the cluster."""
    random = Random(seed)  # noqa: S311 - no secret depends on it
    arrivals = sorted(random.uniform(0, DAY) for _ in range(jobs))
    mean = 0.6 * node_count * 16_000 / 2_500 * DAY / jobs
    trainings = []
    for number, at in enumerate(arrivals):
        low, high = random.choice(SIZES)
        job = queued(
            f"job-{number:04}",
            Workload("pytorch"),
            [WorkloadRole("worker", low, high, random.choice(SHAPES))],
            priority=random.choice((0, 0, 0, 10)),
        )
        work = Work(random.expovariate(1 / mean) + 60, Amdahl(0.02))
        trainings.append(Training(job, work, at))
    return Scenario(nodes(node_count), tuple(trainings))


def line(name: str, result: Result, seconds: float) -> str:
    waits, ends = result.wait_times, result.completions
    return (
        f"{name:11} {seconds:6.1f} s  {result.timeline.decisions:6} decisions  "
        f"{result.ended:4} ended  wait {waits.mean:7.0f} s  completion {ends.mean:7.0f} s  "
        f"CPU {result.utilisation('cpu'):.1%}"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--nodes", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--policies", nargs="*", default=list(POLICIES))
    asked = parser.parse_args()
    given = scenario(asked.jobs, asked.nodes, asked.seed)
    print(f"{asked.jobs} jobs in a day on {asked.nodes} nodes, seed {asked.seed}")
    control_modes: dict[str, ControlMode] = {
        name: Elastic(policy) for name, policy in POLICIES.items() if name in asked.policies
    } | {"plain": Plain()}
    for name, control_mode in control_modes.items():
        begin = process_time()
        result = simulate(given, control_mode, until=DAY)
        print(line(name, result, process_time() - begin), flush=True)


if __name__ == "__main__":
    main()
