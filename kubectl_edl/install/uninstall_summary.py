"""What becomes of training jobs when kubectl-edl is uninstalled, and their own time to live."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from edl import contract
from edl.errors import ClusterError, Conflict, NotFound
from edl.inject import held_ttl
from edl.kube.cluster import Cluster, ListOptions, PluginCluster
from edl.model import ObjectRef
from edl.writes import Json
from kubectl_edl.cli.candidates import decoded

_SHOWN: Final = 5


def sentences(cluster: PluginCluster) -> list[str]:
    """For the user, before the answer."""
    elastic = elastic_jobs(cluster)
    jobs = [job for job in elastic if not _ended(job)]
    queued = [job for job in jobs if job["spec"].get("suspend")]
    running = len(jobs) - len(queued)
    held = _held(elastic)
    if not jobs:
        return ["No elastic Job is queued or running.", *held]
    return [*_running(running), *_queued(queued), *held]


def _running(count: int) -> list[str]:
    if not count:
        return []
    return [f"{_jobs(count)} on at the size of now, neither resized nor ended any more."]


def _queued(jobs: Sequence[Json]) -> list[str]:
    if not jobs:
        return []
    start = _patch(jobs[0], '"suspend":false')
    return [f"{len(jobs)} suspended ({_names(jobs)}): not started any more. By hand: {start}"]


def _held(elastic: Sequence[Json]) -> list[str]:
    """Jobs of several whose time to live counts only when all have ended."""
    held = [job for job, _ in held_back(elastic)]
    if not held:
        return []
    return [
        f"{len(held)} with {contract.TTL} ({_names(held)}): deleted so long after their own end."
    ]


def kept(job: Json, seconds: int, why: str) -> str:
    """For the user, where a Job's time could not be given back."""
    by_hand = _patch(job, f'"{held_ttl.FIELD}":{seconds}')
    return f"{_name(job)} keeps {contract.TTL}: {why}. By hand: {by_hand}"


def _names(jobs: Sequence[Json]) -> str:
    shown = ", ".join(map(_name, jobs[:_SHOWN]))
    return shown + (f" and {len(jobs) - _SHOWN} more" if len(jobs) > _SHOWN else "")


def _patch(job: Json, field: str) -> str:
    named = job["metadata"]
    return (
        f"kubectl patch job {named['name']} -n {named['namespace']} -p '{{\"spec\":{{{field}}}}}'"
    )


def _jobs(count: int) -> str:
    return "1 elastic Job goes" if count == 1 else f"{count} elastic Jobs go"


def _name(job: Json) -> str:
    return f"{job['metadata']['namespace']}/{job['metadata']['name']}"


def _ended(job: Json) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return any(
        each["type"] in ("Complete", "Failed") and each["status"] == "True" for each in conditions
    )


def elastic_jobs(cluster: PluginCluster) -> list[Json]:
    return [
        decoded(item) for item in cluster.list(ListOptions("Job", "", contract.FRAMEWORK)).items
    ]


_ATTEMPTS: Final = 8
_PAUSE: Final = 0.05
"""Doubled each time: the API server still asks a webhook for a moment after it is deleted."""


def held_back(jobs: Iterable[Json]) -> Iterator[tuple[Json, int]]:
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
    for found, seconds in held_back([job]):
        version = found["metadata"]["resourceVersion"]
        metadata = {"resourceVersion": version, "annotations": {contract.TTL: None}}
        written = cluster.patch(target, {"metadata": metadata, "spec": {held_ttl.FIELD: seconds}})
        return not any(held_back([written]))
    return True
