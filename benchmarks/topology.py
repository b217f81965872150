"""Gangs on a fragmented cluster of racks: `python -m benchmarks.topology [--seeds 3] [--ways …]`.

Ours and Kueue, one after the other on a fresh control plane of the sandbox with the same 256 nodes,
tenants' pods and gangs. Gangs do not end: who packs better has more of them running. Before that
ours alone, in the simulator on more seeds, with and without what the gangs say of topology.
"""

import argparse
import time
from itertools import product
from statistics import fmean
from typing import Final

from msgspec.structs import replace

from benchmarks.contestants import WAYS, measure
from benchmarks.racks import (
    BLOCK,
    DEMANDS,
    GPU,
    GPUS,
    RACK,
    Found,
    Gang,
    Machine,
    World,
    world,
)
from edl.model import ClusterState, Node, Shape, Topology, TrainingJob
from edl.planner.plan import Plan
from edl.planner.policies import POLICIES
from edl.resources import Resources
from edl.simulator import ENDLESS, Elastic, Kind, Seat, Training, Watcher, queued, simulate
from edl.simulator import World as Simulated

SPAN: Final = 300.0
"""Simulated seconds."""


# -- simulated ---------------------------------------------------------------------------------


def simulated(given: World, *, near: bool) -> Found:
    """Ours in the simulator; without `near` nothing is said of topology."""
    found = Found(given)

    def see(now: float, state: ClusterState, _plan: Plan) -> None:
        for job in state.jobs:
            for pod in job.roles[0].pods:
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
    job = queued(gang.name, Kind("pytorch"), [Seat("worker", gang.pods, gang.pods, shape)])
    required = (("", gang.required),) if gang.required else ()
    asked = Topology(required, (BLOCK, RACK))
    role = replace(job.roles[0], topology=asked if near else Topology(), gated=near)
    return replace(job, roles=(role,))


def _node(machine: Machine) -> Node:
    labels = {BLOCK: machine.block, RACK: machine.rack}
    room, held = (Resources.parse({GPU: GPUS, "pods": 110}), Resources.parse({GPU: machine.held}))
    return Node(machine.name, room, held, Resources(), labels=labels)


# -- figures -----------------------------------------------------------------------------------


def row(name: str, found: Found) -> str:
    whole = found.whole
    wished = [gang for gang in whole if gang.required != RACK]
    racks = fmean(found.domains(gang, RACK) for gang in wished)
    blocks = fmean(found.domains(gang, BLOCK) for gang in wished)
    times = sorted(moment - found.begun for moment in found.times)
    used = sum(gang.total for gang in whole) / found.given.free
    return (
        f"{name:<40}{len(whole):>4} of {len(found.given.gangs)}{found.half:>6}{found.broken:>8}"
        f"{used:>9.1%}{racks:>8.2f}{blocks:>9.2f}"
        f"{times[len(times) // 2]:>9.1f}{times[-1]:>8.1f}{sum(found.processor.values()):>8.1f}"
    )


HEAD: Final = (
    f"{'':<40}{'running':>10}{'half':>6}{'broken':>8}{'GPUs used':>10}{'racks':>7}{'blocks':>9}"
    f"{'half, s':>9}{'last, s':>8}{'CPU s':>8}"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--simulated", type=int, default=10, help="seeds in the simulator")
    parser.add_argument("--ways", nargs="*", choices=WAYS, default=list(WAYS))
    options = parser.parse_args()
    print(HEAD)
    for demand, seed in product(DEMANDS, range(options.simulated)):
        for near in (True, False):
            name = "simulated" if near else "simulated, nothing asked"
            found = simulated(world(seed, demand), near=near)
            print(row(f"{demand:.0%}, seed {seed}, {name}", found), flush=True)
    for demand, seed in product(DEMANDS, range(options.seeds)):
        for name in options.ways:
            found = measure(WAYS[name], world(seed, demand))
            print(row(f"{demand:.0%}, seed {seed}, {name}", found), flush=True)


if __name__ == "__main__":
    main()
