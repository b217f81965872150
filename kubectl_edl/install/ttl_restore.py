"""Jobs whose `ttlSecondsAfterFinished` is held back until all Jobs of a training job have ended.

The reconciler restores it then. Uninstalling restores it once no webhook holds it back any more.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from edl import contract
from edl.errors import ClusterError, Conflict, NotFound
from edl.inject import held_ttl
from edl.kube.cluster import Cluster
from edl.model import ObjectRef
from edl.writes import Json

_ATTEMPTS: Final = 8
_PAUSE: Final = 0.05
"""Doubled each time: the API server still asks a webhook for a moment after it is deleted."""


def held(jobs: Iterable[Json]) -> Iterator[tuple[Json, int]]:
    """Each such Job, and its own time in seconds."""
    for job in jobs:
        seconds = held_ttl.give_back(job, job)["spec"].get(held_ttl.FIELD)
        if seconds is not None and seconds != job["spec"].get(held_ttl.FIELD):
            yield job, seconds


def give_back(cluster: Cluster, job: Json, sleep: Callable[[float], None]) -> str:
    """Why this Job keeps the time that it has; nothing where its own is back, or it is gone."""
    metadata = job["metadata"]
    target = ObjectRef("Job", metadata["namespace"], metadata["name"])
    for attempt in range(_ATTEMPTS):
        try:
            if _tried(cluster, target, metadata["uid"]):
                return ""
        except NotFound:
            return ""
        except Conflict:
            pass
        except ClusterError as error:
            return str(error)
        sleep(_PAUSE * 2**attempt)
    return "it changed each time while it was being written"


def _tried(cluster: Cluster, target: ObjectRef, uid: str) -> bool:
    """Whether its own time stands there now."""
    job = cluster.get(target)
    if job["metadata"]["uid"] != uid:
        return True
    for found, seconds in held([job]):
        version = found["metadata"]["resourceVersion"]
        metadata = {"resourceVersion": version, "annotations": {contract.TTL: None}}
        written = cluster.patch(target, {"metadata": metadata, "spec": {held_ttl.FIELD: seconds}})
        return not any(held([written]))
    return True
