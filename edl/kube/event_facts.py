"""Reads Kubernetes' Events, of the old and the new format, and orders them by time."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct

from edl.parsing.yaml_values import timestamp
from edl.writes import Json

_NEVER: Final = datetime.min.replace(tzinfo=UTC)


class EventFacts(Struct, frozen=True):
    """One Event; `first` and `last` are when it was seen, None if the Event lacks the time.

    `version` orders Events of the same second: etcd increments it.
    """

    body: Json
    first: datetime | None
    last: datetime | None
    version: int

    @property
    def kind(self) -> str:
        """The kind of the object that the Event is about, as are `name` and `uid`."""
        return str(self._involved.get("kind") or "")

    @property
    def name(self) -> str:
        return str(self._involved.get("name") or "")

    @property
    def uid(self) -> str:
        return str(self._involved.get("uid") or "")

    @property
    def reason(self) -> str:
        return str(self.body.get("reason") or "")

    @property
    def message(self) -> str:
        """The message on one line."""
        return " ".join(str(self.body.get("message") or "").split())

    @property
    def warning(self) -> bool:
        return self.body.get("type") == "Warning"

    @property
    def count(self) -> int:
        """How often the Event was seen."""
        return int((self.body.get("series") or {}).get("count") or self.body.get("count") or 1)

    @property
    def source(self) -> str:
        """The component that reported the Event."""
        component = (self.body.get("source") or {}).get("component")
        return str(component or self.body.get("reportingComponent") or "")

    @property
    def order(self) -> tuple[datetime, int]:
        """The sort key: the newest Event comes last."""
        return self.last or _NEVER, self.version

    @property
    def _involved(self) -> Json:
        ref: Json = self.body.get("involvedObject") or {}
        return ref


def event_facts(raw: Iterable[bytes]) -> list[EventFacts]:
    """The items of a list of Events, the newest last."""
    return sorted(map(_facts, raw), key=lambda event: event.order)


def _facts(raw: bytes) -> EventFacts:
    body: Json = json.loads(raw)
    series, created = body.get("series") or {}, body["metadata"].get("creationTimestamp")
    first = body.get("firstTimestamp") or body.get("eventTime")
    times = (series.get("lastObservedTime"), body.get("lastTimestamp"), body.get("eventTime"))
    return EventFacts(
        body={"apiVersion": "v1", "kind": "Event"} | body,
        first=_time(first, created),
        last=_time(*times, first, created),
        version=int(body["metadata"].get("resourceVersion") or 0),
    )


def _time(*texts: str | None) -> datetime | None:
    return next((timestamp(text) for text in texts if text), None)
