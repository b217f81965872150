"""Writes to the cluster, as values: the final result of the pure core.

`edl/steps` derives them from a plan, `edl/kube/writer/executor` performs them.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, TypeAlias

import msgspec

from edl.model import Code, JobKey, ObjectRef

Json: TypeAlias = dict[str, Any]
"""A manifest, or a part of one, decoded from JSON. The only place where `Any` enters."""


class Patch(msgspec.Struct, frozen=True):
    """A JSON merge patch; `version` (metadata.resourceVersion) is its precondition."""

    target: ObjectRef
    version: str
    body: Mapping[str, Any]
    dry_run: bool = False
    """Only check whether the API server would accept the patch."""
    unless_changed: Mapping[str, Any] | None = None
    """Fields with the values that the patch relies on: if they are unchanged, the patch is retried
    on a newer version of the object."""
    fingerprint: str = ""
    """`Role.fingerprint` of the patched Job, on which the patch relies if `unless_changed` names no
    fields."""
    optional: bool = False
    """If the object is gone, being deleted, or a pod that has ended, only this and the other writes
    to it are left out, not the rest of the step."""
    delay: float = 0.0
    """Seconds to wait before it, until controllers have seen the writes before it."""


class ConditionPatch(Patch, frozen=True):
    """Set one condition in the status of a pod: `body` is the condition."""


class Create(msgspec.Struct, frozen=True):
    """Create an object; an existing one is left as it is."""

    target: ObjectRef
    manifest: Mapping[str, Any]
    needs: ObjectRef | None = None
    """An object that this step must have created: an existing one may be another owner's."""


class CreateKeys(msgspec.Struct, frozen=True):
    """Create a Secret with a fresh SSH key pair.

    The executor generates the pair, so no step ever holds a private key. An existing Secret keeps
    its keys.
    """

    target: ObjectRef
    manifest: Mapping[str, Any]
    """The Secret without its `data`."""


class Delete(msgspec.Struct, frozen=True):
    """Delete an object in the background.

    `version` (metadata.resourceVersion), unless empty, and `uid`, unless empty, are preconditions.
    `uid` fits objects that other clients keep changing, such as the status of a
    PodDisruptionBudget: an object that has since taken its name is spared.
    """

    target: ObjectRef
    version: str = ""
    uid: str = ""


Write: TypeAlias = Patch | Create | CreateKeys | Delete


class Action(StrEnum):
    """What was done, as the `action` of an Event; the `reason` of the Event says why."""

    STARTED = "Started"
    SCALED_UP = "ScaledUp"
    SCALED_DOWN = "ScaledDown"
    SCALED = "Scaled"
    REMOVED = "PodsRemoved"
    REPLACED = "Replaced"
    RESTARTING = "Restarting"
    SUSPENDED = "Suspended"
    ENDED = "Ended"
    WAITING = "Waiting"
    REFUSED = "Refused"


class JobEvent(msgspec.Struct, frozen=True):
    """An Event about a Job: its reason, the action, and a sentence for users."""

    target: ObjectRef
    uid: str
    action: Action
    reason: Code
    message: str
    warning: bool = False


DEPENDENTS: Final = "dependents"
"""The part of a training job with its Services, PodDisruptionBudgets, rights and keys."""


class Step(msgspec.Struct, frozen=True):
    """The writes for one training job, in order; the first failure ends the step.

    Consecutive writes to pods run in parallel, those to one pod in order. The `events` are recorded
    only if every write succeeded.
    """

    job: JobKey
    writes: tuple[Write, ...]
    events: tuple[JobEvent, ...] = ()
    starts: bool = False
    """The step starts the job, so the job cannot start while the API server refuses the step."""
    sizes: tuple[tuple[str, int], ...] = ()
    """(role, replicas) of running roles that the step resizes; 0: it stops the role."""
    part: str = ""
    """What it writes beside the Jobs, such as `DEPENDENTS`: a failure delays this part alone, and
    creations that succeed and are asked for again are repeated ever more rarely. Empty for the
    writes that the job's life depends on."""
