"""The last changes of a training job: the Events of its Jobs."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from edl.kube.cluster import Cluster, ListOptions
from edl.writes import Json
from kubectl_edl.client.incarnations import Jobs, about

_ONE_A_POD: Final = frozenset({"SuccessfulCreate", "SuccessfulDelete"})
"""The Job controller's; the table of pods says it better, and they would push out the rest."""
_FIELDS: Final = ("lastTimestamp", "eventTime", "firstTimestamp")


@dataclass(frozen=True, slots=True, order=True)
class SizeEvent:
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


def last_changes(cluster: Cluster, namespace: str, jobs: Jobs, most: int) -> tuple[SizeEvent, ...]:
    """The newest `most` Events of these Jobs, newest last. Raises Forbidden."""
    listing = cluster.list(ListOptions("Event", namespace))
    events = about([json.loads(item) for item in listing.items], jobs)
    found = sorted(_change(event) for event in events if _is_shown(event))
    return tuple(found[-most:])


def _is_shown(event: Json) -> bool:
    return event["involvedObject"]["kind"] == "Job" and event.get("reason") not in _ONE_A_POD


def _change(event: Json) -> SizeEvent:
    return SizeEvent(
        at=last_seen(event),
        version=int(event["metadata"].get("resourceVersion") or 0),
        job=event["involvedObject"]["name"],
        reason=event.get("reason") or "",
        message=" ".join((event.get("message") or "").split()),
        warning=event.get("type") == "Warning",
        count=event.get("count") or 1,
    )


def last_seen(event: Json) -> datetime:
    """Long ago, where nobody says."""
    metadata = event.get("metadata") or {}
    times = [event.get(field) for field in _FIELDS] + [metadata.get("creationTimestamp")]
    text = next((time for time in times if time), None)
    return datetime.fromisoformat(text) if text else datetime.fromtimestamp(0, UTC)
