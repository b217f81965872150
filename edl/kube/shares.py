"""KubeShare's room, in thousandths of a GPU: kubelets know nothing of it, labels say it.

Its scheduler takes `sharedgpu/gpu_request` from a GPU (pkg/scheduler/pod.go, reserveResource). Here
a node's GPUs are one sum, so what no single GPU has room for is the scheduler's to find out.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from edl import contract
from edl.resources import SHARED_GPU, Resources

_SHARE: Final = re.compile(r"[0-9]{1,6}(\.[0-9]{1,18})?")
_COUNT: Final = re.compile(r"[0-9]{1,6}")
_COUNT_LABEL: Final = "nvidia.com/gpu.count"
"""NVIDIA's GPU feature discovery writes it, also where no device plugin counts GPUs."""
_UNKNOWN: Final = 2**40
"""Where nobody counts a node's GPUs, KubeShare alone knows its room."""


def held(request: str) -> int:
    """What a pod holds by its request label; 0 without one that KubeShare would take."""
    return int(Decimal(request) * 1000) if _SHARE.fullmatch(request) else 0


def offered(labels: Mapping[str, str], allocatable: Resources) -> Resources:
    """What KubeShare hands out on a node, nothing on nodes that are not its own."""
    if labels.get(contract.SHARED_GPU_NODE) != contract.TRUE:
        return Resources()
    label = labels.get(_COUNT_LABEL, "")
    gpus = allocatable.get(contract.GPU_RESOURCE) or (int(label) if _COUNT.fullmatch(label) else 0)
    return Resources.of({SHARED_GPU: gpus * 1000 or _UNKNOWN})
