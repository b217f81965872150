"""Pods of other owners: the replicas of a service, scaled by its steps."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from edl.model import Demand, ForeignPods
from edl.quantities import Resources
from edl.simulator.cluster.scheduler import PendingPod
from edl.simulator.cluster.simulated_nodes import Place
from edl.simulator.environment import Environment
from edl.simulator.scenario import Service
from edl.simulator.timeline import StepSeries

_NOWHERE: Final = Place("")


@dataclass(slots=True)
class _Replica:
    name: str
    number: int
    place: Place = _NOWHERE
    ready: bool = False
    leaving: bool = False

    @property
    def node(self) -> str:
        """The node's name; "" until it is bound."""
        return self.place.node


@dataclass(slots=True)
class SimulatedService:
    """One service. Mutable."""

    env: Environment
    service: Service
    replicas: dict[str, _Replica] = field(default_factory=dict)
    wanted: int = 0

    def __post_init__(self) -> None:
        self.env.timeline.services[self.service.name] = StepSeries(0)
        for time, replicas in self.service.steps:
            self.env.event_queue.add(time, partial(self.scale, replicas))

    def demand(self) -> Iterator[Demand]:
        """Its pending pods as one demand."""
        waiting = [replica for replica in self._staying() if not replica.node]
        if waiting:
            example = f"{self.service.namespace}/{waiting[0].name}"
            team = self.env.scenario.around.team_of(self.service.namespace)
            yield Demand(
                self.service.shape,
                self.service.priority,
                len(waiting),
                example,
                team,
                preempts=self.service.preempts,
            )

    def held(self) -> Resources:
        """The requests of its bound pods that are not terminating."""
        return self.service.shape.requests * sum(1 for replica in self._staying() if replica.node)

    def neighbours(self) -> Iterator[ForeignPods]:
        """Its bound pods, if it has placement constraints."""
        rules = self.service.shape.constraints
        for replica in self.replicas.values():
            if rules and replica.node:
                yield ForeignPods(replica.node, rules, 1, int(replica.leaving))

    def scale(self, replicas: int) -> None:
        """Scale like a ReplicaSet: unbound pods go first, then unready, then the youngest ones."""
        self.wanted = replicas
        staying = sorted(
            self._staying(),
            key=lambda replica: (not replica.node, not replica.ready, replica.number),
        )
        for replica in staying[replicas:]:
            self._end(replica)
        for _ in range(replicas - len(staying)):
            self._make()
        self.env.changed()

    def lose(self, node: str) -> None:
        """Remove a lost node's pods, and create replacements."""
        for replica in [replica for replica in self.replicas.values() if replica.node == node]:
            del self.replicas[replica.name]
        self._note()
        self.scale(self.wanted)

    def _staying(self) -> list[_Replica]:
        return [replica for replica in self.replicas.values() if not replica.leaving]

    def _make(self) -> None:
        env, number = self.env, self.env.number()
        replica = _Replica(f"{self.service.name}-{number}", number)
        self.replicas[replica.name] = replica
        rank = (-self.service.priority, env.now, number)
        env.scheduler.add(
            self.service.shape, PendingPod(rank, replica.name, partial(self._bind, replica))
        )
        env.unbound = True

    def _bind(self, replica: _Replica, node: str) -> None:
        replica.place = self.env.sim_nodes.bind(self.service.shape, node)
        self.env.after_start_up(self.service.start_up, partial(self._begin, replica))
        self.env.changed()

    def _begin(self, replica: _Replica) -> None:
        if replica.name in self.replicas and not replica.leaving:
            replica.ready = True
            self._note()

    def _end(self, replica: _Replica) -> None:
        if not replica.node:
            del self.replicas[replica.name]
            self.env.scheduler.drop(replica.name)
            return
        replica.leaving, replica.ready = True, False
        self.env.leaves(self.service.shape, replica.place)
        self.env.after_shut_down(self.service.shut_down, partial(self._gone, replica))
        self._note()

    def _gone(self, replica: _Replica) -> None:
        if self.replicas.pop(replica.name, None):
            self.env.sim_nodes.free(self.service.shape, replica.place, leaving=True)
            self.env.freed()

    def _note(self) -> None:
        ready = sum(replica.ready for replica in self.replicas.values())
        self.env.timeline.services[self.service.name].put(self.env.now, ready)
