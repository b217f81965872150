"""The patch of a valid size request, and the sentences on it and on what follows."""

from collections.abc import Sequence

from edl import contract, reasons
from edl.durations import duration_text
from edl.job_state.phases import phase
from edl.messages import QUEUE_CLOSED, message
from edl.model import Code, ObjectRef, Phase, Pod, ResizePolicy, Role
from edl.spec.allowed_sizes import is_finishing
from edl.writes import Patch
from kubectl_edl.scale.resize_target import ResizeTarget, SizeRequest
from kubectl_edl.scale.worker_removal import removal_sentence


def patch(target: ResizeTarget) -> Patch:
    """The patch of the role's Job."""
    role = target.role
    notes = _size_notes(target) | _removal_note(role, target.removed)
    if target.request.auto or target.size is not None:
        notes |= _without_outcome(role)
    body = {"metadata": {"labels": _new_bounds(target.request), "annotations": notes}}
    return Patch(ObjectRef("Job", target.job.key.namespace, role.job), role.version, body)


def _size_notes(target: ResizeTarget) -> dict[str, str | None]:
    """Annotations for the size, and for a limited scale-up also its timeout and fallback size."""
    timeout, size, fallback = target.request.timeout, target.manual_size, target.fallback
    notes: dict[str, str | None] = {contract.REPLICAS: None if size is None else str(size)}
    if target.size is None and not target.request.auto:
        return notes
    limit = {
        contract.SCALE_TIMEOUT: duration_text(timeout) if timeout else None,
        contract.SCALE_FALLBACK: None if fallback is None else str(fallback),
    }
    return notes | (limit if target.limited else dict.fromkeys(limit))


def _without_outcome(role: Role) -> dict[str, None]:
    """Removes the message of a reverted scale-up, which a new request supersedes."""
    reverted = role.record.reason is Code.SCALE_FAILED
    return dict.fromkeys((contract.REASON, contract.MESSAGE)) if reverted else {}


def _removal_note(role: Role, removed: Sequence[Pod]) -> dict[str, str]:
    names = {*role.request.removing, *(pod.name for pod in removed)}
    return {contract.REMOVE: ",".join(sorted(names))} if removed else {}


def _new_bounds(request: SizeRequest) -> dict[str, str]:
    bounds = {contract.MIN: request.min, contract.MAX: request.max}
    return {label: str(bound) for label, bound in bounds.items() if bound is not None}


def sentence(target: ResizeTarget) -> str:
    """What the patch changes."""
    role, request, low, high = target.role, target.request, target.low, target.high
    parts = []
    if request.min is not None or request.max is not None:
        before = role.spec.min, role.spec.max
        was = "as before" if (low, high) == before else f"was {before[0]}..{before[1]}"
        parts.append(f"may be {low}..{high} ({was})")
    if target.size is not None:
        parts.append(f"set to {target.size} (manual; min {low}, max {high})")
    if target.limited and request.timeout:
        limit = duration_text(request.timeout)
        parts.append(f"reverted to {role.status.size} if not ready within {limit}")
    if request.auto:
        parts.append(f"returned to automatic scaling (min {low}, max {high})")
    removed = removal_sentence(role, target.removed, target.size) if target.removed else ""
    return f"{target.name} {', '.join(parts)}" + (f": {removed}" if removed else "")


def next_step(target: ResizeTarget, *, attended: bool) -> str:
    """A sentence on what follows the patch; `attended`: a reconciler leads, as far as is known.

    Only a scale-up waits for capacity; a size that is already reached does not change.
    """
    if instead := _later(target) or _unresized(target):
        return instead
    when = "" if target.shrinks else "when capacity is free"
    if target.role.spec.resizing is ResizePolicy.RESTART:
        when += ", or an autoscaler has added nodes" if _may_request_nodes(target) else ""
        what = f"the whole job restarts from its checkpoint {when}".strip()
        return what if attended else f"once a reconciler runs, {what}"
    what = "the reconciler will apply it" if attended else "once a reconciler runs, it is resized"
    nodes = ", or for nodes of an autoscaler" if _may_request_nodes(target) else ""
    return what if target.shrinks else f"{what}; scale-up waits for free capacity{nodes}"


def _unresized(target: ResizeTarget) -> str:
    """Why a job that runs keeps its pods; empty if it does not."""
    role, size = target.role, target.manual_size
    if size == role.status.size and not (target.removed or role.status.suspended):
        return "it has that size now"
    if target.stays:
        return f"it keeps its size, {role.status.size}"
    if role.queue_closed and not target.removed:
        return f"it keeps the pods that run, until they end: {QUEUE_CLOSED}"
    restarts = role.spec.resizing is ResizePolicy.RESTART and target.job.has_succeeded_pods
    if restarts or (is_finishing(role) and not (target.shrinks or target.removed)):
        return f"it keeps its size, {role.status.size}: {message(reasons.PODS_SUCCEEDED)}"
    return ""


def _may_request_nodes(target: ResizeTarget) -> bool:
    """Whether the role lacks pods of a raised minimum, for which an autoscaler may add nodes."""
    raised = target.low > target.role.status.size
    return raised and target.job.provisioning.provision is not contract.Provision.NEVER


def _later(target: ResizeTarget) -> str:
    """What the change of a job waits for that is not scaled now; empty if it is."""
    job, size = target.job, target.manual_size
    if job.problem:
        return f"nothing is resized before its problem is fixed: {message(job.problem)}"
    if job.paused:
        return "it is paused, and this applies once it is resumed"
    if phase(job) is not Phase.QUEUED:
        return ""
    if size is None:
        return "it is queued, and this applies when it starts"
    return f"it is queued, and starts with {size} when capacity is free"
