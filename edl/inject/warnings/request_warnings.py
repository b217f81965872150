"""Pods that ask for nothing: they fit anywhere, so an elastic role of them starts at its max."""

from collections.abc import Iterator, Mapping
from typing import Any

from edl import contract
from edl.inject.manifest_parts import annotations, labels, template
from edl.model import Role, TrainingJob
from edl.quantities import CPU, MEMORY, SHARED_GPU
from edl.spec.job_spec import JobSpec
from edl.writes import Json


def warnings(manifest: Json, spec: JobSpec) -> tuple[str, ...]:
    """A warning for an elastic Job whose pods request neither CPU nor memory nor GPUs.

    Its namespace's quotas and LimitRanges are not known here.
    """
    if contract.INJECTED_MAX in annotations(manifest):
        return ()  # completed before, and said then
    pods = template(manifest)
    fixed = spec.rank is not None or spec.scaling.min == spec.scaling.max
    if fixed or spec.resources.gpu or _is_shared(pods) or _is_counted(pods.get("spec") or {}):
        return ()
    way_out = "unless a ResourceQuota refuses them; set resources.requests"
    return (f"{said(spec.role, spec.scaling.max)}, {way_out}",)


def said(role: str, most: int) -> str:
    return (
        f"no container of {role} requests CPU or memory: its pods count as nothing, "
        f"and all {most} start whatever room there is"
    )


def _is_counted(pod: Json) -> bool:
    """Whether the `spec` of a pod requests a resource that nodes have a limited amount of."""
    parts = (pod, *(pod.get("containers") or ()), *(pod.get("initContainers") or ()))
    asked = (name for part in parts for name in _named(part.get("resources")))
    return bool(pod.get("resourceClaims")) or any(map(_bounds, asked))


def roles(job: TrainingJob) -> tuple[Role, ...]:
    """Those that may grow, and whose pods, as they are admitted, count as nothing."""
    return tuple(
        role
        for role in job.live
        if role.spec.min < role.spec.max
        and not any(_bounds(name) for name, _ in role.template.shape.requests)
    )


def _bounds(resource: str) -> bool:
    """Whether it is a resource that holds pods apart: CPU, memory, or one of a device."""
    return resource in (CPU, MEMORY, SHARED_GPU) or "/" in resource


def _is_shared(pods: Json) -> bool:
    """Whether KubeShare gives pods of this template parts of GPUs."""
    names = (*annotations(pods), *labels(pods))
    return any(name.startswith(("kubeshare/", "sharedgpu/")) for name in names)


def _named(resources: object) -> Iterator[str]:
    """What is asked for, or limited: a limit without a request is one."""
    for kind in ("requests", "limits"):
        amounts: Any = resources.get(kind) if isinstance(resources, Mapping) else None
        yield from amounts if isinstance(amounts, Mapping) else ()
