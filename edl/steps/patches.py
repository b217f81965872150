"""Merge patches for the objects of a training job, each with its precondition."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from edl.model import JobKey, Pod, Role, Target
from edl.writes import Json, Note, Patch


def timestamp(moment: datetime) -> str:
    """RFC 3339 in UTC, as Kubernetes writes times."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def size(role: Role, replicas: int) -> Json:
    """A new size: ranks move in tandem, work items never (docs/kubernetes.md 1, 3)."""
    tandem = {"completions": replicas} if role.tandem else {}
    return {"parallelism": replicas} | tandem


def job(
    key: JobKey, role: Role, spec: Mapping[str, Any], annotations: Mapping[str, str | None]
) -> Patch:
    """None removes an annotation."""
    metadata = {"resourceVersion": role.version, "annotations": dict(annotations)}
    body = {"metadata": metadata} | ({"spec": dict(spec)} if spec else {})
    return Patch(job_target(key, role), role.version, body)


def pod(
    key: JobKey,
    found: Pod,
    annotations: Mapping[str, str | None],
    spec: Mapping[str, Any] | None = None,
) -> Patch:
    metadata = {"resourceVersion": found.version, "annotations": dict(annotations)}
    body = {"metadata": metadata} | ({"spec": dict(spec)} if spec is not None else {})
    return Patch(Target("Pod", key.namespace, found.name), found.version, body)


def job_target(key: JobKey, role: Role) -> Target:
    return Target("Job", key.namespace, role.job)


def note(key: JobKey, role: Role, reason: str, message: str, *, warning: bool = False) -> Note:
    return Note(job_target(key, role), role.uid, reason, message, warning=warning)
