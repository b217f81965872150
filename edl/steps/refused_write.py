"""Records and retries a start, or new sizes, that the API server refused.

The retry is a dry run first, before capacity is reserved for the start or the size again. Each
refused write has a back-off of its own: a lasting refusal of one says nothing about others.
"""

from datetime import datetime
from operator import attrgetter

from msgspec.structs import replace

from edl import reasons
from edl.annotations import write_refusals
from edl.annotations.role_record import recorded
from edl.job_state import phases
from edl.model import ResizePolicy, Role, TrainingJob, WriteRefusal
from edl.planner.plan import Admission
from edl.steps.preconditioned_patches import job_patch, reason_annotations, size_spec
from edl.steps.sizes.start import start
from edl.steps.step_collector import DueSteps
from edl.writes import Json, Patch, Step


def retry_refused_writes(job: TrainingJob, now: datetime) -> DueSteps:
    """One step: the record of new refusals, or else the refused write that is due first."""
    left = [(refusal, write_refusals.time_left(refusal, now)) for refusal in job.refused_writes]
    recheck = min((time for _, time in left if time), default=None)
    if records := _records(job):
        return DueSteps((Step(job.key, records),), recheck)
    due = sorted((refusal for refusal, time in left if not time), key=attrgetter("at"))
    attempts = (_attempt(job, refusal, now) for refusal in due)
    step = next((step for step in attempts if step.writes), None)
    return DueSteps((step,) if step else (), recheck)


def _records(job: TrainingJob) -> tuple[Patch, ...]:
    """Records the refusals where users and the next leader can read them.

    A waiting job's reason is beside that of its start; a running role keeps the reason of its size.
    """
    why = phases.blocked(job) if job.refused else None
    explained = reason_annotations(why) if why else {}
    return tuple(
        _noted(job, role, refusals, explained if role is job.roles[0] else {})
        for role in job.roles
        if (refusals := write_refusals.of_role(job, role)) and refusals != role.record.refusals
    )


def _noted(
    job: TrainingJob,
    role: Role,
    refusals: tuple[WriteRefusal, ...],
    annotations: dict[str, str | None],
) -> Patch:
    """The patch with a role's refusals. Other steps may write its Job at the same time.

    A Job that was created again under the same name has not been refused anything.
    """
    patch = job_patch(job.key, role, {}, annotations | recorded(refusals=refusals))
    return replace(patch, unless_changed={"metadata": {"uid": role.uid}})


def _attempt(job: TrainingJob, refusal: WriteRefusal, now: datetime) -> Step:
    """The refused write: patches as dry runs, dependents of a start for real."""
    size = refusal.size
    role = job.roles[0] if size is None else next(r for r in job.live if r.name == size.role)
    if size is None:
        tried = _start(job, now)
        if not tried.writes:  # the API server does not allow changes of its templates yet
            return tried
    else:
        patch = job_patch(job.key, role, _spec(role, size.size), {})
        tried = Step(job.key, (patch,), sizes=((size.role, size.size),))
    dry = (replace(one, dry_run=True) if isinstance(one, Patch) else one for one in tried.writes)
    refusals = write_refusals.of_role(job, role)
    lifted = (replace(entry, lifted=entry.lifted or entry is refusal) for entry in refusals)
    return replace(tried, writes=(*dry, _noted(job, role, tuple(lifted), {})), events=())


def _start(job: TrainingJob, now: datetime) -> Step:
    """The start at the minimum."""
    sizes = tuple((role.name, role.spec.min) for role in job.live if role.status.suspended)
    why = reasons.started(sum(size for _, size in sizes))
    return start(job, Admission(job.key, sizes, why), now)


def _spec(role: Role, size: int) -> Json:
    """What a resize of the role writes; 0 stops it, and so does a restart for a new size."""
    stops = {"suspend": True} if not size or role.spec.resizing is ResizePolicy.RESTART else {}
    return stops | (size_spec(role, size) if size else {})
