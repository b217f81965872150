"""What becomes of training jobs when nobody is there for them any more."""

from collections.abc import Sequence
from typing import Final

from edl import contract
from edl.kube.cluster import ClusterWithLogs, Selection
from edl.writes import Json
from kubectl_edl.completions import decoded

_SHOWN: Final = 5


def sentences(cluster: ClusterWithLogs) -> list[str]:
    """For the user, before he says yes."""
    jobs = [job for job in _elastic(cluster) if not _ended(job)]
    queued = [job for job in jobs if job["spec"].get("suspend")]
    running = len(jobs) - len(queued)
    if not jobs:
        return ["No elastic Job is queued or running."]
    return [*_running(running), *_queued(queued)]


def _running(count: int) -> list[str]:
    if not count:
        return []
    return [f"{_jobs(count)} on at the size of now: nobody resizes them, or ends their servers."]


def _queued(jobs: Sequence[Json]) -> list[str]:
    if not jobs:
        return []
    shown = ", ".join(map(_name, jobs[:_SHOWN]))
    more = f" and {len(jobs) - _SHOWN} more" if len(jobs) > _SHOWN else ""
    first = jobs[0]["metadata"]
    start = (
        f"kubectl patch job {first['name']} -n {first['namespace']}"
        """ -p '{"spec":{"suspend":false}}'"""
    )
    said = f"{len(jobs)} suspended ({shown}{more}): nobody starts them. By hand: {start}"
    return [said]


def _jobs(count: int) -> str:
    return "1 elastic Job goes" if count == 1 else f"{count} elastic Jobs go"


def _name(job: Json) -> str:
    return f"{job['metadata']['namespace']}/{job['metadata']['name']}"


def _ended(job: Json) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return any(
        each["type"] in ("Complete", "Failed") and each["status"] == "True" for each in conditions
    )


def _elastic(cluster: ClusterWithLogs) -> list[Json]:
    return [decoded(item) for item in cluster.list(Selection("Job", "", contract.FRAMEWORK)).items]
