"""A stand-in for KubeShare 2.0's scheduler: it binds as the real one does, by recreating the pod.

Taken from its `pkg/scheduler` (scheduler.go `Reserve`, pod.go `newAssumedSharedGPUPod`): the copy
of the pod keeps its whole metadata but the resourceVersion (owner, labels, finalizers and all),
gets spec.nodeName, annotations, variables and a volume; then the pod is deleted, and the copy
created at once. A create that fails is logged and forgotten. The stand-in leaves out what decides
between GPUs (cells, priorities, groups) and the Binding of the deleted pod, which always fails.
"""

import contextlib
import copy
import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self

from edl.errors import EdlError
from edl.kube.api.client import ApiClient
from edl.kube.cluster import ListOptions
from edl.model import ObjectRef
from edl.writes import Json

NAME: Final = "kubeshare-scheduler"
NODE_LABEL: Final = "SharedGPU"
LIMIT: Final = "sharedgpu/gpu_limit"
REQUEST: Final = "sharedgpu/gpu_request"
UUID: Final = "sharedgpu/gpu_uuid"
LIBRARY: Final = "/kubeshare/library"
MEMORY: Final = 16 * 2**30
"""Bytes of each simulated GPU."""
_FIRST_PORT: Final = 50050
_PAUSE: Final = 0.05
_UNKNOWN: Final = frozenset(
    ("schedulingGates", "os", "hostUsers", "resourceClaims", "resources", "setHostnameAsFQDN")
)
"""Fields of a pod's spec that came after Kubernetes 1.18, whose client it is built with."""
_UNKNOWN_OF_CONTAINERS: Final = frozenset(("restartPolicy", "resizePolicy"))


@dataclass(frozen=True, slots=True)
class Gpu:
    """One device of a node."""

    node: str
    uuid: str


def recreated(pod: Json, gpu: Gpu, port: int) -> Json:
    """The copy that it creates in place of a pod."""
    copied = copy.deepcopy(pod)
    metadata, spec = copied["metadata"], _as_1_18(copied["spec"])
    del metadata["resourceVersion"]
    memory = metadata["labels"].get("sharedgpu/gpu_mem") or str(int(_share(pod) * MEMORY))
    metadata["annotations"] = metadata.get("annotations", {}) | {
        "sharedgpu/cell_id": gpu.uuid,
        "sharedgpu/gpu_model": "simulated",
        "sharedgpu/gpu_mem": memory,
        UUID: gpu.uuid,
        "sharedgpu/gpu_manager_port": str(port),
    }
    spec["nodeName"] = gpu.node
    environment = {
        "NVIDIA_VISIBLE_DEVICES": gpu.uuid,
        "NVIDIA_DRIVER_CAPABILITIES": "compute,utility",
        "LD_PRELOAD": f"{LIBRARY}/libgemhook.so.1",
        "POD_MANAGER_PORT": str(port),
        "POD_NAME": f"{metadata['namespace']}/{metadata['name']}",
    }
    for container in spec["containers"]:
        container.setdefault("env", []).extend(
            {"name": name, "value": value} for name, value in environment.items()
        )
        mount = {"name": "kubeshare-lib", "mountPath": LIBRARY}
        container.setdefault("volumeMounts", []).append(mount)
    volume = {"name": "kubeshare-lib", "hostPath": {"path": LIBRARY}}
    spec.setdefault("volumes", []).append(volume)
    return copied | {"spec": spec}


def _as_1_18(spec: Json) -> Json:
    kept = {name: value for name, value in spec.items() if name not in _UNKNOWN}
    for containers in ("containers", "initContainers"):
        for container in kept.get(containers, ()):
            for name in _UNKNOWN_OF_CONTAINERS & container.keys():
                del container[name]
    return kept


@dataclass(slots=True)
class KubeShare:
    """Schedules share pods onto nodes with `SharedGPU=true`, in a thread, while it is entered.

    `gap`: seconds between its two calls, so that the Job controller looks when there is no pod.
    """

    api: ApiClient
    gap: float = 0.0
    failed: list[str] = field(default_factory=list)
    """What its log would say of creates that failed."""
    broken: list[Exception] = field(default_factory=list)
    bound: int = 0
    """How many pods it has tried to bind."""
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        assert not self.broken, self.broken

    def _run(self) -> None:
        while not self._stop.wait(_PAUSE):
            try:
                self.schedule()
            except Exception as error:  # noqa: BLE001 - shown when it is left
                self.broken.append(error)
                return

    def schedule(self) -> None:
        """Bind every pod that waits and has a GPU with room."""
        pods = [json.loads(item) for item in self.api.list(ListOptions("Pod", labels=LIMIT)).items]
        nodes = [json.loads(item) for item in self.api.list(ListOptions("Node")).items]
        taken = _taken(pods)
        for pod in filter(_waits, pods):
            gpu = _room(pod, nodes, taken)
            if gpu is not None:
                taken[gpu.uuid] = taken.get(gpu.uuid, 0.0) + _share(pod)
                self._bind(pod, gpu)

    def _bind(self, pod: Json, gpu: Gpu) -> None:
        self.bound += 1
        copied = recreated(pod, gpu, _FIRST_PORT + self.bound)
        target = ObjectRef("Pod", pod["metadata"]["namespace"], pod["metadata"]["name"])
        with contextlib.suppress(EdlError):  # the real one says so at its debug level
            self.api.delete(target)
        self._stop.wait(self.gap)
        try:
            self.api.create(target, {"apiVersion": "v1", "kind": "Pod"} | copied)
        except EdlError as error:
            self.failed.append(str(error))


def _waits(pod: Json) -> bool:
    """It knows nothing of scheduling gates."""
    spec, metadata = pod["spec"], pod["metadata"]
    mine = spec.get("schedulerName") == NAME and "nodeName" not in spec
    return mine and "deletionTimestamp" not in metadata


def _taken(pods: Iterable[Json]) -> dict[str, float]:
    taken: dict[str, float] = {}
    for pod in pods:
        uuid = pod["metadata"].get("annotations", {}).get(UUID)
        if uuid and pod["status"].get("phase") not in ("Succeeded", "Failed"):
            taken[uuid] = taken.get(uuid, 0.0) + _share(pod)
    return taken


def _room(pod: Json, nodes: Iterable[Json], taken: Mapping[str, float]) -> Gpu | None:
    """The fullest GPU that has room for it; of equals, the first by name."""
    gpus = [gpu for node in nodes if _takes(node, pod) for gpu in _gpus(node)]
    fitting = [gpu for gpu in gpus if taken.get(gpu.uuid, 0.0) + _share(pod) <= 1.0]
    return min(fitting, key=lambda gpu: (-taken.get(gpu.uuid, 0.0), gpu.uuid), default=None)


def _takes(node: Json, pod: Json) -> bool:
    labels = node["metadata"].get("labels", {})
    wanted = pod["spec"].get("nodeSelector", {}) | {NODE_LABEL: "true"}
    return bool(wanted.items() <= labels.items()) and not node["spec"].get("unschedulable")


def _gpus(node: Json) -> list[Gpu]:
    name, count = node["metadata"]["name"], int(node["status"]["allocatable"]["nvidia.com/gpu"])
    return [Gpu(name, f"GPU-{name}-{number}") for number in range(count)]


def _share(pod: Json) -> float:
    return float(pod["metadata"]["labels"].get(REQUEST, "0"))
