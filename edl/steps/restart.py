"""Resize by restart: the whole training job is suspended, and a later plan starts it again."""

from collections.abc import Sequence
from datetime import datetime
from itertools import chain

from edl import contract, messages, reasons
from edl.model import TrainingJob
from edl.planner.plan import Resize
from edl.steps import preconditioned_patches
from edl.steps.resize_patch import outcome_notes, resized
from edl.writes import Action, Step


def restart(job: TrainingJob, resizes: Sequence[Resize], now: datetime) -> Step:
    """Suspend every role, with the new size on resized roles and the reason on all.

    If the reconciler crashes in between, the next plan suspends the roles that still run.
    """
    after = {resize.role: resize.after for resize in resizes}
    by_role = {resize.role: resize for resize in resizes}
    why = reasons.restart(next(resize.reason for resize in resizes if resize.restart))
    moment = {
        contract.RESIZED_AT: preconditioned_patches.timestamp(now)
    } | preconditioned_patches.changed(why)
    # Resized roles are suspended first, so that a crash never loses the new size.
    running = sorted(
        (role for role in job.live if not role.status.suspended),
        key=lambda role: role.name not in after,
    )
    writes = tuple(
        preconditioned_patches.job(
            job.key,
            role,
            {"suspend": True}
            | (preconditioned_patches.size(role, after[role.name]) if role.name in after else {}),
            resized(job, role, by_role.get(role.name), now)
            | preconditioned_patches.delay(role, now)
            | moment,
        )
        for role in running
    )
    sizes = ", ".join(f"{one.role} {one.before} → {one.after}" for one in resizes)
    note = preconditioned_patches.note(
        job.key, running[0], Action.RESTARTING, why, f"{sizes}: {messages.message(why)}"
    )
    beside = (outcome_notes(job, role, now) for role in running)
    return Step(job.key, writes, (note, *chain.from_iterable(beside)), sizes=tuple(after.items()))
