"""The simulation's main loop: instant after instant, while there are events."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from math import inf
from typing import Final

from msgspec.structs import replace

from edl.model import ClusterState, Node, Shape, Taint
from edl.model.nodes import CORDONED
from edl.quantities import Resources
from edl.simulator.cluster.bound_pod_constraints import PodRules
from edl.simulator.cluster.consolidation import Consolidation
from edl.simulator.cluster.job_controller import JobController
from edl.simulator.cluster.scheduler import Scheduler
from edl.simulator.cluster.simulated_autoscaler import SimulatedAutoscaler
from edl.simulator.cluster.simulated_job import SimulatedJob
from edl.simulator.cluster.simulated_nodes import SimulatedNodes
from edl.simulator.cluster.simulated_service import SimulatedService
from edl.simulator.elastic_control import ElasticControl, NoControl
from edl.simulator.environment import Environment
from edl.simulator.results import Result, finished
from edl.simulator.scenario import (
    Change,
    ControlMode,
    Elastic,
    NodeEvent,
    Scenario,
    Training,
    Watcher,
)

_ENOUGH: Final = 6
"""Failed requests for nodes after which a job counts as hopeless: its back-off is the longest."""
_CORDON: Final = Taint(CORDONED, "", "NoSchedule")


def simulate(
    scenario: Scenario,
    control_mode: ControlMode,
    until: float = inf,
    watcher: Watcher | None = None,
) -> Result:
    """Simulate a scenario until a time in seconds, or until there are no more events.

    Deterministic: randomness belongs in the construction of the scenario.
    """
    simulation = Simulation(scenario, control_mode, watcher or Watcher())
    simulation.run(until)
    return simulation.result()


class Simulation:
    """A simulation that can be run in pieces, and inspected in between."""

    def __init__(self, scenario: Scenario, control_mode: ControlMode, watcher: Watcher) -> None:
        shapes = _shapes(scenario)
        sim_nodes = SimulatedNodes(
            scenario.nodes, _names(scenario, shapes), PodRules(shapes, scenario.around.foreign_pods)
        )
        self.env = Environment(scenario, sim_nodes, Scheduler(sim_nodes, scenario.settings.tie))
        self.job_controller = JobController(self.env, gates=isinstance(control_mode, Elastic))
        consolidation = (
            Consolidation(self.env, self.job_controller) if self.job_controller.gates else None
        )
        self._autoscaler = SimulatedAutoscaler(self.env, scenario.pools, consolidation)
        self._watcher = watcher
        self._services = [SimulatedService(self.env, service) for service in scenario.services]
        self._control: ElasticControl | NoControl = (
            ElasticControl(self.env, self.job_controller, control_mode, watcher, self.state)
            if isinstance(control_mode, Elastic)
            else NoControl(self.env, self.job_controller, control_mode)
        )
        self._last_round = -inf
        self._wake = inf
        self._until = 0.0
        self._given = _last(scenario)
        for training in sorted(
            scenario.trainings, key=lambda training: (training.at, training.key)
        ):
            self.env.event_queue.add(training.at, partial(self._arrive, training))
        for event in scenario.events:
            self.env.event_queue.add(event.at, partial(self._happen, event))

    @property
    def now(self) -> float:
        return self.env.now

    @property
    def next(self) -> float:
        """The time of the next event; inf if there is none."""
        return self.env.event_queue.next

    def state(self) -> ClusterState:
        """The cluster as the reconciler would observe it now."""
        around, pools = self.env.scenario.around, self._autoscaler.headroom()
        demands = (demand for service in self._services for demand in service.demand())
        others = (neighbour for service in self._services for neighbour in service.neighbours())
        return replace(
            around,
            observed_at=self.env.moment,
            nodes=self.env.sim_nodes.nodes(),
            jobs=self.job_controller.jobs(),
            demands=tuple(demands),
            unplanned_jobs=around.deleted_jobs,
            orphans=(),
            foreign_pods=(*around.foreign_pods, *others),
            team_usage=self._team_usage(),
            autoscaled=around.autoscaled or bool(pools),
            node_pools=(*around.node_pools, *pools),
        )

    def _team_usage(self) -> Mapping[str, Resources]:
        around = self.env.scenario.around
        usage = dict(around.team_usage)
        for service in self._services if around.teams else ():
            team = around.team_of(service.service.namespace)
            usage[team] = usage.get(team, Resources()) + service.held()
        return usage

    def run(self, until: float = inf) -> None:
        """Continue until that time, inclusively."""
        while (moment := self.env.event_queue.next) <= until and moment < inf:
            if until == inf and self._is_hopeless():
                break
            self.env.now = moment
            self._instant()
            self._watcher.passed(self.env.now)
        self._until = self.env.now if until == inf else until

    def _is_hopeless(self) -> bool:
        """Whether only jobs are left that request nodes again and again and get none."""
        sim_jobs = self.job_controller.sim_jobs.values() if self.env.now > self._given else ()
        return bool(sim_jobs) and all(map(_cannot_start, sim_jobs))

    def result(self) -> Result:
        return finished(self.env, self.env.scenario.trainings, self._until)

    # -- one instant -------------------------------------------------------------------------

    def _instant(self) -> None:
        env = self.env
        env.event_queue.run(env.now)
        self._settle()
        # Instants are rounded to milliseconds, so `now` may be slightly before the exact sum.
        least = env.scenario.settings.round_at(env.now)
        while env.needs_decision and env.now >= self._last_round + least - 1e-6:
            self._round()
            self._settle()
        if env.needs_decision:
            env.event_queue.add(self._last_round + least, _nothing)
        self._autoscaler.notice()
        self._note()

    def _settle(self) -> None:
        """Let controllers, kube-scheduler and programs react until nothing more changes."""
        job_controller, env = self.job_controller, self.env
        while job_controller.touched or env.unbound:
            touched, job_controller.touched = list(job_controller.touched.values()), {}
            for sim_job in touched:
                job_controller.control(sim_job)
            if env.unbound:
                env.unbound = False
                env.scheduler.run()
                while job_controller.provisioning.preempt():
                    env.scheduler.run()
                env.needs_decision |= env.scheduler.surprised()
            for sim_job in touched:
                job_controller.work(sim_job)
                if sim_job.track.ended is not None:
                    self._control.ended(sim_job)
                job_controller.note(sim_job)

    def _round(self) -> None:
        env = self.env
        env.needs_decision, self._last_round = False, env.now
        again = self._control.round()
        self._wake = env.now + again.total_seconds() if again else inf
        env.event_queue.add(self._wake, self._awake)

    def _awake(self) -> None:
        """Request a decision, unless a later plan has set a later recheck."""
        if self.env.now >= self._wake:
            self.env.changed()

    def _note(self) -> None:
        env = self.env
        used, offered = env.sim_nodes.totals()
        env.timeline.used.put(env.now, used)
        env.timeline.offered.put(env.now, offered)
        env.timeline.nodes.put(env.now, self._autoscaler.counts())
        env.timeline.queue.put(env.now, len(self.job_controller.waiting))

    # -- what is given -----------------------------------------------------------------------

    def _arrive(self, training: Training) -> None:
        sim_job = self.job_controller.arrive(training)
        if not sim_job.runs_any:
            self._control.arrived(sim_job)

    def _happen(self, event: NodeEvent) -> None:
        """Apply a node event; events of nodes that no longer exist are ignored."""
        sim_nodes, name = self.env.sim_nodes, event.node.name
        node = sim_nodes.node(name)
        if event.change is Change.ADDED and node is None:
            sim_nodes.add([event.node])
        elif event.change is Change.LOST and node is not None:
            sim_nodes.remove(name)
            self._autoscaler.lose(name)
            self.job_controller.lose(name)
            for service in self._services:
                service.lose(name)
        elif node is not None:
            sim_nodes.change(_CHANGES[event.change](node, event))
        self.env.freed()


def _last(scenario: Scenario) -> float:
    """The time of the scenario's last given event."""
    times = [time for service in scenario.services for time, _ in service.steps]
    times += [training.at for training in scenario.trainings]
    times += [event.at for event in scenario.events]
    return max(times, default=0)


def _cannot_start(sim_job: SimulatedJob) -> bool:
    failure = sim_job.job.provisioning.failure
    return not sim_job.runs_any and failure is not None and failure.attempts >= _ENOUGH


def _cordoned(node: Node, _: NodeEvent) -> Node:
    return replace(node, cordoned=True, taints=(*node.taints, _CORDON))


def _uncordoned(node: Node, _: NodeEvent) -> Node:
    taints = tuple(taint for taint in node.taints if taint != _CORDON)
    return replace(node, cordoned=False, taints=taints)


def _tainted(node: Node, event: NodeEvent) -> Node:
    return replace(node, taints=(*node.taints, event.taint)) if event.taint else node


_CHANGES: Final[Mapping[Change, Callable[[Node, NodeEvent], Node]]] = {
    Change.ADDED: lambda node, _: node,
    Change.CORDONED: _cordoned,
    Change.UNCORDONED: _uncordoned,
    Change.TAINTED: _tainted,
}


def _shapes(scenario: Scenario) -> set[Shape]:
    shapes = {role.template.shape for training in scenario.trainings for role in training.job.roles}
    return shapes | {service.shape for service in scenario.services}


def _names(scenario: Scenario, shapes: Iterable[Shape]) -> set[str]:
    """The names of all resources that a node has or a pod requests."""
    pools = (pool.node for pool in scenario.pools)
    nodes = (*scenario.nodes, *(event.node for event in scenario.events), *pools)
    amounts = [*(node.allocatable for node in nodes), *(shape.requests for shape in shapes)]
    return {name for resources in amounts for name, _ in resources}


def _nothing() -> None:
    """An event that only advances the time."""
