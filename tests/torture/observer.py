"""Follows Jobs and pods by watches of its own, around every proxy, and lets the laws judge."""

import time
from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import Any, Final, Generic, TypeVar

from edl.errors import ClusterError
from edl.kube.api.client import ApiClient
from edl.kube.cache.store import version_of
from edl.kube.cluster import ListOptions, RawEvent
from tests.torture.laws import Judge
from tests.torture.ledger import Ledger
from tests.torture.sights import JobSight, PodSight, job_sight, pod_sight

T = TypeVar("T")
_PAUSE: Final = 0.2
_LOOKS_EVERY: Final = 0.5


class _Follower(Generic[T]):
    """One kind: a list, then every event after it; a list again where the watch cannot go on."""

    def __init__(
        self,
        api: ApiClient,
        selection: ListOptions,
        read: Callable[..., T],
        tell: Callable[[T], None],
        relisted: Callable[[list[T]], None],
    ) -> None:
        self.broken = ""
        self._api = api
        self._selection = selection
        self._read = read
        self._tell = tell
        self._relisted = relisted
        self._version = ""
        self.lists = 0

    def run(self, stopped: Event) -> None:
        while not stopped.is_set():
            try:
                self._follow(stopped)
            except ClusterError as error:
                if error.status:
                    self._version = ""
                stopped.wait(_PAUSE)
            except Exception as error:  # noqa: BLE001 - a thread's end is told by the run
                self.broken = f"{self._selection.kind}: {type(error).__name__}: {error}"
                return

    def _follow(self, stopped: Event) -> None:
        if not self._version:
            listing = self._api.list(self._selection)
            self._relisted([self._read(item) for item in listing.items])
            self._version = listing.version
            self.lists += 1
        for event in self._api.watch(self._selection, self._version):
            self._take(event)
            if stopped.is_set():
                return

    def _take(self, event: RawEvent) -> None:
        if event.type != "BOOKMARK":
            self._tell(self._read(event.object, gone=event.type == "DELETED"))
        self._version = str(version_of(event.object))


class Observer:
    """Sees from `start` on. `judge` may be read while `held` is."""

    def __init__(self, api: ApiClient, namespace: str, judge: Judge, ledger: Ledger) -> None:
        self.judge = judge
        self.held = Lock()
        self._ledger = ledger
        self._stopped = Event()
        self._told = 0
        jobs: _Follower[JobSight] = _Follower(
            api, ListOptions("Job", namespace), job_sight, self._job, self._jobs
        )
        pods: _Follower[PodSight] = _Follower(
            api, ListOptions("Pod", namespace), pod_sight, self._pod, self._pods
        )
        self._followers = (jobs, pods)
        self._threads = [
            *(Thread(target=one.run, args=(self._stopped,), daemon=True) for one in (jobs, pods)),
            Thread(target=self._look, daemon=True),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()
        while not all(follower.lists for follower in self._followers):
            time.sleep(_PAUSE)

    def stop(self) -> None:
        self._stopped.set()

    @property
    def broken(self) -> list[str]:
        """Why it sees no more."""
        return [one.broken for one in self._followers if one.broken]

    @property
    def lists(self) -> int:
        """How often it had to list: once each, and after every watch that could not go on."""
        return sum(follower.lists for follower in self._followers)

    def jobs(self) -> dict[str, JobSight]:
        """The newest Job of each name."""
        with self.held:
            return {job.name: job for job in self.judge.jobs.values()}

    def struck(self) -> None:
        """A part of the control plane is hit, or has come back."""
        with self.held:
            self.judge.strike(time.monotonic())

    def _job(self, job: JobSight) -> None:
        facts: dict[str, Any] = {
            "name": job.name,
            "size": job.size,
            "suspended": job.suspended,
            "ending": job.ending,
            "gone": job.gone,
            "reason": job.reason,
        }
        self._ledger.tell("job", **facts)
        with self.held:
            self.judge.see_job(job)
            self._tell()

    def _pod(self, pod: PodSight) -> None:
        state = "gone" if pod.gone else "leaves" if pod.terminating else pod.phase
        self._ledger.tell("pod", name=pod.name, state=state, node=pod.node)
        with self.held:
            self.judge.see_pod(pod)
            self._tell()

    def _jobs(self, jobs: list[JobSight]) -> None:
        self._ledger.tell("jobs are listed", count=len(jobs))
        with self.held:
            self.judge.relisted(jobs)
            self._tell()

    def _pods(self, pods: list[PodSight]) -> None:
        self._ledger.tell("pods are listed", count=len(pods))
        with self.held:
            self.judge.relisted_pods(pods)
            self._tell()

    def _look(self) -> None:
        while not self._stopped.wait(_LOOKS_EVERY):
            with self.held:
                self.judge.look(time.monotonic())
                self._tell()

    def _tell(self) -> None:
        """Violations that are new, where they belong in the story."""
        for violation in self.judge.violations[self._told :]:
            self._ledger.tell("VIOLATION", found=violation)
        self._told = len(self.judge.violations)
