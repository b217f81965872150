"""The last changes of a training job: the Events of its Jobs."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from edl.kube.cluster import Cluster, Selection
from edl.writes import Json

_ONE_A_POD: Final = frozenset({"SuccessfulCreate", "SuccessfulDelete"})
"""The Job controller's; the table of pods says it better, and they would push out the rest."""
_FIELDS: Final = ("lastTimestamp", "eventTime", "firstTimestamp")


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """One Event: when it was last seen, whose, CamelCase reason, sentence.

    `version` orders what was seen in the same second: etcd counts them up.
    """

    at: datetime
    version: int
    job: str
    reason: str
    message: str
    warning: bool = False
    count: int = 1


def last_changes(
    cluster: Cluster, namespace: str, jobs: Iterable[str], most: int
) -> tuple[Change, ...]:
    """The newest `most` Events of these Jobs, newest last. Raises Forbidden."""
    names = frozenset(jobs)
    listing = cluster.list(Selection("Event", namespace))
    events = (json.loads(item) for item in listing.items)
    found = sorted(_change(event) for event in events if _about(event, names))
    return tuple(found[-most:])


def _about(event: Json, names: frozenset[str]) -> bool:
    if event.get("reason") in _ONE_A_POD:
        return False
    involved = event.get("involvedObject") or {}
    return involved.get("kind") == "Job" and involved.get("name") in names


def _change(event: Json) -> Change:
    return Change(
        at=_last_seen(event),
        version=int(event["metadata"].get("resourceVersion") or 0),
        job=event["involvedObject"]["name"],
        reason=event.get("reason") or "",
        message=" ".join((event.get("message") or "").split()),
        warning=event.get("type") == "Warning",
        count=event.get("count") or 1,
    )


def _last_seen(event: Json) -> datetime:
    metadata = event.get("metadata") or {}
    times = [event.get(field) for field in _FIELDS] + [metadata.get("creationTimestamp")]
    text = next((time for time in times if time), None)
    return datetime.fromisoformat(text) if text else datetime.fromtimestamp(0, UTC)
