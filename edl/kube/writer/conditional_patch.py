"""A patch that is retried after conflicts, while what it relies on is unchanged."""

from typing import Final, NamedTuple, Self

from msgspec.structs import replace

from edl.errors import Conflict, Invalid, NotFound
from edl.kube.cluster import Cluster
from edl.kube.decode.job_status import fingerprint
from edl.model import ObjectRef
from edl.patches.merge_patch import merged
from edl.writes import ConditionPatch, Delete, Json, Patch, Write

_TRIES: Final = 5
"""Attempts at one patch while other clients write fields that it does not depend on."""
_ENDED: Final = ("Succeeded", "Failed")
_DECIDED: Final = ("suspend", "parallelism", "completions")
"""Fields of a Job on which plans count."""


def patched(cluster: Cluster, write: Patch) -> Json:
    """The patched object.

    Raises Conflict if the object has changed in what the patch relies on, or at each attempt, and
    NotFound if the patch is optional and the object is being deleted or has ended, or if a mark
    that it withdraws has changed.
    """
    version, tries = write.version, _TRIES
    while True:
        try:
            return _sent(cluster, write, version)
        except Conflict:
            tries -= 1
            if isinstance(write, ConditionPatch) and write.unless_changed is None:
                raise NotFound(f"{write.target.name} has changed since it was marked") from None
            if not (write.fingerprint or write.unless_changed is not None) or not tries:
                raise
            current = cluster.get(write.target)
            if write.optional and ends(current):
                raise NotFound(f"{write.target.name} ends") from None
            if not still_fits(write, current):
                raise
            version = current["metadata"]["resourceVersion"]


class WrittenVersion(NamedTuple):
    """The version of an object that a step has written, on which its later writes build."""

    version: str
    fingerprint: str

    @classmethod
    def of(cls, target: ObjectRef, body: Json) -> Self:
        digest = fingerprint(body) if target.kind == "Job" else ""
        return cls(body["metadata"]["resourceVersion"], digest)

    def before(self, write: Write) -> Write:
        """The write with this version as its precondition, if it has any."""
        if isinstance(write, Patch):
            return replace(write, version=self.version, fingerprint=self.fingerprint)
        if isinstance(write, Delete) and write.version:
            return replace(write, version=self.version)
        return write


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
    """Whether the object, in a newer version, is unchanged in what the patch relies on."""
    if write.unless_changed is not None:
        return merged(current, write.unless_changed) == current
    return bool(write.fingerprint) and fingerprint(current) == write.fingerprint


def ends(current: Json) -> bool:
    """Whether the object is being deleted, or is a pod whose containers have ended."""
    phase = current.get("status", {}).get("phase")
    return bool(current["metadata"].get("deletionTimestamp")) or phase in _ENDED


def _sent(cluster: Cluster, patch: Patch, version: str) -> Json:
    if isinstance(patch, ConditionPatch):
        return cluster.add_condition(patch.target, patch.body, version)
    metadata = patch.body.get("metadata", {}) | {"resourceVersion": version}
    return cluster.patch(patch.target, {**patch.body, "metadata": metadata}, dry_run=patch.dry_run)
