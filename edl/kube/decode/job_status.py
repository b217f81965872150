"""Reads from a Job's status and spec how it ended, and what became of pods that are gone."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, Final

import msgspec

from edl import contract
from edl.contract.manifest_parts import annotations as annotations_of
from edl.contract.manifest_parts import has_our_prefix, labels
from edl.inject.pods.pod_failure_policy import granted_limit, is_our_limit
from edl.model import EndCondition, JobEnd
from edl.parsing.manifest_reader import MAX_REPLICAS
from edl.parsing.yaml_values import timestamp, whole
from edl.spec.job_spec import RETRIES
from edl.writes import Json

_ENDINGS: Final = {
    "Complete": JobEnd.COMPLETE,
    "SuccessCriteriaMet": JobEnd.COMPLETE,
    "Failed": JobEnd.FAILED,
    "FailureTarget": JobEnd.FAILED,
}
"""Both early conditions are final (KEP-3998): only the pods still have to terminate."""
_FINISHED: Final = frozenset({"Complete", "Failed"})


def remaining(manifest: Mapping[str, Any]) -> int | None:
    """Work items that are not complete; None if the length of the work queue is unknown.

    In a work queue (no `completions`) only running pods count once one has succeeded: the Job
    controller creates no more.
    """
    completions: int | None = manifest["spec"].get("completions")
    status = manifest.get("status", {})
    done: int = status.get("succeeded") or 0
    if completions is None:
        return (status.get("active") or 0) if done else None
    given_up = sum(last - first + 1 for first, last in _intervals(status.get("failedIndexes")))
    return max(completions - done - given_up, 0)


def reported_at(manifest: Mapping[str, Any]) -> datetime | None:
    """When the Job controller last changed the status; None if the API server does not say."""
    managers = manifest["metadata"].get("managedFields") or ()
    times = (entry.get("time", "") for entry in managers if entry.get("subresource") == "status")
    return max(filter(None, map(timestamp, times)), default=None)


def finished_indexes(manifest: Mapping[str, Any]) -> frozenset[int]:
    """Indexes whose pod is not recreated, whether or not the pod still exists."""
    return failed_indexes(manifest).union(_indexes(manifest, "completedIndexes"))


def failed_indexes(manifest: Mapping[str, Any]) -> frozenset[int]:
    """Indexes that have failed for good."""
    return frozenset(_indexes(manifest, "failedIndexes"))


def _indexes(manifest: Mapping[str, Any], field: str) -> Iterator[int]:
    for first, last in _intervals(manifest.get("status", {}).get(field)):
        yield from range(first, min(last + 1, MAX_REPLICAS))


def ignores(manifest: Mapping[str, Any]) -> bool:
    """Whether some failures of its pods are not counted (podFailurePolicy)."""
    rules = (manifest["spec"].get("podFailurePolicy") or {}).get("rules") or ()
    return any(rule.get("action") == "Ignore" for rule in rules)


def has_passed_its_deadline(manifest: Mapping[str, Any]) -> bool:
    """Whether the Job controller is about to end the Job for its deadline."""
    spec = manifest["spec"]
    return spec.get("activeDeadlineSeconds") == 0 and not spec.get("suspend")


def _intervals(text: str | None) -> Iterator[tuple[int, int]]:
    """The intervals of a text such as `1,3-5`; it stops at one that is invalid or not ascending."""
    least = 0
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        low, high = whole(first), whole(last or first)
        if low is None or high is None or not least <= low <= high:
            return
        yield low, high
        least = high + 1


def true_conditions(manifest: Mapping[str, Any]) -> Sequence[str]:
    """The types of the conditions that are true, in their order."""
    conditions = manifest.get("status", {}).get("conditions") or ()
    return [entry["type"] for entry in conditions if entry["status"] == "True"]


def ending(manifest: Mapping[str, Any]) -> JobEnd | None:
    return next((_ENDINGS[name] for name in true_conditions(manifest) if name in _ENDINGS), None)


def end_condition(manifest: Mapping[str, Any]) -> EndCondition | None:
    """The first condition that states its end."""
    conditions = manifest.get("status", {}).get("conditions") or ()
    ends = [
        EndCondition(since, entry.get("reason") or "", entry.get("message") or "")
        for entry in conditions
        if entry["status"] == "True"
        and entry["type"] in _ENDINGS
        and (since := timestamp(entry.get("lastTransitionTime") or ""))
    ]
    return min(ends, key=attrgetter("since"), default=None)


def suspended_at(manifest: Mapping[str, Any]) -> datetime | None:
    """When the Job controller noted the suspension of a Job that is suspended."""
    conditions = manifest.get("status", {}).get("conditions") or ()
    times = (
        timestamp(entry.get("lastTransitionTime") or "")
        for entry in conditions
        if entry["status"] == "True" and entry["type"] == "Suspended"
    )
    return next(times, None) if manifest["spec"].get("suspend") else None


def is_end_unrecorded(manifest: Mapping[str, Any]) -> bool:
    """Whether the last pod ended just after a suspension, so that no end can be recorded.

    A finished Job must have a start time (batch/validation), and a suspended one has none, so the
    Job controller retries forever. On 1.36, a Job that is no longer suspended then finishes at
    once, and no pod is created.
    """
    waits = ending(manifest) is not None and _FINISHED.isdisjoint(true_conditions(manifest))
    started = manifest.get("status", {}).get("startTime")
    return waits and bool(manifest["spec"].get("suspend")) and not started


def is_settled(manifest: Mapping[str, Any]) -> bool:
    """Whether the API server would accept a change of the template (batch/job strategy)."""
    status = manifest.get("status", {})
    stopped = "Suspended" in true_conditions(manifest)
    return not status.get("active") and (stopped or not status.get("startTime"))


def failures(manifest: Mapping[str, Any]) -> int:
    """Failed or deleted pods as the Job controller counts them."""
    return _counted(manifest, "failed")


def _counted(manifest: Mapping[str, Any], how: str) -> int:
    """Pods that ended so, with those that the Job controller has noted and counts next."""
    status = manifest.get("status") or {}
    uncounted = (status.get("uncountedTerminatedPods") or {}).get(how) or ()
    return (status.get(how) or 0) + len(uncounted)


def backoff_limit(manifest: Mapping[str, Any]) -> int:
    """The failed pods after which the Job controller fails the Job, with the API's default."""
    limit: int | None = manifest["spec"].get("backoffLimit")
    return RETRIES if limit is None else limit


def retries(manifest: Json) -> int:
    """The `backoffLimit` that the webhook set; 0 if the user set another one."""
    return (is_our_limit(manifest) and granted_limit(manifest)) or 0


def fingerprint(manifest: Mapping[str, Any]) -> str:
    """A digest of what writes to a Job depend on: a patch is retried while it stays the same.

    All that users and kubectl-edl write, except the progress, and of the status what cannot be
    undone: an end, and the ranks that have ended or failed. Left out are the numbers of pods and of
    work items, which the Job controller may write more often than a plan is made.
    """
    metadata, spec = manifest["metadata"], manifest["spec"]
    notes = {
        name: text
        for name, text in annotations_of(manifest).items()
        if has_our_prefix(name) and name != contract.PROGRESS
    }
    leaving = "deletionTimestamp" in metadata
    read = (metadata["uid"], leaving, labels(manifest), notes, spec, ending(manifest))
    content = msgspec.json.encode((*read, _lasting(manifest)), order="deterministic")
    return hashlib.blake2s(content, digest_size=16).hexdigest()


def _lasting(manifest: Mapping[str, Any]) -> tuple[object, ...]:
    """What ended pods have left in the status: per rank, or that a work queue is closed.

    A new size must leave ranks that have not ended, and a suspension would end a closed work queue
    (docs/kubernetes.md 34 and 31). No write depends on the pods of work items with a number.
    """
    spec, status = manifest["spec"], manifest.get("status") or {}
    if spec.get("completions") is None:
        return (_counted(manifest, "succeeded") > 0,)
    if spec.get("completionMode") != "Indexed" or spec["completions"] > spec.get("parallelism", 1):
        return ()
    ended = (status.get("completedIndexes") or "", status.get("failedIndexes") or "")
    return (*ended, failures(manifest))
