"""What the API server says about the pods, followed by a watch of our own."""

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec

from benchmarks.experiments.manifests import JOB_LABEL, KIND_LABEL, NAMESPACE
from edl.errors import ClusterError, Gone
from edl.kube.cluster import Cluster, ListOptions, RawEvent

RUNNING: Final = "Running"
PENDING: Final = "Pending"
LEAVING: Final = "Leaving"
ENDED: Final = "Ended"


class _Metadata(msgspec.Struct):
    name: str = ""
    uid: str = ""
    resourceVersion: str = ""  # noqa: N815 - the API's name
    deletionTimestamp: str | None = None  # noqa: N815 - the API's name
    labels: dict[str, str] = {}


class _Status(msgspec.Struct):
    phase: str = PENDING


class _Spec(msgspec.Struct):
    nodeName: str = ""  # noqa: N815 - the API's name


class _Pod(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec
    status: _Status = msgspec.field(default_factory=_Status)


_decode: Final = msgspec.json.Decoder(_Pod).decode


class Group(NamedTuple):
    """Pods are counted by job (empty for others'), kind, and state."""

    job: str
    kind: str
    state: str


class Stop(NamedTuple):
    """A running pod that was told to end, or vanished; monotonic time."""

    at: float
    job: str
    kind: str


class Start(NamedTuple):
    """When a pod got its node, monotonic, and how long after that it ran, as the watch told it."""

    bound: float
    took: float


@dataclass
class Pods:
    """The namespace's pods by uid, kept by a thread of its own."""

    api: Cluster
    stops: list[Stop] = field(default_factory=list)
    starts: list[Start] = field(default_factory=list)
    _bound: dict[str, float] = field(default_factory=dict)
    _groups: dict[str, Group] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)
    _nodes: dict[str, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _ended: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        threading.Thread(target=self._run, name="pods", daemon=True).start()

    def stop(self) -> None:
        self._ended.set()

    def counts(self) -> Counter[Group]:
        with self._lock:
            return Counter(self._groups.values())

    def running(self, job: str, kind: str) -> list[str]:
        """Names of the pods that run."""
        wanted = Group(job, kind, RUNNING)
        with self._lock:
            return [self._names[uid] for uid, group in self._groups.items() if group == wanted]

    def on_nodes(self, kind: str) -> Counter[str]:
        """How many pods of this kind each node holds, those that are leaving too."""
        with self._lock:
            return Counter(
                self._nodes[uid]
                for uid, group in self._groups.items()
                if group.kind == kind and group.state != ENDED
            )

    def lags(self, since: float, limit: float) -> list[float]:
        """Seconds until they ran, of the pods that were bound since then (monotonic).

        Who does not run yet counts with the time until now, if that is beyond the limit already.
        """
        now = time.monotonic()
        with self._lock:
            found = [start.took for start in self.starts if start.bound >= since]
            found += [
                now - bound
                for bound in self._bound.values()
                if bound >= since and now - bound > limit
            ]
        return found

    def _run(self) -> None:
        selection, version = ListOptions("Pod", NAMESPACE), ""
        while not self._ended.is_set():
            try:
                version = version or self._list(selection)
                for event in self.api.watch(selection, version):
                    version = self._take(event) or version
            except Gone:
                version = ""
            except ClusterError:
                time.sleep(0.2)

    def _list(self, selection: ListOptions) -> str:
        listing = self.api.list(selection)
        found = [_decode(item) for item in listing.items]
        with self._lock:
            gone = self._groups.keys() - {pod.metadata.uid for pod in found}
            for uid in gone:
                self._forget(uid)
            for pod in found:
                self._see(pod)
        return listing.version

    def _take(self, event: RawEvent) -> str:
        pod = _decode(event.object)
        if event.type != "BOOKMARK":
            with self._lock:
                self._see(pod)
                if event.type == "DELETED":
                    self._forget(pod.metadata.uid)
        return pod.metadata.resourceVersion

    def _see(self, pod: _Pod) -> None:
        labels, uid = pod.metadata.labels, pod.metadata.uid
        group = Group(labels.get(JOB_LABEL, ""), labels.get(KIND_LABEL, ""), _state(pod))
        before = self._groups.get(uid)
        self._time(uid, group.state, pod.spec.nodeName)
        self._groups[uid], self._names[uid] = group, pod.metadata.name
        self._nodes[uid] = pod.spec.nodeName
        if group.state == LEAVING and before and before.state == RUNNING:
            self.stops.append(Stop(time.monotonic(), group.job, group.kind))

    def _time(self, uid: str, state: str, node: str) -> None:
        """Of pods that were seen before they had a node: when they were bound is known."""
        now = time.monotonic()
        if state == PENDING and node and self._nodes.get(uid) == "":
            self._bound[uid] = now
        elif state != PENDING and uid in self._bound:
            bound = self._bound.pop(uid)
            if state == RUNNING:
                self.starts.append(Start(bound, now - bound))

    def _forget(self, uid: str) -> None:
        self._bound.pop(uid, None)
        group = self._groups.pop(uid)
        self._names.pop(uid)
        self._nodes.pop(uid)
        if group.state == RUNNING:
            self.stops.append(Stop(time.monotonic(), group.job, group.kind))


def _state(pod: _Pod) -> str:
    if pod.status.phase in ("Succeeded", "Failed"):
        return ENDED
    if pod.metadata.deletionTimestamp:
        return LEAVING
    return RUNNING if pod.status.phase == RUNNING else PENDING
