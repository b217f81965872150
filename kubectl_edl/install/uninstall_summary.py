"""What happens to training jobs after kubectl-edl is uninstalled."""

from collections.abc import Sequence
from typing import Final

from edl import contract
from edl.inject import held_ttl
from edl.kube.cluster import ListOptions, PluginCluster
from edl.writes import Json
from kubectl_edl.cli.candidates import decoded
from kubectl_edl.install import ttl_restore

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
    held = [job for job, _ in ttl_restore.held(elastic)]
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
