"""The same trace in the simulator: `python -m benchmarks.scheduling.teams.simulated`.

It takes no account of a busy control plane: a pod starts and ends within a second, and the
reconciler decides twice per second.
"""

import argparse
from collections.abc import Iterator
from itertools import product
from statistics import fmean, median
from typing import Final, NamedTuple

from msgspec.structs import replace

from benchmarks.scheduling.teams.accounting import TICK
from benchmarks.scheduling.teams.trace import (
    CAPACITY,
    FIRST_BURST,
    GPU,
    GPUS,
    NODES,
    Submission,
    Trace,
    trace,
)
from edl.model import ClusterState, JobKey, Node, Shape, Team, Teams
from edl.planner.policies import POLICIES
from edl.quantities import Resources
from edl.simulator import (
    ENDLESS,
    Elastic,
    Scenario,
    Simulation,
    Timing,
    Training,
    Watcher,
    Workload,
    WorkloadRole,
    length,
    queued,
)
from edl.simulator.scenario import START
from edl.simulator.timeline import Timeline

_SETTINGS: Final = Timing(start_up=1, shut_down=1, round=0.5)
_ROOM: Final = Resources.parse({"cpu": 96, "memory": "512Gi", "pods": 110, GPU: GPUS})
_ON_GPU: Final = Shape(Resources.parse({GPU: 1, "pods": 1}))
_BESIDE: Final = Shape(Resources.parse({"cpu": "100m", "pods": 1}))


class Simulated(NamedTuple):
    """As `accounting.Figures`."""

    owner_median: float
    owner_worst: float
    resizes: int
    utilisation: float


def measure(given: Trace) -> Simulated:
    """Simulate the trace."""
    simulation = Simulation(scenario(given), Elastic(POLICIES["fair"]), Watcher())
    simulation.run(given.lasts)
    timeline = simulation.env.timeline
    waits = [
        ran - one.at
        for one in given.submissions
        if one.seconds and (ran := timeline.tracks[_key(one)].running) is not None
    ]
    resizes = sum(track.resizes for track in timeline.tracks.values())
    return Simulated(median(waits), max(waits), resizes, fmean(_used(given, timeline)))


def scenario(given: Trace) -> Scenario:
    """The trace's nodes, teams and jobs."""
    nodes = (Node(f"node-{at:02}", _ROOM, Resources(), Resources()) for at in range(NODES))
    teams = (
        Team(name, namespaces=(name,), guaranteed=Resources.parse({GPU: gpus}))
        for name, gpus in given.guaranteed.items()
    )
    namespaces = {name: name for name in given.guaranteed}
    around = ClusterState(START, (), (), teams=Teams.of(teams), namespace_teams=namespaces)
    return Scenario(
        tuple(nodes), tuple(map(_training, given.submissions)), settings=_SETTINGS, around=around
    )


def _training(one: Submission) -> Training:
    workers = WorkloadRole("worker", one.least, one.pods, _ON_GPU)
    if one.seconds is None:
        roles = [WorkloadRole("ps", 1, 1, _BESIDE), workers]
        job, work = queued(one.name, Workload("tensorflow"), roles), ENDLESS
    else:
        job, work = queued(one.name, Workload("pytorch"), [workers]), length(one.seconds)
    return Training(replace(job, key=_key(one)), work, at=round(one.at, 3))


def _key(one: Submission) -> JobKey:
    return JobKey(one.team, one.name)


def _used(given: Trace, timeline: Timeline) -> Iterator[float]:
    at = FIRST_BURST
    while at < given.lasts:
        ends = ((one, timeline.tracks[_key(one)].ended) for one in given.submissions)
        asked = sum(one.pods for one, end in ends if one.at <= at and (end is None or at < end))
        yield timeline.used.at(at).get(GPU, 0) / min(CAPACITY, asked)
        at += TICK


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--teams", type=int, nargs="*", default=[2, 5])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    for teams, seed in product(options.teams, range(options.seeds)):
        found = measure(trace(seed, teams))
        print(
            f"{teams} teams, simulated, seed {seed}: wait {found.owner_median:.1f} s, worst "
            f"{found.owner_worst:.1f} s, {found.resizes} resizes, {found.utilisation:.1%} used"
        )


if __name__ == "__main__":
    main()
