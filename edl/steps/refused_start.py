"""Records and retries a start that the API server refused.

The retry is a dry run first, before capacity is reserved for the start again.
"""

from datetime import datetime, timedelta

from msgspec.structs import replace

from edl import contract, phases, reasons
from edl.annotations import start_refusals
from edl.annotations.json_text import json_text
from edl.model import StartRefusal, TrainingJob
from edl.planner.plan import Admission
from edl.steps import preconditioned_patches
from edl.steps.start import start
from edl.writes import Patch, Step


def refused(
    job: TrainingJob, refusal: StartRefusal, now: datetime
) -> tuple[Step, timedelta | None]:
    """Writes that are due now, and the time after which to check again without a change."""
    left = start_refusals.time_left(refusal, now)
    if job.roles[0].record.refusal != refusal:
        return Step(job.key, (_record(job, refusal),)), left
    if left:
        return Step(job.key, ()), left
    return _attempt(job, refusal, now), None


def _record(job: TrainingJob, refusal: StartRefusal) -> Patch:
    """Records the refusal on the first Job, where users and the next leader can read it."""
    role = job.roles[0]
    annotations: dict[str, str | None] = {contract.START_REFUSED: json_text(refusal)}
    explained = preconditioned_patches.reason_annotations(phases.blocked(job))
    return preconditioned_patches.job(job.key, role, {}, annotations | explained)


def _attempt(job: TrainingJob, refusal: StartRefusal, now: datetime) -> Step:
    """The start at the minimum: patches as dry runs, dependents for real."""
    sizes = tuple((role.name, role.spec.min) for role in job.live if role.status.suspended)
    begun = start(
        job, Admission(job.key, sizes, reasons.started(sum(size for _, size in sizes))), now
    )
    if not begun.writes:  # the API server does not allow changes of its templates yet
        return begun
    lifted = {contract.START_REFUSED: json_text(replace(refusal, lifted=True))}
    writes = tuple(
        replace(write, dry_run=True) if isinstance(write, Patch) else write
        for write in begun.writes
    )
    return Step(
        job.key,
        (*writes, preconditioned_patches.job(job.key, job.roles[0], {}, lifted)),
        starts=True,
    )
