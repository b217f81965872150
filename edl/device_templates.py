"""Whole GPUs requested by DeviceClass: the ResourceClaimTemplate of a training job's pods."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from edl import contract
from edl.model import DeviceTemplate
from edl.parsing.yaml_values import whole
from edl.spec.job_spec import Gpu
from edl.writes import Json

MAX_DEVICES: Final = 32
"""Devices that one ResourceClaim can hold (resource.k8s.io/v1, AllocationResultsMaxSize)."""
LONGEST: Final = 160
"""Characters of a DeviceClass's name, which becomes a part of the template's name."""
_BETWEEN: Final = "-gpus-"


def template(job: str, gpu: Gpu | None) -> DeviceTemplate | None:
    """The template that a job's pods need; None without a DeviceClass.

    Its name contains its content (job, count, class), so creating it twice is harmless.
    """
    if gpu is None or not gpu.device_class:
        return None
    name = f"{job}{_BETWEEN}{gpu.whole}.{gpu.device_class}"
    return DeviceTemplate(name, gpu.device_class, gpu.whole)


def spec(template: DeviceTemplate) -> Json:
    exactly = {"deviceClassName": template.device_class, "count": template.count}
    requests = [{"name": "gpus", "exactly": {"allocationMode": "ExactCount", **exactly}}]
    return {"spec": {"devices": {"requests": requests}}}


def gpus(pod: Mapping[str, Any]) -> int:
    """The number of GPUs that a pod's spec requests through such a template; 0 without one."""
    return sum(_counts(pod))


def _counts(pod: Mapping[str, Any]) -> Iterator[int]:
    for claim in pod.get("resourceClaims") or ():
        name = claim.get("resourceClaimTemplateName") or ""
        if claim.get("name") == contract.GPU_CLAIM:
            yield whole(name.rpartition(_BETWEEN)[2].partition(".")[0]) or 0
