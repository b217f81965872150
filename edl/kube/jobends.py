"""What a Job's status and rules say of pods that no pod object tells of."""

from collections.abc import Iterator, Mapping
from typing import Any

from edl.form import MOST_REPLICAS
from edl.texts import whole


def remaining(manifest: Mapping[str, Any]) -> int | None:
    """Work items still to do, at work ones included; None where nobody knows the queue's length.

    A work queue (no `completions`) has only what is at work once one of its pods has succeeded:
    the Job controller makes none any more.
    """
    completions: int | None = manifest["spec"].get("completions")
    status = manifest.get("status", {})
    done: int = status.get("succeeded") or 0
    if completions is None:
        return (status.get("active") or 0) if done else None
    given_up = sum(last - first + 1 for first, last in _intervals(status.get("failedIndexes")))
    return max(completions - done - given_up, 0)


def over(manifest: Mapping[str, Any]) -> frozenset[int]:
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


def is_told_to_end(manifest: Mapping[str, Any]) -> bool:
    """Whether it only waits for its controller: no time is left for it."""
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
