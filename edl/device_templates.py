"""GPUs by a DeviceClass: the ResourceClaimTemplate of a training job's pods."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from edl import contract
from edl.model import DeviceTemplate
from edl.parsing.yaml_values import whole
from edl.spec.job_spec import Gpu
from edl.writes import Json

MOST: Final = 32
"""Devices that one ResourceClaim can hold (resource.k8s.io/v1, AllocationResultsMaxSize)."""
LONGEST: Final = 160
"""Characters of a class's name, which stands in the template's beside the training job's."""
_BETWEEN: Final = "-gpus-"


def template(job: str, gpu: Gpu | None) -> DeviceTemplate | None:
    """Named after what it holds, so that creating it twice can do no harm; None without a class."""
    if gpu is None or not gpu.device_class:
        return None
    name = f"{job}{_BETWEEN}{gpu.whole}.{gpu.device_class}"
    return DeviceTemplate(name, gpu.device_class, gpu.whole)


def spec(found: DeviceTemplate) -> Json:
    """The spec of the ResourceClaimTemplate."""
    exactly = {"deviceClassName": found.device_class, "count": found.count}
    requests = [{"name": "gpus", "exactly": {"allocationMode": "ExactCount", **exactly}}]
    return {"spec": {"devices": {"requests": requests}}}


def gpus(pod: Mapping[str, Any]) -> int:
    """The GPUs that a pod's spec asks for by such a template; 0 for none."""
    return sum(_counts(pod))


def _counts(pod: Mapping[str, Any]) -> Iterator[int]:
    for claim in pod.get("resourceClaims") or ():
        name = claim.get("resourceClaimTemplateName") or ""
        if claim.get("name") == contract.GPU_CLAIM:
            yield whole(name.rpartition(_BETWEEN)[2].partition(".")[0]) or 0
