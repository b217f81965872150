"""GPUs on a pod: whole ones as a resource limit, shares in KubeShare's words."""

from collections.abc import Mapping

from edl import contract
from edl.spec import Gpu
from edl.writes import Json

_NO_SCHEDULER = ("", "default-scheduler")


def share_labels(gpu: Gpu | None, annotations: Mapping[str, str]) -> Mapping[str, str]:
    """KubeShare 2.0 labels, from `edl.dev/gpu` or from 1.0 annotations that the user wrote."""
    if gpu and gpu.request:
        memory = {} if gpu.memory is None else {contract.SHARED_GPU_MEMORY: str(gpu.memory)}
        request = {contract.SHARED_GPU_REQUEST: gpu.request}
        return {contract.SHARED_GPU_LIMIT: gpu.limit} | request | memory
    old = {
        new: annotations[name] for name, new in contract.KUBESHARE_1.items() if name in annotations
    }
    if not old:
        return {}
    # 2.0 requires a limit where 1.0 could do with a request.
    return {contract.SHARED_GPU_LIMIT: old.get(contract.SHARED_GPU_REQUEST, "1.0")} | old


def with_scheduler(pod: Json) -> Json:
    """The pod handed to KubeShare's scheduler, unless its user chose one."""
    if pod.get("schedulerName", "") not in _NO_SCHEDULER:
        return pod
    return pod | {"schedulerName": contract.KUBESHARE_SCHEDULER}


def with_whole(pod: Json, gpu: Gpu | None) -> Json:
    """Whole GPUs on the first container, unless some container asks for GPUs itself."""
    containers = pod.get("containers") or []
    if not gpu or not gpu.whole or not containers or any(map(_has_gpu, containers)):
        return pod
    amount = {contract.GPU_RESOURCE: str(gpu.whole)}
    first = containers[0]
    resources = first.get("resources") or {}
    # Extended resources are requested as they are limited; the API writes both.
    with_gpu = resources | {
        field: (resources.get(field) or {}) | amount for field in ("limits", "requests")
    }
    return pod | {"containers": [first | {"resources": with_gpu}, *containers[1:]]}


def _has_gpu(container: Json) -> bool:
    return contract.GPU_RESOURCE in ((container.get("resources") or {}).get("limits") or {})
