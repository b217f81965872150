"""The training jobs of a simulation: what their Jobs' controller, kubelets and programs do."""

from dataclasses import dataclass, field
from functools import partial

from msgspec.structs import replace

from edl import phases
from edl.model import JobEnd, JobKey, Pod, PodPhase, TrainingJob
from edl.simulator.cluster.scheduler import PendingPod
from edl.simulator.cluster.simulated_job import SimulatedJob, cast
from edl.simulator.cluster.simulated_nodes import Place
from edl.simulator.cluster.simulated_provisioning import SimulatedProvisioning
from edl.simulator.cluster.simulated_role import SimulatedRole
from edl.simulator.environment import Environment
from edl.simulator.scenario import Training


@dataclass(slots=True)
class JobController:
    """Mutable. `touched` are jobs whose Jobs or pods changed since their controller looked."""

    stage: Environment
    gates: bool = True
    """Pods wait behind gates of ours; without the reconciler they would stay closed."""
    actors: dict[JobKey, SimulatedJob] = field(default_factory=dict)
    touched: dict[JobKey, SimulatedJob] = field(default_factory=dict)
    waiting: set[JobKey] = field(default_factory=set)
    """Jobs that have arrived, and do not hold their minimum."""
    provisioning: SimulatedProvisioning = field(init=False)
    restless: dict[JobKey, None] = field(default_factory=dict)
    """Jobs that changed since their steps were last worked out."""

    def __post_init__(self) -> None:
        self.provisioning = SimulatedProvisioning(self.stage)

    def jobs(self) -> tuple[TrainingJob, ...]:
        return tuple(actor.value() for actor in self.actors.values())

    def arrive(self, training: Training) -> SimulatedJob:
        """A training job is created, or was there from the start."""
        queued = training.queued_at or self.stage.moment
        actor = self.actors[training.key] = cast(training, queued)
        actor.progress.since = self.stage.now
        self.stage.timeline.tracks[training.key] = actor.track
        for part in actor.parts.values():
            for pod in list(part.pods.values()):
                self._adopt(actor, part, pod)
        if phases.ending(training.job) is not None:
            actor.track.ended = self.stage.now
        self.touch(actor)
        return actor

    def touch(self, actor: SimulatedJob, *, news: bool = True) -> None:
        """Something of it changed; `news`: so that a decision may depend on it."""
        self.touched[actor.training.key] = actor
        self.restless[actor.training.key] = None
        if news or actor.attended:
            self.stage.changed()

    # -- the Job controller ------------------------------------------------------------------

    def control(self, actor: SimulatedJob) -> None:
        """Make and end pods, as the sizes of its Jobs say."""
        for part in actor.parts.values():
            if not part.unseen:
                continue
            part.unseen = False
            self._complete_empty(part)
            for pod in part.surplus():
                self.end(actor, part, pod)
            for index in part.missing():
                self._queue(actor, part, part.make(index, self.stage.moment))

    def _complete_empty(self, part: SimulatedRole) -> None:
        """0/0 completes an Indexed Job at once (docs/kubernetes.md 10)."""
        role = part.role
        if role.spec.indexed and not role.status.size and role.status.ending is None:
            part.write(role.changed(ending=JobEnd.COMPLETE, ended_at=self.stage.moment))

    def end(self, actor: SimulatedJob, part: SimulatedRole, pod: Pod) -> None:
        """A pod is told to end; without a node it is gone at once."""
        actor.worked.discard(pod.name)
        self.touch(actor)
        if not pod.node:
            part.remove(pod.name)
            self.stage.scheduler.drop(_path(actor, pod))
            return
        actor.track.pod_stops += actor.track.ended is None
        part.put(replace(pod, terminating=True, ready=False, ready_since=None))
        part.unseen = True
        self.stage.leaves(part.role.template.shape, _place(pod))
        self._leave(actor, part, pod.name)

    def _leave(self, actor: SimulatedJob, part: SimulatedRole, name: str) -> None:
        own, usual = actor.training.shut_down, self.stage.world.settings.shut_down
        self.stage.after(usual if own is None else own, partial(self._gone, actor, part, name))

    def _gone(self, actor: SimulatedJob, part: SimulatedRole, name: str) -> None:
        if name in part.pods:
            self._remove(actor, part, name)

    def _remove(self, actor: SimulatedJob, part: SimulatedRole, name: str) -> None:
        """It has ended: its room is free."""
        pod = part.remove(name)
        self.stage.floor.free(part.role.template.shape, _place(pod), leaving=pod.terminating)
        self.stage.freed()
        self.touch(actor)

    def _queue(self, actor: SimulatedJob, part: SimulatedRole, pod: Pod) -> None:
        """A pod without a node waits for the scheduler, or behind its gates for a plan."""
        stage = self.stage
        if pod.gates and self.gates:
            stage.changed()
            return
        created = (pod.created_at - stage.world.start).total_seconds()
        rank = (-actor.job.priority, created, stage.number())
        bind = partial(self._bind, actor, part, pod.name)
        waiting = PendingPod(rank, _path(actor, pod), bind, pod.planned.name)
        stage.scheduler.add(part.role.template.shape, waiting)
        stage.unbound = True

    def _adopt(self, actor: SimulatedJob, part: SimulatedRole, pod: Pod) -> None:
        """A pod that is there from the start goes on with what it was about to do."""
        if pod.phase is PodPhase.SUCCEEDED:
            return
        if pod.ended or (pod.terminating and not pod.node):
            part.remove(pod.name)
            return
        if not pod.node:
            self._queue(actor, part, pod)
            return
        place = self.stage.floor.take(part.role.template.shape, pod.node, pod.devices)
        if place != _place(pod):
            part.put(replace(pod, devices=place.devices))
        if pod.terminating:
            self.stage.leaves(part.role.template.shape, place)
            self._leave(actor, part, pod.name)
        elif not pod.ready:
            self._start(actor, part, pod.name)

    # -- kubelets ----------------------------------------------------------------------------

    def _bind(self, actor: SimulatedJob, part: SimulatedRole, name: str, node: str) -> None:
        pod = part.pods[name]
        place = self.stage.floor.take(part.role.template.shape, node)
        part.put(replace(pod, node=node, devices=place.devices))
        self._start(actor, part, name)
        # Where the scheduler does at once what was planned, nothing has changed.
        self.touch(actor, news=pod.created_at != self.stage.moment)

    def _start(self, actor: SimulatedJob, part: SimulatedRole, name: str) -> None:
        own, usual = actor.training.start_up, self.stage.world.settings.start_up
        self.stage.after(usual if own is None else own, partial(self._begin, actor, part, name))

    def _begin(self, actor: SimulatedJob, part: SimulatedRole, name: str) -> None:
        pod = part.pods.get(name)
        if pod is not None and not pod.terminating:
            moment = self.stage.moment
            part.put(replace(pod, phase=PodPhase.RUNNING, ready=True, ready_since=moment))
            # Plans are made of what is asked for and where, not of what is ready.
            self.touch(actor, news=not self.stage.floor.calm)

    def lose(self, node: str) -> None:
        """A node is gone: the Job controller counts its pods as failed, and makes them again."""
        self.provisioning.lose(node)
        for actor in self.actors.values():
            for part in actor.parts.values():
                lost = [pod for pod in part.pods.values() if pod.node == node]
                for pod in lost:
                    part.remove(pod.name)
                    actor.worked.discard(pod.name)
                failed = [pod for pod in lost if not pod.terminating]
                if failed and part.role.status.ending is None:
                    self._fail(actor, part, len(failed))
                if lost:
                    self.touch(actor)

    def _fail(self, actor: SimulatedJob, part: SimulatedRole, count: int) -> None:
        role = part.role
        part.write(role.changed(failures=role.status.failures + count, lost=actor.together))
        actor.track.pod_stops += count
        if actor.together:
            actor.progress.fall_back(self.stage.now)

    # -- programs ----------------------------------------------------------------------------

    def work(self, actor: SimulatedJob) -> None:
        """Its speed from now on, and when it will be done."""
        if actor.track.ended is None:
            (self._do_items if actor.items else self._do)(actor)

    def _do(self, actor: SimulatedJob) -> None:
        now, progress = self.stage.now, actor.progress
        progress.run(now, actor.counted.ready if actor.complete else 0)
        if progress.end != actor.finish:
            actor.finish = progress.end
            self.stage.agenda.add(progress.end, partial(self._finish, actor, progress.end))

    def _finish(self, actor: SimulatedJob, planned: float) -> None:
        if actor.finish == planned and actor.track.ended is None:
            actor.progress.run(self.stage.now, 0)
            self._done(actor)

    def tell(self) -> None:
        """Jobs that report their progress do so now."""
        for actor in self.actors.values():
            if actor.training.tells or actor.items:
                part, told = actor.counted, actor.told(self.stage.now)
                if part.role.request.progress != told:
                    part.write(part.role.changed(progress=told))

    def _do_items(self, actor: SimulatedJob) -> None:
        part, seconds = actor.counted, actor.training.work.seconds
        for pod in part.live():
            if pod.ready and pod.name not in actor.worked:
                actor.worked.add(pod.name)
                self.stage.after(seconds, partial(self._finish_item, actor, part, pod.name))

    def _finish_item(self, actor: SimulatedJob, part: SimulatedRole, name: str) -> None:
        if name not in actor.worked:
            return
        actor.worked.discard(name)
        actor.progress.done += actor.training.work.seconds
        part.write(part.role.changed(remaining=(part.role.status.remaining or 1) - 1))
        self._remove(actor, part, name)
        if not part.role.status.remaining:
            self._done(actor)

    def _done(self, actor: SimulatedJob) -> None:
        """The deciding role ends by itself, its pods with it; the others are ended by us."""
        actor.track.ended = self.stage.now
        for part in actor.parts.values():
            if part.role.spec.is_leader:
                self._complete(actor, part)
        self.touch(actor)

    def _complete(self, actor: SimulatedJob, part: SimulatedRole) -> None:
        for pod in list(part.pods.values()):
            if pod.node and not pod.ended:
                self._remove(actor, part, pod.name)
            elif not pod.ended:
                self.end(actor, part, pod)
        part.write(part.role.changed(ending=JobEnd.COMPLETE, ended_at=self.stage.moment))

    def end_all(self, actor: SimulatedJob) -> None:
        """End the pods that still run of a job that is done."""
        for part in actor.parts.values():
            if part.role.status.ending is None:
                moment = self.stage.moment
                part.write(part.role.changed(ending=JobEnd.COMPLETE, ended_at=moment))
                self.touch(actor)

    def note(self, actor: SimulatedJob) -> None:
        """Write down how it stands; a job that has left nothing behind is forgotten."""
        key = actor.training.key
        actor.note(self.stage.now)
        if actor.track.ended is None and not actor.placed:
            self.waiting.add(key)
        else:
            self.waiting.discard(key)
        if actor.gone:
            self.actors.pop(key, None)
            self.restless.pop(key, None)

    def show(self, actor: SimulatedJob, part: SimulatedRole, pod: Pod) -> None:
        """A pod after something was written on it; without its gate it goes to the scheduler."""
        opened = part.pods[pod.name].gates and not pod.gates
        part.put(pod)
        if opened:
            self._queue(actor, part, pod)
        self.touch(actor)


def _path(actor: SimulatedJob, pod: Pod) -> str:
    return f"{actor.job.key.namespace}/{pod.name}"


def _place(pod: Pod) -> Place:
    return Place(pod.node, pod.devices)
