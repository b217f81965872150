"""What decides over the jobs: the planner as in the cluster, or kube-scheduler alone."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from msgspec.structs import replace

from edl import messages
from edl.annotations import unneeded_nodes
from edl.model import ClusterState, ObjectRef, Role, TrainingJob
from edl.planner.decision_limits import Limits, ProvisionerSettings
from edl.planner.plan import Plan
from edl.planner.plan_cache import PlanCache
from edl.simulator.cluster import patch_application
from edl.simulator.cluster.job_controller import JobController
from edl.simulator.cluster.simulated_job import SimulatedJob
from edl.simulator.cluster.simulated_role import SimulatedRole
from edl.simulator.environment import Environment
from edl.simulator.scenario import Elastic, Plain, Watcher
from edl.steps import steps
from edl.writes import Create, Delete, Patch, Step, Write


@dataclass(slots=True)
class ElasticControl:
    """With us: observe, decide, take the steps. What it returns is when time alone asks again.

    Nodes are asked for by provisional pods, also where a ProvisioningRequest would: they come as
    late, within the same time-out, and are asked for again after the same back-off.
    """

    stage: Environment
    company: JobController
    elastic: Elastic
    watcher: Watcher
    observe: Callable[[], ClusterState]
    _limits: Limits = field(init=False)
    _memory: PlanCache = field(default_factory=PlanCache)
    _since: unneeded_nodes.Since = field(init=False)
    """Since when nodes have been unneeded."""

    def __post_init__(self) -> None:
        self._limits = replace(self.elastic.limits, asks=ProvisionerSettings())
        self._since = self.stage.world.around.unneeded_since

    def arrived(self, actor: SimulatedJob) -> None:
        """It waits until the planner starts it."""

    def ended(self, actor: SimulatedJob) -> None:
        """What still runs of it is ended by a step."""

    def round(self) -> timedelta | None:
        """One round of the reconciler."""
        self.company.tell()
        state = replace(self.observe(), unneeded_since=self._since)
        plan = self.elastic.decide(state, self.elastic.policy, self._limits, self._memory)
        self.stage.timeline.decisions += 1
        # Nodes that an unknown autoscaler may remove do not stay until they are taken to be kept.
        if self.stage.world.pools or not state.autoscaled:
            self._since = unneeded_nodes.noted(self._since, plan.unneeded, state.observed_at)
        self.watcher.decided(self.stage.now, state, plan)
        self._say_why(plan)
        found = steps(replace(plan, held=()), replace(state, jobs=self._concerned(plan)))
        for broken in found.errors:
            raise broken.error
        for step in found.steps:
            self._take(step)
        return self._again(plan, found.recheck_after)

    def _again(self, plan: Plan, recheck: timedelta | None) -> timedelta | None:
        """When time alone asks for the next round.

        A plan that has been done as it was made leaves nothing to do (the planner's own law), until
        those that it moved may move again.
        """
        if not (plan.admissions or plan.resizes or plan.suspensions or plan.drains):
            return recheck
        cooled = self._limits.growth_cooldown
        return cooled if recheck is None else min(recheck, cooled)

    def _concerned(self, plan: Plan) -> tuple[TrainingJob, ...]:
        """Jobs of which there may be something to write."""
        moved = [
            *(one.job for one in plan.admissions),
            *(one.job for one in plan.resizes),
            *(one.job for one in plan.suspensions),
            *(one.job for one in plan.drains),
            *(one.job for one in plan.node_assignments),
            *(one.job for one in plan.requests),
            *plan.unprovisioned,
        ]
        keys = self.company.restless | dict.fromkeys(moved)
        self.company.restless = {}
        return tuple(
            actor.value()
            for key, actor in self.company.actors.items()
            if key in keys or actor.attended or actor.job.provisioning.pods
        )

    def _say_why(self, plan: Plan) -> None:
        for held in plan.held:
            self.company.actors[held.job].track.reason = messages.message(held.reason)

    # -- writes ------------------------------------------------------------------------------

    def _take(self, step: Step) -> None:
        actor = self.company.actors[step.job]
        stopped = _stopped(actor)
        before = {name: part.role for name, part in actor.parts.items()}
        for write in step.writes:
            self._write(actor, write)
        if stopped != _stopped(actor):
            self._note_stop(actor, stopped=not stopped)
        actor.track.resizes += any(
            _resized(before[name], part.role) for name, part in actor.parts.items()
        )
        self.company.touch(actor, news=False)

    def _write(self, actor: SimulatedJob, write: Write) -> None:
        if isinstance(write, Create):
            self._create(actor, write)
        elif isinstance(write, Delete):
            self._delete(actor, write.target)
        elif (
            isinstance(write, Patch)
            and not write.dry_run
            and (found := _found(actor, write.target))
        ):
            self._patch(actor, found, write)

    def _create(self, actor: SimulatedJob, write: Create) -> None:
        if write.target.kind == "Pod":
            self.company.provisioning.create(actor, write)
            return
        around = {**actor.job.surroundings, write.target: write.target.name}
        actor.job = replace(actor.job, surroundings=around)

    def _delete(self, actor: SimulatedJob, target: ObjectRef) -> None:
        if target.kind != "Pod" or self.company.provisioning.delete(actor, target):
            return
        if found := _found(actor, target):
            self.company.end(actor, found, found.pods[target.name])

    def _patch(self, actor: SimulatedJob, part: SimulatedRole, patch: Patch) -> None:
        if patch.target.kind == "Pod":
            self.company.show(
                actor, part, patch_application.patched_pod(part.pods[patch.target.name], patch)
            )
            return
        part.write(patch_application.patched_role(part.role, patch))
        began, failure = patch_application.started_at(patch), patch_application.failure(patch)
        if began:
            actor.job = replace(actor.job, started_at=began)
        if began or failure:
            asked = replace(actor.job.provisioning, failure=failure)
            actor.job = replace(actor.job, provisioning=asked)

    def _note_stop(self, actor: SimulatedJob, *, stopped: bool) -> None:
        track, now = actor.track, self.stage.now
        if stopped:
            track.stops += 1
            actor.progress.fall_back(now)
        elif track.admitted is None:
            track.admitted = now


@dataclass(slots=True)
class NoControl:
    """Without us: Jobs run from their arrival at one size, and the scheduler takes pod by pod."""

    stage: Environment
    company: JobController
    plain: Plain

    def arrived(self, actor: SimulatedJob) -> None:
        moment = self.stage.moment
        for part in actor.parts.values():
            size = self._size(actor.job, part.role)
            part.write(part.role.changed(size=size, suspended=False, resized_at=moment))
        actor.job = replace(actor.job, started_at=moment)
        actor.track.admitted = self.stage.now

    def _size(self, job: TrainingJob, role: Role) -> int:
        return self.plain.size(job, role.name) if self.plain.size else role.spec.max

    def ended(self, actor: SimulatedJob) -> None:
        self.company.end_all(actor)

    def round(self) -> timedelta | None:
        """Nothing is decided."""
        return None


def _stopped(actor: SimulatedJob) -> bool:
    return all(
        part.role.status.suspended or part.role.status.ending for part in actor.parts.values()
    )


def _resized(before: Role, after: Role) -> bool:
    """A new size of a job that goes on; neither a start nor an end is one."""
    stays = after.status.size and not before.status.suspended
    return bool(stays) and before.status.size != after.status.size


def _found(actor: SimulatedJob, target: ObjectRef) -> SimulatedRole | None:
    for part in actor.parts.values():
        if target.kind == "Job" and part.role.job == target.name:
            return part
        if target.kind == "Pod" and target.name in part.pods:
            return part
    return None
