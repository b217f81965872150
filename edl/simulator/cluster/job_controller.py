"""The training jobs of a simulation: their Job controller, kubelets and programs."""

from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from msgspec.structs import replace

from edl.job_state import phases
from edl.job_state.lost_pods import delayed_until, recreated_within
from edl.model import JobEnd, JobKey, Pod, PodPhase, TrainingJob
from edl.simulator.cluster.scheduler import PendingPod
from edl.simulator.cluster.simulated_job import SimulatedJob, simulate_job
from edl.simulator.cluster.simulated_nodes import Place
from edl.simulator.cluster.simulated_provisioning import SimulatedProvisioning
from edl.simulator.cluster.simulated_role import SimulatedRole
from edl.simulator.environment import Environment
from edl.simulator.scenario import Training


@dataclass(slots=True)
class JobController:
    """Mutable. `touched`: jobs whose Jobs or pods changed since the last `control`."""

    env: Environment
    gates: bool = True
    """Whether scheduling gates hold pods; without the reconciler nothing would remove them."""
    sim_jobs: dict[JobKey, SimulatedJob] = field(default_factory=dict)
    touched: dict[JobKey, SimulatedJob] = field(default_factory=dict)
    waiting: set[JobKey] = field(default_factory=set)
    """Jobs that have arrived and do not have their minimum bound."""
    provisioning: SimulatedProvisioning = field(init=False)
    restless: dict[JobKey, None] = field(default_factory=dict)
    """Jobs that changed since their steps were last computed."""

    def __post_init__(self) -> None:
        self.provisioning = SimulatedProvisioning(self.env)

    def jobs(self) -> tuple[TrainingJob, ...]:
        return tuple(sim_job.value() for sim_job in self.sim_jobs.values())

    def arrive(self, training: Training) -> SimulatedJob:
        """Add a training job, which may have pods if it exists from the start."""
        queued = training.queued_at or self.env.moment
        sim_job = self.sim_jobs[training.key] = simulate_job(training, queued)
        sim_job.progress.since = self.env.now
        self.env.timeline.tracks[training.key] = sim_job.track
        for part in sim_job.parts.values():
            for pod in list(part.pods.values()):
                self._adopt(sim_job, part, pod)
            if until := delayed_until(part.role, self.env.moment):
                self._back_off(sim_job, part, until - self.env.moment)
        if phases.ending(training.job) is not None:
            sim_job.track.ended = self.env.now
        self.touch(sim_job)
        return sim_job

    def touch(self, sim_job: SimulatedJob, *, needs_decision: bool = True) -> None:
        """Note a change of a job; `needs_decision`: it may affect the next decision."""
        self.touched[sim_job.training.key] = sim_job
        self.restless[sim_job.training.key] = None
        if needs_decision or sim_job.attended:
            self.env.changed()

    # -- the Job controller ------------------------------------------------------------------

    def control(self, sim_job: SimulatedJob) -> None:
        """Create and delete pods to match the sizes of the job's Jobs."""
        for part in sim_job.parts.values():
            if not part.unseen:
                continue
            part.unseen = False
            part.sync(self.env.moment)
            for pod in part.surplus():
                self.end(sim_job, part, pod)
            for index in part.missing() if self.env.now >= part.makes_from else ():
                self._queue(sim_job, part, part.make(index, self.env.moment))

    def end(self, sim_job: SimulatedJob, part: SimulatedRole, pod: Pod) -> None:
        """Delete a pod; it terminates, or is gone at once if it has no node."""
        sim_job.worked.discard(pod.name)
        self.touch(sim_job)
        if not pod.node:
            part.remove(pod.name)
            self.env.scheduler.drop(_path(sim_job, pod))
            return
        sim_job.track.pod_stops += sim_job.track.ended is None
        part.put(replace(pod, terminating=True, ready=False, ready_since=None))
        part.unseen = True
        self.env.leaves(part.role.template.shape, _place(pod))
        self._leave(sim_job, part, pod)

    def _leave(self, sim_job: SimulatedJob, part: SimulatedRole, pod: Pod) -> None:
        """Let a terminating pod end: at the end of its grace period at the latest, if known."""
        gone = partial(self._gone, sim_job, part, pod.name)
        due = pod.deletion.due_at
        if due and due > self.env.moment:
            self.env.after((due - self.env.moment).total_seconds(), gone)
        else:
            self.env.after_shut_down(sim_job.training.shut_down, gone)

    def _gone(self, sim_job: SimulatedJob, part: SimulatedRole, name: str) -> None:
        if name in part.pods:
            self._remove(sim_job, part, name)

    def _remove(self, sim_job: SimulatedJob, part: SimulatedRole, name: str) -> None:
        """Remove an ended pod, and free its capacity."""
        pod = part.remove(name)
        self.env.sim_nodes.free(part.role.template.shape, _place(pod), leaving=pod.terminating)
        self.env.freed()
        self.touch(sim_job)

    def _queue(self, sim_job: SimulatedJob, part: SimulatedRole, pod: Pod) -> None:
        """Hand a pod without a node to kube-scheduler, unless it is gated."""
        env = self.env
        if pod.scheduling.gates and self.gates:
            env.changed()
            return
        created = (pod.created_at - env.scenario.start).total_seconds()
        rank = (-sim_job.job.priority, created, env.number())
        bind = partial(self._bind, sim_job, part, pod.name)
        waiting = PendingPod(rank, _path(sim_job, pod), bind, pod.planned.node)
        env.scheduler.add(part.role.template.shape, waiting)
        env.unbound = True

    def _adopt(self, sim_job: SimulatedJob, part: SimulatedRole, pod: Pod) -> None:
        """Continue the life of a pod that exists from the start."""
        if pod.phase is PodPhase.SUCCEEDED:
            return
        if pod.ended or (pod.terminating and not pod.node):
            part.remove(pod.name)
            return
        if not pod.node:
            self._queue(sim_job, part, pod)
            return
        place = self.env.sim_nodes.bind(part.role.template.shape, pod.node, pod.devices)
        if place != _place(pod):
            part.put(replace(pod, devices=place.devices))
        if pod.terminating:
            self.env.leaves(part.role.template.shape, place)
            self._leave(sim_job, part, pod)
        elif not pod.ready:
            self._start(sim_job, part, pod.name)

    # -- kubelets ----------------------------------------------------------------------------

    def _bind(self, sim_job: SimulatedJob, part: SimulatedRole, name: str, node: str) -> None:
        pod = part.pods[name]
        place = self.env.sim_nodes.bind(part.role.template.shape, node)
        part.put(replace(pod, node=node, devices=place.devices))
        self._start(sim_job, part, name)
        # A pod bound at its creation was planned so: no new decision is needed.
        self.touch(sim_job, needs_decision=pod.created_at != self.env.moment)

    def _start(self, sim_job: SimulatedJob, part: SimulatedRole, name: str) -> None:
        self.env.after_start_up(
            sim_job.training.start_up, partial(self._begin, sim_job, part, name)
        )

    def _begin(self, sim_job: SimulatedJob, part: SimulatedRole, name: str) -> None:
        pod = part.pods.get(name)
        if pod is not None and not pod.terminating:
            moment = self.env.moment
            part.put(replace(pod, phase=PodPhase.RUNNING, ready=True, ready_since=moment))
            # Plans depend on readiness only if nodes are drained.
            self.touch(sim_job, needs_decision=not self.env.sim_nodes.calm)

    def lose(self, node: str) -> None:
        """Remove a lost node's pods, which the Job controller counts as failed and recreates."""
        self.provisioning.lose(node)
        for sim_job in self.sim_jobs.values():
            for part in sim_job.parts.values():
                lost = [pod for pod in part.pods.values() if pod.node == node]
                for pod in lost:
                    part.remove(pod.name)
                    sim_job.worked.discard(pod.name)
                failed = [pod for pod in lost if not pod.terminating]
                if failed and part.role.status.ending is None:
                    self._fail(sim_job, part, len(failed))
                if lost:
                    self.touch(sim_job)

    def _fail(self, sim_job: SimulatedJob, part: SimulatedRole, count: int) -> None:
        role = part.role
        part.write(role.changed(failures=role.status.failures + count))
        self._back_off(sim_job, part, recreated_within(part.role))
        sim_job.track.pod_stops += count
        if sim_job.together:
            sim_job.progress.fall_back(self.env.now)

    def _back_off(self, sim_job: SimulatedJob, part: SimulatedRole, wait: timedelta) -> None:
        """Its controller makes no pod for a time: of past failures, as long as it may be."""
        seconds = max(wait.total_seconds(), 0)
        part.makes_from = self.env.now + seconds
        self.env.after(seconds, partial(self._make_again, sim_job, part))

    def _make_again(self, sim_job: SimulatedJob, part: SimulatedRole) -> None:
        part.unseen = True
        self.touch(sim_job)

    # -- programs ----------------------------------------------------------------------------

    def work(self, sim_job: SimulatedJob) -> None:
        """Update a job's speed, and schedule its end."""
        if sim_job.track.ended is None:
            (self._do_items if sim_job.items else self._do)(sim_job)

    def _do(self, sim_job: SimulatedJob) -> None:
        now, progress = self.env.now, sim_job.progress
        progress.run(now, sim_job.counted.ready if sim_job.can_train else 0)
        if progress.end != sim_job.finish:
            sim_job.finish = progress.end
            self.env.event_queue.add(progress.end, partial(self._finish, sim_job, progress.end))

    def _finish(self, sim_job: SimulatedJob, planned: float) -> None:
        if sim_job.finish == planned and sim_job.track.ended is None:
            sim_job.progress.run(self.env.now, 0)
            self._done(sim_job)

    def tell(self) -> None:
        """Let jobs that report their progress do so now."""
        for sim_job in self.sim_jobs.values():
            if sim_job.training.tells or sim_job.items:
                part, reported_progress = sim_job.counted, sim_job.reported_progress(self.env.now)
                if part.role.request.progress != reported_progress:
                    part.write(part.role.changed(progress=reported_progress))

    def _do_items(self, sim_job: SimulatedJob) -> None:
        part, seconds = sim_job.counted, sim_job.training.work.seconds
        for pod in part.live():
            if pod.ready and pod.name not in sim_job.worked:
                sim_job.worked.add(pod.name)
                self.env.after(seconds, partial(self._finish_item, sim_job, part, pod.name))

    def _finish_item(self, sim_job: SimulatedJob, part: SimulatedRole, name: str) -> None:
        if name not in sim_job.worked:
            return
        sim_job.worked.discard(name)
        sim_job.progress.done += sim_job.training.work.seconds
        part.write(part.role.changed(remaining=(part.role.status.remaining or 1) - 1))
        self._remove(sim_job, part, name)
        if not part.role.status.remaining:
            self._done(sim_job)

    def _done(self, sim_job: SimulatedJob) -> None:
        """Complete the leader role with its pods; steps end the other roles."""
        sim_job.track.ended = self.env.now
        for part in sim_job.parts.values():
            if part.role.spec.is_leader:
                self._complete(sim_job, part)
        self.touch(sim_job)

    def _complete(self, sim_job: SimulatedJob, part: SimulatedRole) -> None:
        for pod in list(part.pods.values()):
            if pod.node and not pod.ended:
                self._remove(sim_job, part, pod.name)
            elif not pod.ended:
                self.end(sim_job, part, pod)
        part.end(JobEnd.COMPLETE, self.env.moment)

    def end_all(self, sim_job: SimulatedJob) -> None:
        """Complete all remaining roles of a job that has ended."""
        for part in sim_job.parts.values():
            if part.role.status.ending is None:
                part.end(JobEnd.COMPLETE, self.env.moment)
                self.touch(sim_job)

    def note(self, sim_job: SimulatedJob) -> None:
        """Record the state of a job; forget it once no pod of it is left."""
        key = sim_job.training.key
        if sim_job.over and sim_job.track.ended is None:
            sim_job.track.ended = self.env.now
        sim_job.note(self.env.now)
        if sim_job.track.ended is None and not sim_job.has_bound_minimum:
            self.waiting.add(key)
        else:
            self.waiting.discard(key)
        if sim_job.gone:
            self.sim_jobs.pop(key, None)
            self.restless.pop(key, None)

    def show(self, sim_job: SimulatedJob, part: SimulatedRole, pod: Pod) -> None:
        """Store a patched pod; if its gates were removed, hand it to kube-scheduler."""
        opened = part.pods[pod.name].scheduling.gates and not pod.scheduling.gates
        part.put(pod)
        if opened:
            self._queue(sim_job, part, pod)
        self.touch(sim_job)


def _path(sim_job: SimulatedJob, pod: Pod) -> str:
    return f"{sim_job.job.key.namespace}/{pod.name}"


def _place(pod: Pod) -> Place:
    return Place(pod.node, pod.devices)
