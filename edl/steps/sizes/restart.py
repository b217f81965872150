"""Resize by restart: the whole training job is suspended, and a later plan starts it again."""

from collections.abc import Sequence
from datetime import datetime
from itertools import chain

from edl import messages, reasons
from edl.annotations import added_requests
from edl.annotations.role_record import recorded
from edl.model import TrainingJob
from edl.planner.plan import Resize
from edl.steps.disruption_marks import marks_for_stop
from edl.steps.preconditioned_patches import (
    backoff_annotation,
    job_event,
    job_patch,
    last_change_annotations,
    size_spec,
)
from edl.steps.sizes.resize_patch import outcome_events, resize_annotations
from edl.writes import Action, Step


def restart(job: TrainingJob, resizes: Sequence[Resize], now: datetime) -> Step:
    """Suspend every role, with the new size on resized roles and the reason on all.

    If the reconciler crashes in between, the next plan suspends the roles that still run.
    """
    after = {resize.role: resize.after for resize in resizes}
    by_role = {resize.role: resize for resize in resizes}
    why = reasons.restart(next(resize.reason for resize in resizes if resize.restart))
    moment = recorded(resized_at=now) | last_change_annotations(why)
    # Resized roles are suspended first, so that a crash never loses the new size.
    running = sorted(
        (role for role in job.live if not role.status.suspended),
        key=lambda role: role.name not in after,
    )
    writes = tuple(
        job_patch(
            job.key,
            role,
            {"suspend": True} | (size_spec(role, after[role.name]) if role.name in after else {}),
            resize_annotations(job, role, by_role.get(role.name), now)
            | backoff_annotation(role, now)
            | added_requests.annotation(role.template.added)
            | moment,
        )
        for role in running
    )
    sizes = ", ".join(f"{resize.role} {resize.before} → {resize.after}" for resize in resizes)
    event = job_event(
        job.key, running[0], Action.RESTARTING, why, f"{sizes}: {messages.message(why)}"
    )
    beside = (outcome_events(job, role, None, now) for role in running)
    marks = marks_for_stop(job.key, running, why, now)
    events = (event, *chain.from_iterable(beside))
    return Step(job.key, (*marks, *writes), events, sizes=tuple(after.items()))
