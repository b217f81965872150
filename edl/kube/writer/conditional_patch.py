"""A patch that is retried after conflicts, while the fields that it relies on are unchanged."""

from collections.abc import Mapping
from typing import Any, Final

from edl.errors import Conflict, Invalid, NotFound
from edl.kube.cluster import Cluster
from edl.patches.merge_patch import merged
from edl.writes import Json, Patch

_TRIES: Final = 5
"""Attempts at one patch while other clients write fields that it does not depend on."""
_ENDED: Final = ("Succeeded", "Failed")
_DECIDED: Final = ("suspend", "parallelism", "completions")
"""Fields of a Job on which plans count."""


def patched(cluster: Cluster, write: Patch, version: str = "") -> Json:
    """The patched object; `version` replaces the patch's own precondition.

    Raises Conflict if the object has changed, other than in fields that `unless_changed` leaves
    out, and NotFound if the patch is optional and the object is being deleted or has ended.
    """
    tries = _TRIES
    while True:
        try:
            return cluster.patch(write.target, _with_version(write, version), dry_run=write.dry_run)
        except Conflict:
            tries -= 1
            if write.unless_changed is None or not tries:
                raise
            current = cluster.get(write.target)
            if write.optional and _ends(current):
                raise NotFound(f"{write.target.name} ends") from None
            if not still_fits(write, current):
                raise
            version = current["metadata"]["resourceVersion"]


def check_stored(write: Patch, answer: Json) -> None:
    """Raises Invalid if a mutating webhook has replaced a size or a suspension of a Job.

    It would do so in every round, as the plan is the same again. A start may get another size, with
    which the next plan goes on.
    """
    asked = write.body.get("spec", {}) if write.target.kind == "Job" else {}
    for name in _DECIDED if asked.get("suspend", True) else _DECIDED[:1]:
        stored = answer.get("spec", {}).get(name)
        if name in asked and stored != asked[name]:
            raise Invalid(
                f"an admission webhook sets spec.{name} to {stored} instead of {asked[name]}"
            )


def still_fits(write: Patch, current: Json) -> bool:
    """Whether the object, in a newer version, has the values on which the patch relies."""
    return write.unless_changed is not None and merged(current, write.unless_changed) == current


def _ends(current: Json) -> bool:
    """Whether the object is being deleted, or is a pod whose containers have ended."""
    phase = current.get("status", {}).get("phase")
    return bool(current["metadata"].get("deletionTimestamp")) or phase in _ENDED


def _with_version(patch: Patch, version: str) -> Mapping[str, Any]:
    metadata = patch.body.get("metadata", {}) | {"resourceVersion": version or patch.version}
    return {**patch.body, "metadata": metadata}
