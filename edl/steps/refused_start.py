"""A training job whose start the API server refused: its Job says so, and the start is retried.

A dry run asks first, before capacity is reserved for the start again.
"""

from datetime import datetime, timedelta

from msgspec.structs import replace

from edl import contract, phases, reasons
from edl.annotations import attempt_backoff, start_refusals
from edl.model import StartRefusal, TrainingJob
from edl.planner.plan import Admission
from edl.steps import preconditioned_patches
from edl.steps.start import start
from edl.writes import Patch, Step


def refused(
    job: TrainingJob, refusal: StartRefusal, now: datetime
) -> tuple[Step, timedelta | None]:
    """Writes that are due now, and when to check again without a change in the cluster."""
    left = start_refusals.time_left(refusal, now)
    if job.roles[0].record.refusal != refusal:
        return Step(job.key, (_record(job, refusal),)), left
    if left:
        return Step(job.key, ()), left
    return _attempt(job, refusal, now), None


def _record(job: TrainingJob, refusal: StartRefusal) -> Patch:
    """On its first Job, where `kubectl describe` shows it; so a next leader knows it, too."""
    role = job.roles[0]
    annotations: dict[str, str | None] = {contract.START_REFUSED: attempt_backoff.text(refusal)}
    said = preconditioned_patches.told(phases.blocked(job))
    return preconditioned_patches.job(job.key, role, {}, annotations | said)


def _attempt(job: TrainingJob, refusal: StartRefusal, now: datetime) -> Step:
    """Its start at the minimum, all but what stands around its Jobs as a dry run."""
    sizes = tuple((role.name, role.spec.min) for role in job.live if role.status.suspended)
    begun = start(
        job, Admission(job.key, sizes, reasons.started(sum(size for _, size in sizes))), now
    )
    if not begun.writes:  # its Jobs cannot change yet
        return begun
    lifted = {contract.START_REFUSED: attempt_backoff.text(replace(refusal, lifted=True))}
    writes = tuple(
        replace(write, dry_run=True) if isinstance(write, Patch) else write
        for write in begun.writes
    )
    return Step(
        job.key,
        (*writes, preconditioned_patches.job(job.key, job.roles[0], {}, lifted)),
        starts=True,
    )
