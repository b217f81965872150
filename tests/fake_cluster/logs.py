"""Logs of the containers of a `FakeCluster`: tests write them, readers use the real interface."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from threading import Condition

from edl.errors import Invalid
from edl.kube.cluster import LogRequest
from edl.model import ObjectRef

_Key = tuple[ObjectRef, str, bool]


class FakeLogs:
    """Thread-safe. Lines are `TIME text`; a container has started once it has a log."""

    def __init__(self) -> None:
        self.changed = Condition()
        self._lines: dict[_Key, list[str]] = {}
        self._ended: set[ObjectRef] = set()

    def write(self, pod: ObjectRef, container: str, *lines: str, previous: bool = False) -> None:
        """Appends lines to a log; without lines, the container has started and is silent."""
        with self.changed:
            self._lines.setdefault((pod, container, previous), []).extend(lines)
            self.changed.notify_all()

    def end(self, pod: ObjectRef) -> None:
        """Ends the pod's containers: a followed log is complete."""
        with self.changed:
            self._ended.add(pod)
            self.changed.notify_all()

    def open(self, wanted: LogRequest, now: datetime) -> "FakeLog":
        """Opens a log. Raises Invalid if the container has not started, as the kubelet does."""
        with self.changed:
            lines = self._lines.get((wanted.pod, wanted.container, wanted.previous))
            if lines is None:
                raise Invalid(_why_not(wanted), 400)
            return FakeLog(self, lines, _first(lines, wanted, now), wanted)

    def has_ended(self, pod: ObjectRef) -> bool:
        return pod in self._ended


class FakeLog:
    """One open log. It blocks for the next line while it follows a running container."""

    def __init__(self, logs: FakeLogs, lines: list[str], first: int, wanted: LogRequest) -> None:
        self._logs = logs
        self._lines = lines
        self._next = first
        self._wanted = wanted
        self._closed = False

    def __iter__(self) -> Iterator[str]:
        while (line := self._following()) is not None:
            yield line

    def close(self) -> None:
        with self._logs.changed:
            self._closed = True
            self._logs.changed.notify_all()

    def _following(self) -> str | None:
        with self._logs.changed:
            self._logs.changed.wait_for(lambda: self._next < len(self._lines) or self._is_over())
            if self._closed or self._next >= len(self._lines):
                return None
            self._next += 1
            return self._lines[self._next - 1]

    def _is_over(self) -> bool:
        return self._closed or not self._wanted.follow or self._logs.has_ended(self._wanted.pod)


def _first(lines: list[str], wanted: LogRequest, now: datetime) -> int:
    """The index of the first requested line."""
    times = [datetime.fromisoformat(line.partition(" ")[0]) for line in lines]
    limits = [now - timedelta(seconds=wanted.since)] if wanted.since is not None else []
    if wanted.after:
        limits.append(datetime.fromisoformat(wanted.after).replace(microsecond=0))
    late = [at for at, time in enumerate(times) if all(time >= limit for limit in limits)]
    begin = late[0] if late else len(lines)
    return begin if wanted.tail is None else max(begin, len(lines) - wanted.tail)


def _why_not(wanted: LogRequest) -> str:
    if wanted.previous:
        return (
            f'previous terminated container "{wanted.container}" in pod "{wanted.pod.name}" '
            "not found"
        )
    return (
        f'container "{wanted.container}" in pod "{wanted.pod.name}" is waiting to start: '
        "ContainerCreating"
    )
