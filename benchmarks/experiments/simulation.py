"""T1 and T2 in the simulator, with the same traces, shapes and times as in the replay."""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from benchmarks.experiments.ceiling import rooms
from benchmarks.experiments.cluster import BASE, MASTER, NGINX, PSERVER, TRAINER, Kind, nodes
from benchmarks.experiments.course import Sample
from benchmarks.experiments.experiments import (
    EDL,
    START_SECONDS,
    STOP_SECONDS,
    WITH,
    Arrival,
    Experiment,
    trace,
)
from benchmarks.experiments.paddle_edl.simulated import Autoscaler
from benchmarks.experiments.record import EVERY, Circumstances, JobRecord, Record, Step
from benchmarks.experiments.work import CONTENTION
from benchmarks.report.circumstances import commit, now
from edl import simulator
from edl.model import ClusterState, Node, Shape
from edl.planner.decision_limits import Limits
from edl.planner.policies import POLICIES
from edl.quantities import CPU, Resources
from edl.simulator import JobResult, Result, Simulation, WorkloadRole

LONGEST: Final = 20_000.0
"""The seconds after which a simulation ends even if jobs are not done; none reached it."""
_CURVE: Final = simulator.Amdahl(CONTENTION)
_PODS_PER_NODE: Final = 110
_JUST_BEFORE: Final = 0.01


def simulate(experiment: Experiment, way: str, seed: int) -> Record:
    """Simulate to the experiment's horizon; without a service, until every job is done."""
    simulation = _simulation(experiment, way, _scenario(experiment, seed))
    steps = list(_steps(experiment, simulation))
    simulation.run(experiment.horizon if experiment.nginx else LONGEST)
    result = simulation.result()
    works = {found.name: found.work for found in trace(experiment, seed)}
    end = experiment.horizon if experiment.nginx else result.last
    return Record(
        circumstances=Circumstances(experiment.name, "simulation", way, seed, now(), commit()),
        jobs=tuple(_job(experiment, job, works[job.key.name], end) for job in result.jobs),
        steps=tuple(_reached(step, result) for step in steps),
        stops={TRAINER.name: result.pod_stops, "whole jobs": result.stops},
        samples=tuple(_samples(result, end)),
    )


def shape(kind: Kind) -> Shape:
    return Shape(_asked(kind))


def _asked(kind: Kind) -> Resources:
    return Resources.of({CPU: kind.cpu, "memory": kind.memory * 2**20, "pods": 1})


def _simulation(experiment: Experiment, way: str, scenario: simulator.Scenario) -> Simulation:
    if way == EDL:
        return Autoscaler(experiment).begin(scenario)
    return Simulation(scenario, _control_mode(experiment, way), simulator.Watcher())


def _control_mode(experiment: Experiment, way: str) -> simulator.ControlMode:
    if way == WITH:
        return simulator.Elastic(POLICIES["fair"], Limits())
    sizes = {MASTER.name: 1, PSERVER.name: experiment.pservers, TRAINER.name: experiment.fixed}
    return simulator.Plain(lambda _, role: sizes[role])


def _scenario(experiment: Experiment, seed: int) -> simulator.Scenario:
    service = simulator.Service(NGINX.name, shape(NGINX), experiment.nginx, priority=1000)
    return simulator.Scenario(
        nodes=tuple(_nodes()),
        trainings=tuple(_training(experiment, found) for found in trace(experiment, seed)),
        services=(service,) if experiment.nginx else (),
        settings=simulator.Timing(start_up=START_SECONDS, shut_down=STOP_SECONDS),
    )


def _nodes() -> Iterator[Node]:
    for name, machines in nodes():
        room = {"memory": machines.memory * 2**20, "pods": _PODS_PER_NODE}
        yield Node(name, Resources.of({CPU: machines.cpu} | room), _asked(BASE), Resources())


def _training(experiment: Experiment, arrival: Arrival) -> simulator.Training:
    all_roles = (
        WorkloadRole(MASTER.name, 1, 1, shape(MASTER)),
        WorkloadRole(PSERVER.name, experiment.pservers, experiment.pservers, shape(PSERVER)),
        WorkloadRole(TRAINER.name, experiment.min, experiment.max, shape(TRAINER)),
    )
    job = simulator.queued(arrival.name, simulator.Workload("paddle", "cloud"), all_roles)
    return simulator.Training(job, simulator.Work(arrival.work, _CURVE), arrival.at)


def _steps(experiment: Experiment, simulation: Simulation) -> Iterator[Step]:
    """Run through the service's steps; yields each with the state of the nodes at its end."""
    begins = experiment.nginx or ((0.0, 0),)
    last = experiment.horizon if experiment.nginx else experiment.window[1]
    ends = [*(at - _JUST_BEFORE for at, _ in begins[1:]), last]
    for (asked, replicas), end in zip(begins, ends, strict=True):
        simulation.run(end)
        free, left = _free(simulation.state())
        yield Step(asked, replicas, None, rooms(free), rooms(left))


def _free(state: ClusterState) -> tuple[dict[str, int], dict[str, int]]:
    """The free CPU of each node beside base load and service, and beside other roles as well."""
    free = {node.name: (node.allocatable - node.used).get(CPU) for node in state.nodes}
    left = dict(free)
    for role in (role for job in state.jobs for role in job.roles):
        cpu = role.template.shape.requests.get(CPU)
        for pod in (pod for pod in role.status.pods if pod.node and not pod.ended):
            free[pod.node] += cpu
            left[pod.node] += cpu * (role.name == TRAINER.name)
    return free, left


def _reached(step: Step, result: Result) -> Step:
    line = result.timeline.services.get(NGINX.name)
    if line is None:
        return replace(step, reached=step.asked)
    spans = line.spans(step.asked, result.until)
    moment = next((begin for begin, _, ready in spans if ready == step.replicas), None)
    return replace(step, reached=moment)


def _job(experiment: Experiment, job: JobResult, work: float, end: float) -> JobRecord:
    track = job.track
    running = end if track.running is None else track.running
    until = end if track.ended is None else track.ended
    short = track.short.spans(running, max(until, running))
    sizes = track.size.spans(track.arrived, max(until, track.arrived))
    whole = next((begin for begin, _, size in sizes if size >= experiment.fixed), None)
    return JobRecord(
        created=track.arrived,
        minimum=track.running,
        whole=whole,
        finished=track.ended,
        lacking=sum(after - before for before, after, lacks in short if lacks),
        work=work,
    )


def _samples(result: Result, end: float) -> Iterator[Sample]:
    line, services = result.timeline, result.timeline.services
    for number in range(int(end // EVERY) + 1):
        at = number * EVERY
        yield Sample(
            at=at,
            cpu=line.used.at(at).get(CPU, 0),
            nginx=services[NGINX.name].at(at) if services else 0,
            trainers=tuple(job.track.size.at(at) for job in result.jobs),
            below=sum(_is_below(job, at) for job in result.jobs),
        )


def _is_below(job: JobResult, at: float) -> bool:
    track = job.track
    if at < track.arrived or (track.ended is not None and at >= track.ended):
        return False
    return track.running is None or at < track.running or track.short.at(at)
