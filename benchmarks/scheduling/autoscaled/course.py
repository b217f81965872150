"""The course of one run: the running pods, the progress of each job, and the time of nodes."""

from collections import Counter
from dataclasses import dataclass
from statistics import fmean
from threading import Lock
from typing import Final, NamedTuple

from benchmarks.follow import Followers, Observed
from benchmarks.scheduling.autoscaled.trace import LEAST, NAMESPACE, STALL, Submission, speed
from edl.kube.cluster import ListOptions

_JOB_NAME: Final = "batch.kubernetes.io/job-name"


class Figures(NamedTuple):
    """The figures of one run; in seconds unless stated otherwise."""

    done: float
    """The number of jobs whose work was done."""
    completion: float
    """The mean time from submission until the work is done."""
    slowest: float
    wait: float
    """The mean time from submission until the minimum of pods runs."""
    node_hours: float
    """The hours from each node's registration to its removal, summed."""
    used: float
    """Pod-seconds of running pods, as a share of the nodes' capacity for pods."""
    nodes: float
    """The most nodes at once."""
    changes: float
    """The number of size changes of running jobs."""


@dataclass(slots=True)
class Track:
    """One job; times are seconds since the trace began. It makes progress from `progresses` on."""

    submission: Submission
    left: float
    pods: int = 0
    seen: float = 0.0
    progresses: float = 0.0
    started: float | None = None
    finished: float | None = None
    changes: int = 0
    pod_seconds: float = 0.0

    def look(self, now: float, running: int) -> bool:
        """Record the running pods; returns whether the work has been done since the last call."""
        done_since = max(self.seen, self.progresses)
        self.left -= speed(self.pods) * max(now - done_since, 0.0)
        self.pod_seconds += self.pods * (now - self.seen)
        if self.started is None and running >= LEAST:
            self.started = now
        if running != self.pods:
            self.changes += self.pods > 0
            self.progresses = now + (STALL if self.pods else 0.0)
        self.pods, self.seen = running, now
        if self.left > 0:
            return False
        self.finished = now
        return True


class Observer(Followers):
    """Follows running pods by job, and nodes, with two watches.

    A pod's job is the name of its Job without `suffix`.
    """

    def __init__(self, kubeconfig: str, suffix: str = "") -> None:
        pods, nodes = ListOptions("Pod", NAMESPACE), ListOptions("Node")
        super().__init__(kubeconfig, (pods, self._see_pod), (nodes, self._see_node))
        self._suffix = suffix
        self._running: dict[str, str] = {}
        self._nodes: set[str] = set()
        self._lock = Lock()

    def look(self) -> tuple[Counter[str], int]:
        """Running pods by job, and the number of nodes. Raises the error that ended a watch."""
        with self._lock:
            self.check()
            return Counter(self._running.values()), len(self._nodes)

    def _see_pod(self, pod: Observed, deleted: bool) -> None:  # noqa: FBT001 - as it is called
        job = pod.metadata.labels.get(_JOB_NAME, "").removesuffix(self._suffix)
        runs = job and pod.status.phase == "Running" and not pod.gone and not deleted
        with self._lock:
            if runs:
                self._running[pod.metadata.uid] = job
            else:
                self._running.pop(pod.metadata.uid, None)

    def _see_node(self, node: Observed, deleted: bool) -> None:  # noqa: FBT001 - as it is called
        with self._lock:
            (self._nodes.discard if deleted else self._nodes.add)(node.metadata.name)


@dataclass
class Course:
    """The course of all jobs; `tracks` by the jobs' names."""

    tracks: dict[str, Track]
    node_seconds: float = 0.0
    most_nodes: int = 0
    _seen: float = 0.0

    def look(self, now: float, running: Counter[str], nodes: int) -> list[str]:
        """Record running pods and nodes; returns the jobs completed since the last call."""
        self.node_seconds += nodes * (now - self._seen)
        self.most_nodes, self._seen = max(self.most_nodes, nodes), now
        open_ = [one for one in self.tracks.values() if one.finished is None]
        return [one.submission.name for one in open_ if one.look(now, running[one.submission.name])]

    def finished(self) -> bool:
        return all(one.finished is not None for one in self.tracks.values())

    def figures(self, room: int) -> Figures:
        """The figures; `room`: pods per node. An unfinished job counts until the last read."""
        tracks = self.tracks.values()
        took = [(one.finished or self._seen) - one.submission.at for one in tracks]
        waited = [(one.started or self._seen) - one.submission.at for one in tracks]
        ran = sum(one.pod_seconds for one in tracks)
        return Figures(
            done=sum(one.finished is not None for one in tracks),
            completion=fmean(took),
            slowest=max(took),
            wait=fmean(waited),
            node_hours=self.node_seconds / 3600,
            used=ran / (self.node_seconds * room) if self.node_seconds else 0.0,
            nodes=self.most_nodes,
            changes=sum(one.changes for one in tracks),
        )


def begin(submissions: tuple[Submission, ...]) -> Course:
    return Course({one.name: Track(one, one.work) for one in submissions})
