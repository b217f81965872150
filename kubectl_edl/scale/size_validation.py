"""Validates a size request of `kubectl edl scale`, without access to the cluster."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import click

from edl import contract
from edl.contract.manifest_parts import annotations
from edl.durations import duration_text
from edl.frameworks import FRAMEWORKS
from edl.kube.option_group import option, option_group
from edl.messages import QUEUE_CLOSED, QUEUE_ENDS, message
from edl.model import Code, ObjectRef, Phase, Pod, Reason, ResizePolicy, Role, TrainingJob
from edl.parsing.yaml_values import whole
from edl.phases import phase
from edl.writes import Json, Patch
from kubectl_edl.cli.command_errors import Refused
from kubectl_edl.cli.completion_candidates import role_names
from kubectl_edl.cli.context import Scope
from kubectl_edl.cli.param_types import Duration
from kubectl_edl.scale.resizable_roles import chosen_role
from kubectl_edl.scale.worker_removal import named_pods, removal_sentence


@option_group
class SizeRequest:
    """A size request: a manual size, or return to automatic scaling (`auto`), and new bounds.

    `remove` names workers that leave; without `size`, the remaining number becomes the manual size.
    `timeout` reverts a scale-up that takes longer. `scope` is that of suggested commands.
    """

    size: int | None = None
    auto: bool = option(help="Return to automatic scaling.")
    min: int | None = option(type=click.IntRange(min=1), help="Minimum replicas.")
    max: int | None = option(type=click.IntRange(min=1), help="Maximum replicas.")
    role: str = option(shell_complete=role_names, help="Role to resize, if several can be resized.")
    remove: tuple[str, ...] = option(metavar="WORKER[,…]", help="Workers to end; may be repeated.")
    timeout: timedelta | None = option(
        type=Duration(above_zero=True),
        help="Revert a scale-up that is not ready in this time; also limits --wait.",
    )
    scope: Scope = Scope()


@dataclass(frozen=True, slots=True)
class Scaling:
    """The patch of one role's Job, and a sentence that describes it."""

    patch: Patch
    sentence: str
    role: Role
    size: int | None = None
    """The manual size; None for automatic scaling."""
    fallback: int | None = None
    """The manual size to which a failure reverts it; None for automatic scaling."""
    limited: bool = False
    """It is a scale-up that is reverted when the timeout passes."""
    removed: tuple[Pod, ...] = ()
    shrinks: bool = False
    """A running role loses replicas."""
    problem: Reason | None = None
    """What stops all sizing of the training job until it is mended."""
    stays: bool = False
    """Only the bounds change, and they neither exclude the current size nor allow more."""


def scaling(job: TrainingJob, request: SizeRequest, manifest: Json) -> Scaling:
    """Validate the request. `manifest` is the role's Job. Raises Refused with bounds and remedy."""
    role = chosen_role(job, request.role)
    name = f"{job.key.name}: {role.name}"
    if role.status.ending is not None:
        raise Refused(f"{name} has ended ({role.status.ending.value}): nothing is left to resize")
    removed = named_pods(job, role, ",".join(request.remove)) if request.remove else ()
    if role.queue_closed:
        _check_closed_queue(name, role, request, removed)
    if removed and request.size is None:
        request = replace(request, size=_left(role, len(removed)))
    bounds = low, high = request.min or role.spec.min, request.max or role.spec.max
    if low > high:
        raise Refused(f"{name} cannot have min {low} above max {high}")
    if FRAMEWORKS[job.framework].ranked:  # work items have no addresses
        _check_injected(name, role, request, manifest)
    asked = role.request.replicas if request.size is None else request.size
    held = None if request.auto else asked
    if held is not None and not low <= held <= high:
        _check_fewest(name, role, replace(request, size=held), manifest, job.framework)
        items = 0 if FRAMEWORKS[job.framework].ranked else manifest["spec"].get("completions") or 0
        raise Refused(f"{name} {_outside(job, request, held, bounds, items)}")
    limited = bool(request.timeout and request.size is not None and request.size > role.status.size)
    fallback = role.request.scaling.fallback if role.request.scaling else role.request.replicas
    noted = _size_notes(request, held, fallback, limited=limited) | _removal_note(role, removed)
    noted |= _without_outcome(role) if request.auto or request.size is not None else {}
    body = {"metadata": {"labels": _new_bounds(request), "annotations": noted}}
    target = ObjectRef("Job", job.key.namespace, role.job)
    sentence = _sentence(job, role, request, bounds)
    if removed:
        sentence += f": {removal_sentence(role, removed, request.size)}"
    goal = min(role.status.size, high) if held is None else held
    shrinks = goal < role.status.size and not role.status.suspended
    bounds_alone = held is None and not (request.auto or role.status.suspended)
    stays = bounds_alone and low <= role.status.size <= high <= role.spec.max
    patch = Patch(target, role.version, body)
    return Scaling(
        patch, sentence, role, held, fallback, limited, removed, shrinks, job.problem, stays
    )


def _check_closed_queue(
    name: str, role: Role, request: SizeRequest, removed: Sequence[Pod]
) -> None:
    """Refuse sizes, which have no effect, and the removal of all pods, which ends the job."""
    if request.size is not None:
        raise Refused(f"{name} keeps the pods that run, until they end: {QUEUE_CLOSED}")
    active = [pod for pod in role.status.pods if pod.active]
    if removed and len(removed) == len(active):
        raise Refused(f"{name} keeps at least one of its pods: {QUEUE_ENDS}")


def _left(role: Role, removed: int) -> int:
    """The size after a removal, from the smaller of the current and the manual size."""
    if role.queue_closed:
        return sum(pod.active for pod in role.status.pods) - removed
    size, manual = role.status.size, role.request.replicas
    return min(size, size if manual is None else manual) - removed


def _size_notes(
    request: SizeRequest, held: int | None, fallback: int | None, *, limited: bool
) -> dict[str, str | None]:
    """Annotations for the size, and for a limited scale-up also its timeout and fallback size."""
    notes: dict[str, str | None] = {contract.REPLICAS: None if held is None else str(held)}
    if request.size is None and not request.auto:
        return notes
    limit = {
        contract.SCALE_TIMEOUT: duration_text(request.timeout) if request.timeout else None,
        contract.SCALE_FALLBACK: None if fallback is None else str(fallback),
    }
    return notes | (limit if limited else dict.fromkeys(limit))


def _without_outcome(role: Role) -> dict[str, None]:
    """Removes the message of a reverted scale-up, which a new request supersedes."""
    reverted = role.record.reason is Code.SCALE_FAILED
    return dict.fromkeys((contract.REASON, contract.MESSAGE)) if reverted else {}


def _removal_note(role: Role, removed: Sequence[Pod]) -> dict[str, str]:
    names = {*role.request.removing, *(pod.name for pod in removed)}
    return {contract.REMOVE: ",".join(sorted(names))} if removed else {}


def _check_injected(name: str, role: Role, request: SizeRequest, manifest: Json) -> None:
    """Refuse more pods than the Job was injected for: only those have names and addresses."""
    injected = whole(annotations(manifest).get(contract.INJECTED_MAX, ""))
    most = max(request.size or 0, request.max or 0)
    if injected is None or most <= injected:
        return
    raise Refused(
        f"{name} takes {injected} at most, its pods were made for that many "
        f"({contract.INJECTED_MAX}); {_anew(role, request, manifest, 'more', f'--max {most}')}"
    )


def _check_fewest(
    name: str, role: Role, request: SizeRequest, manifest: Json, framework: str
) -> None:
    """Refuse fewer pods than wait for each other: the webhook would refuse such a min, too."""
    from edl.inject.peer_counts import awaited

    low, size = awaited(manifest, FRAMEWORKS[framework].min_peers_env), request.size or 0
    if 0 < size < low:
        raise Refused(
            f"{name} takes {low} at least, its pods wait for that many; "
            f"{_anew(role, request, manifest, 'fewer', f'--min {size}')}"
        )


def _anew(role: Role, request: SizeRequest, manifest: Json, many: str, bound: str) -> str:
    replace_it = f"| kubectl replace --force -f -{request.scope.flags}"
    if "," in annotations(manifest).get(contract.ROLES, ""):  # of several Jobs
        job = manifest["metadata"]["labels"].get(contract.JOB, role.job)
        return (
            f"{many} takes a new training job: kubectl edl delete {job}{request.scope.job_flags}, "
            f"and create it again with {many}; or, if FILE has all of its Jobs, with {many} in "
            f"edl.dev/roles: kubectl edl adopt -f FILE --roles … {replace_it}"
        )
    bound = "--roles …" if contract.ROLES in annotations(manifest) else bound
    anew = f"{many} takes a new Job, which ends this one, from its file"
    return f"{anew}: kubectl edl adopt -f FILE {bound} {replace_it}"


def _outside(
    job: TrainingJob, request: SizeRequest, held: int, bounds: tuple[int, int], items: int
) -> str:
    """The bounds, and the command that changes them; `items`: work items, 0 if without limit."""
    low, high = bounds
    role = f" --role {request.role}" if request.role else ""
    command = f"kubectl edl scale {job.key.name}{request.scope.job_flags}{role}"
    if request.size is None:
        return (
            f"has the manual size {held}, outside {low}..{high}; set another size with the new "
            f"bounds, or clear it: {command} --auto"
        )
    if held < 1:
        remedy = f"to stop it: kubectl edl pause {job.key.name}{request.scope.job_flags}"
    elif items and held > max(items, high):
        most = f": {command} {items} --max {items}" if items > high else ""
        remedy = f"it has {items} work items (spec.completions), which never change{most}"
    else:
        remedy = f"change the bound: {command} {held} --{'max' if held > high else 'min'} {held}"
    return f"takes {low}..{high}, not {held}; {remedy}"


def _new_bounds(request: SizeRequest) -> dict[str, str]:
    bounds = {contract.MIN: request.min, contract.MAX: request.max}
    return {label: str(bound) for label, bound in bounds.items() if bound is not None}


def _sentence(job: TrainingJob, role: Role, request: SizeRequest, bounds: tuple[int, int]) -> str:
    low, high = bounds
    parts = []
    if request.min is not None or request.max is not None:
        before = role.spec.min, role.spec.max
        was = "as before" if bounds == before else f"was {before[0]}..{before[1]}"
        parts.append(f"may be {low}..{high} ({was})")
    if request.size is not None:
        parts.append(f"set to {request.size} (manual; min {low}, max {high})")
    if request.timeout and request.size is not None and request.size > role.status.size:
        limit = duration_text(request.timeout)
        parts.append(f"reverted to {role.status.size} if not ready within {limit}")
    if request.auto:
        parts.append(f"returned to automatic scaling (min {low}, max {high})")
    return f"{job.key.name}: {role.name} {', '.join(parts)}"


def next_step(job: TrainingJob, found: Scaling, *, attended: bool) -> str:
    """A sentence on what follows the patch; `attended`: a reconciler leads, as far as is known.

    Only a scale-up waits for capacity; a size that is already reached does not change.
    """
    if later := _later(job, found):
        return later
    role = found.role
    if found.size == role.status.size and not (found.removed or role.status.suspended):
        return "it has that size now"
    if found.stays:
        return f"it keeps its size, {role.status.size}"
    if role.queue_closed and not found.removed:
        return f"it keeps the pods that run, until they end: {QUEUE_CLOSED}"
    when = "" if found.shrinks else "when capacity is free"
    if role.spec.resizing is ResizePolicy.RESTART:
        what = f"the whole job restarts from its checkpoint {when}".strip()
        return what if attended else f"once a reconciler runs, {what}"
    what = "the reconciler will apply it" if attended else "once a reconciler runs, it is resized"
    return what if found.shrinks else f"{what}; scale-up waits for free capacity"


def _later(job: TrainingJob, found: Scaling) -> str:
    """What the change of a job waits for that is not scaled now; empty if it is."""
    if found.problem:
        return f"nothing is resized before its problem is fixed: {message(found.problem)}"
    if job.paused:
        return "it is paused, and this applies once it is resumed"
    if phase(job) is not Phase.QUEUED:
        return ""
    if found.size is None:
        return "it is queued, and this applies when it starts"
    return f"it is queued, and starts with {found.size} when capacity is free"
