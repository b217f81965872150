"""One round in the life of a training job that is neither started nor stopped."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from edl import contract, phases
from edl.model import TrainingJob
from edl.planner.plan import Resize
from edl.steps import patches
from edl.steps.finish import finish
from edl.steps.hosts import Publication, publish
from edl.steps.restart import restart
from edl.steps.surroundings import surroundings
from edl.writes import Note, Patch, Step


def live(
    job: TrainingJob, resizes: Sequence[Resize], now: datetime
) -> tuple[Step, timedelta | None]:
    """What is due now, and when to look again though nothing may have changed."""
    end = phases.ending(job)
    if end is not None:
        return finish(job, end), None
    if any(resize.restart for resize in resizes):
        return restart(job, resizes, now), None
    published = publish(job, {resize.role: resize.after for resize in resizes}, now)
    sized = [_resize(job, resize, now) for resize in resizes if _is_due(resize, published)]
    # Who comes last must be an owner of what surrounds them too.
    around = () if job.missing else surroundings(job)
    # Sizes first: somebody waits for that room, and a quota may forbid what is missing around.
    writes = (*published.writes, *(patch for patch, _ in sized), *around)
    rechecks = [time for time in (published.wait, published.recheck) if time is not None]
    return Step(job.key, writes, tuple(note for _, note in sized)), min(rechecks, default=None)


def _is_due(resize: Resize, published: Publication) -> bool:
    """Shrinking waits until those who leave had their time; growing never does."""
    return resize.after > resize.before or published.wait is None


def _resize(job: TrainingJob, resize: Resize, now: datetime) -> tuple[Patch, Note]:
    role = next(role for role in job.roles if role.name == resize.role)
    moment = patches.timestamp(now)
    patch = patches.job(
        job.key,
        role,
        patches.size(role, resize.after),
        {contract.RESIZED_AT: moment, contract.REASON: resize.reason},
    )
    word = "Grown" if resize.after > resize.before else "Shrunk"
    text = f"{resize.role} {resize.before} → {resize.after}: {resize.reason}"
    return patch, patches.note(job.key, role, word, text)
