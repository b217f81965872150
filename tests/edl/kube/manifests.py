"""Objects as an API server stores them, for tests."""

from typing import Any, TypeAlias

from edl import contract
from edl.model import ObjectRef
from edl.writes import Json

Field: TypeAlias = Any
"""A JSON value of a manifest."""

CREATED = "2026-01-01T00:00:00Z"


def metadata(name: str, namespace: str = "", **fields: Field) -> Json:
    place = {"namespace": namespace} if namespace else {}
    return {
        "name": name,
        **place,
        "uid": f"uid-{name}",
        "resourceVersion": "7",
        "creationTimestamp": CREATED,
        **fields,
    }


def node(name: str = "n1", *, ready: bool = True, **spec: Field) -> Json:
    return {
        "metadata": metadata(name, labels={"zone": "a"}),
        "spec": spec,
        "status": {
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        },
    }


def pod(
    name: str, *, node: str = "", phase: str = "Pending", cpu: str = "1", **more: Field
) -> Json:
    """`more`: priority, and any field of `metadata` or `spec` under that name."""
    return {
        "metadata": metadata(name, "web", **more.get("metadata", {})),
        "spec": {
            "containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}],
            **({"nodeName": node} if node else {}),
            "priority": more.get("priority", 0),
            **more.get("spec", {}),
        },
        "status": {"phase": phase, **more.get("status", {})},
    }


def job_pod(name: str, index: int, job: str, **more: Field) -> Json:
    notes = {"batch.kubernetes.io/job-completion-index": str(index), **more.pop("notes", {})}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": f"uid-{job}"}
    owners = [owner | {"controller": True}]
    tracked = {"ownerReferences": owners, "finalizers": [contract.JOB_TRACKING]}
    meta = {"annotations": notes, **tracked, **more.pop("metadata", {})}
    return pod(name, metadata=meta, **more)


def job(
    name: str, *, labels: dict[str, str], notes: dict[str, str] | None = None, **spec: Field
) -> Json:
    """A Job of namespace `web`; `spec` may also hold `conditions`, and `pod`: its template's."""
    conditions = spec.pop("conditions", [])
    template_spec = {
        "restartPolicy": "OnFailure",
        "containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}],
        **spec.pop("pod", {}),
    }
    meta = spec.pop("metadata", {})
    completed = {contract.INJECTED_MAX: "9"}
    return {
        "metadata": metadata(
            name, "web", labels=labels, annotations=completed | (notes or {}), **meta
        ),
        "spec": {
            "parallelism": 1,
            "completions": 1,
            "completionMode": "Indexed",
            "suspend": True,
            "template": {"spec": template_spec},
            **spec,
        },
        "status": {"conditions": [{"type": name, "status": "True"} for name in conditions]},
    }


ALL_ROLES = {"edl.dev/roles": "chief=1,ps=1,worker=1..4"}


def member(role: str, **spec: Field) -> Json:
    """One Job of the training job `mnist`: a chief, a ps, and one to four workers."""
    labels = {
        "edl.dev/framework": "tensorflow",
        "edl.dev/job": "mnist",
        "edl.dev/role": role,
    }
    return job(f"mnist-{role}", labels=labels, notes=ALL_ROLES | spec.pop("notes", {}), **spec)


def target(kind: str, body: Json) -> ObjectRef:
    return ObjectRef(kind, body["metadata"].get("namespace", ""), body["metadata"]["name"])
