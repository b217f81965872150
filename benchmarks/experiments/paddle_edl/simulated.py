"""The simulator with EDL's algorithm, which resizes trainers instead of our planner."""

from dataclasses import dataclass, field

from benchmarks.experiments.cluster import MASTER, PSERVER, TRAINER
from benchmarks.experiments.experiments import Experiment
from benchmarks.experiments.paddle_edl.algorithm import (
    PERIOD,
    Idle,
    Pods,
    Room,
    Trainers,
    decide,
    megabytes,
)
from edl import simulator
from edl.model import ClusterState, JobKey, PodPhase, Role
from edl.quantities import CPU
from edl.simulator import Scenario, Simulation, Watcher

SEEN_AFTER = 0.1
"""The seconds from a job's arrival or end until the decision: its pods exist by then."""


@dataclass
class Autoscaler:
    """Decides for the simulated cluster every `PERIOD` seconds, and when a job comes or ends."""

    experiment: Experiment
    simulation: Simulation = field(init=False)
    _known: set[JobKey] = field(default_factory=set)

    def begin(self, scenario: Scenario) -> Simulation:
        """A simulation of this scenario in which the algorithm decides."""
        sizes = {
            MASTER.name: 1,
            PSERVER.name: self.experiment.pservers,
            TRAINER.name: self.experiment.min,
        }
        control_mode = simulator.Plain(lambda _, role: sizes[role])
        self.simulation = Simulation(scenario, control_mode, Watcher(passed=self._passed))
        self._wait(PERIOD)
        return self.simulation

    def _passed(self, now: float) -> None:
        live = self._live()
        if live != self._known:
            self._known = live
            self.simulation.env.event_queue.add(now + SEEN_AFTER, self._decide)

    def _live(self) -> set[JobKey]:
        sim_jobs = self.simulation.job_controller.sim_jobs
        return {key for key, sim_job in sim_jobs.items() if sim_job.track.ended is None}

    def _wait(self, until: float) -> None:
        self.simulation.env.event_queue.add(until, self._tick)

    def _tick(self) -> None:
        """Decide periodically until every job has arrived and ended."""
        self._decide()
        now = self.simulation.now
        to_come = any(training.at > now for training in self.simulation.env.scenario.trainings)
        if self._live() or to_come:
            self._wait(now + PERIOD)

    def _decide(self) -> None:
        job_controller = self.simulation.job_controller
        sim_jobs = {key.name: job_controller.sim_jobs[key] for key in self._live()}
        state = self.simulation.state()
        bounds = (self.experiment.min, self.experiment.max)
        jobs = (
            trainers(name, found.parts[TRAINER.name].value(), bounds)
            for name, found in sim_jobs.items()
        )
        for name, size in decide(jobs, room(state)).items():
            part = sim_jobs[name].parts[TRAINER.name]
            part.write(part.role.changed(size=size))
            job_controller.touch(sim_jobs[name], needs_decision=False)


def trainers(name: str, role: Role, bounds: tuple[int, int]) -> tuple[Trainers, Pods]:
    """A job's trainer role in the form that EDL reads."""
    asked, pods = role.template.shape.requests, role.status.pods
    job = Trainers(
        name, *bounds, role.status.size, cpu=asked.get(CPU), memory=megabytes(asked.get("memory"))
    )
    staying = [pod.phase for pod in pods if not pod.terminating]
    running = staying.count(PodPhase.RUNNING)
    return job, Pods(len(pods), running, staying.count(PodPhase.PENDING))


def room(state: ClusterState) -> Room:
    """Sums over the nodes, their pods, and the pods that wait for a node."""
    found = Room(
        cpu_total=sum(node.allocatable.get(CPU) for node in state.nodes),
        memory_total=megabytes(sum(node.allocatable.get("memory") for node in state.nodes)),
        nodes=[
            Idle(
                node.allocatable.get(CPU) - node.used.get(CPU),
                megabytes(node.allocatable.get("memory") - node.used.get("memory")),
            )
            for node in state.nodes
        ],
    )
    asked = [node.used for node in state.nodes]
    asked += [
        role.template.shape.requests
        for job in state.jobs
        for role in job.roles
        for pod in role.status.pods
        if not pod.node and not pod.ended
    ]
    asked += [one.shape.requests for one in state.demands for _ in range(one.count)]
    found.cpu = sum(one.get(CPU) for one in asked)
    found.memory = megabytes(sum(one.get("memory") for one in asked))
    return found
