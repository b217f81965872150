"""Follows Jobs and pods of all teams by watch, a thread for each kind."""

import time
from collections.abc import Mapping
from threading import Lock, Thread
from typing import Final, Self

import msgspec

from benchmarks.scheduling.teams.accounting import JobTrack, Key, PodSpan
from benchmarks.scheduling.teams.trace import GPU, Trace
from edl.errors import ClusterError
from edl.kube.api.client import connect
from edl.kube.cluster import ListOptions

_JOB_NAME: Final = "batch.kubernetes.io/job-name"


class _Meta(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    resourceVersion: str = ""  # noqa: N815 - the API's name
    labels: dict[str, str] = {}
    deletionTimestamp: str | None = None  # noqa: N815 - the same


class _Resources(msgspec.Struct):
    limits: dict[str, str] = {}


class _Container(msgspec.Struct):
    resources: _Resources = msgspec.field(default_factory=_Resources)


class _Spec(msgspec.Struct):
    suspend: bool = False
    parallelism: int = 0
    nodeName: str = ""  # noqa: N815 - the same
    containers: list[_Container] | None = None
    """Null in a watch's bookmarks."""


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct):
    phase: str = ""
    conditions: list[_Condition] = []


class _Object(msgspec.Struct):
    metadata: _Meta
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)

    @property
    def holds_gpu(self) -> bool:
        return any(GPU in one.resources.limits for one in self.spec.containers or ())

    @property
    def finished(self) -> bool:
        ends = ("Complete", "Failed", "SuccessCriteriaMet", "FailureTarget")
        return any(one.type in ends and one.status == "True" for one in self.status.conditions)


_decoder: Final = msgspec.json.Decoder(_Object)


class JobObserver:
    """What becomes of the trace's jobs, in seconds since `begin`."""

    def __init__(self, kubeconfig: str, given: Trace) -> None:
        self._kubeconfig, self._begun, self._closed = kubeconfig, 0.0, False
        self._tracks = {(one.team, one.name): JobTrack(one) for one in given.submissions}
        self._specs: dict[Key, _Spec] = {}
        self._lock = Lock()
        self._failure: Exception | None = None

    def __enter__(self) -> Self:
        for kind in ("Job", "Pod"):
            Thread(target=self._run, args=(kind,), daemon=True).start()
        time.sleep(1.0)  # both watches are open
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True

    def begin(self, begun: float) -> None:
        """begun: monotonic seconds."""
        self._begun = begun

    def tracks(self) -> Mapping[Key, JobTrack]:
        """Raises what ended a thread early: its figures would lack what came after."""
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
        api, selection = connect(self._kubeconfig), ListOptions(kind)
        version = api.list(selection).version
        while not self._closed:
            try:
                for event in api.watch(selection, version):
                    found = _decoder.decode(event.object)
                    version = found.metadata.resourceVersion
                    if event.type != "BOOKMARK":
                        self._see(kind, found, deleted=event.type == "DELETED")
            except ClusterError:
                time.sleep(0.1)

    def _see(self, kind: str, found: _Object, *, deleted: bool) -> None:
        now = time.monotonic() - self._begun
        name = found.metadata.name if kind == "Job" else found.metadata.labels.get(_JOB_NAME, "")
        key = (found.metadata.namespace, name.removesuffix("-worker"))
        with self._lock:
            track = self._tracks.get(key)
            if track is None or self._closed:
                return
            if kind == "Job":
                self._see_job(track, key, found, now)
            elif found.holds_gpu:
                _see_pod(track, found, now, deleted=deleted)

    def _see_job(self, track: JobTrack, key: Key, found: _Object, now: float) -> None:
        before = self._specs.get(key)
        self._specs[key] = found.spec
        if found.finished and track.finished is None:
            track.finished = now
        if before is None or track.finished is not None:
            return
        if found.spec.suspend and not before.suspend:
            track.evictions.append(now)
        elif not found.spec.suspend and not before.suspend:
            track.resizes += found.spec.parallelism != before.parallelism


def _see_pod(track: JobTrack, pod: _Object, now: float, *, deleted: bool) -> None:
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
