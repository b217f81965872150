"""The model's values after patches of `edl.steps`, as the API server would store them.

Only fields that a plan or a step reads: sizes, suspension, deadlines, annotations, gates,
finalizers.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from msgspec.structs import replace

from edl import contract
from edl.annotations import failed_attempts, leaving_workers
from edl.annotations.role_record import RECORDED
from edl.model import FailedAttempt, Pod, Role, ScaleDeadline
from edl.model.pods import PublishedHosts
from edl.writes import Patch

_Change = Callable[[Role, str | None], Role]


def patched_role(role: Role, patch: Patch) -> Role:
    """The role after a merge patch of its Job."""
    spec: Mapping[str, Any] = patch.body.get("spec") or {}
    role = role.changed(
        size=spec.get("parallelism", role.status.size),
        suspended=spec.get("suspend", role.status.suspended),
        deadline_passed=spec.get("activeDeadlineSeconds") == 0 or role.status.deadline_passed,
        held_ttl=None if "ttlSecondsAfterFinished" in spec else role.spec.held_ttl,
        backoff_limit=spec.get("backoffLimit", role.spec.backoff_limit),
    )
    annotations = patch.body.get("metadata", {}).get("annotations") or {}
    for name, text in annotations.items():
        if change := _CHANGES.get(name):
            role = change(role, text)
    recorded = {name: RECORDED[name] for name in annotations if name in RECORDED}
    fields = {field.name: field.read(annotations[name] or "") for name, field in recorded.items()}
    return replace(role, record=replace(role.record, **fields))


def started_at(patch: Patch) -> datetime | None:
    """The start time that this patch sets, or None."""
    return _time(patch.body.get("metadata", {}).get("annotations", {}).get(contract.STARTED_AT))


def failure(patch: Patch) -> FailedAttempt | None:
    """The provisioning failure that this patch records, or None."""
    annotations = patch.body.get("metadata", {}).get("annotations") or {}
    return failed_attempts.read_failure(annotations.get(contract.PROVISIONING_FAILED) or "")


def patched_pod(pod: Pod, patch: Patch) -> Pod:
    """The pod after a merge patch of its host list, node, gates or finalizers."""
    metadata = patch.body.get("metadata", {})
    annotations = metadata.get("annotations") or {}
    gates = (patch.body.get("spec") or {}).get("schedulingGates")
    before, planned, leaving = pod.published, pod.planned, annotations.get(contract.LEAVING)
    scheduling = pod.scheduling
    if gates is not None:
        scheduling = replace(scheduling, gates=tuple(gate["name"] for gate in gates))
    return replace(
        pod,
        published=PublishedHosts(
            annotations.get(contract.HOSTFILE, before.hosts),
            leaving_workers.read_leaving(leaving or "")
            if contract.LEAVING in annotations
            else before.leaving,
            _time(annotations.get(contract.PUBLISHED_AT)) or before.published_at,
            _time(annotations.get(contract.CONFIRMED_AT)) or before.confirmed_at,
        ),
        planned=replace(
            planned,
            node=annotations.get(contract.ASSIGNED_NODE, planned.node),
            placed_at=_time(annotations.get(contract.PLACED_AT)) or planned.placed_at,
        ),
        scheduling=scheduling,
        deletion=replace(pod.deletion, finalizers=tuple(metadata["finalizers"]))
        if "finalizers" in metadata
        else pod.deletion,
    )


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _scaling(role: Role, text: str | None) -> Role:
    """`TIME BEFORE WANTED`: the start of a timed scale-up, with its sizes."""
    if role.request.scaling is None:
        return role
    since, before, _ = [*(text or "").split(" "), "", ""][:3]
    return role.changed(scaling=_clocked(role.request.scaling, since, before) if text else None)


def _clocked(scaling: ScaleDeadline, since: str, before: str) -> ScaleDeadline:
    return replace(scaling, since=_time(since), before=int(before))


_CHANGES: Final[Mapping[str, _Change]] = {
    contract.REMOVE: lambda role, _: role.changed(removing=frozenset()),
    contract.REPLICAS: lambda role, text: role.changed(replicas=int(text) if text else None),
    contract.SCALING: _scaling,
}
"""Further effects of annotations than on the role's record."""
