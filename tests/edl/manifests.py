"""Manifests as the API server sends them to a webhook, and how they come out of `mutate`."""

import copy
from collections.abc import Callable, Mapping
from typing import Any

from edl import contract
from edl.errors import Denied
from edl.inject.handlers import AdmissionRequest, AdmissionVerdict, Context, mutate
from edl.writes import Json

USER = "alice"
CONTEXT = Context(trusted=frozenset({contract.RECONCILER_USER}), image="example/kubectl-edl:1")
CHIEF_ROLES = "chief=1,ps=2,worker=1..3"
HOROVOD_ROLES = "launcher=1,worker=2..4"


def job(
    name: str = "mnist",
    *,
    annotations: Mapping[str, Any] | None = None,
    spec: Mapping[str, Any] | None = None,
    pod: Mapping[str, Any] | None = None,
    **labels: Any,  # noqa: ANN401 - JSON
) -> Json:
    """A Job; `min="2"` is the label `edl.dev/min: "2"`, annotations by their short names too.

    `spec` and `pod` replace fields of the Job's spec and of its pod template's spec.
    """
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": "lab",
            "labels": prefixed(labels),
            "annotations": prefixed(annotations or {}),
        },
        "spec": {
            "parallelism": 1,
            "completionMode": "NonIndexed",
            "suspend": False,
            "template": {"metadata": {}, "spec": _pod_spec(pod)},
        }
        | dict(spec or {}),
    }


def pod(
    name: str = "mnist",
    *,
    annotations: Mapping[str, Any] | None = None,
    spec: Mapping[str, Any] | None = None,
    **labels: Any,  # noqa: ANN401 - JSON
) -> Json:
    """A bare pod; labels and annotations as in `job`, `spec` replaces fields of its spec."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "lab",
            "labels": prefixed(labels),
            "annotations": prefixed(annotations or {}),
        },
        "spec": _pod_spec(spec),
    }


def _pod_spec(replaced: Mapping[str, Any] | None) -> Json:
    containers = [{"name": "tensorflow", "image": "busybox"}]
    return {"restartPolicy": "Never", "containers": containers} | dict(replaced or {})


def prefixed(names: Mapping[str, Any]) -> Json:
    """`gpu_memory` and `clean-up` become `edl.dev/gpu-memory`, …; a name with a `/` stays."""
    return {
        name if "/" in name else contract.PREFIX + name.replace("_", "-"): value
        for name, value in names.items()
    }


def role_manifest(role: str, roles: str = CHIEF_ROLES, **fields: Any) -> Json:  # noqa: ANN401 - JSON
    """One Job of the TensorFlow training job `mnist`; annotations besides the roles are added."""
    annotations = {"roles": roles, **fields.pop("annotations", {})}
    labels = {"framework": "tensorflow", "job": "mnist", "role": role} | fields
    return job(f"mnist-{role}", annotations=annotations, **labels)


def horovod(role: str, **fields: Any) -> Json:  # noqa: ANN401 - JSON
    """One Job of the Horovod training job `mnist`."""
    return role_manifest(role, fields.pop("roles", HOROVOD_ROLES), framework="horovod", **fields)


def create(manifest: Json) -> AdmissionVerdict:
    return mutate(AdmissionRequest("CREATE", manifest, None, USER), CONTEXT)


def created(manifest: Json) -> Json:
    """What is stored when a user creates this."""
    return create(manifest).manifest


def refusals(check: Callable[..., object], *args: object) -> list[str]:
    """The findings that a check refuses its arguments with; none where it accepts them."""
    try:
        check(*args)
    except Denied as denied:
        return [str(finding) for finding in denied.findings]
    return []


def update(new: Json, old: Json, user: str = USER) -> AdmissionVerdict:
    return mutate(AdmissionRequest("UPDATE", new, old, user), CONTEXT)


def changed(manifest: Json, path: str, value: object) -> Json:
    """A copy with the value at `spec parallelism` (a path of blanks); None removes it."""
    copied = copy.deepcopy(manifest)
    *parents, last = path.split()
    place = copied
    for name in parents:
        place = place.setdefault(name, {})
    if value is None:
        place.pop(last, None)
    else:
        place[last] = value
    return copied


def labels(manifest: Json) -> Json:
    return dict(manifest["metadata"].get("labels") or {})


def annotations(manifest: Json) -> Json:
    return dict(manifest["metadata"].get("annotations") or {})


def template(manifest: Json) -> Json:
    return dict(manifest["spec"]["template"])


def pod_spec(manifest: Json) -> Json:
    """The spec of the pods: the template's, or a bare pod's own."""
    spec = manifest["spec"]
    return dict(spec["template"]["spec"] if "template" in spec else spec)


def environment(manifest: Json, container: int = 0) -> Json:
    """Values by name of one container; a `fieldRef` shows its path."""
    entries = pod_spec(manifest)["containers"][container].get("env") or []
    return {entry["name"]: _value(entry) for entry in entries}


def _value(entry: Json) -> object:
    return entry["valueFrom"]["fieldRef"]["fieldPath"] if "valueFrom" in entry else entry["value"]
