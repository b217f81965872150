"""Computes all steps of a round from a plan and the state that the plan was made for."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace

from edl import messages
from edl.annotations.role_record import recorded
from edl.job_state import phases
from edl.model import ClusterState, ConflictingJob, JobKey, Reason, Role, TrainingJob
from edl.planner.plan import Admission, Drain, NodeAssignment, Plan, Resize, Suspension, WaitingJob
from edl.steps.pod_placement import placement_steps
from edl.steps.pod_removal import with_drained_pods
from edl.steps.preconditioned_patches import job_event, job_patch, reason_annotations
from edl.steps.provisioning import provisioning_steps
from edl.steps.refused_write import retry_refused_writes
from edl.steps.running_jobs import (
    bare_pod_upkeep,
    upkeep,
    upkeep_of_dependents,
    withdraw_marks,
)
from edl.steps.sizes import scale_deadline
from edl.steps.sizes.start import start, stop
from edl.steps.step_collector import DueSteps, StepCollector, StepError
from edl.steps.unchanged_jobs import UnchangedJobs
from edl.writes import Action, Step

MAX_EXPLAINED_JOBS: Final = 50
"""Waiting jobs whose reason is written per round, so that a long queue does not flood the API."""

_Entry = TypeVar("_Entry", Resize, NodeAssignment)


class Steps(msgspec.Struct, frozen=True):
    """Writes to make now, and the time after which to check again without a change."""

    steps: tuple[Step, ...] = ()
    recheck_after: timedelta | None = None
    errors: tuple[StepError, ...] = ()


def _never(_job: JobKey) -> bool:
    return False


def steps(
    plan: Plan,
    state: ClusterState,
    unchanged: UnchangedJobs | None = None,
    backs_off: Callable[[JobKey], bool] = _never,
) -> Steps:
    """All writes that the plan and the upkeep of jobs require: suspensions first, starts later.

    `unchanged` only saves time, and is updated. A job that `backs_off` gets no step: its writes
    failed, and are retried later.
    """
    unchanged = unchanged or UnchangedJobs()
    collector = StepCollector(backs_off)
    _add_suspensions(collector, plan, state)
    _add_upkeep(collector, plan, state, unchanged)
    _add_retries(collector, plan, state)
    _add_placements(collector, plan, state)
    provisioning_steps.add_steps(collector, plan, state)
    _add_starts(collector, plan, state)
    _add_waiting_reasons(collector, plan, state)
    _add_conflict_reasons(collector, state)
    unchanged.retain(state.jobs)
    rechecks = [plan.recheck_after] if plan.recheck_after else []
    recheck_after = min(rechecks + collector.rechecks, default=None)
    return Steps(tuple(collector.steps), recheck_after, tuple(collector.errors))


def _add_suspensions(collector: StepCollector, plan: Plan, state: ClusterState) -> None:
    """Adds the upkeep of bare pods, which no plan concerns, and the plan's suspensions."""
    for bare in state.bare_jobs:
        collector.add(bare.key, bare_pod_upkeep, bare, state.observed_at)
    jobs = {job.key: job for job in state.jobs} if plan.suspensions else {}
    for suspension in plan.suspensions:
        job = jobs[suspension.job]
        collector.add(job.key, _suspension_steps, job, suspension, state.observed_at)


def _suspension_steps(job: TrainingJob, suspension: Suspension, now: datetime) -> DueSteps:
    return DueSteps((stop(job, suspension, now),))


def _add_upkeep(
    collector: StepCollector, plan: Plan, state: ClusterState, unchanged: UnchangedJobs
) -> None:
    """Adds resizes, drains and upkeep of jobs that this plan neither starts nor suspends."""
    now, resizes, drains = state.observed_at, _by_job(plan.resizes), _drains(plan)
    moved = {entry.job for entry in plan.suspensions} | {entry.job for entry in plan.admissions}
    unprotected = _unprotected(plan)
    planned = resizes.keys() | {entry.job for entry in plan.drains} | unprotected.keys()
    reasons = {entry.job: entry.reason for entry in plan.waiting}
    for observed in state.jobs:
        key = observed.key
        if key in moved:
            continue
        if _is_left_alone(observed):
            collector.add(key, withdraw_marks, observed, now)
            continue
        job = scale_deadline.with_hold_cause(observed, reasons.get(key), now)
        if key in planned:
            changed, without = with_drained_pods(job, drains), unprotected.get(key, ())
            collector.add(key, upkeep, changed, resizes.get(key, ()), now)
            collector.add(key, _dependents, changed, now, without)
        elif job not in unchanged:
            collector.add(key, _unplanned_upkeep, job, now, unchanged)


def _is_left_alone(job: TrainingJob) -> bool:
    """Whether its Jobs stay as they are: while it has a problem, or its start is refused.

    Once some of its Jobs have ended, only if all others are suspended: then those that ended may be
    of an earlier run, which may be the problem.
    """
    if phases.ending(job) is None:
        return phases.blocked(job) is not None
    return bool(job.problem and job.live) and job.suspended


def _unplanned_upkeep(job: TrainingJob, now: datetime, unchanged: UnchangedJobs) -> DueSteps:
    """The upkeep of a job that the plan does not change; remembers whether it was none."""
    (step,), recheck_after = upkeep(job, (), now)
    around = upkeep_of_dependents(job, now)
    if not (step.writes or around) and recheck_after is None:
        unchanged.remember(job)
    starts = _is_suspended(job) and phases.ending(job) is None
    due = tuple(replace(one, starts=starts) for one in (step, *around))
    return DueSteps(due, recheck_after)


def _dependents(job: TrainingJob, now: datetime, unprotected: Collection[str]) -> DueSteps:
    return DueSteps(upkeep_of_dependents(job, now, unprotected))


def _add_retries(collector: StepCollector, plan: Plan, state: ClusterState) -> None:
    """Adds retries for jobs of which the API server refused a write."""
    stopped = {entry.job for entry in plan.suspensions}
    for job in state.jobs:
        if not job.refused_writes or job.problem or job.key in stopped:
            continue
        if phases.ending(job) is None:
            collector.add(job.key, retry_refused_writes, job, state.observed_at)


def _add_placements(collector: StepCollector, plan: Plan, state: ClusterState) -> None:
    """Adds steps that assign nodes to pods of running jobs, besides the jobs' other steps."""
    stopped = {entry.job for entry in plan.suspensions}
    stopped |= {resize.job for resize in plan.resizes if resize.restart}
    assignments, now, drains = _by_job(plan.node_assignments), state.observed_at, _drains(plan)
    for job in state.jobs if assignments else ():
        goes_on = job.key not in stopped and not job.problem and phases.ending(job) is None
        if goes_on and job.key in assignments and not provisioning_steps.holds_nodes(job, now):
            moved = with_drained_pods(job, drains)
            collector.add(job.key, placement_steps, moved, assignments[job.key], now)


def _add_starts(collector: StepCollector, plan: Plan, state: ClusterState) -> None:
    jobs = {job.key: job for job in state.jobs} if plan.admissions else {}
    for admission in plan.admissions:
        job = jobs[admission.job]
        collector.add(job.key, _start_steps, job, admission, state.observed_at)


def _start_steps(job: TrainingJob, admission: Admission, now: datetime) -> DueSteps:
    step = start(job, admission, now)
    if not step.writes:
        return DueSteps(())
    before = provisioning_steps.removed_at_start(job)
    after = provisioning_steps.removed_after_start(job)
    return DueSteps((replace(step, writes=(*before, *step.writes, *after)),))


def _drains(plan: Plan) -> Mapping[tuple[JobKey, str], Drain]:
    """The plan's drains by job and role."""
    return {(entry.job, entry.role): entry for entry in plan.drains}


def _unprotected(plan: Plan) -> Mapping[JobKey, frozenset[str]]:
    """The roles that get no PodDisruptionBudget, by job."""
    roles = [(entry.job, entry.role) for entry in plan.staying if entry.unprotected]
    return {job: frozenset(role for key, role in roles if key == job) for job, _ in roles}


def _by_job(entries: Iterable[_Entry]) -> dict[JobKey, list[_Entry]]:
    by_job: dict[JobKey, list[_Entry]] = {}
    for entry in entries:
        by_job.setdefault(entry.job, []).append(entry)
    return by_job


def _add_waiting_reasons(collector: StepCollector, plan: Plan, state: ClusterState) -> None:
    """Writes each waiting job's reason to its first Job, where `kubectl describe` shows it.

    First of jobs that never start, as waiting does not help them.
    Refused starts and nodes that did not join are left out: their own steps write the reason.
    """
    waiting = {job.key: job for job in state.jobs if _is_suspended(job) and not job.refused}
    due = [
        entry
        for entry in sorted(plan.waiting, key=lambda entry: not entry.never)
        if entry.job in waiting
        and entry.job not in plan.unprovisioned
        and not _has_reason(waiting[entry.job].roles[0], entry.reason)
        and not collector.backs_off(entry.job)
    ]
    for entry in _in_turn(due)[:MAX_EXPLAINED_JOBS]:
        collector.add(entry.job, _waiting_reason, waiting[entry.job], entry, state.observed_at)


def _in_turn(jobs: Iterable[WaitingJob]) -> list[WaitingJob]:
    """The first job of each namespace, then the second: those whose writes hang delay no others."""
    numbers, numbered = Counter[str](), list[tuple[int, WaitingJob]]()
    for entry in jobs:
        numbers[entry.job.namespace] += 1
        numbered.append((numbers[entry.job.namespace], entry))
    return [entry for _, entry in sorted(numbered, key=itemgetter(0))]


def _waiting_reason(job: TrainingJob, entry: WaitingJob, now: datetime) -> DueSteps:
    role, text = job.roles[0], messages.lasting(entry.reason)
    event = job_event(job.key, role, Action.WAITING, entry.reason, text)
    annotations = reason_annotations(entry.reason, text)
    if job.just_resumed:
        annotations |= recorded(resumed_at=now)
    return DueSteps((Step(job.key, (job_patch(job.key, role, {}, annotations),), (event,)),))


def _has_reason(role: Role, reason: Reason) -> bool:
    return (role.record.reason, role.record.message) == (reason.code, messages.lasting(reason))


def _add_conflict_reasons(collector: StepCollector, state: ClusterState) -> None:
    """Writes to Jobs that are left out of their training job why they are."""
    most = len(collector.steps) + MAX_EXPLAINED_JOBS
    for job in state.jobs:
        for conflict in job.conflicting if len(collector.steps) < most else ():
            collector.add(conflict.key, _conflict_reason, job, conflict)


def _conflict_reason(job: TrainingJob, conflict: ConflictingJob) -> DueSteps:
    role, text = conflict.role, messages.lasting(conflict.reason)
    if role is None or _has_reason(role, conflict.reason):
        return DueSteps(())
    event = job_event(job.key, role, Action.WAITING, conflict.reason, text)
    patch = job_patch(job.key, role, {}, reason_annotations(conflict.reason, text))
    return DueSteps((Step(conflict.key, (patch,), (event,)),))


def _is_suspended(job: TrainingJob) -> bool:
    return bool(job.roles) and job.suspended
