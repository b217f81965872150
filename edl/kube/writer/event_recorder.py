"""Writes Events in the background: late, few, and never as a cause of failure."""

import contextlib
import hashlib
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from queue import Full, Queue
from threading import Event, Thread
from typing import Final, NamedTuple

from edl import contract
from edl.errors import AlreadyExists, ClusterError, Conflict, NotFound
from edl.kube.cluster import RESOURCES, Cluster
from edl.kube.problem_log import ProblemLog
from edl.kube.writer.executor import StepExecutor, StepReport, never
from edl.model import ObjectRef
from edl.writes import JobEvent, Json, Step

_log: Final = logging.getLogger(__name__)
_MOST_WAITING: Final = 10_000
_SHARE: Final = 0.25
"""The largest fraction of time spent on Events: the writes that they report come first."""
PATIENCE: Final = 1.0
"""Seconds that an Event waits for other writes; after that it is written."""
_REMEMBERED: Final = 4096
"""Events that a repetition finds without reading them, as many as client-go remembers."""
_LONGEST_MESSAGE: Final = 1024
_LONGEST_NAME: Final = 200


class EventRecorder:
    """Writes Events from a thread of its own, more slowly the busier the API server is.

    After each Event it rests for a multiple of the time that the write took, and it waits while
    `paused`. If the queue is full, events are dropped.
    """

    def __init__(
        self,
        cluster: Cluster,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float] = time.monotonic,
        patience: float = PATIENCE,
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._monotonic = monotonic
        self._patience = patience
        self._closing = Event()
        self._free = Event()
        self._free.set()
        self._waiting: Queue[tuple[JobEvent, datetime] | None] = Queue(_MOST_WAITING)
        self._written: dict[ObjectRef, WrittenEvent] = {}
        self._problems = ProblemLog(_log)
        self._thread = Thread(target=self._run, name="event-recorder", daemon=True)
        self._thread.start()

    def record(self, event: JobEvent) -> None:
        try:
            self._waiting.put_nowait((event, self._clock()))
        except Full:
            _log.debug("event queue is full, dropped %s of %s", event.reason, event.target)

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """While this context is active, hardly any Event is written."""
        self._free.clear()
        try:
            yield
        finally:
            self._free.set()

    def close(self, seconds: float = 2.0) -> None:
        """Writes what waits, but for no longer than this many seconds."""
        self._closing.set()
        with contextlib.suppress(Full):
            self._waiting.put(None, timeout=seconds)
        self._thread.join(seconds)

    def _run(self) -> None:
        while (entry := self._waiting.get()) is not None:
            self._free.wait(self._patience)
            begun = self._monotonic()
            try:
                write_event(self._cluster, *entry, self._written)
            except ClusterError as error:
                _log.debug(
                    "cannot write event %s about %s: %s", entry[0].reason, entry[0].target, error
                )
            except Exception as error:  # noqa: BLE001 - the thread must outlive every Event
                what = f"{type(error).__name__}: {error}"
                self._problems.report("cannot write an Event: %s", what, bug=error)
            took = self._monotonic() - begun
            self._closing.wait(took / _SHARE - took)


class EventYieldingExecutor:
    """An executor whose writes delay Events until they are done."""

    def __init__(self, executor: StepExecutor, recorder: EventRecorder) -> None:
        self._executor = executor
        self._recorder = recorder

    def act(self, steps: Sequence[Step], enough: Callable[[], bool] = never) -> StepReport:
        with self._recorder.paused():
            return self._executor.act(steps, enough)


class WrittenEvent(NamedTuple):
    """What is known of an Event that this process has written."""

    version: str
    times: int


def write_event(
    cluster: Cluster,
    event: JobEvent,
    now: datetime,
    written: dict[ObjectRef, WrittenEvent] | None = None,
) -> None:
    """Creates the Event, or increments its count.

    The same text about the same object is one Event. `written`, which is updated, has the last ones
    that the caller wrote: repeating one of these is one request instead of three.
    """
    fresh = event_manifest(event, now)
    target = ObjectRef("Event", fresh["metadata"]["namespace"], fresh["metadata"]["name"])
    written = {} if written is None else written
    found = None
    if known := written.pop(target, None):
        with contextlib.suppress(Conflict, NotFound):  # another process wrote it, or it expired
            found = _repeat(cluster, target, known, fresh)
    written[target] = found or _create_or_repeat(cluster, target, fresh)
    if len(written) > _REMEMBERED:
        del written[next(iter(written))]


def _create_or_repeat(cluster: Cluster, target: ObjectRef, fresh: Json) -> WrittenEvent:
    try:
        return _written(cluster.create(target, fresh))
    except AlreadyExists:
        return _repeat(cluster, target, _written(cluster.get(target)), fresh)


def _repeat(cluster: Cluster, target: ObjectRef, known: WrittenEvent, fresh: Json) -> WrittenEvent:
    body = {
        "metadata": {"resourceVersion": known.version},
        "count": known.times + 1,
        "lastTimestamp": fresh["lastTimestamp"],
    }
    return _written(cluster.patch(target, body))


def _written(found: Json) -> WrittenEvent:
    return WrittenEvent(found["metadata"]["resourceVersion"], found.get("count", 1))


def event_manifest(event: JobEvent, now: datetime) -> Json:
    """A core/v1 Event, as `kubectl describe` shows it; its name is a digest of its content."""
    moment = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    content = f"{event.uid} {event.action} {event.reason} {event.message}"
    digest = hashlib.sha256(content.encode()).hexdigest()
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": f"{event.target.name[:_LONGEST_NAME].rstrip('.-')}.{digest[:16]}",
            "namespace": event.target.namespace or "default",
        },
        "involvedObject": {
            "apiVersion": RESOURCES[event.target.kind].api_version,
            "kind": event.target.kind,
            "namespace": event.target.namespace,
            "name": event.target.name,
            "uid": event.uid,
        },
        "reason": event.reason,
        "action": event.action,
        "message": event.message[:_LONGEST_MESSAGE],
        "type": "Warning" if event.warning else "Normal",
        "count": 1,
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        "source": {"component": contract.MANAGED_BY},
        "reportingComponent": contract.MANAGED_BY,
        "reportingInstance": "",
    }
