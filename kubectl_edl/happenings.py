"""Kubernetes' Events about training jobs, their Jobs and their pods, in the order of time."""

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from edl import contract
from edl.kube.cluster import Cluster, Selection
from edl.kube.facts import time
from edl.writes import Json

_NEVER: Final = datetime.min.replace(tzinfo=UTC)
_POD: Final = re.compile(r"(?P<job>.+?)(-[0-9]+)?-[a-z0-9]{5}")


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
    cluster: Cluster, namespace: str, jobs: Mapping[str, Collection[str]], *, ours: bool
) -> tuple[Happening, ...]:
    """Those about these Jobs, by namespace, and about their pods; the newest last.

    `ours`: and all that we say, about Jobs that are gone, too. Raises Forbidden.
    """
    found = (json.loads(item) for item in cluster.list(Selection("Event", namespace)).items)
    chosen = [_happening(event) for event in found if _chosen(event, jobs, ours=ours)]
    return tuple(sorted(chosen, key=lambda one: (one.last or _NEVER, one.version)))


def _chosen(event: Json, jobs: Mapping[str, Collection[str]], *, ours: bool) -> bool:
    involved = event.get("involvedObject") or {}
    kind, name = involved.get("kind"), involved.get("name") or ""
    known = jobs.get(event["metadata"].get("namespace") or "", ())
    if ours and (event.get("source") or {}).get("component") == contract.MANAGED_BY:
        return True
    return (kind == "Job" and name in known) or (kind == "Pod" and owner(name, known) != "")


def owner(pod: str, jobs: Iterable[str]) -> str:
    """The Job that made a pod of this name, which may be gone; empty for none of these.

    The Job controller names pods JOB-INDEX-xxxxx, and JOB-xxxxx without indexes.
    """
    match = _POD.fullmatch(pod)
    named = {match["job"], pod[:-6]} if match else set()
    return max(named & set(jobs), key=len, default="")


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
