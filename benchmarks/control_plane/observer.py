"""Sees, from a process of its own, when each Job is released and when each of their pods runs.

It costs every way that is compared the same: two watches, of whose events next to nothing is read.
"""

import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from threading import Thread
from typing import Final

import msgspec

from edl.errors import ClusterError
from edl.kube.api.client import ApiClient, connect
from edl.kube.cluster import ListOptions

PATIENCE: Final = 300.0
"""Seconds until the last pod must run."""


class _Meta(msgspec.Struct):
    name: str = ""
    resourceVersion: str = ""  # noqa: N815 - the API's name


class _Spec(msgspec.Struct, frozen=True):
    suspend: bool = False


class _Status(msgspec.Struct, frozen=True):
    phase: str = ""


class _Object(msgspec.Struct):
    metadata: _Meta
    spec: _Spec = _Spec()
    status: _Status = _Status()


_decoder: Final = msgspec.json.Decoder(_Object)


@dataclass(slots=True)
class Observer:
    """What a process that watches will have seen.

    Times are monotonic seconds, which all processes of a machine share, in rising order.
    """

    _answers: Connection

    def released(self) -> list[float]:
        """Wait until every Job is released. Raises TimeoutError."""
        return self._answer("some Jobs wait still")

    def running(self) -> list[float]:
        """After `released`: wait until every pod runs. Raises TimeoutError."""
        return self._answer("some pods do not run yet")

    def _answer(self, otherwise: str) -> list[float]:
        if not self._answers.poll(PATIENCE):
            raise TimeoutError(f"after {PATIENCE:.0f} s {otherwise}")
        times: list[float] = self._answers.recv()
        return times


@contextmanager
def observer(kubeconfig: str, namespace: str, jobs: int) -> Iterator[Observer]:
    """Watches so many one-pod Jobs of a namespace; on entry it sees already."""
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
    found: list[list[float]] = [[], []]
    kinds = (("Job", _is_released), ("Pod", _runs))
    threads = [
        Thread(
            target=_watch, args=(connect(kubeconfig), ListOptions(kind, namespace), is_so, times)
        )
        for (kind, is_so), times in zip(kinds, found, strict=True)
    ]
    for thread in threads:
        thread.daemon = True
        thread.start()
    time.sleep(1.0)  # both watches are open
    answers.send("ready")
    for times in found:
        while len(times) < jobs:
            time.sleep(0.02)
        answers.send(times)


def _watch(
    api: ApiClient,
    selection: ListOptions,
    is_so: Callable[[_Object], bool],
    times: list[float],
) -> None:
    version = api.list(selection).version
    seen = set()
    while True:
        try:
            for event in api.watch(selection, version):
                found = _decoder.decode(event.object)
                version = found.metadata.resourceVersion
                if found.metadata.name not in seen and is_so(found):
                    seen.add(found.metadata.name)
                    times.append(time.monotonic())
        except ClusterError:
            time.sleep(0.1)


def _is_released(job: _Object) -> bool:
    return bool(job.metadata.name) and not job.spec.suspend


def _runs(pod: _Object) -> bool:
    return pod.status.phase == "Running"
