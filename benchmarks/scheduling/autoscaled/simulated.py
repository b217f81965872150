"""Where node-hours go: `python -m benchmarks.scheduling.autoscaled.simulated [--seeds 3]`.

The same trace in the project's simulator. It packs jobs of fixed size onto as few nodes as it can,
which kube-scheduler does not, so that what is left between the rows is elasticity alone.
"""

import argparse
from collections.abc import Callable
from datetime import timedelta
from math import inf
from statistics import fmean
from typing import Final, NamedTuple

from benchmarks.scheduling.autoscaled.trace import (
    LEAST,
    MAX_PODS,
    NODES,
    PODS,
    SERIAL,
    Submission,
    trace,
)
from edl.model import ClusterState, Node, Shape
from edl.planner.decision_limits import GrowthMode, Limits, ProvisionerSettings
from edl.planner.policies import FAIR
from edl.quantities import CPU, Resources
from edl.simulator import (
    Amdahl,
    ControlMode,
    Elastic,
    Plain,
    Scenario,
    SimulatedNodePool,
    Simulation,
    Timing,
    Training,
    Watcher,
    Work,
    Workload,
    WorkloadRole,
    queued,
)

POD: Final = Shape(Resources(((CPU, 3900),)))
LAUNCHER: Final = Shape(Resources(((CPU, 10),)))
_NODE: Final = Node("node", Resources(((CPU, 15900),)), Resources(), Resources())
POOL: Final = SimulatedNodePool("pool", _NODE, NODES, start_up=10, idle=35)
"""Karpenter removes a node 10 s after its pods changed, looks every 10 s, and waits 15 s more."""
TIMING: Final = Timing(start_up=1, shut_down=1, round=0.5, autoscaler=2)
HEAD: Final = (
    f"{'':<36}{'mean, s':>9}{'node-hours':>12}{'work':>7}{'asked':>7}{'beside':>8}{'empty':>7}"
)


class UsageFigures(NamedTuple):
    """The mean completion in seconds, and node-hours of ready nodes by what they were used for."""

    completion: float
    work: float
    asked: float
    """Held by provisional pods."""
    beside: float
    """Idle beside a pod."""
    empty: float
    """Nodes without any pod."""

    @property
    def node_hours(self) -> float:
        return self.work + self.asked + self.beside + self.empty


def run(scenario: Scenario, mode: ControlMode) -> UsageFigures:
    simulation, hours = Simulation(scenario, mode, Watcher()), [0.0] * 4
    while simulation.next < inf:
        simulation.run(simulation.next)
        passed = simulation.next - simulation.now
        if passed < inf:
            found = _now(simulation.state())
            hours = [one + passed * part / 3600 for one, part in zip(hours, found, strict=True)]
    return UsageFigures(simulation.result().completions.mean, *hours)


def _now(state: ClusterState) -> tuple[float, float, float, float]:
    """The nodes that are used by (work, provisional pods), idle beside a pod, and empty."""
    pods = [node.used.get(CPU) // POD.requests.get(CPU) for node in state.nodes]
    asked = sum(
        pod.requests == POD.requests for job in state.jobs for pod in job.provisioning.bound
    )
    beside = sum(PODS - count for count in pods if count)
    return (sum(pods) - asked) / PODS, asked / PODS, beside / PODS, float(pods.count(0))


def scenario(framework: str, least: int, seed: int) -> Scenario:
    trainings = tuple(_training(framework, least, one) for one in trace(seed))
    return Scenario((), trainings, settings=TIMING, pools=(POOL,))


def _training(framework: str, least: int, one: Submission) -> Training:
    roles = [WorkloadRole("worker", least, MAX_PODS, POD)]
    if framework == "horovod":
        roles.insert(0, WorkloadRole("launcher", 1, 1, LAUNCHER))
    job = queued(one.name, Workload(framework), roles)
    return Training(job, Work(one.work, Amdahl(SERIAL)), one.at)


def elastic(growth: GrowthMode) -> ControlMode:
    seconds = timedelta(seconds=1)
    limits = Limits(
        growth=growth,
        idle_node_after=10 * seconds,
        provisioning=ProvisionerSettings(provisioning_timeout=120 * seconds),
    )
    return Elastic(FAIR, limits)


def _case(framework: str, least: int, mode: ControlMode) -> Callable[[int], UsageFigures]:
    return lambda seed: run(scenario(framework, least, seed), mode)


def _fixed(pods: int) -> Callable[[int], UsageFigures]:
    return _case("tensorflow", LEAST, Plain(lambda _job, _role: pods))


NEEDED: Final = elastic(GrowthMode.NEEDED_NODES)
CASES: Final = {
    **{f"{pods} pods a job": _fixed(pods) for pods in (2, 4, 5, 8)},
    **{f"live, {least} to 8": _case("horovod", least, NEEDED) for least in (2, 4, 5)},
    **{
        f"live, {least} to 8, any-node": _case("horovod", least, elastic(GrowthMode.ANY_NODE))
        for least in (2, 4, 5)
    },
    "restarts, 2 to 8": _case("tensorflow", LEAST, NEEDED),
}


def line(name: str, found: UsageFigures) -> str:
    parts = f"{found.work:>7.2f}{found.asked:>7.2f}{found.beside:>8.2f}{found.empty:>7.2f}"
    return f"{name:<36}{found.completion:>9.1f}{found.node_hours:>12.2f}{parts}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = range(parser.parse_args().seeds)
    print(HEAD)
    for name, case in CASES.items():
        columns = zip(*map(case, seeds), strict=True)
        print(line(name, UsageFigures(*map(fmean, columns))), flush=True)


if __name__ == "__main__":
    main()
