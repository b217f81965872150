"""All changes of one role in one round, as few patches of its Job: outcomes, history and size."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from edl import messages, reasons
from edl.annotations import cleared_nodes, job_history, write_refusals
from edl.annotations.job_history import HistoryEntry, Operation
from edl.annotations.role_record import recorded
from edl.job_state import last_changes, lost_pods
from edl.model import Code, PodPhase, Reason, RefusedSize, Role, TrainingJob, WriteRefusal
from edl.planner.plan import Resize
from edl.steps import pod_removal
from edl.steps.disruption_marks import marks_for_size
from edl.steps.preconditioned_patches import (
    assigned_nodes_annotation,
    backoff_annotation,
    failure_baseline_annotations,
    job_event,
    job_patch,
    last_change_annotations,
    reason_annotations,
    size_spec,
)
from edl.steps.sizes import scale_deadline
from edl.writes import Action, JobEvent, Write

_SEEN: Final = 0.25
"""Seconds after which the Job controller has seen deletions of pods; it replaces them after one."""


class RoleChange(msgspec.Struct, frozen=True):
    """Writes in the order to make them, and Events about them."""

    writes: tuple[Write, ...] = ()
    events: tuple[JobEvent, ...] = ()


def role_change(job: TrainingJob, role: Role, resize: Resize | None, now: datetime) -> RoleChange:
    """The writes for a resize and the removal of named pods; leaving pods need no more time."""
    annotations = resize_annotations(job, role, resize, now)
    size = resize.after if resize else role.status.size
    why = resize.reason if resize else pod_removal.removal_reason(role)
    ends = pod_removal.deletions(job, role, size)
    marks = marks_for_size(job.key, role, size, why, now) if resize or ends else ()
    if not annotations:
        return RoleChange((*marks, *ends))
    spec = size_spec(role, size) if resize else {}
    # For a smaller size the Job controller at once deletes the youngest work items that it sees.
    later = spec if ends and not role.spec.indexed else {}
    patch = job_patch(job.key, role, {} if later else spec, annotations)
    events = (*_size_event(job, role, resize), *outcome_events(job, role, resize, now))
    last = replace(job_patch(job.key, role, later, {}), delay=_SEEN)
    return RoleChange((*marks, patch, *ends, *([last] if later else [])), events)


def resize_annotations(
    job: TrainingJob, role: Role, resize: Resize | None, now: datetime
) -> dict[str, str | None]:
    """The annotations for a resize, a removal or the outcome of a request; mostly none."""
    annotations = scale_deadline.due_annotations(role, now)
    annotations |= pod_removal.removal_annotations(role)
    if role.request.clears:
        annotations |= recorded(cleared=cleared_nodes.cleared(role, role.request.clears, now))
    if done := _operation(role, resize, now):
        operation, before, after, reason = done
        entry = HistoryEntry(now, operation, before, after, reason.code, messages.message(reason))
        # A role stopped for a restart must keep that reason, by which it starts before the queue.
        returns = role.status.suspended and last_changes.stopped_to_resize(role)
        if role.request.drain_reason and not resize:
            annotations |= reason_annotations(reason)
        else:
            annotations |= last_change_annotations(reasons.restart(reason) if returns else reason)
        annotations |= job_history.annotation(role, [entry])
    if resize and resize.nodes:
        first = 0 if resize.restart else resize.before
        annotations |= assigned_nodes_annotation(role, first, resize.nodes)
    if resize and resize.after > resize.before:
        annotations |= failure_baseline_annotations(role, now)
    elif resize:
        annotations |= backoff_annotation(role, now)
    if resize and role.record.refusals is not None:
        annotations |= recorded(refusals=_still_refused(job, role, resize))
    if resize or role.request.removing:
        annotations |= recorded(resized_at=now)
    return annotations


def _still_refused(job: TrainingJob, role: Role, resize: Resize) -> tuple[WriteRefusal, ...] | None:
    """The refusals of other kinds, each with its own back-off; None without any."""
    written = RefusedSize(role.name, resize.after, resize.after > role.status.size)
    left = (one for one in write_refusals.of_role(job, role) if one.kind != written.kind)
    return tuple(left) or None


def outcome_events(
    job: TrainingJob, role: Role, resize: Resize | None, now: datetime
) -> Iterator[JobEvent]:
    """Events about the outcome of a role's removals and timed scale-ups.

    A removal for the reason of the `resize` has the Event of that.
    """
    removed = pod_removal.requested_removals(role)
    why = pod_removal.removal_reason(role)
    if removed and not (resize and resize.reason.code is why.code):
        yield job_event(job.key, role, Action.REMOVED, why)
    if unknown := role.request.removing - removed:
        reason = reasons.about_pods(Code.INVALID, unknown)
        text = f"{role.name}: {messages.message(reason)}"
        yield job_event(job.key, role, Action.REFUSED, reason, text)
    if scale_deadline.is_overdue(role, now):
        reason = scale_deadline.revert_reason(role)
        text = f"{role.name}: {messages.message(reason)}"
        yield job_event(job.key, role, Action.SCALED, reason, text)
    elif scale_deadline.is_reached(role) and scale_deadline.is_answered(role):
        text = f"{role.name} × {role.status.size}"
        yield job_event(job.key, role, Action.SCALED, reasons.SCALE_SUCCEEDED, text)


class _Done(NamedTuple):
    """An operation on one role, with its size before and after."""

    operation: Operation
    before: int
    after: int
    reason: Reason


def _operation(role: Role, resize: Resize | None, now: datetime) -> _Done | None:
    """The operation of this round: at most one, as a removal includes its scale-down.

    A scale-up is none of those: beside it, pods that the plan takes off nodes go unrecorded.
    """
    after = resize.after if resize else role.status.size
    if scale_deadline.is_overdue(role, now):
        before = role.status.size if role.request.replicas is None else role.request.replicas
        return _Done(Operation.FAILED, before, after, scale_deadline.revert_reason(role))
    grows = resize is not None and resize.after > resize.before and role.request.drain_reason
    if pod_removal.requested_removals(role) and not grows:
        why = (
            resize.reason
            if resize and role.request.drain_reason
            else pod_removal.removal_reason(role)
        )
        return _Done(Operation.REMOVED, role.status.size, after, why)
    if resize:
        return _Done(_of_resize(role, resize), role.status.size, after, resize.reason)
    return None


def _of_resize(role: Role, resize: Resize) -> Operation:
    if resize.after > resize.before:
        return Operation.SCALED_UP
    failed = resize.reason.code is Code.UNSCHEDULABLE or _never_ran(role, resize.after)
    return Operation.FAILED if failed else Operation.SCALED_DOWN


def _never_ran(role: Role, after: int) -> bool:
    """Whether a scale-down undoes the last scale-up before any of its pods ran."""
    grown, since = job_history.entries(role.record.history)[-1:], role.record.resized_at
    if not grown or since is None or lost_pods.missing_pods(role):
        return False
    undone = grown[0].operation is Operation.SCALED_UP and after <= grown[0].before
    new = (pod for pod in role.status.pods if pod.created_at >= since)
    return undone and all(pod.phase is PodPhase.PENDING for pod in new)


def _size_event(job: TrainingJob, role: Role, resize: Resize | None) -> Iterator[JobEvent]:
    if resize:
        action = Action.SCALED_UP if resize.after > resize.before else Action.SCALED_DOWN
        message = messages.message(resize.reason)
        text = f"{role.name} {resize.before} → {resize.after}: {message}"
        yield job_event(job.key, role, action, resize.reason, text)
