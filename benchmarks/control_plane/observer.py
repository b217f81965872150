"""Observes, in its own process, when each Job is released and when each of their pods runs.

It costs every compared way the same: two watches, and it decodes little of their events.
"""

import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Final

from benchmarks.follow import Followers, Observed
from edl.kube.cluster import ListOptions

PATIENCE: Final = 300.0
"""The seconds within which the last pod must run."""


@dataclass(slots=True)
class Observer:
    """The times that the observing process will have recorded.

    Times are monotonic seconds, which all processes of a machine share, in ascending order.
    """

    _answers: Connection

    def released(self) -> list[float]:
        """Wait until every Job is released; returns when. Raises TimeoutError."""
        return self._answer("some Jobs wait still")

    def running(self) -> list[float]:
        """After `released`: wait until every pod runs; returns when. Raises TimeoutError."""
        return self._answer("some pods do not run yet")

    def _answer(self, otherwise: str) -> list[float]:
        if not self._answers.poll(PATIENCE):
            raise TimeoutError(f"after {PATIENCE:.0f} s {otherwise}")
        times: list[float] = self._answers.recv()
        return times


@contextmanager
def observer(kubeconfig: str, namespace: str, jobs: int) -> Iterator[Observer]:
    """Observe this many one-pod Jobs of a namespace; both watches are open on entry."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_observe, args=(kubeconfig, namespace, jobs, theirs))
    process.start()
    try:
        if not ours.poll(PATIENCE):
            raise TimeoutError("the observer does not begin")
        ours.recv()
        yield Observer(ours)
    finally:
        process.terminate()
        process.join()


def _observe(kubeconfig: str, namespace: str, jobs: int, answers: Connection) -> None:
    released, running = list[float](), list[float]()
    released_jobs = _first_times(lambda job: not job.spec.suspend, released)
    running_pods = _first_times(lambda pod: pod.status.phase == "Running", running)
    followed = (
        (ListOptions("Job", namespace), released_jobs),
        (ListOptions("Pod", namespace), running_pods),
    )
    with Followers(kubeconfig, *followed):
        answers.send("ready")
        for times in (released, running):
            while len(times) < jobs:
                time.sleep(0.02)
            answers.send(times)


def _first_times(
    is_so: Callable[[Observed], bool], times: list[float]
) -> Callable[[Observed, bool], None]:
    """Adds the time when each object is first seen to be so."""
    names = set()

    def seen(found: Observed, _deleted: bool) -> None:  # noqa: FBT001 - the watch calls it so
        if found.metadata.name not in names and is_so(found):
            names.add(found.metadata.name)
            times.append(time.monotonic())

    return seen
