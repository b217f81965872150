"""Restores what only the reconciler would restore: Jobs' time to live, and scheduling gates.

The reconciler restores `ttlSecondsAfterFinished` when all Jobs of a training job have ended, and
removes the scheduling gates of its pods. Uninstalling does so once no webhook adds them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import msgspec

from edl import contract
from edl.contract.manifest_parts import annotations
from edl.errors import ClusterError, Conflict, Denied, NotFound
from edl.inject import ttl_after_finished
from edl.inject.pods import scheduling_gates
from edl.kube.cluster import Cluster
from edl.messages.scarcity_messages import listed
from edl.model import ObjectRef
from edl.parsing.parser import parse
from edl.writes import Json

_READ: Final = re.compile(rf"metadata\.annotations\['({re.escape(contract.PREFIX)}[^']*)'\]")
_ATTEMPTS: Final = 8
_PAUSE: Final = 0.05
"""Doubled each time: the API server calls a deleted webhook for another moment."""


def with_held_ttl(jobs: Iterable[Json]) -> Iterator[Json]:
    """Jobs whose own time to live is held back."""
    return (job for job in jobs if ttl_after_finished.FIELD in own_fields(job))


def with_gates(jobs: Iterable[Json]) -> Iterator[Json]:
    """Jobs that keep our gates, as their template is immutable: their new pods stay unscheduled.

    A Job that has not started can still lose them.
    """
    ungated = (scheduling_gates.give_back(job, job) for job in jobs)
    return (job for job in ungated if scheduling_gates.has_ours(job))


def own_fields(job: Json) -> Json:
    """A merge patch of the spec that restores its own fields; empty if there is nothing to restore.

    Every API server accepts it: the gates of a Job that has run are left out.
    """
    return _fields(job, scheduling_gates.give_back(job, job)["spec"]["template"])


def asked_fields(job: Json) -> Json:
    """As `own_fields`, with the gates of a suspended Job, which an API server may refuse.

    From Kubernetes 1.36 it accepts them once the Job controller has ended the pods.
    """
    template = job["spec"]["template"]
    stopped = job["spec"].get("suspend")
    return _fields(job, scheduling_gates.without_ours(template) if stopped else template)


def start_fields(job: Json) -> Json:
    """Fields that start a suspended Job as the reconciler would: at its minimum or above.

    A Job with an invalid request has no minimum, and starts with at least one pod.
    """
    before = job["spec"]
    try:
        spec = parse(job)
        least, indexed = spec.scaling.min, spec.indexed
    except Denied:
        least, indexed = 1, before.get("completions") == 0
    if before.get("parallelism", 1) >= least:
        return {"suspend": False}
    completions = {"completions": least} if indexed else {}
    return {"parallelism": least, **completions, "suspend": False}


def start_command(job: Json, flags: str) -> str:
    """The command that starts a suspended Job by hand."""
    return patch_command(job, start_fields(job), flags)


def patch_command(job: Json, spec: Json, flags: str, kind: str = "") -> str:
    named, body = job["metadata"], msgspec.json.encode({"spec": spec}).decode()
    return f"kubectl patch job {named['name']} -n {named['namespace']}{kind} -p '{body}'{flags}"


def start_annotations(job: Json) -> list[str]:
    """Annotations that its pods read, and that only a start by the reconciler writes on them."""
    template = job["spec"]["template"]
    written = annotations(template)
    read = {match[1] for path in _field_paths(template["spec"]) if (match := _READ.match(path))}
    return sorted(read - set(written))


def cannot_start(annotations: Sequence[str]) -> str:
    """Why a Job whose pods read these annotations is not started by hand, and the remedy."""
    return (
        f"stays suspended: its pods read {listed(annotations)}, which only a start by the "
        "reconciler writes: delete it, and create it from a file without labels of edl.dev"
    )


def _field_paths(part: object) -> Iterator[str]:
    """The paths that the downward API reads, in environments and volumes."""
    if isinstance(part, dict):
        yield from (path for path in (part.get("fieldPath"),) if isinstance(path, str))
        part = [*part.values()]
    for inner in part if isinstance(part, list) else ():
        yield from _field_paths(inner)


def _fields(job: Json, template: Json) -> Json:
    before, after = job["spec"], ttl_after_finished.restore_ttl(job, job)["spec"]
    fields: Json = {}
    if after.get(ttl_after_finished.FIELD) != before.get(ttl_after_finished.FIELD):
        fields[ttl_after_finished.FIELD] = after[ttl_after_finished.FIELD]
    if template != before["template"]:
        left = template["spec"].get(scheduling_gates.FIELD)
        fields["template"] = {"spec": {scheduling_gates.FIELD: left}}
    return fields


def give_back(cluster: Cluster, job: Json, sleep: Callable[[float], None]) -> tuple[Json, str]:
    """Restore a Job's fields; returns the last read Job, and why a field was not restored, or "".

    Each field is patched separately, so that a refused template does not keep the time to live.
    """
    target = ObjectRef.of("Job", job)
    seen = job
    for attempt in range(_ATTEMPTS):
        try:
            seen = cluster.get(target)
            if seen["metadata"]["uid"] != job["metadata"]["uid"]:
                return seen, ""
            for field, value in asked_fields(seen).items():
                metadata: Json = {"resourceVersion": seen["metadata"]["resourceVersion"]}
                if field == ttl_after_finished.FIELD:
                    metadata["annotations"] = {contract.TTL: None}
                seen = cluster.patch(target, {"metadata": metadata, "spec": {field: value}})
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
