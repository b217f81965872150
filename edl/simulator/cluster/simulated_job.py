"""One training job while it is simulated: its Jobs, its pods, and how far it is."""

from dataclasses import dataclass, field
from datetime import datetime
from math import floor, inf

from msgspec.structs import replace

from edl import contract
from edl.frameworks import FRAMEWORKS, restarts_together
from edl.model import ResizePolicy, Role, TrainingJob
from edl.simulator.cluster.progress import Progress
from edl.simulator.cluster.simulated_role import SimulatedRole
from edl.simulator.scenario import Training
from edl.simulator.timeline import Track
from edl.steps import host_file


@dataclass(slots=True)
class SimulatedJob:
    """Mutable. `job` is its value without what changed in its `parts`; read `value()`."""

    training: Training
    job: TrainingJob
    parts: dict[str, SimulatedRole]
    progress: Progress
    track: Track
    attended: bool = False
    """Its steps depend on time: host lists, limits of growth."""
    together: bool = False
    """A lost pod stops the others: they all begin again."""
    finish: float = inf
    """When its end is planned, to find out plans that are out of date."""
    worked: set[str] = field(default_factory=set)
    """Pods whose piece of work is under way."""

    def value(self) -> TrainingJob:
        """As it would be observed; the same value while nothing changes."""
        roles = tuple(part.value() for part in self.parts.values())
        if any(new is not old for new, old in zip(roles, self.job.roles, strict=True)):
            self.job = replace(self.job, roles=roles)
        return self.job

    @property
    def counted(self) -> SimulatedRole:
        """The role whose replicas do the work."""
        return self.parts[self.training.counted]

    @property
    def items(self) -> bool:
        """Each pod does a piece of work."""
        role = self.counted.role
        return not role.spec.indexed and role.status.remaining is not None

    @property
    def over(self) -> bool:
        return all(part.role.status.ending for part in self.parts.values())

    @property
    def gone(self) -> bool:
        """Nothing of it is left on the nodes."""
        pods = (pod for part in self.parts.values() for pod in part.pods.values())
        return self.over and not self.job.provisioning.pods and all(pod.ended for pod in pods)

    @property
    def complete(self) -> bool:
        """Every role that has not ended has as many ready pods as it needs to train."""
        parts = self._left()
        return bool(parts) and all(part.runs and part.ready >= need(part) for part in parts)

    @property
    def placed(self) -> bool:
        """Every role that has not ended has its minimum on nodes."""
        parts = self._left()
        return bool(parts) and all(part.runs and part.bound >= least(part) for part in parts)

    @property
    def started(self) -> bool:
        return any(part.runs for part in self.parts.values())

    def told(self, now: float) -> float:
        """The part of its work that is done, in hundredths, as it would say itself."""
        self.progress.advance(now)
        work = self.training.work.seconds
        if self.items:
            work *= self.training.items
        return floor(100 * self.progress.done / work) / 100

    def note(self, now: float) -> None:
        """Write down how it stands from now on."""
        track, counted, placed = self.track, self.counted, self.placed
        bound = sum(part.bound for part in self.parts.values())
        begins = self.complete if not self.items else counted.ready > 0
        track.lost_work = self.progress.lost
        track.size.put(now, counted.bound)
        track.wanted.put(now, counted.wanted)
        track.short.put(now, bound > 0 and not placed and track.ended is None)
        track.speed.put(now, float(len(self.worked)) if self.items else self.progress.speed)
        if self.started and track.admitted is None:
            track.admitted = now
        if placed and track.placed is None:
            track.placed = now
            track.nodes = {
                name: tuple(pod.node for pod in part.live() if pod.node)
                for name, part in self.parts.items()
            }
        if begins and track.running is None:
            track.running = now

    def _left(self) -> list[SimulatedRole]:
        return [part for part in self.parts.values() if part.role.status.ending is None]


def need(part: SimulatedRole) -> int:
    """Ready pods that training needs: a job that resizes live goes on with its minimum."""
    live = part.role.spec.resizing in (ResizePolicy.LIVE, ResizePolicy.ITEMS)
    return (min(part.role.spec.min, part.wanted) if live else part.wanted) - part.count.done


def least(part: SimulatedRole) -> int:
    """Pods on nodes without which it is not what its user asked for at least."""
    return min(part.role.spec.min, part.wanted) - part.count.done


def cast(training: Training, queued_at: datetime) -> SimulatedJob:
    """A training job as it arrives."""
    job, waiting = replace(training.job, queued_at=queued_at), _waiting(training.job)
    parts = {
        role.name: SimulatedRole(
            role=role,
            gates=_gates(role, waiting),
            pods={pod.name: pod for pod in role.status.pods},
        )
        for role in job.roles
    }
    return SimulatedJob(
        training=training,
        job=job,
        parts=parts,
        progress=Progress(training.work, training.checkpoint),
        track=Track(job.key, training.at),
        attended=bool(waiting)
        or any(role.request.scaling or role.request.removing for role in job.roles),
        together=restarts_together(job),
    )


def _gates(role: Role, waiting: frozenset[str]) -> tuple[str, ...]:
    hosts = (contract.HOSTS_GATE,) if role.name in waiting else ()
    return (*hosts, contract.PLACEMENT_GATE) if role.template.gated else hosts


def _waiting(job: TrainingJob) -> frozenset[str]:
    """Roles whose pods wait for a host list, or to be told the members of their job."""
    told = host_file.role_of(job)
    publishes = bool(FRAMEWORKS[job.framework].publishes or told)
    deciding = {role.name for role in job.roles if role.spec.is_leader and publishes}
    return frozenset(deciding | ({told} if told else set()))
