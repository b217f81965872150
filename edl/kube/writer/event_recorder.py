"""Writes Events in the background: late, few, and never as a cause of failure."""

import contextlib
import hashlib
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from queue import Full, Queue
from threading import Event, Thread
from typing import Final

from edl import contract
from edl.errors import AlreadyExists
from edl.kube.cluster import RESOURCES, Cluster
from edl.kube.writer.executor import StepExecutor, StepReport, never
from edl.model import ObjectRef
from edl.writes import Json, Note, Step

_log: Final = logging.getLogger(__name__)
_MOST_WAITING: Final = 10_000
_SHARE: Final = 0.25
"""The largest fraction of time spent on Events: the writes that they report come first."""
PATIENCE: Final = 1.0
"""Seconds that an Event waits for other writes; after that it is written."""
_LONGEST_MESSAGE: Final = 1024
_LONGEST_NAME: Final = 200


class EventRecorder:
    """Writes Events from a thread of its own, more slowly the busier the API server is.

    After each Event it rests for a multiple of the time that the write took, and it waits while
    `hushed`. If the queue is full, notes are dropped.
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
        self._waiting: Queue[tuple[Note, datetime] | None] = Queue(_MOST_WAITING)
        self._thread = Thread(target=self._run, name="event-recorder", daemon=True)
        self._thread.start()

    def announce(self, note: Note) -> None:
        try:
            self._waiting.put_nowait((note, self._clock()))
        except Full:
            _log.debug("event queue is full, dropped %s of %s", note.reason, note.target)

    @contextlib.contextmanager
    def hushed(self) -> Iterator[None]:
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
                write_event(self._cluster, *entry)
            except Exception as error:  # noqa: BLE001 — the thread must outlive every Event
                _log.debug(
                    "cannot write event %s about %s: %s", entry[0].reason, entry[0].target, error
                )
            took = self._monotonic() - begun
            self._closing.wait(took / _SHARE - took)


class EventYieldingExecutor:
    """An executor whose writes delay Events until they are done."""

    def __init__(self, executor: StepExecutor, announcer: EventRecorder) -> None:
        self._executor = executor
        self._announcer = announcer

    def act(self, steps: Sequence[Step], enough: Callable[[], bool] = never) -> StepReport:
        with self._announcer.hushed():
            return self._executor.act(steps, enough)


def write_event(cluster: Cluster, note: Note, now: datetime) -> None:
    """Creates the Event, or increments its count.

    The same text about the same object is one Event.
    """
    fresh = event(note, now)
    target = ObjectRef("Event", fresh["metadata"]["namespace"], fresh["metadata"]["name"])
    try:
        cluster.create(target, fresh)
    except AlreadyExists:
        known = cluster.get(target)
        count = known.get("count", 1) + 1
        metadata = {"resourceVersion": known["metadata"]["resourceVersion"]}
        last = fresh["lastTimestamp"]
        cluster.patch(target, {"metadata": metadata, "count": count, "lastTimestamp": last})


def event(note: Note, now: datetime) -> Json:
    """A core/v1 Event, as `kubectl describe` shows it; its name is a digest of its content."""
    moment = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    content = f"{note.uid} {note.action} {note.reason} {note.message}"
    digest = hashlib.sha256(content.encode()).hexdigest()
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": f"{note.target.name[:_LONGEST_NAME].rstrip('.-')}.{digest[:16]}",
            "namespace": note.target.namespace or "default",
        },
        "involvedObject": {
            "apiVersion": RESOURCES[note.target.kind].api_version,
            "kind": note.target.kind,
            "namespace": note.target.namespace,
            "name": note.target.name,
            "uid": note.uid,
        },
        "reason": note.reason,
        "action": note.action,
        "message": note.message[:_LONGEST_MESSAGE],
        "type": "Warning" if note.warning else "Normal",
        "count": 1,
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        "source": {"component": contract.MANAGED_BY},
        "reportingComponent": contract.MANAGED_BY,
        "reportingInstance": "",
    }
