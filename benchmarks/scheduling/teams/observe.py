"""Follows the Jobs and pods of all teams by watch, in one thread per kind."""

import time
from collections.abc import Mapping
from functools import partial
from threading import Lock
from typing import Final

from benchmarks.follow import Followers, Observed
from benchmarks.scheduling.teams.accounting import JobTrack, Key, PodSpan
from benchmarks.scheduling.teams.trace import GPU, Trace
from edl.kube.cluster import ListOptions

_JOB_NAME: Final = "batch.kubernetes.io/job-name"


class JobObserver(Followers):
    """Records the events of the trace's jobs, in seconds since `begin`."""

    def __init__(self, kubeconfig: str, given: Trace) -> None:
        kinds = ("Job", "Pod")
        super().__init__(kubeconfig, *((ListOptions(k), partial(self._see, k)) for k in kinds))
        self._begun = 0.0
        self._tracks = {(one.team, one.name): JobTrack(one) for one in given.submissions}
        self._jobs: dict[Key, Observed] = {}
        self._lock = Lock()

    def begin(self, begun: float) -> None:
        """Start the clock; `begun`: monotonic seconds."""
        self._begun = begun

    def tracks(self) -> Mapping[Key, JobTrack]:
        """The tracks so far. Raises the error that ended a thread, as events would be missing."""
        with self._lock:
            self.check()
            return self._tracks

    def _see(self, kind: str, found: Observed, deleted: bool) -> None:  # noqa: FBT001 - as it is called
        now = time.monotonic() - self._begun
        name = found.metadata.name if kind == "Job" else found.metadata.labels.get(_JOB_NAME, "")
        key = (found.metadata.namespace, name.removesuffix("-worker"))
        with self._lock:
            track = self._tracks.get(key)
            if track is None or self._closed:
                return
            if kind == "Job":
                self._see_job(track, key, found, now)
            elif _holds_gpu(found):
                _see_pod(track, found, now, deleted=deleted)

    def _see_job(self, track: JobTrack, key: Key, found: Observed, now: float) -> None:
        before = self._jobs.get(key)
        self._jobs[key] = found
        if found.finished and track.finished is None:
            track.finished = now
        if before is None or before.spec.suspend or track.finished is not None:
            return
        if found.spec.suspend:
            track.evictions.append(now)
        else:
            track.resizes += found.spec.parallelism != before.spec.parallelism


def _holds_gpu(pod: Observed) -> bool:
    return any(GPU in one.resources.limits for one in pod.spec.containers or ())


def _see_pod(track: JobTrack, pod: Observed, now: float, *, deleted: bool) -> None:
    name = pod.metadata.name
    over = deleted or pod.status.phase in ("Succeeded", "Failed")
    span = track.pods.get(name)
    if span is None:
        if not pod.spec.nodeName or over:
            return
        span = track.pods[name] = PodSpan(now)
    if pod.status.phase == "Running" and span.running is None:
        span.running = now
        track.see_running(now)
    if over and span.ended is None:
        span.ended = now
