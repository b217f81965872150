"""Parts of a Job, a bare pod or a pod template; an absent part is empty."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from edl import contract

_REFERENCE: Final = re.compile(r"\$\(([^()]+)\)")
JOB_TEMPLATE: Final = "spec.jobTemplate"
"""The path of the metadata and spec of a CronJob's Jobs."""
_CRON_JOB: Final = {"apiVersion": "batch/v1", "kind": "CronJob", "uid": "", "controller": True}


def metadata(part: Mapping[str, Any]) -> dict[str, Any]:
    return part.get("metadata") or {}


def labels(part: Mapping[str, Any]) -> Mapping[str, str]:
    return metadata(part).get("labels") or {}


def annotations(part: Mapping[str, Any]) -> Mapping[str, str]:
    return metadata(part).get("annotations") or {}


def is_paused(job: Mapping[str, Any]) -> bool:
    return annotations(job).get(contract.PAUSED) == contract.TRUE


def has_our_prefix(name: str) -> bool:
    """Whether a label, an annotation or a scheduling gate of this name is kubectl-edl's."""
    return name.startswith(contract.PREFIX)


def annotated(part: dict[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """The part with these annotations added; existing ones of the same name are replaced."""
    return with_metadata(part, annotations={**annotations(part), **texts})


def with_metadata(part: dict[str, Any], **fields: object) -> dict[str, Any]:
    """The part with these fields of its metadata replaced."""
    return part | {"metadata": metadata(part) | fields}


def with_spec(part: dict[str, Any], **fields: object) -> dict[str, Any]:
    """The part with these fields of its spec replaced."""
    return part | {"spec": (part.get("spec") or {}) | fields}


def namespace_option(part: Mapping[str, Any]) -> str:
    """` -n NAMESPACE`, for commands about the object; empty if it names no namespace."""
    namespace = metadata(part).get("namespace")
    return f" -n {namespace}" if namespace else ""


def pod_of(manifest: dict[str, Any]) -> dict[str, Any]:
    """A bare pod itself, or a Job's pod template."""
    return manifest if manifest.get("kind") == "Pod" else template(manifest)


def service_account(manifest: dict[str, Any]) -> str:
    """The ServiceAccount that the pods name; empty if they name none."""
    pod = pod_of(manifest).get("spec") or {}
    return pod.get("serviceAccountName") or pod.get("serviceAccount") or ""


def template(job: dict[str, Any]) -> dict[str, Any]:
    return (job.get("spec") or {}).get("template") or {}


def is_of_cron_job(job: Mapping[str, Any]) -> bool:
    owners = metadata(job).get("ownerReferences") or ()
    return any(owner.get("kind") == _CRON_JOB["kind"] for owner in owners)


def job_template(cron_job: dict[str, Any]) -> dict[str, Any] | None:
    """A CronJob's jobTemplate; None if it is not an object."""
    spec = cron_job.get("spec")
    inner = spec.get("jobTemplate") if isinstance(spec, dict) else None
    return inner if isinstance(inner, dict) else None


def made_job(cron_job: dict[str, Any]) -> dict[str, Any]:
    """A Job as the CronJob creates it, with the name of the first one in 1970.

    The API server gives a Job without labels those of its pods (batch/v1, SetDefaults_Job).
    """
    made = cron_job["spec"]["jobTemplate"]
    above, inner = metadata(cron_job), metadata(made)
    fields = {
        "name": f"{above.get('name') or ''}-00000000",
        "namespace": above.get("namespace"),
        "labels": inner.get("labels") or labels(template(made)),
        "annotations": inner.get("annotations"),
        "ownerReferences": [_CRON_JOB | {"name": above.get("name") or ""}],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {name: value for name, value in fields.items() if value},
        "spec": made.get("spec") or {},
    }


def command_line(container: Mapping[str, Any]) -> str:
    """The container's own command and arguments; empty if its image has both."""
    return " ".join((*(container.get("command") or ()), *(container.get("args") or ())))


def mapping(value: Any) -> Mapping[str, Any]:  # noqa: ANN401 - JSON
    """The value if it is an object; an empty one if not."""
    return value if isinstance(value, dict) else {}


def default_container(names: Sequence[str], annotated: str | None) -> int:
    """The position of the container that users mean: the one that an annotation names, else 0.

    Istio and Argo Workflows put containers of their own before it.
    """
    return names.index(annotated) if annotated in names else 0


def training_container(pod: Mapping[str, Any]) -> dict[str, Any]:
    """The default container of a bare pod or a pod template; empty in a pod without containers."""
    containers = (pod.get("spec") or {}).get("containers")
    return containers[training_position(pod)] if containers else {}


def training_position(pod: Mapping[str, Any]) -> int:
    """The position of the training container in `spec.containers`."""
    containers = (pod.get("spec") or {}).get("containers") or ()
    names = [container.get("name") for container in containers]
    return default_container(names, annotations(pod).get(contract.DEFAULT_CONTAINER))


def moved(items: Sequence[Any], source: int, target: int) -> list[Any]:
    """The items, one of which is moved to another position."""
    others = [*items[:source], *items[source + 1 :]]
    return [*others[:target], *items[source : source + 1], *others[target:]]


def with_first_container(pod: dict[str, Any], **fields: object) -> dict[str, Any]:
    """The pod spec with these fields of its first container replaced."""
    first, *others = pod["containers"]
    return pod | {"containers": [first | fields, *others]}


def with_env(container: dict[str, Any], entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The container with these variables, except those that it sets itself.

    They precede its own variables, which may refer to them: the kubelet expands only references to
    earlier variables. Those that refer to one of its own follow them.
    """
    variables = container.get("env") or []
    names = {entry.get("name") for entry in variables}
    missing = [entry for entry in entries if entry["name"] not in names]
    if not missing:
        return container
    earlier, later = [], []
    for entry in missing:
        if names.isdisjoint(_REFERENCE.findall(entry.get("value") or "")):
            earlier.append(entry)
        else:
            names.add(entry["name"])
            later.append(entry)
    return container | {"env": [*earlier, *variables, *later]}
