"""Turns a plan into writes: a step per training job, a pure function of the observed state."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from functools import partial
from itertools import chain, islice
from typing import Final, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from edl import contract, messages, phases
from edl.model import ClusterState, JobKey, TrainingJob
from edl.planner.plan import Admission, NodeAssignment, Plan, Resize, Suspension
from edl.steps import scale_deadline
from edl.steps.dependents import dependents_of
from edl.steps.host_lists import publish
from edl.steps.pod_placement import placed
from edl.steps.pod_removal import with_drained_pods
from edl.steps.preconditioned_patches import job_event, job_patch, reason_annotations, timestamp
from edl.steps.provisioning import provisioning_steps
from edl.steps.refused_write import retried
from edl.steps.running_jobs import live
from edl.steps.start import start, stop
from edl.steps.unchanged_jobs import UnchangedJobs
from edl.writes import Action, Step

MOST_EXPLAINED: Final = 50
"""Waiting jobs whose reason is written per round, so that a long queue does not flood the API."""

_Due: TypeAlias = tuple[Step, timedelta | None]
"""A job's step, and the time after which to check it again without a change in the cluster."""
_Made = TypeVar("_Made")
_Entry = TypeVar("_Entry", Resize, NodeAssignment)
_Makers: TypeAlias = Iterable[tuple[JobKey, Callable[[], _Made]]]


class StepError(msgspec.Struct, frozen=True):
    """A job for which computing a step raised: a defect, or an unforeseen manifest."""

    job: JobKey
    error: Exception


class Steps(msgspec.Struct, frozen=True):
    """Writes to make now, and the time after which to check again without a change."""

    steps: tuple[Step, ...] = ()
    recheck_after: timedelta | None = None
    errors: tuple[StepError, ...] = ()


def steps(
    plan: Plan,
    state: ClusterState,
    quiet: UnchangedJobs | None = None,
    waits: Callable[[JobKey], bool] = lambda _job: False,
) -> Steps:
    """All writes that the plan and the upkeep of jobs require: suspensions first, starts later.

    `quiet` only saves time, and is updated. A job that `waits` gets no step: its writes failed, and
    are retried later.
    """
    broken: list[StepError] = []

    def made(makers: _Makers[_Made]) -> list[_Made]:
        return [*_made(((key, make) for key, make in makers if not waits(key)), broken)]

    due = made(_lives(plan, state, quiet or UnchangedJobs()))
    due += made(_retries(plan, state))
    pods = chain.from_iterable(made(_placements(plan, state)))
    starts = made(_starts(plan, state))
    provisional = made(provisioning_steps.rounds(plan, state))
    if quiet is not None:
        quiet.keep(state.jobs)
    explained = (step for step in _explanations(plan, state) if not waits(step.job))
    orphaned = (step for step in provisioning_steps.orphaned(state) if not waits(step.job))
    asking = (*chain.from_iterable(found for found, _ in provisional), *orphaned)
    every = (
        *(step for step, _ in due),
        *pods,
        *asking,
        *starts,
        *islice(explained, MOST_EXPLAINED),
    )
    times = (plan.recheck_after, *(time for _, time in (*due, *provisional)))
    rechecks = [time for time in times if time]
    written = tuple(step for step in every if step.writes)
    return Steps(written, min(rechecks, default=None), tuple(broken))


def _made(makers: _Makers[_Made], broken: list[StepError]) -> Iterator[_Made]:
    for key, make in makers:
        try:
            yield make()
        except Exception as error:  # noqa: BLE001 — one job must not stop all others
            broken.append(StepError(key, error))


def _lives(plan: Plan, state: ClusterState, quiet: UnchangedJobs) -> _Makers[_Due]:
    """Step makers of jobs that this plan does not start: suspension, resize or upkeep."""
    now, resizes = state.observed_at, _by_job(plan.resizes)
    jobs = {job.key: job for job in state.jobs}
    moved = {entry.job for entry in plan.suspensions} | {entry.job for entry in plan.admissions}
    for alone in state.bare_jobs:
        yield alone.key, partial(bare, alone, now)
    for suspension in plan.suspensions:
        yield suspension.job, partial(_stopped, jobs[suspension.job], suspension, now)
    leaving = {(entry.job, entry.role): entry for entry in plan.drains}
    asked = resizes.keys() | {entry.job for entry in plan.drains}
    held = {entry.job: entry.reason for entry in plan.held}
    for key, found in jobs.items():
        if key in moved or found.problem or (found.refused and phases.ending(found) is None):
            continue
        job = scale_deadline.held(found, held.get(key), now)
        if key in asked:
            yield key, partial(live, with_drained_pods(job, leaving), resizes.get(key, ()), now)
        elif job not in quiet:
            yield key, partial(_lived, job, now, quiet)


def _retries(plan: Plan, state: ClusterState) -> _Makers[_Due]:
    """Step makers of jobs of which the API server refused a write."""
    stopped = {entry.job for entry in plan.suspensions}
    for job in state.jobs:
        if not job.refused_writes or job.problem or job.key in stopped:
            continue
        if phases.ending(job) is None:
            yield job.key, partial(retried, job, state.observed_at)


def _placements(plan: Plan, state: ClusterState) -> _Makers[tuple[Step, ...]]:
    """Step makers that assign nodes to pods of running jobs, besides the jobs' other steps."""
    stopped = {entry.job for entry in plan.suspensions}
    stopped |= {resize.job for resize in plan.resizes if resize.restart}
    found, now = _by_job(plan.node_assignments), state.observed_at
    leaving = {(entry.job, entry.role): entry for entry in plan.drains}
    for job in state.jobs if found else ():
        goes_on = job.key not in stopped and not job.problem and phases.ending(job) is None
        if goes_on and job.key in found and not provisioning_steps.holds_nodes(job, now):
            yield job.key, partial(placed, with_drained_pods(job, leaving), found[job.key], now)


def _starts(plan: Plan, state: ClusterState) -> _Makers[Step]:
    jobs = {job.key: job for job in state.jobs} if plan.admissions else {}
    for admission in plan.admissions:
        yield admission.job, partial(_started, jobs[admission.job], admission, state.observed_at)


def _started(job: TrainingJob, admission: Admission, now: datetime) -> Step:
    step = start(job, admission, now)
    if not step.writes:
        return step
    before = provisioning_steps.removed_at_start(job)
    after = provisioning_steps.removed_after_start(job)
    return replace(step, writes=(*before, *step.writes, *after))


def _lived(job: TrainingJob, now: datetime, quiet: UnchangedJobs) -> _Due:
    step, recheck = live(job, (), now)
    step = replace(step, starts=_waits(job) and phases.ending(job) is None)
    if not step.writes and recheck is None:
        quiet.note(job)
    return step, recheck


def _stopped(job: TrainingJob, suspension: Suspension, now: datetime) -> _Due:
    return stop(job, suspension, now), None


def _by_job(entries: Iterable[_Entry]) -> dict[JobKey, list[_Entry]]:
    found: dict[JobKey, list[_Entry]] = {}
    for entry in entries:
        found.setdefault(entry.job, []).append(entry)
    return found


def _explanations(plan: Plan, state: ClusterState) -> Iterator[Step]:
    """Writes each waiting job's reason to its first Job, where `kubectl describe` shows it.

    First of jobs that never start, as waiting does not help them.
    Refused starts and nodes that did not join are left out: their own steps write the reason.
    """
    waiting = {job.key: job for job in state.jobs if _waits(job)}
    for held in sorted(plan.held, key=lambda one: not one.never):
        job = waiting.get(held.job)
        if job is None or job.refused or held.job in plan.unprovisioned:
            continue
        role, text = job.roles[0], messages.lasting(held.reason)
        if (role.record.reason, role.record.message) == (held.reason.code, text):
            continue
        note = job_event(job.key, role, Action.WAITING, held.reason, text)
        annotations = reason_annotations(held.reason, text)
        if job.just_resumed:
            moment = timestamp(state.observed_at)
            annotations[contract.RESUMED_AT] = moment
        yield Step(job.key, (job_patch(job.key, role, {}, annotations),), (note,))


def _waits(job: TrainingJob) -> bool:
    return bool(job.roles) and job.suspended


# Bare pods with our labels: their dependents, and their launcher's host list.


def bare(job: TrainingJob, now: datetime) -> tuple[Step, timedelta | None]:
    """Writes that are due now, and the time after which to check again without a change."""
    if job.problem:
        return Step(job.key, ()), None
    published = publish(job, (), now)
    # Dependents first: an ungated launcher needs its ServiceAccount.
    return Step(job.key, (*dependents_of(job), *published.writes)), published.recheck
