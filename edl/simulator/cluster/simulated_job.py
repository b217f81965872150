"""One simulated training job: its Jobs, its pods and its progress."""

from dataclasses import dataclass, field
from datetime import datetime
from math import floor, inf

from msgspec.structs import replace

from edl import contract
from edl.frameworks import FRAMEWORKS, restarts_together
from edl.model import ResizePolicy, Restart, Role, TrainingJob
from edl.model.pods import PodDeletion
from edl.simulator.cluster.progress import Progress
from edl.simulator.cluster.simulated_role import SimulatedRole
from edl.simulator.scenario import Training
from edl.simulator.timeline import Track
from edl.steps import host_lists


@dataclass(slots=True)
class SimulatedJob:
    """Mutable. `job` lacks the latest changes of `parts`; read `value()` instead."""

    training: Training
    job: TrainingJob
    parts: dict[str, SimulatedRole]
    progress: Progress
    track: Track
    attended: bool = False
    """Its steps depend on time (host lists, timed scale-ups), so they are always computed."""
    together: bool = False
    """A lost pod restarts the whole job."""
    finish: float = inf
    """The scheduled end, by which outdated end events are recognised."""
    worked: set[str] = field(default_factory=set)
    """Pods that are working on an item."""

    def value(self) -> TrainingJob:
        """The job as it would be observed; the same object while nothing changes."""
        roles = tuple(part.value() for part in self.parts.values())
        if any(new is not old for new, old in zip(roles, self.job.roles, strict=True)):
            self.job = replace(self.job, roles=roles)
        return self.job

    @property
    def counted(self) -> SimulatedRole:
        """The role whose replicas do the work."""
        return self.parts[self.training.counted.name]

    @property
    def items(self) -> bool:
        """Whether each pod processes a work item."""
        role = self.counted.role
        return not role.spec.indexed and role.status.remaining is not None

    @property
    def over(self) -> bool:
        return all(part.role.status.ending for part in self.parts.values())

    @property
    def gone(self) -> bool:
        """Whether all roles have ended and no pod is left on a node."""
        pods = (pod for part in self.parts.values() for pod in part.pods.values())
        return self.over and not self.job.provisioning.pods and all(pod.ended for pod in pods)

    @property
    def can_train(self) -> bool:
        """Whether every role that has not ended has the ready pods that training needs."""
        parts = self._left()
        return bool(parts) and all(part.runs and part.ready >= need(part) for part in parts)

    @property
    def has_bound_minimum(self) -> bool:
        """Whether every role that has not ended has its minimum bound."""
        parts = self._left()
        return bool(parts) and all(part.runs and part.bound >= least(part) for part in parts)

    @property
    def runs_any(self) -> bool:
        """Whether the Job of any role is not suspended, and has not ended."""
        return any(part.runs for part in self.parts.values())

    @property
    def _queued(self) -> bool:
        """Whether it does not run, and is not stopped for a restart at a new size either."""
        parts = self._left()
        stays = (part.runs or part.role.restart is Restart.STOPPED for part in parts)
        return bool(parts) and not any(stays)

    def reported_progress(self, now: float) -> float:
        """The fraction of its work that is done, rounded down to 0.01, as it would report it.

        Its simulated work is what was left when it was observed.
        """
        self.progress.advance(now)
        if self.items and not self.training.items:
            return 1.0  # the last item has completed, and the Job is not recorded as complete yet
        work = self.training.work.seconds * (self.training.items if self.items else 1)
        observed = self.training.job.progress or 0.0
        done = observed + (1 - observed) * self.progress.done / work
        return max(observed, floor(100 * done) / 100)

    def note(self, now: float) -> None:
        """Record its state from now on."""
        track, counted, placed = self.track, self.counted, self.has_bound_minimum
        bound = sum(part.bound for part in self.parts.values())
        begins = self.can_train if not self.items else counted.ready > 0
        track.lost_work = self.progress.lost
        track.size.put(now, counted.bound)
        track.wanted.put(now, counted.wanted)
        track.sizes = {name: part.wanted for name, part in self.parts.items()}
        track.short.put(now, bound > 0 and not placed and track.ended is None)
        track.speed.put(now, float(len(self.worked)) if self.items else self.progress.speed)
        if placed and track.placed is None:
            track.placed = now
            track.nodes = {
                name: tuple(pod.node for pod in part.live() if pod.node)
                for name, part in self.parts.items()
            }
        if placed and track.started is None:
            track.started = now
        elif self._queued:
            track.started = None
        if begins and track.running is None:
            track.running = now

    def _left(self) -> list[SimulatedRole]:
        return [part for part in self.parts.values() if part.role.status.ending is None]


def need(part: SimulatedRole) -> int:
    """Ready pods that training needs: its minimum if the role resizes live, else all."""
    live = part.role.spec.resizing in (ResizePolicy.LIVE, ResizePolicy.ITEMS)
    return _beside_ended(part, min(part.role.spec.min, part.wanted) if live else part.wanted)


def least(part: SimulatedRole) -> int:
    """The bound pods that make up its minimum; a role of size 0 has not even one."""
    fewest = part.role.spec.min
    return _beside_ended(part, min(fewest, part.wanted) if part.role.status.size else fewest)


def _beside_ended(part: SimulatedRole, pods: int) -> int:
    """How many of `pods` have not ended, at least one while a rank is left; see `phases.runs`."""
    done = part.count.done
    ranks = part.role.status.remaining is None
    return max(pods, min(done + 1, part.wanted) if ranks else 0) - done


def _tracked(role: Role) -> Role:
    """The role with pods whose ends always count, and without the time of its status.

    No simulated removal is interrupted, and the simulated Job controller creates every pod.
    """
    pods = tuple(
        replace(pod, deletion=PodDeletion(due_at=pod.deletion.due_at)) for pod in role.status.pods
    )
    return role.changed(pods=pods, reported_at=None)


def simulate_job(training: Training, queued_at: datetime) -> SimulatedJob:
    """The simulated job of a training job that arrives, without Jobs that conflict with it."""
    job, waiting = replace(training.job, queued_at=queued_at), _waiting(training.job)
    job = replace(job, roles=tuple(map(_tracked, job.roles)), conflicting=())
    parts = {
        role.name: SimulatedRole(
            role=role, gates=_gates(role, waiting), pods={pod.name: pod for pod in role.status.pods}
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
    """Roles whose pods are gated until they have a host list or the job's members."""
    gated_role = host_lists.newcomer_role(job)
    publishes = bool(FRAMEWORKS[job.framework].publishes or gated_role)
    deciding = {role.name for role in job.roles if role.spec.is_leader and publishes}
    return frozenset(deciding | ({gated_role} if gated_role else set()))
