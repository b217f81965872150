"""Validates a size request of `kubectl edl scale`, without access to the cluster."""

from edl import contract
from edl.contract.manifest_parts import annotations
from edl.frameworks import FRAMEWORKS
from edl.messages import QUEUE_CLOSED, QUEUE_ENDS
from edl.parsing.yaml_values import whole
from edl.writes import Json
from kubectl_edl.cli.command_errors import Refused
from kubectl_edl.scale.resize_target import ResizeTarget, active_pods


def check(target: ResizeTarget, manifest: Json) -> None:
    """`manifest` is the role's Job. Raises Refused with bounds and remedy."""
    if target.role.queue_closed:
        _check_closed_queue(target)
    if target.low > target.high:
        raise Refused(f"{target.name} cannot have min {target.low} above max {target.high}")
    ranked = FRAMEWORKS[target.job.framework].ranked
    if ranked:  # work items have no addresses
        _check_injected(target, manifest)
    size = target.manual_size
    if size is not None and not target.low <= size <= target.high:
        _check_fewest(target, size, manifest)
        items = 0 if ranked else manifest["spec"].get("completions") or 0
        raise Refused(f"{target.name} {_outside(target, size, items)}")


def _check_closed_queue(target: ResizeTarget) -> None:
    """Refuse sizes, which have no effect, and the removal of all pods, which ends the job."""
    if target.request.size is not None:
        raise Refused(f"{target.name} keeps the pods that run, until they end: {QUEUE_CLOSED}")
    if target.removed and len(target.removed) == active_pods(target.role):
        raise Refused(f"{target.name} keeps at least one of its pods: {QUEUE_ENDS}")


def _check_injected(target: ResizeTarget, manifest: Json) -> None:
    """Refuse more pods than the Job was injected for: only those have names and addresses."""
    injected = whole(annotations(manifest).get(contract.INJECTED_MAX, ""))
    most = max(target.size or 0, target.request.max or 0)
    if injected is None or most <= injected:
        return
    raise Refused(
        f"{target.name} takes {injected} at most, its pods were made for that many "
        f"({contract.INJECTED_MAX}); {_anew(target, manifest, 'more', f'--max {most}')}"
    )


def _check_fewest(target: ResizeTarget, size: int, manifest: Json) -> None:
    """Refuse fewer pods than wait for each other: the webhook would refuse such a min, too."""
    from edl.inject.peer_counts import told

    low = told(manifest, FRAMEWORKS[target.job.framework]).least
    if 0 < size < low:
        raise Refused(
            f"{target.name} takes {low} at least, its pods wait for that many; "
            f"{_anew(target, manifest, 'fewer', f'--min {size}')}"
        )


def _anew(target: ResizeTarget, manifest: Json, many: str, bound: str) -> str:
    scope = target.request.scope
    replace_it = f"| kubectl replace --force -f -{scope.flags}"
    if "," in annotations(manifest).get(contract.ROLES, ""):  # of several Jobs
        job = manifest["metadata"]["labels"].get(contract.JOB, target.role.job)
        return (
            f"{many} takes a new training job: kubectl edl delete {job}{scope.job_flags}, "
            f"and create it again with {many}; or, if FILE has all of its Jobs, with {many} in "
            f"edl.dev/roles: kubectl edl adopt -f FILE --roles … {replace_it}"
        )
    bound = "--roles …" if contract.ROLES in annotations(manifest) else bound
    anew = f"{many} takes a new Job, which ends this one, from its file"
    return f"{anew}: kubectl edl adopt -f FILE {bound} {replace_it}"


def _outside(target: ResizeTarget, size: int, items: int) -> str:
    """The bounds, and the command that changes them; `items`: work items, 0 if without limit."""
    low, high = target.low, target.high
    role = f" --role {target.request.role}" if target.request.role else ""
    job = f"{target.job.key.name}{target.request.scope.job_flags}"
    command = f"kubectl edl scale {job}{role}"
    if target.size is None:
        return (
            f"has the manual size {size}, outside {low}..{high}; set another size with the new "
            f"bounds, or clear it: {command} --auto"
        )
    if size < 1:
        remedy = f"to stop it: kubectl edl pause {job}"
    elif items and size > max(items, high):
        most = f": {command} {items} --max {items}" if items > high else ""
        remedy = f"it has {items} work items (spec.completions), which never change{most}"
    else:
        remedy = f"change the bound: {command} {size} --{'max' if size > high else 'min'} {size}"
        if target.removed and target.request.size is None and size < low <= high:
            workers = ",".join(target.request.remove)
            before = min(max(size + len(target.removed), low), high)
            remedy += f"; only to replace it: {command} {before} --remove {workers}"
    return f"takes {low}..{high}, not {size}; {remedy}"
