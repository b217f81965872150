"""Pods of a training job that do not run, and what the scheduler or the kubelet says of them."""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from edl import contract
from edl.kube.cluster import Cluster, Selection
from edl.kube.facts import time
from edl.model.names import JOB_TYPE
from edl.writes import Json

NO_IMAGE: Final = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"}
)
"""The kubelet's codes for a container whose image it cannot get."""


@dataclass(frozen=True, slots=True)
class Unplaced:
    """One pod; `why` as its own status says it, `node` empty while it has none.

    `reason` is the kubelet's code for what a container waits for, empty where none waits.
    """

    name: str
    job: str
    node: str
    since: datetime | None
    why: str
    reason: str = ""


def unplaced(cluster: Cluster, namespace: str, jobs: Collection[str]) -> tuple[Unplaced, ...]:
    """Pods of these Jobs that wait, in the order of their names. Raises Forbidden."""
    listing = cluster.list(Selection("Pod", namespace, contract.FRAMEWORK))
    pods = (json.loads(item) for item in listing.items)
    found = (_unplaced(pod, owner) for pod in pods for owner in _owners(pod) if owner in jobs)
    return tuple(sorted((one for one in found if one), key=lambda one: one.name))


def _owners(pod: Json) -> Iterator[str]:
    references = pod["metadata"].get("ownerReferences") or ()
    return (one["name"] for one in references if (one["apiVersion"], one["kind"]) == JOB_TYPE)


def _unplaced(pod: Json, job: str) -> Unplaced | None:
    status, spec = pod.get("status") or {}, pod.get("spec") or {}
    if status.get("phase", "Pending") != "Pending" or "deletionTimestamp" in pod["metadata"]:
        return None
    reason, why = next(_reasons(spec, status), ("", "the scheduler has not looked at it yet"))
    return Unplaced(
        name=pod["metadata"]["name"],
        job=job,
        node=spec.get("nodeName") or "",
        since=time(pod["metadata"].get("creationTimestamp") or ""),
        why=why,
        reason=reason,
    )


def _reasons(spec: Json, status: Json) -> Iterator[tuple[str, str]]:
    """The scheduler's sentence, else what its containers wait for, else where it stands.

    Before each the kubelet's code for it, or nothing.
    """
    if gates := spec.get("schedulingGates"):
        names = ", ".join(gate["name"] for gate in gates)
        yield "", f"it waits for its scheduling gate {names}"
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            yield "", " ".join((condition.get("message") or condition.get("reason") or "").split())
    containers = [
        *(status.get("initContainerStatuses") or ()),
        *(status.get("containerStatuses") or ()),
    ]
    for container in containers:
        waiting = (container.get("state") or {}).get("waiting") or {}
        if reason := waiting.get("reason"):
            message = " ".join((waiting.get("message") or "").split())
            text = f"{reason}: {message}" if message else reason
            yield reason, f"container {container['name']}: {text}"
    if spec.get("nodeName"):
        yield "", "its node has not started it yet"
