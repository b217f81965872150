"""Why one training job has its size, and what blocks its start or one more replica."""

from itertools import chain

import msgspec
from msgspec.structs import replace

from edl import reasons
from edl.model import JobKey, Reason, ResizePolicy, Role, TrainingJob
from edl.model.causes.scarcity import NodePoolLimit
from edl.planner.explain.blocker_search import BlockerSearch, DecidedJob
from edl.planner.explain.room_trials import RoomTrials, room_trials
from edl.planner.explain.start_remedies import within_pool_limits
from edl.planner.explain.what_if_state import DecisionInput
from edl.planner.plan import Plan, WaitingJob
from edl.planner.plan_builder import build_plan
from edl.spec.allowed_sizes import with_work


class RoleExplanation(msgspec.Struct, frozen=True):
    """One role: its replicas now (0 while it is suspended) and after the plan.

    `reason` is None if the reason recorded on its Job still holds. `blockers` is None for a role
    that waits with its whole training job, or has ended.
    """

    role: str
    before: int
    after: int
    reason: Reason | None = None
    blockers: BlockerSearch | None = None


class Explanation(msgspec.Struct, frozen=True):
    """One training job. `start_blockers` is None unless it waits."""

    job: JobKey
    plan: Plan
    roles: tuple[RoleExplanation, ...]
    start_blockers: BlockerSearch | None = None
    trials: RoomTrials = RoomTrials()

    @property
    def waiting(self) -> WaitingJob | None:
        """Why the plan does not start or scale up the job now; None if it does, or need not."""
        return next((entry for entry in self.plan.waiting if entry.job == self.job), None)

    @property
    def may_gain(self) -> bool:
        """Whether it may start, or a role may grow, once its blockers are gone."""
        searches = [role.blockers for role in self.roles if role.blockers]
        return self.start_blockers is not None or any(not search.final for search in searches)

    def unplanned(self) -> "Explanation":
        """The explanation without the roles' planned sizes, reasons and blockers."""
        roles = tuple(RoleExplanation(role.role, role.before, role.before) for role in self.roles)
        return replace(self, roles=roles)


def explain(given: DecisionInput, key: JobKey) -> Explanation | None:
    """The explanation of one training job; None if no job has this key."""
    job = given.job(key)
    if job is None:
        return None
    decision = given.run_passes()
    plan = build_plan(decision)
    decided = DecidedJob(given, job, decision)
    lacks_room = decided.suspended and not decision.gives_room(key)
    return Explanation(
        job=key,
        plan=plan,
        roles=tuple(_role(decided, role, plan) for role in job.roles),
        start_blockers=decided.start(),
        trials=room_trials(given, decision, job) if lacks_room else _raise_trials(decided),
    )


def _raise_trials(decided: DecidedJob) -> RoomTrials:
    """What gives a job that runs the nodes of its raised minimum, if limits keep them away."""
    job, why = decided.job, decided.decision.why_waits(decided.job.key)
    if job.suspended or why is None or not isinstance(why.about, NodePoolLimit):
        return RoomTrials()
    return RoomTrials(start=within_pool_limits(decided.situation, job, why.about))


def _role(decided: DecidedJob, role: Role, plan: Plan) -> RoleExplanation:
    allocation = decided.decision.allocation(decided.job.key, role.name)
    stopped = decided.decision.why_stopped(decided.job.key)
    after = 0 if stopped else allocation.planned_size if allocation else role.status.desired
    return RoleExplanation(
        role=role.name,
        before=with_work(role, role.status.desired),
        after=with_work(role, after),
        reason=_planned_reason(plan, decided.job, role),
        blockers=decided.growth(role),
    )


def _planned_reason(plan: Plan, job: TrainingJob, role: Role) -> Reason | None:
    """The reason of this plan's change; else a default, if its Job records no reason."""
    key = job.key
    moved = (
        resize.reason for resize in plan.resizes if (resize.job, resize.role) == (key, role.name)
    )
    stopped = (suspension.reason for suspension in plan.suspensions if suspension.job == key)
    started = (
        admission.reason
        for admission in plan.admissions
        if admission.job == key and role.name in dict(admission.sizes)
    )
    planned = next(chain(moved, stopped, started), None)
    recorded = role.request.problem or role.record.message
    if planned or recorded:
        return planned
    if role.spec.resizing is ResizePolicy.FIXED:
        return reasons.FIXED_SIZE
    at_min = role.status.size == role.spec.min and not role.status.suspended
    return reasons.AT_MIN if at_min else None
