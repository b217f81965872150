# ruff: noqa: S311 - seeded figures, no secrets
"""How good the estimates of when a job starts are.

`python -m benchmarks.planner.estimates [--seeds 3]`

Random days of a busy cluster are simulated. Whenever a job has arrived and waits, it is asked when
it will start; later that is compared with when it did. What users declare is wrong by a factor that
is drawn from a log-normal distribution, and jobs become faster with more replicas by Amdahl's law,
which the estimate does not know.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from math import nan
from random import Random
from statistics import median
from typing import NamedTuple

from msgspec.structs import replace

from edl.forecast.estimate import Certainty, Estimate
from edl.forecast.forecast import forecast
from edl.model import ClusterState, JobKey, Node, Shape, TrainingJob
from edl.planner.plan import Plan
from edl.planner.published_settings import Settings
from edl.quantities import Resources
from edl.simulator import (
    Amdahl,
    Elastic,
    Scenario,
    Simulation,
    Training,
    Watcher,
    Work,
    Workload,
    WorkloadRole,
    queued,
)

NODES = 6
SPAN = 5400.0
"""The seconds in which all jobs arrive."""
AT_ONCE = 60.0
"""A job that starts within these seconds only waited for terminating pods, not for an estimate."""
CURVE = Amdahl(0.05)
GI = 2**30


class Population(NamedTuple):
    """Jobs; `declares` and `tells` are the shares that declare a duration, report progress.

    `error` is the standard deviation of the logarithm of declared over true duration.
    """

    name: str
    declares: float
    tells: float
    error: float


POPULATIONS = (
    Population("all declare, and know it", 1, 0, 0),
    Population("all declare, off by a factor of 1.35", 1, 0, 0.3),
    Population("all declare, off by a factor of 2", 1, 0, 0.7),
    Population("all tell their progress, and declare (1.35)", 1, 1, 0.3),
    Population("nine of ten declare (1.35)", 0.9, 0, 0.3),
    Population("half declare (1.35), half of the others tell", 0.5, 0.5, 0.3),
    Population("no job declares or reports", 0, 0, 0),
)


@dataclass
class EstimateLog:
    """What was estimated for each job when it arrived, in seconds of the simulation."""

    scenario: Scenario
    settings: Settings
    simulation: Simulation | None = None
    estimates: dict[JobKey, tuple[float, Estimate]] = field(default_factory=dict)

    def look(self, now: float, state: ClusterState, plan: Plan) -> None:
        for entry in plan.waiting:
            if (entry.position or entry.never) and entry.job not in self.estimates:
                found = forecast(state, self.settings, [entry.job])
                self.estimates[entry.job] = (now, found.starts[entry.job])


def node(number: int) -> Node:
    room = Resources.of({"cpu": 16_000, "memory": 64 * GI, "pods": 110})
    return Node(f"node-{number:02}", room, Resources(), Resources())


def training(random: Random, population: Population, number: int, at: float) -> Training:
    low = random.randint(2, 8)
    high = low * random.choice((1, 1, 2, 4))
    shape = Shape(Resources.of({"cpu": random.choice((1000, 2000, 4000)), "memory": GI, "pods": 1}))
    job = queued(
        f"job-{number:03}", Workload("pytorch"), [WorkloadRole("worker", low, high, shape)]
    )
    length = random.lognormvariate(7.2, 0.8)  # half of them take more than 22 minutes, at their min
    work = Work(length * CURVE(low), CURVE)
    tells = random.random() < population.tells
    if random.random() < population.declares:
        job = declaring(job, length * random.lognormvariate(0, population.error))
    return Training(job, work, at=at, tells=tells)


def declaring(job: TrainingJob, seconds: float) -> TrainingJob:
    roles = (role.changed(duration=timedelta(seconds=round(seconds))) for role in job.roles)
    return replace(job, roles=tuple(roles))


def scenario(random: Random, population: Population, jobs: int) -> Scenario:
    times = sorted(random.uniform(0, SPAN) for _ in range(jobs))
    found = tuple(training(random, population, number, at) for number, at in enumerate(times))
    return Scenario(tuple(map(node, range(NODES))), found)


class Answer(NamedTuple):
    """One estimate: the estimated and the actual seconds until the start."""

    certainty: Certainty
    said: float
    took: float


def answers(population: Population, seed: int, jobs: int) -> Iterator[Answer]:
    given = scenario(Random(f"{seed} {population.name}"), population, jobs)
    settings = Settings()
    asked = EstimateLog(given, settings)
    control_mode = Elastic(settings.policy_to_apply(), settings.limits)
    simulation = Simulation(given, control_mode, Watcher(decided=asked.look))
    simulation.run()
    tracks = {one.key: one.track for one in simulation.result().jobs}
    for key, (now, estimate) in asked.estimates.items():
        began = next(iter(tracks[key].wanted.times), None)
        if began is not None and began - now > AT_ONCE:
            at = estimate.at
            said = nan if at is None else (at - given.moment(now)).total_seconds()
            yield Answer(estimate.certainty, said, began - now)


def tell(population: Population, found: list[Answer]) -> None:
    by_kind: defaultdict[Certainty, list[Answer]] = defaultdict(list)
    for one in found:
        by_kind[one.certainty].append(one)
    wait = median(one.took for one in found) if found else nan
    print(f"{population.name}: {len(found)} waited, {wait / 60:.0f} min in the median")
    if exact := by_kind[Certainty.ABOUT] + by_kind[Certainty.NOW]:
        off = [abs(one.said - one.took) for one in exact]
        part = [abs(one.said - one.took) / max(one.took, 60) for one in exact]
        print(
            f"  about: {len(exact):4}  median error {median(off) / 60:5.1f} min,"
            f" {median(part) * 100:3.0f} % of the wait"
        )
    if latest := by_kind[Certainty.LATEST]:
        kept = sum(one.took <= one.said * 1.1 for one in latest)
        early = [(one.said - one.took) / max(one.took, 60) for one in latest]
        print(
            f"  at the latest: {len(latest):4}  kept (to 10 %) {kept / len(latest) * 100:.0f} %,"
            f" in the median {median(early) * 100:.0f} % too long"
        )
    if unknown := by_kind[Certainty.UNKNOWN]:
        print(f"  unknown: {len(unknown):4}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--jobs", type=int, default=60)
    given = options.parse_args()
    print(f"{given.seeds} x {given.jobs} jobs in {SPAN / 3600:g} h on {NODES} nodes of 16 CPU")
    for population in POPULATIONS:
        found = [
            one for seed in range(given.seeds) for one in answers(population, seed, given.jobs)
        ]
        tell(population, found)


if __name__ == "__main__":
    main()
