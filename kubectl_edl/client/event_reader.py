"""Kubernetes' Events about training jobs, their Jobs and their pods, in the order of time."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from edl import contract
from edl.kube.cluster import Cluster, ListOptions
from edl.kube.decode.object_facts import time
from edl.writes import Json
from kubectl_edl.client.incarnations import Jobs, about

_NEVER: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Happening:
    """One Event; `first` and `last` are when it was seen, None where nobody says.

    `version` orders what was seen in the same second: etcd counts them up.
    """

    event: Json
    first: datetime | None
    last: datetime | None
    count: int
    version: int

    @property
    def warning(self) -> bool:
        return self.event.get("type") == "Warning"

    @property
    def about(self) -> str:
        """`Pod/mnist-worker-0-x7k2p`."""
        involved = self.event.get("involvedObject") or {}
        return f"{involved.get('kind', '')}/{involved.get('name', '')}"

    @property
    def source(self) -> str:
        """Who says so."""
        source = (self.event.get("source") or {}).get("component")
        return source or self.event.get("reportingComponent") or ""


def happenings(
    cluster: Cluster, namespace: str, jobs: Jobs, *, ours: bool
) -> tuple[Happening, ...]:
    """Those about these Jobs and about their pods; the newest last.

    `ours`: and all that we say, about Jobs that are gone, too. Raises Forbidden.
    """
    listed = [json.loads(item) for item in cluster.list(ListOptions("Event", namespace)).items]
    said = [event for event in listed if ours and _is_ours(event)]
    chosen = {event["metadata"]["uid"]: event for event in (*about(listed, jobs), *said)}
    found = [_happening(event) for event in chosen.values()]
    return tuple(sorted(found, key=lambda one: (one.last or _NEVER, one.version)))


def _is_ours(event: Json) -> bool:
    return bool((event.get("source") or {}).get("component") == contract.MANAGED_BY)


def _happening(event: Json) -> Happening:
    series = event.get("series") or {}
    times = (series.get("lastObservedTime"), event.get("lastTimestamp"))
    first = event.get("firstTimestamp") or event.get("eventTime")
    created = event["metadata"].get("creationTimestamp")
    return Happening(
        event={"apiVersion": "v1", "kind": "Event"} | event,
        first=_time(first, created),
        last=_time(*times, event.get("eventTime"), first, created),
        count=series.get("count") or event.get("count") or 1,
        version=int(event["metadata"].get("resourceVersion") or 0),
    )


def _time(*texts: str | None) -> datetime | None:
    return next((time(text) for text in texts if text), None)
