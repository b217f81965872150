"""What all parts of a simulation share: the time, the nodes, the scheduler, what is planned."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from msgspec.structs import replace

from edl.model import ClusterState, Demand, ForeignPods, Shape, TrainingJob
from edl.quantities import Resources
from edl.simulator.cluster.scheduler import Scheduler
from edl.simulator.cluster.simulated_nodes import Place, SimulatedNodes
from edl.simulator.event_queue import EventQueue
from edl.simulator.scenario import Scenario
from edl.simulator.timeline import Timeline


@dataclass(slots=True)
class Environment:
    """Mutable. `news`: something changed that a decision may depend on."""

    world: Scenario
    floor: SimulatedNodes
    scheduler: Scheduler
    agenda: EventQueue = field(default_factory=EventQueue)
    timeline: Timeline = field(default_factory=Timeline)
    now: float = 0
    news: bool = True
    unbound: bool = True
    """A pod is new, or room came back: the scheduler has something to do."""
    serial: int = 0

    @property
    def moment(self) -> datetime:
        return self.world.moment(self.now)

    def state(
        self,
        jobs: tuple[TrainingJob, ...],
        demands: Iterable[Demand],
        neighbours: Iterable[ForeignPods] = (),
        held: Iterable[tuple[str, Resources]] = (),
    ) -> ClusterState:
        """The cluster as the reconciler would observe it now; `foreign_pods` are more.

        `held`: what pods of services hold, by their namespace.
        """
        around, pooled = self.world.around, bool(self.world.pools)
        usage = dict(around.team_usage)
        for namespace, amounts in held if around.teams else ():
            team = around.team_of(namespace)
            usage[team] = usage.get(team, Resources()) + amounts
        return replace(
            around,
            observed_at=self.moment,
            nodes=self.floor.nodes(),
            jobs=jobs,
            demands=tuple(demands),
            bare_jobs=(),
            orphans=(),
            foreign_pods=(*around.foreign_pods, *neighbours),
            team_usage=usage,
            autoscaled=around.autoscaled or pooled,
            pooled=around.pooled or pooled,
        )

    def number(self) -> int:
        """Another one each time: it orders what happens at one moment."""
        self.serial += 1
        return self.serial

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        self.agenda.add(self.now + seconds, action)

    def changed(self) -> None:
        self.news = True

    def leaves(self, shape: Shape, place: Place) -> None:
        """A pod there has been told to end: pods that spread count it no more."""
        self.floor.leave(shape, place)
        self.unbound |= shape.constraints is not None

    def freed(self) -> None:
        """Room came back, or nodes changed."""
        self.news = self.unbound = True
