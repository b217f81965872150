"""Samples of the demo's namespace: the sizes, pods and state of its Jobs."""

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from edl import contract
from edl.errors import ClusterError
from edl.kube.cluster import Cluster, ListOptions
from edl.writes import Json

NAMESPACE: Final = "demo"
_PERIOD: Final = 0.2
"""The seconds between two samples."""


@dataclass(frozen=True, slots=True)
class JobLook:
    """One Job in one sample; pods that are being deleted are not counted."""

    size: int
    running: int
    succeeded: int
    suspended: bool
    done: bool
    reason: str
    min: int
    max: int


@dataclass(frozen=True, slots=True)
class Look:
    """A sample of the namespace. `uids` are those of pods not being deleted, by Job and index."""

    at: float
    jobs: Mapping[str, JobLook] = field(default_factory=dict)
    uids: Mapping[tuple[str, str], str] = field(default_factory=dict)
    web: int = 0
    web_wanted: int = 0


def look(cluster: Cluster, at: float) -> Look:
    """Read the Jobs and pods of the namespace once."""
    pods = _items(cluster, "Pod")
    live = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
    running = [pod for pod in live if pod["status"].get("phase") == "Running"]
    succeeded = [pod for pod in live if pod["status"].get("phase") == "Succeeded"]
    web = [pod for pod in live if pod["metadata"].get("labels", {}).get("app") == "web"]
    return Look(
        at=at,
        jobs={
            job["metadata"]["name"]: _job(job, running, succeeded) for job in _items(cluster, "Job")
        },
        uids={_index_of(pod): pod["metadata"]["uid"] for pod in live if pod not in web},
        web=sum(pod in running for pod in web),
        web_wanted=len(web),
    )


def _items(cluster: Cluster, kind: str) -> list[Json]:
    listing = cluster.list(ListOptions(kind, namespace=NAMESPACE))
    return [json.loads(item) for item in listing.items]


def _index_of(pod: Json) -> tuple[str, str]:
    labels = pod["metadata"].get("labels", {})
    index = labels.get(contract.COMPLETION_INDEX_ANNOTATION, "")
    return labels.get(contract.JOB_NAME_LABEL, ""), index


def _job(job: Json, running: list[Json], succeeded: list[Json]) -> JobLook:
    metadata, spec = job["metadata"], job["spec"]
    labels = metadata.get("labels", {})
    conditions = job.get("status", {}).get("conditions", ())
    return JobLook(
        size=spec.get("parallelism", 1),
        running=sum(_index_of(pod)[0] == metadata["name"] for pod in running),
        succeeded=sum(_index_of(pod)[0] == metadata["name"] for pod in succeeded),
        suspended=bool(spec.get("suspend")),
        done=any(c["type"] in ("Complete", "Failed") and c["status"] == "True" for c in conditions),
        reason=metadata.get("annotations", {}).get(contract.MESSAGE, ""),
        min=int(labels.get(contract.MIN, 1)),
        max=int(labels.get(contract.MAX, 1)),
    )


class Sampler:
    """Takes a sample five times a second in its own thread, and passes each to `seen`."""

    def __init__(self, cluster: Cluster, seen: Callable[[Look], None]) -> None:
        self.begun: Final = time.monotonic()
        self.last = Look(at=0.0)
        self._cluster = cluster
        self._seen = seen
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(_PERIOD):
            try:
                self.last = look(self._cluster, time.monotonic() - self.begun)
            except ClusterError:
                continue  # the next sample will do; without any sample the demo's expectations fail
            self._seen(self.last)
