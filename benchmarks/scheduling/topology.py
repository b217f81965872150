"""Gangs on a fragmented cluster of racks.

`python -m benchmarks.scheduling.topology [--seeds 3] [--contestants …]`

Ours and Kueue, one after the other on a fresh control plane of the sandbox with the same 256 nodes,
tenants' pods and gangs. Gangs do not end: the better packing has more of them running. Before that
ours alone, in the simulator on more seeds, with and without what the gangs say of topology.
"""

import argparse
import time
from collections.abc import Iterator
from itertools import product
from statistics import fmean
from typing import Final, NamedTuple

from msgspec.structs import replace

from benchmarks.scheduling import runs
from benchmarks.scheduling.contestants import CONTESTANTS, measure
from benchmarks.scheduling.racks import (
    BLOCK,
    DEMANDS,
    GPU,
    GPUS,
    RACK,
    Gang,
    Machine,
    Placements,
    RackScenario,
    scenario,
)
from edl.model import ClusterState, Node, Shape, Topology, TrainingJob
from edl.planner.plan import Plan
from edl.planner.policies import POLICIES
from edl.quantities import Resources
from edl.simulator import (
    ENDLESS,
    Elastic,
    Training,
    Watcher,
    Workload,
    WorkloadRole,
    queued,
    simulate,
)
from edl.simulator import Scenario as Simulated

SPAN: Final = 300.0
"""The simulated seconds."""


# -- simulated ---------------------------------------------------------------------------------


def simulated(given: RackScenario, *, near: bool) -> Placements:
    """The results in the simulator; without `near` the gangs require and prefer no topology."""
    found = Placements(given)

    def see(now: float, state: ClusterState, _plan: Plan) -> None:
        for job in state.jobs:
            for pod in job.roles[0].status.pods:
                if pod.node:
                    found.see(job.key.name, str(pod.index), pod.node, now)

    begin = time.process_time()
    trainings = tuple(Training(_training(gang, near=near), ENDLESS) for gang in given.gangs)
    nodes = tuple(map(_node, given.machines))
    simulate(Simulated(nodes, trainings), Elastic(POLICIES["fair"]), SPAN, Watcher(decided=see))
    found.processor = {"simulation": time.process_time() - begin}
    return found


def _training(gang: Gang, *, near: bool) -> TrainingJob:
    shape = Shape(Resources.parse({GPU: gang.gpus, "pods": 1}))
    job = queued(
        gang.name, Workload("pytorch"), [WorkloadRole("worker", gang.pods, gang.pods, shape)]
    )
    required = (("", gang.required),) if gang.required else ()
    asked = Topology(required, (BLOCK, RACK))
    role = job.roles[0].changed(topology=asked if near else Topology(), gated=near)
    return replace(job, roles=(role,))


def _node(machine: Machine) -> Node:
    labels = {BLOCK: machine.block, RACK: machine.rack}
    room, held = (Resources.parse({GPU: GPUS, "pods": 110}), Resources.parse({GPU: machine.held}))
    return Node(machine.name, room, held, Resources(), labels=labels)


# -- figures -----------------------------------------------------------------------------------


class Row(NamedTuple):
    """The figures of one cluster, or means of several; times in seconds."""

    gangs: float
    running: float
    half: float
    broken: float
    used: float
    """The used share of the GPUs that no tenant holds."""
    racks: float
    """The mean number of racks over running gangs that do not require one rack."""
    blocks: float
    half_after: float
    """From the release until half of the pods are bound."""
    last_after: float


def row(found: Placements) -> tuple[Row, float]:
    """The figures, and the processor seconds."""
    whole = found.whole
    free = [gang for gang in whole if gang.required != RACK]
    times = sorted(moment - found.begun for moment in found.times)
    figures = Row(
        gangs=len(found.given.gangs),
        running=len(whole),
        half=found.half,
        broken=found.broken,
        used=sum(gang.total for gang in whole) / found.given.free,
        racks=fmean(found.domains(gang, RACK) for gang in free),
        blocks=fmean(found.domains(gang, BLOCK) for gang in free),
        half_after=times[len(times) // 2],
        last_after=times[-1],
    )
    return figures, sum(found.processor.values())


HEAD: Final = (
    f"{'':<44}{'gangs':>6}{'running':>9}{'partial':>9}{'broken':>8}{'GPUs used':>11}{'racks':>7}"
    f"{'blocks':>8}{'half, s':>9}{'last, s':>9}{'CPU s':>7}"
)


def line(name: str, one: Row, spent: float) -> str:
    return (
        f"{name:<44}{one.gangs:>6.4g}{one.running:>9.4g}{one.half:>9.2g}{one.broken:>8.2g}"
        f"{one.used:>11.1%}{one.racks:>7.2f}{one.blocks:>8.2f}{one.half_after:>9.1f}"
        f"{one.last_after:>9.1f}{spent:>7.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--simulated", type=int, default=40, help="seeds in the simulator")
    parser.add_argument("--contestants", nargs="*", choices=CONTESTANTS, default=list(CONTESTANTS))
    options = parser.parse_args()
    print(HEAD)
    for demand, near in product(DEMANDS, (True, False)):
        rows = [
            row(simulated(scenario(seed, demand), near=near)) for seed in range(options.simulated)
        ]
        name = f"{demand:.0%}, simulated{'' if near else ', nothing asked'}"
        print(line(f"{name}, mean of {len(rows)}", *runs.mean(rows)), flush=True)
    runs.print_runs(line, played(options))


def played(options: argparse.Namespace) -> Iterator[tuple[str, int, Row, float]]:
    for demand, seed in product(DEMANDS, range(options.seeds)):
        for name in options.contestants:
            found = measure(CONTESTANTS[name], scenario(seed, demand))
            yield f"{demand:.0%}, {name}", seed, *row(found)


if __name__ == "__main__":
    main()
