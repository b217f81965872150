"""Pods without requests fit on any node, so an elastic role of them would start at its max."""

from collections.abc import Iterator, Mapping
from typing import Any

from edl.contract.manifest_parts import annotations, labels, template
from edl.model import Role, TrainingJob
from edl.quantities import CPU, MEMORY, SHARED_GPU
from edl.spec.job_spec import JobSpec
from edl.writes import Json


def warnings(manifest: Json, spec: JobSpec) -> tuple[str, ...]:
    """A warning for an elastic Job whose pods request neither CPU nor memory nor GPUs.

    The LimitRanges and quotas of its namespace, which may set or require requests, are unknown
    here.
    """
    pods = template(manifest)
    fixed = spec.rank is not None or spec.scaling.min == spec.scaling.max
    if fixed or spec.resources.gpu or _is_shared(pods) or _is_counted(pods.get("spec") or {}):
        return ()
    way_out = (
        "unless a LimitRange gives them requests or a ResourceQuota refuses them; set "
        "resources.requests"
    )
    return (f"{no_requests(spec.role, spec.scaling.max)}, {way_out}",)


def no_requests(role: str, most: int) -> str:
    return (
        f"no container of {role} requests CPU or memory: its pods count as nothing, "
        f"and all {most} start regardless of free capacity"
    )


def _is_counted(pod: Json) -> bool:
    """Whether the `spec` of a pod requests a resource that limits how many pods fit on a node."""
    parts = (pod, *(pod.get("containers") or ()), *(pod.get("initContainers") or ()))
    asked = (name for part in parts for name in _named(part.get("resources")))
    return bool(pod.get("resourceClaims")) or any(map(_bounds, asked))


def roles(job: TrainingJob) -> tuple[Role, ...]:
    """Elastic roles whose pods, as they are admitted, request nothing that limits their number."""
    return tuple(
        role
        for role in job.live
        if role.spec.min < role.spec.max
        and not role.template.shape.claims
        and not any(_bounds(name) for name, _ in role.template.shape.requests)
    )


def _bounds(resource: str) -> bool:
    """Whether nodes hold a limited number of pods with this resource: CPU, memory, or a device."""
    return resource in (CPU, MEMORY, SHARED_GPU) or "/" in resource


def _is_shared(pods: Json) -> bool:
    """Whether KubeShare assigns GPU shares to pods of this template."""
    names = (*annotations(pods), *labels(pods))
    return any(name.startswith(("kubeshare/", "sharedgpu/")) for name in names)


def _named(resources: object) -> Iterator[str]:
    """The names of requested resources; a limit without a request counts as a request."""
    for kind in ("requests", "limits"):
        amounts: Any = resources.get(kind) if isinstance(resources, Mapping) else None
        yield from amounts if isinstance(amounts, Mapping) else ()
