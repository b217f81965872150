"""One round of a training job, or of bare pods, that this plan neither starts nor suspends."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from msgspec.structs import replace

from edl.annotations.role_record import recorded
from edl.job_state import phases
from edl.job_state.final_failures import final_failure
from edl.model import JobEnd, Role, TrainingJob
from edl.planner.plan import Resize
from edl.steps import host_lists, pod_removal
from edl.steps.backoff_limit import raise_backoff_limit
from edl.steps.dependents import dependents_of, missed_keys
from edl.steps.disruption_marks import withdrawal_due, withdrawn_marks
from edl.steps.finish import finish, resume_unrecorded_ends
from edl.steps.host_lists import Publication, leaves_no_worker, publish
from edl.steps.preconditioned_patches import job_patch
from edl.steps.provisioning.provisioning_steps import removed_at_growth
from edl.steps.sizes import scale_deadline
from edl.steps.sizes.resize_patch import RoleChange, role_change
from edl.steps.sizes.restart import restart
from edl.steps.step_collector import DueSteps
from edl.writes import DEPENDENTS, Patch, Step

if TYPE_CHECKING:
    from edl.writes import Write


def upkeep(job: TrainingJob, planned: Sequence[Resize], now: datetime) -> DueSteps:
    """One step with the writes to Jobs and pods that are due now."""
    end, failure = phases.ending(job), final_failure(job)
    due = failure if failure and failure.since <= now else None
    if end is None and due:
        end = JobEnd.FAILED
    if end is not None:
        step = finish(job, end, now, due)
        return DueSteps((replace(step, writes=(*resume_unrecorded_ends(job), *step.writes)),))
    roles = {role.name: role for role in job.live}
    resizes = [
        resize
        for resize in scale_deadline.revert_overdue(job, planned, now)
        if not job.refuses(roles[resize.role], resize.after)
    ]
    if any(resize.restart for resize in resizes):
        return DueSteps((restart(job, resizes, now),))
    resizes = [resize for resize in resizes if not leaves_no_worker(job, resize)]
    published = publish(job, resizes, now)
    changes = [_change(job, role, resizes, published, now) for role in job.live]
    writes = (*published.writes, *(write for found in changes for write in found.writes))
    first: tuple[Write, ...] = (*host_lists.new_worker_patches(job), *resume_unrecorded_ends(job))
    first += pod_removal.finish_interrupted_deletions(job)
    first += removed_at_growth(job, resizes)
    events = tuple(event for change in changes for event in change.events)
    sizes = tuple((one.role, one.after) for one in resizes if not roles[one.role].status.suspended)
    step = Step(job.key, (*first, *writes), events, sizes=sizes)
    fails_in = failure.since - now if failure else None
    return DueSteps((step,), _later((_recheck(job, published, now), fails_in)))


def upkeep_of_dependents(
    job: TrainingJob, now: datetime, unprotected: Collection[str] = ()
) -> tuple[Step, ...]:
    """A step with the dependents that the job lacks, if any; `unprotected`: roles without a budget.

    It is a step of its own: a quota or a policy that refuses one must delay no size. Dependents are
    owned by all Jobs, so they wait until the last Job exists.
    """
    if job.missing or phases.ending(job) is not None:
        return ()
    writes = (*dependents_of(job, unprotected), *missed_keys(job, now))
    return (Step(job.key, writes, part=DEPENDENTS),) if writes else ()


def bare_pod_upkeep(job: TrainingJob, now: datetime) -> DueSteps:
    """Dependents of bare pods with our labels, and the host list of their launcher."""
    if job.problem:
        return DueSteps(())
    published = publish(job, (), now)
    # Dependents first: an ungated launcher needs its ServiceAccount.
    writes = (*dependents_of(job), *published.writes)
    step = Step(job.key, writes, part="" if published.writes else DEPENDENTS)
    return DueSteps((step,), published.recheck)


def withdraw_marks(job: TrainingJob, now: datetime) -> DueSteps:
    """The only upkeep of a job whose Jobs stay as they are: pods that run on lose our marks.

    A stop may have failed after it had marked them, because an edit made the job invalid.
    """
    writes = tuple(write for role in job.live for write in withdrawn_marks(job.key, role, now))
    return DueSteps(
        (Step(job.key, writes),), _later(withdrawal_due(role, now) for role in job.live)
    )


def _change(
    job: TrainingJob, role: Role, resizes: Sequence[Resize], published: Publication, now: datetime
) -> RoleChange:
    """The change of one role; removals wait until launchers have read their lists."""
    resize = next((resize for resize in resizes if resize.role == role.name), None)
    removes = role.request.removing or pod_removal.pods_to_remove(role)
    leaves = removes or (resize and resize.after < resize.before)
    if leaves and published.wait is not None:
        return RoleChange()
    if resize or removes or role.request.scaling:
        change = role_change(job, role, resize, now)
        if change.writes:
            return change
    return RoleChange(
        raise_backoff_limit(job, role, now)
        or pod_removal.restore_reason(job, role)
        or record_below_min(job, role, now)
        or withdrawn_marks(job.key, role, now)
    )


def record_below_min(job: TrainingJob, role: Role, now: datetime) -> tuple[Patch, ...]:
    """Records since when the role is below its raised minimum, and forgets it once it is not."""
    is_below, noticed = bool(phases.below_minimum(role)), role.record.below_min_since is not None
    if is_below == noticed:
        return ()
    since = recorded(below_min_since=now if is_below else None)
    return (job_patch(job.key, role, {}, since),)


def _recheck(job: TrainingJob, published: Publication, now: datetime) -> timedelta | None:
    limits = [scale_deadline.time_left(role, now) for role in job.live if role.request.scaling]
    marks = [withdrawal_due(role, now) for role in job.live]
    return _later((published.wait, published.recheck, *limits, *marks))


def _later(times: Iterable[timedelta | None]) -> timedelta | None:
    return min((time for time in times if time is not None and time > timedelta()), default=None)
