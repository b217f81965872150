"""What controls the simulated jobs: the planner, as in a cluster, or kube-scheduler alone."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from msgspec.structs import replace

from edl import messages
from edl.annotations import unneeded_nodes
from edl.job_state.cooldowns import after_growth
from edl.model import ClusterState, ObjectRef, Role, TrainingJob
from edl.patches import patched_values
from edl.planner.decision_limits import Limits, Provisioner
from edl.planner.growth_waits import GrowthWaits
from edl.planner.plan import Plan
from edl.planner.plan_cache import PlanCache
from edl.simulator.cluster.job_controller import JobController
from edl.simulator.cluster.simulated_job import SimulatedJob
from edl.simulator.cluster.simulated_role import SimulatedRole
from edl.simulator.environment import Environment
from edl.simulator.scenario import Elastic, Plain, Watcher
from edl.steps.plan_steps import steps
from edl.writes import Create, Delete, Patch, Step, Write


@dataclass(slots=True)
class ElasticControl:
    """The reconciler: observe, decide, apply the steps.

    Nodes are always requested by provisional pods, which take as long as ProvisioningRequests, with
    the same timeout and back-off.
    """

    env: Environment
    job_controller: JobController
    elastic: Elastic
    watcher: Watcher
    observe: Callable[[], ClusterState]
    _limits: Limits = field(init=False)
    _memory: PlanCache = field(default_factory=PlanCache)
    _waits: GrowthWaits = field(default_factory=GrowthWaits)
    _since: tuple[tuple[str, datetime | None], ...] = field(init=False)
    """`ClusterState.unneeded_since`."""

    def __post_init__(self) -> None:
        given = self.elastic.limits
        provisioning = replace(given.provisioning, provisioner=Provisioner.PODS)
        self._limits = replace(given, provisioning=provisioning)
        self._since = self.env.scenario.around.unneeded_since

    def arrived(self, sim_job: SimulatedJob) -> None:
        """Nothing to do: the job waits until the planner starts it."""

    def ended(self, sim_job: SimulatedJob) -> None:
        """Nothing to do: a step ends its remaining pods."""

    def round(self) -> timedelta | None:
        """One round of the reconciler; the time after which to run again without a change."""
        self.job_controller.tell()
        state = self._waits.recall(replace(self.observe(), unneeded_since=self._since))
        plan = self.elastic.decide(state, self.elastic.policy, self._limits, self._memory)
        self._waits.note(plan, state)
        self.env.timeline.decisions += 1
        if self.env.scenario.pools or not state.autoscaled:
            self._since = unneeded_nodes.noted(self._since, plan.unneeded, state.observed_at)
        else:
            # Without simulated pools, a real autoscaler would have removed unneeded nodes by then,
            # so they must not age until they count as kept.
            names = {name for name, _ in self._since}.union(plan.unneeded)
            self._since = unneeded_nodes.noted(self._since, names, None)
        self.watcher.decided(self.env.now, state, plan)
        self._say_why(plan)
        outcome = steps(replace(plan, waiting=()), replace(state, jobs=self._concerned(plan)))
        for broken in outcome.errors:
            raise broken.error
        for step in outcome.steps:
            self._take(step)
        return self._again(plan, outcome.recheck_after)

    def _again(self, plan: Plan, recheck: timedelta | None) -> timedelta | None:
        """The time until the next round without a change.

        After a plan was executed, the next one has no action (a law of the planner) until the first
        cooldown ends.
        """
        if not (plan.admissions or plan.resizes or plan.suspensions or plan.drains):
            return recheck
        cooled = after_growth(self._limits.growth_cooldown)
        return cooled if recheck is None else min(recheck, cooled)

    def _concerned(self, plan: Plan) -> tuple[TrainingJob, ...]:
        """Jobs that may need a write."""
        moved = [
            *(admission.job for admission in plan.admissions),
            *(resize.job for resize in plan.resizes),
            *(suspension.job for suspension in plan.suspensions),
            *(drain.job for drain in plan.drains),
            *(assignment.job for assignment in plan.node_assignments),
            *(request.job for request in plan.requests),
            *plan.unprovisioned,
        ]
        keys = self.job_controller.restless | dict.fromkeys(moved)
        self.job_controller.restless = {}
        return tuple(
            sim_job.value()
            for key, sim_job in self.job_controller.sim_jobs.items()
            if key in keys or sim_job.attended or sim_job.job.provisioning.pods
        )

    def _say_why(self, plan: Plan) -> None:
        for entry in plan.waiting:
            self.job_controller.sim_jobs[entry.job].track.reason = messages.message(entry.reason)

    # -- writes ------------------------------------------------------------------------------

    def _take(self, step: Step) -> None:
        sim_job = self.job_controller.sim_jobs[step.job]
        stopped = _stopped(sim_job)
        before = {name: part.role for name, part in sim_job.parts.items()}
        for write in step.writes:
            self._write(sim_job, write)
        if not stopped and _stopped(sim_job):
            sim_job.track.stops += 1
            sim_job.progress.fall_back(self.env.now)
        sim_job.track.resizes += any(
            _resized(before[name], part.role) for name, part in sim_job.parts.items()
        )
        self.job_controller.touch(sim_job, needs_decision=False)

    def _write(self, sim_job: SimulatedJob, write: Write) -> None:
        if isinstance(write, Create):
            self._create(sim_job, write)
        elif isinstance(write, Delete):
            self._delete(sim_job, write.target)
        elif (
            isinstance(write, Patch)
            and not write.dry_run
            and (part := _part_of(sim_job, write.target))
        ):
            self._patch(sim_job, part, write)

    def _create(self, sim_job: SimulatedJob, write: Create) -> None:
        if write.target.kind == "Pod":
            self.job_controller.provisioning.create(sim_job, write)
            return
        around = {**sim_job.job.existing_dependents, write.target: write.target.name}
        sim_job.job = replace(sim_job.job, existing_dependents=around)

    def _delete(self, sim_job: SimulatedJob, target: ObjectRef) -> None:
        if target.kind != "Pod" or self.job_controller.provisioning.delete(sim_job, target):
            return
        if part := _part_of(sim_job, target):
            self.job_controller.end(sim_job, part, part.pods[target.name])

    def _patch(self, sim_job: SimulatedJob, part: SimulatedRole, patch: Patch) -> None:
        if patch.target.kind == "Pod":
            self.job_controller.show(
                sim_job, part, patched_values.patched_pod(part.pods[patch.target.name], patch)
            )
            return
        role = patched_values.patched_role(part.role, patch)
        if role.status.suspended and not part.role.status.suspended:
            role = role.changed(suspended_at=self.env.moment)
        part.write(role)
        began, failure = patched_values.started_at(patch), patched_values.failure(patch)
        if began:
            sim_job.job = replace(sim_job.job, started_at=began)
        if began or failure:
            asked = replace(sim_job.job.provisioning, failure=failure)
            sim_job.job = replace(sim_job.job, provisioning=asked)


@dataclass(slots=True)
class NoControl:
    """Without kubectl-edl: Jobs run from their arrival at one size; pods are bound one by one."""

    env: Environment
    job_controller: JobController
    plain: Plain

    def arrived(self, sim_job: SimulatedJob) -> None:
        moment = self.env.moment
        for part in sim_job.parts.values():
            size = self._size(sim_job.job, part.role)
            part.write(part.role.changed(size=size, suspended=False, resized_at=moment))
        sim_job.job = replace(sim_job.job, started_at=moment)

    def _size(self, job: TrainingJob, role: Role) -> int:
        return self.plain.size(job, role.name) if self.plain.size else role.spec.max

    def ended(self, sim_job: SimulatedJob) -> None:
        self.job_controller.end_all(sim_job)

    def round(self) -> timedelta | None:
        """Nothing to decide."""
        return None


def _stopped(sim_job: SimulatedJob) -> bool:
    return all(
        part.role.status.suspended or part.role.status.ending for part in sim_job.parts.values()
    )


def _resized(before: Role, after: Role) -> bool:
    """Whether a running role was resized; neither a start nor an end counts."""
    stays = after.status.size and not before.status.suspended
    return bool(stays) and before.status.size != after.status.size


def _part_of(sim_job: SimulatedJob, target: ObjectRef) -> SimulatedRole | None:
    for part in sim_job.parts.values():
        if target.kind == "Job" and part.role.job == target.name:
            return part
        if target.kind == "Pod" and target.name in part.pods:
            return part
    return None
