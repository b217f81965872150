"""Merge patches for the objects of a training job, each preconditioned on a resourceVersion."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from edl import messages
from edl.annotations.role_record import recorded
from edl.job_state import lost_pods
from edl.model import Assignment, Code, JobKey, ObjectRef, Pod, Reason, Role
from edl.writes import Action, JobEvent, Json, Patch

_WARNINGS: Final = frozenset(
    {Code.INVALID, Code.EXEC_NOT_ALLOWED, Code.SCALE_FAILED, Code.START_REFUSED}
    | {Code.WRITE_REFUSED, Code.NODES_NOT_PROVISIONED, Code.NAMESPACE_TERMINATING}
    | {Code.JOB_CONFLICT}
)


def size_spec(role: Role, replicas: int) -> Json:
    """The spec of a new size: `completions` changes for Indexed roles only (kubernetes.md 1, 3)."""
    indexed = {"completions": replicas} if role.spec.indexed else {}
    return {"parallelism": replicas} | indexed


def job_patch(
    key: JobKey, role: Role, spec: Mapping[str, Any], annotations: Mapping[str, str | None]
) -> Patch:
    """A patch of a role's Job; an annotation of None is removed.

    It does not depend on the `resourceVersion` alone: the Job controller may write the status of a
    Job with many pods more often than a plan is made.
    """
    body = {"metadata": {"annotations": dict(annotations)}} | ({"spec": dict(spec)} if spec else {})
    return Patch(job_target(key, role), role.version, body, fingerprint=role.fingerprint)


def pod_patch(
    key: JobKey,
    pod: Pod,
    annotations: Mapping[str, str | None],
    spec: Mapping[str, Any] | None = None,
) -> Patch:
    body = {"metadata": {"annotations": dict(annotations)}} | (
        {"spec": dict(spec)} if spec is not None else {}
    )
    return Patch(ObjectRef("Pod", key.namespace, pod.name), pod.version, body)


def spec_without_gate(pod: Pod, gate: str) -> Json:
    """The pod's scheduling gates without `gate`."""
    return {"schedulingGates": [{"name": name} for name in pod.scheduling.gates if name != gate]}


def assigned_nodes_annotation(
    role: Role, first: int, nodes: Sequence[str]
) -> dict[str, str | None]:
    """The annotation with the planned nodes of a gated role's replicas, from index `first` on.

    Known nodes of the replicas just before are kept, as some may not be assigned yet.
    """
    if not role.template.gated:
        return {}
    record = role.record.assigned
    earlier = record.nodes[: max(first - record.first, 0)]
    if earlier and record.first + len(earlier) == first:
        assignment = Assignment(record.first, (*earlier, *nodes))
    else:
        assignment = Assignment(first, tuple(nodes))
    return recorded(assigned=assignment)


def backoff_annotation(role: Role, now: datetime) -> dict[str, str | None]:
    """The annotation that keeps the Job controller's back-off; {} if unchanged.

    For a stop and a scale-down, after which no pod is missing.
    """
    until = lost_pods.delayed_until(role, now) or lost_pods.recorded_delay(role, now)
    if until == role.record.delayed_until:
        return {}
    return recorded(delayed_until=until)


def failure_baseline_annotations(role: Role, now: datetime) -> dict[str, str | None]:
    """The annotations by which pods that a scale-up adds do not count as lost; {} if unchanged.

    They do count while the Job controller's back-off lasts: it creates them as late.
    """
    if lost_pods.missing_pods(role) or lost_pods.recorded_delay(role, now):
        return {}
    if not lost_pods.has_lost_any(role):
        return {}
    over = recorded(delayed_until=None) if role.record.delayed_until else {}
    return recorded(failures_at_start=role.status.failures) | over


def job_target(key: JobKey, role: Role) -> ObjectRef:
    return ObjectRef("Job", key.namespace, role.job)


def job_event(key: JobKey, role: Role, action: Action, reason: Reason, text: str = "") -> JobEvent:
    """An Event about a role's Job; without `text`, its message is the reason's."""
    message, warning = text or messages.message(reason), reason.code in _WARNINGS
    return JobEvent(job_target(key, role), role.uid, action, reason.code, message, warning=warning)


def reason_annotations(reason: Reason, text: str = "") -> dict[str, str | None]:
    """The annotations with the reason for a Job's size, or for its waiting."""
    return recorded(reason=reason.code, message=text or messages.message(reason))


def last_change_annotations(reason: Reason, text: str = "") -> dict[str, str | None]:
    """`reason_annotations` plus the annotation from which later plans read the last change."""
    return reason_annotations(reason, text) | recorded(last=reason)
