"""What a Job's status and rules say of its end, and of pods that no pod object tells of."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from edl.model import JobEnd
from edl.parsing.manifest_reader import MOST_REPLICAS
from edl.parsing.yaml_values import timestamp, whole

_ENDINGS: Final = {
    "Complete": JobEnd.COMPLETE,
    "SuccessCriteriaMet": JobEnd.COMPLETE,
    "Failed": JobEnd.FAILED,
    "FailureTarget": JobEnd.FAILED,
}
"""Both early conditions are final (KEP-3998): only the pods still have to go."""
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


def completed_indexes(manifest: Mapping[str, Any]) -> frozenset[int]:
    """Indexes of which no pod is made again, whether or not one of them is still there."""
    status = manifest.get("status", {})
    return frozenset(
        index
        for field in ("completedIndexes", "failedIndexes")
        for first, last in _intervals(status.get(field))
        for index in range(first, min(last + 1, MOST_REPLICAS))
    )


def ignores(manifest: Mapping[str, Any]) -> bool:
    """Whether some failures of its pods are not counted (podFailurePolicy)."""
    rules = (manifest["spec"].get("podFailurePolicy") or {}).get("rules") or ()
    return any(rule.get("action") == "Ignore" for rule in rules)


def has_passed_its_deadline(manifest: Mapping[str, Any]) -> bool:
    """Whether the Job controller is about to end it."""
    spec = manifest["spec"]
    return spec.get("activeDeadlineSeconds") == 0 and not spec.get("suspend")


def keeps_completions(manifest: Mapping[str, Any]) -> bool:
    """Whether the API server refuses 0/0: a rule of its user needs an index (batch/validation)."""
    spec = manifest["spec"]
    return bool(spec.get("successPolicy") or spec.get("maxFailedIndexes"))


def _intervals(text: str | None) -> Iterator[tuple[int, int]]:
    """Of `1,3-5`, as the Job controller writes indexes: they rise. What follows others is none."""
    least = 0
    for part in (text or "").split(","):
        first, _, last = part.partition("-")
        low, high = whole(first), whole(last or first)
        if low is None or high is None or not least <= low <= high:
            return
        yield low, high
        least = high + 1


def met(manifest: Mapping[str, Any]) -> Sequence[str]:
    """The conditions that hold, in their order."""
    conditions = manifest.get("status", {}).get("conditions") or ()
    return [entry["type"] for entry in conditions if entry["status"] == "True"]


def ending(manifest: Mapping[str, Any]) -> JobEnd | None:
    return next((_ENDINGS[one] for one in met(manifest) if one in _ENDINGS), None)


def ended_at(manifest: Mapping[str, Any]) -> datetime | None:
    conditions = manifest.get("status", {}).get("conditions") or ()
    times = [
        timestamp(entry.get("lastTransitionTime") or "")
        for entry in conditions
        if entry["status"] == "True" and entry["type"] in _ENDINGS
    ]
    return min(filter(None, times), default=None)


def is_end_unrecorded(manifest: Mapping[str, Any]) -> bool:
    """Its last pod ended just after it was suspended: the controller tries again for ever.

    A finished Job must have a start time (batch/validation), and a suspended one has none. Seen on
    1.36: not suspended any more, it is finished at once, and no pod is made.
    """
    waits = ending(manifest) is not None and _FINISHED.isdisjoint(met(manifest))
    started = manifest.get("status", {}).get("startTime")
    return waits and bool(manifest["spec"].get("suspend")) and not started
