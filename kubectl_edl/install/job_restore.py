"""Suspended Jobs get back what only the reconciler would restore: their times to live and gates.

It restores `ttlSecondsAfterFinished` when all Jobs of a training job have ended, and opens the
scheduling gates of its pods. Uninstalling does it once no webhook puts them there any more.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Final

from edl import contract
from edl.errors import ClusterError, Conflict, Denied, NotFound
from edl.inject import held_ttl
from edl.inject.pods import scheduling_gates
from edl.kube.cluster import Cluster
from edl.model import ObjectRef
from edl.parsing.parser import parse
from edl.writes import Json

_ATTEMPTS: Final = 8
_PAUSE: Final = 0.05
"""Doubled each time: the API server still asks a webhook for a moment after it is deleted."""


def with_held_ttl(jobs: Iterable[Json]) -> Iterator[Json]:
    """Those whose own time to live does not count yet."""
    return (job for job in jobs if held_ttl.FIELD in own_fields(job))


def with_gates(jobs: Iterable[Json]) -> Iterator[Json]:
    """Those that keep our gates, as their template cannot change: their new pods are not scheduled.

    What has not started gets its pods without them.
    """
    ungated = (scheduling_gates.give_back(job, job) for job in jobs)
    return (job for job in ungated if scheduling_gates.has_ours(job))


def own_fields(job: Json) -> Json:
    """Fields of its spec as a merge patch that gives them back; empty where nothing is held.

    Each API server accepts it: the gates of a Job that has run are left out.
    """
    return _fields(job, scheduling_gates.give_back(job, job)["spec"]["template"])


def asked_fields(job: Json) -> Json:
    """The same with the gates of a Job that was stopped, which an API server may accept or refuse.

    Since Kubernetes 1.36 it accepts them once the Job controller has ended its pods.
    """
    template = job["spec"]["template"]
    stopped = job["spec"].get("suspend")
    return _fields(job, scheduling_gates.without_ours(template) if stopped else template)


def start_fields(job: Json) -> Json:
    """What starts a suspended Job, as the reconciler would: with no fewer pods than its minimum."""
    start: Json = {"suspend": False}
    with suppress(Denied):
        spec = parse(job)
        least = spec.scaling.min
        if job["spec"].get("parallelism", 1) < least:
            indexed = {"completions": least} if spec.indexed else {}
            start = {"parallelism": least, **indexed, **start}
    return start


def _fields(job: Json, template: Json) -> Json:
    before, after = job["spec"], held_ttl.give_back(job, job)["spec"]
    fields: Json = {}
    if after.get(held_ttl.FIELD) != before.get(held_ttl.FIELD):
        fields[held_ttl.FIELD] = after[held_ttl.FIELD]
    if template != before["template"]:
        left = template["spec"].get(scheduling_gates.FIELD)
        fields["template"] = {"spec": {scheduling_gates.FIELD: left}}
    return fields


def give_back(cluster: Cluster, job: Json, sleep: Callable[[float], None]) -> tuple[Json, str]:
    """The Job as it was seen last, and why it keeps what it has: nothing where its own is back.

    Each field is patched by itself: a template that is refused keeps no time to live.
    """
    target = ObjectRef("Job", job["metadata"]["namespace"], job["metadata"]["name"])
    seen = job
    for attempt in range(_ATTEMPTS):
        try:
            seen = cluster.get(target)
            if seen["metadata"]["uid"] != job["metadata"]["uid"]:
                return seen, ""
            for field, value in asked_fields(seen).items():
                seen = cluster.patch(target, _patch(seen, field, value))
        except NotFound:
            return seen, ""
        except Conflict:
            pass
        except ClusterError as error:
            return seen, str(error)
        if not asked_fields(seen):
            return seen, ""
        sleep(_PAUSE * 2**attempt)
    return seen, "it changed each time while it was being written"


def _patch(job: Json, field: str, value: object) -> Json:
    metadata: Json = {"resourceVersion": job["metadata"]["resourceVersion"]}
    if field == held_ttl.FIELD:
        metadata["annotations"] = {contract.TTL: None}
    return {"metadata": metadata, "spec": {field: value}}
