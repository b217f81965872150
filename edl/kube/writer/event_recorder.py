"""Writes Events in the background: late, few, and never as a cause of failure."""

import contextlib
import hashlib
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from queue import Full, Queue
from threading import Event, Thread
from typing import Final

from edl import contract
from edl.errors import AlreadyExists, ClusterError
from edl.kube.cluster import RESOURCES, Cluster
from edl.kube.problem_log import ProblemLog
from edl.model import ObjectRef
from edl.writes import JobEvent, Json

_log: Final = logging.getLogger(__name__)
_MAX_WAITING_EVENTS: Final = 10_000
_SHARE: Final = 0.25
"""The largest fraction of one thread's time spent on Events, but for slow writes: the writes that
they report come first, and have many threads."""
_SLOW: Final = 2.0
"""Seconds of a write after which a hanging admission webhook of its namespace is suspected."""
_DROPPED: Final = 20
"""For this multiple of the time of a slow write, further Events of its namespace are dropped."""
_LONGEST_MESSAGE: Final = 1024
_LONGEST_NAME: Final = 200


class EventRecorder:
    """Writes Events from a thread of its own, more slowly the busier the API server is.

    After each Event it rests for a multiple of the time that the write took. If the queue is full,
    events are dropped; so are those of a namespace in which a write was slow, as they would delay
    the others.
    """

    def __init__(
        self,
        cluster: Cluster,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._monotonic = monotonic
        self._closing = Event()
        self._waiting: Queue[tuple[JobEvent, datetime] | None] = Queue(_MAX_WAITING_EVENTS)
        self._problems = ProblemLog(_log)
        self._thread = Thread(target=self._run, name="event-recorder", daemon=True)
        self._thread.start()

    def record(self, event: JobEvent) -> None:
        try:
            self._waiting.put_nowait((event, self._clock()))
        except Full:
            _log.debug("event queue is full, dropped %s of %s", event.reason, event.target)

    def close(self, seconds: float = 2.0) -> None:
        """Writes what waits, but for no longer than this many seconds."""
        self._closing.set()
        with contextlib.suppress(Full):
            self._waiting.put(None, timeout=seconds)
        self._thread.join(seconds)

    def _run(self) -> None:
        dropped_until: dict[str, float] = {}
        while (entry := self._waiting.get()) is not None:
            event, begun = entry[0], self._monotonic()
            if begun < dropped_until.get(event.target.namespace, begun):
                _log.debug("writes are slow, dropped %s of %s", event.reason, event.target)
                continue
            try:
                write_event(self._cluster, *entry)
            except ClusterError as error:
                _log.debug("cannot write event %s about %s: %s", event.reason, event.target, error)
            except Exception as error:  # noqa: BLE001 - the thread must outlive every Event
                what = f"{type(error).__name__}: {error}"
                self._problems.report("cannot write an Event: %s", what, bug=error)
            took = self._monotonic() - begun
            if took > _SLOW:
                dropped_until = {name: end for name, end in dropped_until.items() if end > begun}
                dropped_until[event.target.namespace] = begun + took * _DROPPED
                took = _SLOW
            self._closing.wait(took / _SHARE - took)


def write_event(cluster: Cluster, event: JobEvent, now: datetime) -> None:
    """Creates the Event, or increments its count: the same text about an object is one Event."""
    fresh = event_manifest(event, now)
    target = ObjectRef("Event", fresh["metadata"]["namespace"], fresh["metadata"]["name"])
    try:
        cluster.create(target, fresh)
    except AlreadyExists:
        current = cluster.get(target)
        body = {
            "metadata": {"resourceVersion": current["metadata"]["resourceVersion"]},
            "count": current.get("count", 1) + 1,
            "lastTimestamp": fresh["lastTimestamp"],
        }
        cluster.patch(target, body)


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
