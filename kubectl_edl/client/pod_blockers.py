"""Blockers of a pod's scheduling or start that its own status does not show."""

import json
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from edl.errors import Forbidden
from edl.kube.cluster import Cluster, ListOptions
from edl.kube.event_facts import EventFacts, event_facts
from edl.writes import Json

_AFTER_THE_POD: Final = frozenset({"WaitForFirstConsumer", "WaitForPodScheduled"})
"""Event reasons of claims that bind after the pod is scheduled: they block no node."""


class PodCauses:
    """The claims and the Events of one namespace, read once and only where a pod asks."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster = cluster
        self._namespace = namespace

    def claims(self, pod: Json) -> str:
        """The PersistentVolumeClaims without which no node takes it; empty where none is."""
        names = tuple(_claimed(pod))
        if not names or self._known is None:
            return ""
        told = {name: self._in_the_way(self._known.get(name)) for name in names}
        return "; ".join(f"PersistentVolumeClaim {name} {why}" for name, why in told.items() if why)

    def warning(self, pod: Json) -> str:
        """The last Warning about it, such as a volume that cannot be mounted."""
        event = self._events.get(("Pod", pod["metadata"]["name"]))
        if event is None or event.uid not in ("", pod["metadata"]["uid"]):
            return ""
        return _told(event) if event.warning else ""

    def _in_the_way(self, claim: Json | None) -> str:
        if claim is None:
            return "does not exist"
        metadata, phase = claim["metadata"], claim.get("status", {}).get("phase")
        if "deletionTimestamp" in metadata:
            return "is being deleted"
        if phase == "Lost":
            return "has lost its volume"
        event = self._events.get(("PersistentVolumeClaim", metadata["name"]))
        if phase == "Bound" or event is None or event.reason in _AFTER_THE_POD:
            return ""
        return f"is not bound: {_told(event)}"

    @cached_property
    def _known(self) -> dict[str, Json] | None:
        """The claims by name, None where they may not be read."""
        try:
            listed = self._list("PersistentVolumeClaim")
        except Forbidden:
            return None
        return {claim["metadata"]["name"]: claim for claim in listed}

    @cached_property
    def _events(self) -> dict[tuple[str, str], EventFacts]:
        """The last Event about each object."""
        try:
            listed = self._cluster.list(ListOptions("Event", self._namespace)).items
        except Forbidden:
            return {}
        return {(event.kind, event.name): event for event in event_facts(listed)}

    def _list(self, kind: str) -> list[Json]:
        listing = self._cluster.list(ListOptions(kind, self._namespace))
        return [json.loads(item) for item in listing.items]


def _claimed(pod: Json) -> Iterator[str]:
    for volume in pod["spec"].get("volumes") or ():
        if source := volume.get("persistentVolumeClaim"):
            yield source["claimName"]
        elif "ephemeral" in volume:
            yield f"{pod['metadata']['name']}-{volume['name']}"


def _told(event: EventFacts) -> str:
    return f"{event.reason}: {event.message}"
