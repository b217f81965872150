"""Failed pods of a training job, and why their containers terminated."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from edl import contract
from edl.kube.cluster import Cluster, ListOptions
from edl.model import PodPhase
from edl.parsing.yaml_values import timestamp
from edl.writes import Json
from kubectl_edl.client.pending_pods import owning_jobs


@dataclass(frozen=True, slots=True)
class FailedPod:
    """A pod of a Job that failed, or whose container failed and will be restarted.

    `container` is empty if no container of it has terminated.

    `reason` is the kubelet's, of the container (OOMKilled, Error) or of the pod (Evicted).
    """

    name: str
    job: str
    reason: str
    container: str = ""
    exit_code: int = 0
    finished: datetime | None = None
    message: str = ""
    """The container's termination message."""
    index: str = ""
    """The completion index; empty without one."""
    times: int = 1
    """How often the container ran: the kubelet may restart it in the same pod."""

    @property
    def why(self) -> str:
        """`container main: OOMKilled, exit code 137`."""
        if not self.container:
            return self.reason
        return f"container {self.container}: {self.reason}, exit code {self.exit_code}"


def failed_pods(pods: Iterable[Json]) -> tuple[FailedPod, ...]:
    """The failed ones of these pods. A deleted pod is not one: a signal ended it."""
    phase = PodPhase.FAILED.value
    failed = (pod for pod in _live(pods) if (pod.get("status") or {}).get("phase") == phase)
    return tuple(_failed(pod, owner) for pod in failed for owner in owning_jobs(pod))


def crashes_by_job(cluster: Cluster, namespace: str) -> Mapping[tuple[str, str], list[FailedPod]]:
    """By (namespace, name) of a Job, its failed pods and pods with a container that was restarted.

    One list; an empty `namespace` means all. Raises Forbidden.
    """
    crashes: defaultdict[tuple[str, str], list[FailedPod]] = defaultdict(list)
    for pod in _live(cluster.list(ListOptions("Pod", namespace, contract.FRAMEWORK)).manifests()):
        for owner in owning_jobs(pod):
            failed = _failed(pod, owner)
            if failed.container:
                crashes[pod["metadata"]["namespace"], owner].append(failed)
    return crashes


def _live(pods: Iterable[Json]) -> Iterable[Json]:
    return (pod for pod in pods if "deletionTimestamp" not in pod["metadata"])


def _failed(pod: Json, job: str) -> FailedPod:
    """By the first container that ended with an error, init containers first."""
    metadata, status = pod["metadata"], pod.get("status") or {}
    index = (metadata.get("annotations") or {}).get(contract.COMPLETION_INDEX_ANNOTATION) or ""
    containers = (
        *(status.get("initContainerStatuses") or ()),
        *(status.get("containerStatuses") or ()),
    )
    for container in containers:
        ended = _terminated(container)
        if code := ended.get("exitCode"):
            return FailedPod(
                name=metadata["name"],
                job=job,
                reason=ended.get("reason") or "Error",
                container=container["name"],
                exit_code=code,
                finished=timestamp(ended.get("finishedAt") or ""),
                message=" ".join((ended.get("message") or "").split()),
                index=index,
                times=(container.get("restartCount") or 0) + 1,
            )
    return FailedPod(metadata["name"], job, status.get("reason") or "no reason given", index=index)


def _terminated(container: Json) -> Json:
    """The end of its present run, or of the last one if the kubelet waits to start it again."""
    state = container.get("state") or {}
    last = container.get("lastState") or {} if "waiting" in state else {}
    termination: Json = state.get("terminated") or last.get("terminated") or {}
    return termination
