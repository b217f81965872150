"""Failed pods of a training job, and why their containers terminated."""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

from edl import contract
from edl.kube.cluster import Cluster, ListOptions
from edl.model import PodPhase, TrainingJob
from edl.parsing.yaml_values import timestamp
from edl.writes import Json
from kubectl_edl.client.pending_pods import owning_jobs


@dataclass(frozen=True, slots=True)
class FailedPod:
    """A failed pod of a Job; `container` is empty if no container of it has terminated.

    `reason` is the kubelet's, of the container (OOMKilled, Error) or of the pod (Evicted).
    """

    name: str
    job: str
    reason: str
    container: str = ""
    exit_code: int = 0
    finished: datetime | None = None

    @property
    def why(self) -> str:
        """`container main: OOMKilled, exit code 137`."""
        if not self.container:
            return self.reason
        return f"container {self.container}: {self.reason}, exit code {self.exit_code}"


def failed_pods(cluster: Cluster, job: TrainingJob) -> tuple[FailedPod, ...]:
    """The failed pods of a job, sorted by name; read only if it has any. Raises Forbidden."""
    pods = (pod for role in job.roles for pod in role.status.pods)
    if not any(pod.phase is PodPhase.FAILED for pod in pods):
        return ()
    listing = cluster.list(ListOptions("Pod", job.key.namespace, contract.FRAMEWORK))
    found = _failed(map(json.loads, listing.items), {role.job for role in job.roles})
    return tuple(sorted(found, key=lambda one: one.name))


def _failed(pods: Iterator[Json], jobs: Collection[str]) -> Iterator[FailedPod]:
    for pod in pods:
        status = pod.get("status") or {}
        for owner in owning_jobs(pod) if status.get("phase") == PodPhase.FAILED.value else ():
            if owner in jobs:
                yield _of(pod["metadata"]["name"], owner, status)


def _of(name: str, job: str, status: Json) -> FailedPod:
    """By the first container that ended with an error, init containers first."""
    containers = (
        *(status.get("initContainerStatuses") or ()),
        *(status.get("containerStatuses") or ()),
    )
    for one in containers:
        ended = (one.get("state") or {}).get("terminated") or {}
        if code := ended.get("exitCode"):
            reason, finished = ended.get("reason") or "Error", ended.get("finishedAt") or ""
            return FailedPod(name, job, reason, one["name"], code, timestamp(finished))
    return FailedPod(name, job, status.get("reason") or "no reason given")
