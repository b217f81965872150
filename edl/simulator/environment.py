"""The shared state of a simulation: time, nodes, kube-scheduler and event queue."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from edl.model import Shape
from edl.simulator.cluster.scheduler import Scheduler
from edl.simulator.cluster.simulated_nodes import Place, SimulatedNodes
from edl.simulator.event_queue import EventQueue
from edl.simulator.scenario import Scenario
from edl.simulator.timeline import Timeline


@dataclass(slots=True)
class Environment:
    """Mutable. `needs_decision`: a change may affect the next decision."""

    scenario: Scenario
    sim_nodes: SimulatedNodes
    scheduler: Scheduler
    event_queue: EventQueue = field(default_factory=EventQueue)
    timeline: Timeline = field(default_factory=Timeline)
    now: float = 0
    needs_decision: bool = True
    unbound: bool = True
    """kube-scheduler must run: a pod is new, or capacity was freed."""
    serial: int = 0

    @property
    def moment(self) -> datetime:
        return self.scenario.moment(self.now)

    def number(self) -> int:
        """The next serial number, which orders pods that are created at one instant."""
        self.serial += 1
        return self.serial

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        self.event_queue.add(self.now + seconds, action)

    def after_start_up(self, override: float | None, action: Callable[[], None]) -> None:
        """After the start-up time that a workload states, else the usual one."""
        self.after(self.scenario.settings.start_up if override is None else override, action)

    def after_shut_down(self, override: float | None, action: Callable[[], None]) -> None:
        self.after(self.scenario.settings.shut_down if override is None else override, action)

    def changed(self) -> None:
        self.needs_decision = True

    def leaves(self, shape: Shape, place: Place) -> None:
        """A pod starts to terminate; topology spread no longer counts it."""
        self.sim_nodes.terminate(shape, place)
        self.unbound |= shape.constraints is not None

    def freed(self) -> None:
        """Capacity was freed, or nodes changed."""
        self.needs_decision = self.unbound = True
