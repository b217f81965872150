"""Records gangs on a real control plane, from the watch events of Jobs and pods.

A gang starts when the first of its Jobs is no longer suspended, and runs when every role has as
many running pods as its minimum. It is half placed while some of its pods are bound and some role
has fewer bound pods than its minimum.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import Final

from benchmarks.follow import Observed
from edl import contract

_TICK: Final = 0.05


@dataclass(slots=True)
class Start:
    """One start of a gang; monotonic seconds."""

    admitted: float
    ran: float | None = None
    """When its minimum ran."""
    stopped: float | None = None


@dataclass(slots=True)
class Gang:
    """The observations of one gang. `minimum` by the name of the Job."""

    name: str
    minimum: Mapping[str, int]
    starts: list[Start] = field(default_factory=list)
    halves: list[float] = field(default_factory=list)
    """The seconds of each period in which it was half placed."""
    trace: list[tuple[float, str]] = field(default_factory=list)
    _jobs: dict[str, Observed] = field(default_factory=dict)
    _pods: dict[str, tuple[str, Observed]] = field(default_factory=dict)
    _half_since: float | None = None

    def see_job(self, job: Observed, *, deleted: bool, now: float) -> None:
        name = job.metadata.name
        if deleted:
            self._jobs.pop(name, None)
        else:
            self._jobs[name] = job
            notes = job.metadata.annotations
            why = notes.get(contract.MESSAGE, "")
            size = "suspended" if job.spec.suspend else str(job.spec.parallelism)
            self._note(now, f"Job {name}: {size}; {why}")
        self._judge(now)

    def see_pod(self, job: str, pod: Observed, *, deleted: bool, now: float) -> None:
        name = pod.metadata.name
        if deleted:
            self._pods.pop(name, None)
            self._note(now, f"pod {name}: gone")
        else:
            self._pods[name] = (job, pod)
            given = pod.metadata.annotations.get(contract.ASSIGNED_NODE, "-")
            leaves = ", leaves" * pod.gone
            said = "; ".join(one.message for one in pod.status.conditions if one.message)
            on = pod.spec.nodeName or "-"
            self._note(
                now, f"pod {name}: given {given}, on {on}, {pod.status.phase}{leaves} {said}"
            )
        self._judge(now)

    def close(self, now: float) -> None:
        """End the observation; a period of half placement ends now."""
        if self._half_since is not None:
            self.halves.append(now - self._half_since)
            self._half_since = None

    def _note(self, now: float, text: str) -> None:
        if not self.trace or self.trace[-1][1] != text:
            self.trace.append((now, text))

    def _judge(self, now: float) -> None:
        jobs = self._jobs.values()
        admitted = any(not one.spec.suspend for one in jobs)
        current = self.starts[-1] if self.starts and self.starts[-1].stopped is None else None
        if admitted and current is None:
            current = Start(now)
            self.starts.append(current)
        elif current and not admitted:
            current.stopped = now
        bound, running = self._counted(_is_bound), self._counted(_runs)
        if current and current.ran is None and self._whole(running):
            current.ran = now
        half = admitted and any(bound.values()) and not self._whole(bound)
        if half and self._half_since is None:
            self._half_since = now
        elif not half:
            self.close(now)

    def _counted(self, counts: Callable[[Observed], bool]) -> dict[str, int]:
        found = dict.fromkeys(self.minimum, 0)
        for job, pod in self._pods.values():
            if job in found and not (pod.gone or pod.status.phase == "Failed") and counts(pod):
                found[job] += 1
        return found

    def _whole(self, pods: Mapping[str, int]) -> bool:
        return all(pods[job] >= least for job, least in self.minimum.items())


def _is_bound(pod: Observed) -> bool:
    return bool(pod.spec.nodeName)


def _runs(pod: Observed) -> bool:
    return pod.status.phase == "Running"


class Stalls(Thread):
    """Measures the longest time for which this process, like others beside it, got no processor."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._longest = 0.0
        self.start()

    def run(self) -> None:
        while True:
            before = time.monotonic()
            time.sleep(_TICK)
            self._longest = max(self._longest, time.monotonic() - before - _TICK)

    def longest(self) -> float:
        """The seconds since the previous call of this method."""
        found, self._longest = self._longest, 0.0
        return found


class Watch:
    """The gangs of a namespace, of whose Jobs and pods it is told by threads of their own."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._gangs: dict[str, Gang] = {}
        """The gangs by the name of each of their Jobs."""

    def follow(self, gang: Gang) -> None:
        with self._lock:
            self._gangs |= dict.fromkeys(gang.minimum, gang)

    def forget(self) -> None:
        """Forget all gangs; later events of their objects are ignored."""
        with self._lock:
            for gang in self._gangs.values():
                gang.close(time.monotonic())
            self._gangs = {}

    def see_job(self, job: Observed, deleted: bool) -> None:  # noqa: FBT001 - as it is called
        with self._lock:
            if gang := self._gangs.get(job.metadata.name):
                gang.see_job(job, deleted=deleted, now=time.monotonic())

    def see_pod(self, pod: Observed, deleted: bool) -> None:  # noqa: FBT001 - as it is called
        owner = next((one.name for one in pod.metadata.ownerReferences), "")
        with self._lock:
            if gang := self._gangs.get(owner):
                gang.see_pod(owner, pod, deleted=deleted, now=time.monotonic())
