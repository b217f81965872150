"""What changes of one role in one round, as one patch of its Job: size, answers, history."""

from collections.abc import Iterator
from datetime import datetime

import msgspec

from edl import clearings, contract, history
from edl.history import Entry, Operation
from edl.model import Role, TrainingJob
from edl.planner import reasons
from edl.planner.plan import Resize
from edl.steps import patches, removal, scaling
from edl.writes import Note, Write


class Change(msgspec.Struct, frozen=True):
    """Writes in order, and the Events that tell of them."""

    writes: tuple[Write, ...] = ()
    notes: tuple[Note, ...] = ()


def change(job: TrainingJob, role: Role, resize: Resize | None, now: datetime) -> Change:
    """`resize` and the removal of named pods are due now: who leaves has had its time."""
    annotations = resized(role, resize, now)
    if not annotations:
        return Change()
    size = resize.after if resize else role.size
    spec = patches.size(role, size) if resize else {}
    patch = patches.job(job.key, role, spec, annotations)
    notes = (*_size_note(job, role, resize), *told(job, role, now))
    # First the pods: their names must stand until they are gone.
    return Change((*removal.deletions(job, role, size), patch), notes)


def resized(role: Role, resize: Resize | None, now: datetime) -> dict[str, str | None]:
    """The annotations that go with a new size, or with an answer alone; most rounds none."""
    entries = _operations(role, resize, now)
    annotations = scaling.notes(role, now) | history.annotation(role, entries)
    if role.removing:
        annotations[contract.REMOVE] = None
    if role.clears:
        annotations[contract.CLEARED] = clearings.text(clearings.cleared(role, role.clears, now))
    if entries:
        reason = entries[-1].reason
        # Who is stopped for a restart returns before the queue, by that reason.
        returns = role.suspended and reasons.restarts(role.reason)
        annotations[contract.REASON] = reasons.restart(reason) if returns else reason
    if resize or role.removing:
        annotations[contract.RESIZED_AT] = patches.timestamp(now)
    return annotations


def told(job: TrainingJob, role: Role, now: datetime) -> Iterator[Note]:
    """What is said of a role beside its new size: whose wish came true, whose did not."""
    if role.removing:
        yield patches.note(job.key, role, "Removed", f"{role.name} {removal.reason(role)}")
    if scaling.overdue(role, now):
        text = f"{role.name}: {scaling.failure(role)}"
        yield patches.note(job.key, role, "ScaleFailed", text, warning=True)
    elif scaling.came(role) and scaling.is_answered(role):
        yield patches.note(job.key, role, "ScaleSucceeded", f"{role.name} × {role.size}")


def _operations(role: Role, resize: Resize | None, now: datetime) -> list[Entry]:
    """At most one: a removal with its shrink is one, and so is a growth that is taken back."""
    after = resize.after if resize else role.size
    if scaling.overdue(role, now):
        before = role.size if role.wanted is None else role.wanted
        return [Entry(now, Operation.FAILED, before, after, scaling.failure(role))]
    if role.removing:
        return [Entry(now, Operation.REMOVED, role.size, after, removal.reason(role))]
    if resize:
        return [Entry(now, _operation(resize), role.size, after, resize.reason)]
    return []


def _operation(resize: Resize) -> Operation:
    if resize.after > resize.before:
        return Operation.GROWN
    failed = resize.reason == reasons.STAYED_PENDING
    return Operation.FAILED if failed else Operation.SHRUNK


def _size_note(job: TrainingJob, role: Role, resize: Resize | None) -> Iterator[Note]:
    if resize:
        word = "Grown" if resize.after > resize.before else "Shrunk"
        text = f"{role.name} {resize.before} → {resize.after}: {resize.reason}"
        yield patches.note(job.key, role, word, text)
