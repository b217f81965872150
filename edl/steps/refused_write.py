"""Records and retries a start, or new sizes, that the API server refused.

The retry is a dry run first, before capacity is reserved for the start or the sizes again. One
write is retried at a time, each in its turn: a lasting refusal of one says nothing about others.
"""

from datetime import datetime, timedelta

from msgspec.structs import replace

from edl import contract, phases, reasons
from edl.annotations import write_refusals
from edl.annotations.json_text import json_text
from edl.model import RefusedSize, ResizePolicy, Role, TrainingJob, WriteRefusal
from edl.planner.plan import Admission
from edl.steps import preconditioned_patches
from edl.steps.start import start
from edl.writes import Json, Patch, Step


def retried(
    job: TrainingJob, refusal: WriteRefusal, now: datetime
) -> tuple[Step, timedelta | None]:
    """Writes that are due now, and the time after which to check again without a change."""
    left = write_refusals.time_left(refusal, now)
    if all(role.record.refusal != refusal for role in job.roles):
        return Step(job.key, (_record(job, refusal),)), left
    if left:
        return Step(job.key, ()), left
    return _attempt(job, refusal, now), None


def _record(job: TrainingJob, refusal: WriteRefusal) -> Patch:
    """Records the refusal where users and the next leader can read it.

    A waiting job's reason is beside it; a running role keeps the reason of its size.
    """
    explained = preconditioned_patches.reason_annotations(phases.blocked(job))
    return _noted(job, refusal, explained if refusal.starts_refused else {})


def _noted(job: TrainingJob, refusal: WriteRefusal, annotations: dict[str, str | None]) -> Patch:
    """The patch with the refusal: of the first Job for a start, else of a refused role's Job.

    It relies on nothing, as other steps may write that Job at the same time.
    """
    names = {one.role for one in refusal.sizes}
    resized = None if refusal.starts else next((r for r in job.live if r.name in names), None)
    annotations = annotations | {contract.WRITE_REFUSED: json_text(refusal)}
    found = preconditioned_patches.job(job.key, resized or job.roles[0], {}, annotations)
    return replace(found, unless_changed={})


def _attempt(job: TrainingJob, refusal: WriteRefusal, now: datetime) -> Step:
    """The refused write whose turn it is: each failed attempt is followed by that of the next."""
    sizes = refusal.refused_sizes
    turn = refusal.attempts % (len(sizes) + refusal.starts_refused)
    return (
        _size_attempt(job, refusal, sizes[turn])
        if turn < len(sizes)
        else _start_attempt(job, refusal, now)
    )


def _start_attempt(job: TrainingJob, refusal: WriteRefusal, now: datetime) -> Step:
    """The start: patches as dry runs, dependents for real."""
    begun = _start(job, now)
    if not begun.writes:  # the API server does not allow changes of its templates yet
        return begun
    tried = (replace(one, dry_run=True) if isinstance(one, Patch) else one for one in begun.writes)
    lifted = _noted(job, replace(refusal, lifted=True), {})
    return Step(job.key, (*tried, lifted), starts=True)


def _size_attempt(job: TrainingJob, refusal: WriteRefusal, tried: RefusedSize) -> Step:
    role = next(role for role in job.live if role.name == tried.role)
    patch = preconditioned_patches.job(job.key, role, _spec(role, tried.size), {})
    sizes = (replace(one, lifted=one.lifted or one == tried) for one in refusal.sizes)
    lifted = _noted(job, replace(refusal, sizes=tuple(sizes)), {})
    return Step(job.key, (replace(patch, dry_run=True), lifted), sizes=((tried.role, tried.size),))


def _start(job: TrainingJob, now: datetime) -> Step:
    """The start at the minimum."""
    sizes = tuple((role.name, role.spec.min) for role in job.live if role.status.suspended)
    why = reasons.started(sum(size for _, size in sizes))
    return start(job, Admission(job.key, sizes, why), now)


def _spec(role: Role, size: int) -> Json:
    """What a resize of the role writes; 0 stops it, and so does a restart for a new size."""
    stops = {"suspend": True} if not size or role.spec.resizing is ResizePolicy.RESTART else {}
    return stops | (preconditioned_patches.size(role, size) if size else {})
