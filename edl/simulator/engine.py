"""The simulation itself: instant after instant, as long as something happens."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from math import inf
from typing import Final

from msgspec.structs import replace

from edl.model import ClusterState, Node, Shape, Taint
from edl.planner.passes.drain import CORDONED
from edl.quantities import Resources
from edl.simulator.cluster.consolidation import Consolidation
from edl.simulator.cluster.job_controller import JobController
from edl.simulator.cluster.pod_topology import PodRules
from edl.simulator.cluster.scheduler import Scheduler
from edl.simulator.cluster.simulated_autoscaler import SimulatedAutoscaler
from edl.simulator.cluster.simulated_job import SimulatedJob
from edl.simulator.cluster.simulated_nodes import SimulatedNodes
from edl.simulator.cluster.simulated_service import SimulatedService
from edl.simulator.control import ElasticControl, NoControl
from edl.simulator.environment import Environment
from edl.simulator.results import Result, finished
from edl.simulator.scenario import Change, Elastic, Manner, NodeEvent, Scenario, Training, Watcher

_ENOUGH: Final = 6
"""A job that has asked for nodes so often waits for half an hour each time, the longest pause."""
_CORDON: Final = Taint(CORDONED, "", "NoSchedule")


def simulate(
    world: Scenario, manner: Manner, until: float = inf, watcher: Watcher | None = None
) -> Result:
    """What becomes of this world until then, or until nothing happens any more.

    The same world and manner give the same result; what is random is drawn where the world is made.
    """
    simulation = Simulation(world, manner, watcher or Watcher())
    simulation.run(until)
    return simulation.result()


class Simulation:
    """A simulation that can be run in pieces, and looked at in between."""

    def __init__(self, world: Scenario, manner: Manner, watcher: Watcher) -> None:
        shapes = _shapes(world)
        floor = SimulatedNodes(
            world.nodes, _names(world, shapes), PodRules(shapes, world.around.foreign_pods)
        )
        self.stage = Environment(world, floor, Scheduler(floor, world.settings.tie))
        self.company = JobController(self.stage, gates=isinstance(manner, Elastic))
        found = Consolidation(self.stage, self.company) if self.company.gates else None
        self._autoscaler = SimulatedAutoscaler(self.stage, world.pools, found)
        self._watcher = watcher
        self._services = [SimulatedService(self.stage, service) for service in world.services]
        self._director: ElasticControl | NoControl = (
            ElasticControl(self.stage, self.company, manner, watcher, self.state)
            if isinstance(manner, Elastic)
            else NoControl(self.stage, self.company, manner)
        )
        self._last_round = -inf
        self._wake = inf
        self._until = 0.0
        self._given = _last(world)
        for training in sorted(world.trainings, key=lambda one: (one.at, one.key)):
            self.stage.agenda.add(training.at, partial(self._arrive, training))
        for event in world.events:
            self.stage.agenda.add(event.at, partial(self._happen, event))

    @property
    def now(self) -> float:
        return self.stage.now

    @property
    def next(self) -> float:
        """When something happens next; inf if nothing will."""
        return self.stage.agenda.next

    def state(self) -> ClusterState:
        """The cluster as the reconciler would observe it now."""
        around, pooled = self.stage.world.around, bool(self.stage.world.pools)
        demands = (found for service in self._services for found in service.demand())
        others = (found for service in self._services for found in service.neighbours())
        return replace(
            around,
            observed_at=self.stage.moment,
            nodes=self.stage.floor.nodes(),
            jobs=self.company.jobs(),
            demands=tuple(demands),
            bare_jobs=(),
            orphans=(),
            foreign_pods=(*around.foreign_pods, *others),
            team_usage=self._team_usage(),
            autoscaled=around.autoscaled or pooled,
            pooled=around.pooled or pooled,
        )

    def _team_usage(self) -> Mapping[str, Resources]:
        around = self.stage.world.around
        usage = dict(around.team_usage)
        for service in self._services if around.teams else ():
            team = around.team_of(service.service.namespace)
            usage[team] = usage.get(team, Resources()) + service.held()
        return usage

    def run(self, until: float = inf) -> None:
        """On until then."""
        while (moment := self.stage.agenda.next) <= until and moment < inf:
            if until == inf and self._is_hopeless():
                break
            self.stage.now = moment
            self._instant()
            self._watcher.passed(self.stage.now)
        self._until = self.stage.now if until == inf else until

    def _is_hopeless(self) -> bool:
        """Nothing is left but jobs that ask for nodes again and again, and get none."""
        actors = self.company.actors.values() if self.stage.now > self._given else ()
        return bool(actors) and all(map(_cannot_start, actors))

    def result(self) -> Result:
        return finished(self.stage, self.stage.world.trainings, self._until)

    # -- one instant -------------------------------------------------------------------------

    def _instant(self) -> None:
        stage = self.stage
        stage.agenda.due(stage.now)
        self._settle()
        # Instants are rounded to milliseconds: the sum may lie a hair behind its own.
        while stage.news and stage.now >= self._last_round + stage.world.settings.round - 1e-6:
            self._round()
            self._settle()
        if stage.news:
            stage.agenda.add(self._last_round + stage.world.settings.round, _nothing)
        self._autoscaler.notice()
        self._note()

    def _settle(self) -> None:
        """Controllers, scheduler and programs react, until nothing is left to react to."""
        company, stage = self.company, self.stage
        while company.touched or stage.unbound:
            touched, company.touched = list(company.touched.values()), {}
            for actor in touched:
                company.control(actor)
            if stage.unbound:
                stage.unbound = False
                stage.scheduler.run()
                while company.provisioning.preempt():
                    stage.scheduler.run()
                stage.news |= stage.scheduler.surprised()
            for actor in touched:
                company.work(actor)
                if actor.track.ended is not None:
                    self._director.ended(actor)
                company.note(actor)

    def _round(self) -> None:
        stage = self.stage
        stage.news, self._last_round = False, stage.now
        again = self._director.round()
        self._wake = stage.now + again.total_seconds() if again else inf
        stage.agenda.add(self._wake, self._awake)

    def _awake(self) -> None:
        """Only the last plan's recheck counts."""
        if self.stage.now >= self._wake:
            self.stage.changed()

    def _note(self) -> None:
        stage = self.stage
        used, offered = stage.floor.totals()
        stage.timeline.used.put(stage.now, used)
        stage.timeline.offered.put(stage.now, offered)
        stage.timeline.nodes.put(stage.now, self._autoscaler.counts())
        stage.timeline.queue.put(stage.now, len(self.company.waiting))

    # -- what is given -----------------------------------------------------------------------

    def _arrive(self, training: Training) -> None:
        actor = self.company.arrive(training)
        if not actor.started:
            self._director.arrived(actor)

    def _happen(self, event: NodeEvent) -> None:
        """To a node that is there; of one that is gone already nothing is left to change."""
        floor, name = self.stage.floor, event.node.name
        known = floor.node(name)
        if event.change is Change.ADDED and known is None:
            floor.add([event.node])
        elif event.change is Change.LOST and known is not None:
            floor.remove(name)
            self._autoscaler.lose(name)
            self.company.lose(name)
            for service in self._services:
                service.lose(name)
        elif known is not None:
            floor.change(_CHANGES[event.change](known, event))
        self.stage.freed()


def _last(world: Scenario) -> float:
    """When the last of what is given happens."""
    times = [at for service in world.services for at, _ in service.steps]
    times += [training.at for training in world.trainings]
    times += [event.at for event in world.events]
    return max(times, default=0)


def _cannot_start(actor: SimulatedJob) -> bool:
    failure = actor.job.provisioning.failure
    return not actor.started and failure is not None and failure.attempts >= _ENOUGH


def _cordoned(node: Node, _: NodeEvent) -> Node:
    return replace(node, schedulable=False, taints=(*node.taints, _CORDON))


def _uncordoned(node: Node, _: NodeEvent) -> Node:
    taints = tuple(taint for taint in node.taints if taint != _CORDON)
    return replace(node, schedulable=True, taints=taints)


def _tainted(node: Node, event: NodeEvent) -> Node:
    return replace(node, taints=(*node.taints, event.taint)) if event.taint else node


def _added(node: Node, _: NodeEvent) -> Node:
    return node


_CHANGES: Final[Mapping[Change, Callable[[Node, NodeEvent], Node]]] = {
    Change.ADDED: _added,
    Change.CORDONED: _cordoned,
    Change.UNCORDONED: _uncordoned,
    Change.TAINTED: _tainted,
}


def _shapes(world: Scenario) -> set[Shape]:
    """Those of all pods that may come."""
    shapes = {role.template.shape for training in world.trainings for role in training.job.roles}
    return shapes | {service.shape for service in world.services}


def _names(world: Scenario, shapes: Iterable[Shape]) -> set[str]:
    """Every resource that a node has or a pod asks for."""
    pools = (pool.node for pool in world.pools)
    nodes = (*world.nodes, *(event.node for event in world.events), *pools)
    amounts = [*(node.allocatable for node in nodes), *(shape.requests for shape in shapes)]
    return {name for found in amounts for name, _ in found}


def _nothing() -> None:
    """Only the time is waited for."""
