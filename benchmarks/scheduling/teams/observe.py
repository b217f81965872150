"""Follows the Jobs and pods of all teams by watch, in one thread per kind."""

import time
from collections.abc import Mapping
from threading import Lock, Thread
from typing import Final, Self

from benchmarks.follow import Observed, follow
from benchmarks.scheduling.teams.accounting import JobTrack, Key, PodSpan
from benchmarks.scheduling.teams.trace import GPU, Trace
from edl.kube.api.client import connect
from edl.kube.cluster import ListOptions

_JOB_NAME: Final = "batch.kubernetes.io/job-name"


class JobObserver:
    """Records the events of the trace's jobs, in seconds since `begin`."""

    def __init__(self, kubeconfig: str, given: Trace) -> None:
        self._kubeconfig, self._begun, self._closed = kubeconfig, 0.0, False
        self._tracks = {(one.team, one.name): JobTrack(one) for one in given.submissions}
        self._jobs: dict[Key, Observed] = {}
        self._lock = Lock()
        self._failure: Exception | None = None

    def __enter__(self) -> Self:
        for kind in ("Job", "Pod"):
            Thread(target=self._run, args=(kind,), daemon=True).start()
        time.sleep(1.0)  # until both watches are open
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True

    def begin(self, begun: float) -> None:
        """Start the clock; `begun`: monotonic seconds."""
        self._begun = begun

    def tracks(self) -> Mapping[Key, JobTrack]:
        """The tracks so far. Raises the error that ended a thread, as events would be missing."""
        with self._lock:
            if self._failure:
                raise self._failure
            return self._tracks

    def _run(self, kind: str) -> None:
        try:
            self._follow(kind)
        except Exception as error:  # noqa: BLE001 — raised again by `tracks`
            self._failure = error

    def _follow(self, kind: str) -> None:
        def seen(found: Observed, deleted: bool) -> None:  # noqa: FBT001 - as it is called
            self._see(kind, found, deleted=deleted)

        api, selection = connect(self._kubeconfig), ListOptions(kind)
        follow(api, selection, lambda _: None, seen, lambda: self._closed)

    def _see(self, kind: str, found: Observed, *, deleted: bool) -> None:
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
