"""KubeShare's GPU capacity, in thousandths, from labels: kubelets do not know of it.

KubeShare's scheduler takes `sharedgpu/gpu_request` and `sharedgpu/gpu_mem` from one GPU, or above 1
that many whole GPUs, and annotates the pod with their UUIDs (pkg/scheduler/pod.go, reserveResource
and newAssumed...Pod).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from itertools import chain, islice, repeat
from typing import Final, NamedTuple

from edl import contract
from edl.model import Device, Share
from edl.parsing.yaml_values import whole
from edl.quantities import SHARED_GPU, Resources

_SHARE: Final = re.compile(r"[0-9]{1,6}(\.[0-9]{1,18})?")
_COUNT: Final = re.compile(r"[0-9]{1,6}")
GPU_COUNT_LABEL: Final = "nvidia.com/gpu.count"
"""Set by NVIDIA's GPU feature discovery, even if no device plugin counts GPUs."""
_MEMORY_LABEL: Final = "nvidia.com/gpu.memory"
"""MiB of one GPU, set by GPU feature discovery as well."""
_WHOLE: Final = 1000
_MAX_DEVICES: Final = 64
"""GPUs of a node that are tracked one by one; for a node with more only the sum counts."""
UNCOUNTED: Final = 2**40
"""The capacity of a node whose number of GPUs only KubeShare knows."""


def held(request: str) -> int:
    """Thousandths that a pod requests by its label; 0 for a value that KubeShare would refuse."""
    return int(Decimal(request) * 1000) if _SHARE.fullmatch(request) else 0


def offered(labels: Mapping[str, str], allocatable: Resources) -> Resources:
    """The capacity that KubeShare shares on a node; nothing on nodes that are not its own.

    KubeShare counts GPUs by metrics of its collector (`gpu_capacity`), so a node that reports none
    in the API may have any number: UNCOUNTED.
    """
    if labels.get(contract.SHARED_GPU_NODE) != contract.TRUE:
        return Resources()
    label = labels.get(GPU_COUNT_LABEL, "")
    gpus = allocatable.get(contract.GPU_RESOURCE) or (int(label) if _COUNT.fullmatch(label) else 0)
    return Resources.of({SHARED_GPU: gpus * _WHOLE or UNCOUNTED})


def share(labels: Mapping[str, str]) -> Share | None:
    """The share that a pod with these labels requests; None without a request."""
    compute = held(labels.get(contract.SHARED_GPU_REQUEST, ""))
    memory = whole(labels.get(contract.SHARED_GPU_MEMORY, "")) or 0
    if not (compute or memory):
        return None
    return Share(compute, memory, labels.get(contract.SHARED_GPU_MODEL, ""))


class SharedGpuGroup(NamedTuple):
    """Pods of a namespace that KubeShare schedules only if at least `least` of them exist."""

    name: str
    least: int


def group(labels: Mapping[str, str]) -> SharedGpuGroup | None:
    """The group of a pod with these labels; None without one, or if KubeShare ignores it."""
    name, headcount, threshold = (labels.get(key, "") for key in contract.SHARED_GPU_GROUP)
    if not (name and _COUNT.fullmatch(headcount) and _SHARE.fullmatch(threshold)):
        return None
    # KubeShare rounds to the nearest (pkg/scheduler/pod_group.go).
    least = int(int(headcount) * Decimal(threshold) + Decimal("0.5"))
    return SharedGpuGroup(name, least) if least > 1 else None


class GpuAllocation(NamedTuple):
    """GPU capacity that a pod holds; `memory` is 0 if it has the same fraction as the compute."""

    uuids: tuple[str, ...]
    compute: int
    memory: int


def hold(asked: Share | None, uuids: str, memory: str) -> GpuAllocation | None:
    """What a bound pod holds of its node's GPUs, by KubeShare's annotations.

    It names no more GPUs than its share is spread over, whatever a user adds to them.
    """
    if asked is None:
        return None
    names = dict.fromkeys(name for name in map(str.strip, uuids.split(",")) if name)
    named = tuple(islice(names, min(asked.gpus, _MAX_DEVICES)))
    return GpuAllocation(named, asked.compute, whole(memory) or asked.memory)


def devices(labels: Mapping[str, str], allocatable: Resources) -> tuple[Device, ...]:
    """A node's GPUs, all free; empty if their number is unknown."""
    count = offered(labels, allocatable).get(SHARED_GPU) // _WHOLE
    label = labels.get(_MEMORY_LABEL, "")
    memory = int(label) * 2**20 if _COUNT.fullmatch(label) else 0
    return (Device(memory=memory),) * count if count <= _MAX_DEVICES else ()


def occupied(
    devices: tuple[Device, ...], holds: Iterable[tuple[GpuAllocation, bool]]
) -> tuple[Device, ...]:
    """The GPUs with the shares in use, whatever the order of pods; the flag marks terminating pods.

    A share that names no GPU, or one more than the node has, counts on the GPU with the most free
    capacity.
    """
    gpus = {f" {place}": device for place, device in enumerate(devices)}
    unnamed = sorted(gpus, reverse=True)
    for uuid, allocation, leaving in sorted(_parts(holds, len(devices)), reverse=True):
        if uuid and uuid not in gpus and unnamed:
            gpus[uuid] = gpus.pop(unnamed.pop())._replace(uuid=uuid)
        name = uuid if uuid in gpus else min(gpus, key=lambda name: (gpus[name].used, name))
        gpus[name] = _with(gpus[name], allocation, leaving)
    return tuple(sorted(gpus.values()))


def _parts(
    holds: Iterable[tuple[GpuAllocation, bool]], most: int
) -> Iterator[tuple[str, GpuAllocation, bool]]:
    """Each pod once for each GPU that it holds, with the GPU's name if the pod has it."""
    for allocation, leaving in holds:
        count = min(Share(allocation.compute).gpus, most)
        for uuid in islice(chain(allocation.uuids, repeat("")), count):
            yield uuid, allocation, leaving


def _with(device: Device, allocation: GpuAllocation, leaving: bool) -> Device:  # noqa: FBT001
    part = Share(allocation.compute, allocation.memory).part(device.memory)
    going = device.releasing.plus(part) if leaving else device.releasing
    return device._replace(used=device.used.plus(part), releasing=going)
