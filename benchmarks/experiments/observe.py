"""The state of pods, followed with a watch of the benchmark's own."""

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from benchmarks.experiments.manifests import JOB_LABEL, KIND_LABEL, NAMESPACE
from benchmarks.follow import Observed, follow
from edl.kube.cluster import Cluster, ListOptions

RUNNING: Final = "Running"
PENDING: Final = "Pending"
LEAVING: Final = "Leaving"
ENDED: Final = "Ended"


class Group(NamedTuple):
    """A group in which pods are counted: job (empty for other pods), kind and state."""

    job: str
    kind: str
    state: str


class Stop(NamedTuple):
    """A running pod that was deleted or vanished, with the monotonic time."""

    at: float
    job: str
    kind: str


class Start(NamedTuple):
    """When a pod was bound, in monotonic seconds, and how long after that the watch saw it run."""

    bound: float
    took: float


@dataclass
class Pods:
    """The pods of the namespace by uid, updated by a thread of its own."""

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
        """The names of running pods."""
        wanted = Group(job, kind, RUNNING)
        with self._lock:
            return [self._names[uid] for uid, group in self._groups.items() if group == wanted]

    def on_nodes(self, kind: str) -> Counter[str]:
        """The number of pods of this kind on each node, including terminating ones."""
        with self._lock:
            return Counter(
                self._nodes[uid]
                for uid, group in self._groups.items()
                if group.kind == kind and group.state != ENDED
            )

    def lags(self, since: float, limit: float) -> list[float]:
        """The seconds from bound to Running of each pod bound after `since` (monotonic).

        A pod that does not run yet counts with the time until now if that exceeds the limit.
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
        selection = ListOptions("Pod", NAMESPACE)
        follow(self.api, selection, self._list, self._take, self._ended.is_set)

    def _list(self, found: list[Observed]) -> None:
        with self._lock:
            gone = self._groups.keys() - {pod.metadata.uid for pod in found}
            for uid in gone:
                self._forget(uid)
            for pod in found:
                self._see(pod)

    def _take(self, pod: Observed, deleted: bool) -> None:  # noqa: FBT001 - as it is called
        with self._lock:
            self._see(pod)
            if deleted:
                self._forget(pod.metadata.uid)

    def _see(self, pod: Observed) -> None:
        labels, uid = pod.metadata.labels, pod.metadata.uid
        group = Group(labels.get(JOB_LABEL, ""), labels.get(KIND_LABEL, ""), _state(pod))
        before = self._groups.get(uid)
        self._time(uid, group.state, pod.spec.nodeName)
        self._groups[uid], self._names[uid] = group, pod.metadata.name
        self._nodes[uid] = pod.spec.nodeName
        if group.state == LEAVING and before and before.state == RUNNING:
            self.stops.append(Stop(time.monotonic(), group.job, group.kind))

    def _time(self, uid: str, state: str, node: str) -> None:
        """Record the start of a pod whose binding was observed: it was first seen unbound."""
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


def _state(pod: Observed) -> str:
    if pod.status.phase in ("Succeeded", "Failed"):
        return ENDED
    if pod.gone:
        return LEAVING
    return RUNNING if pod.status.phase == RUNNING else PENDING
