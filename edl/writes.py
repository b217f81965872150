"""Writes to the cluster, as values: the last result of the pure core.

`edl/steps` makes them from a plan, `edl/kube/writer/executor` performs them.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeAlias

import msgspec

from edl.model import Code, JobKey, ObjectRef

Json: TypeAlias = dict[str, Any]
"""A manifest, or a part of one, as it comes from JSON. The only place where `Any` enters."""


class Patch(msgspec.Struct, frozen=True):
    """A JSON merge patch; `version` (metadata.resourceVersion) is its precondition."""

    target: ObjectRef
    version: str
    body: Mapping[str, Any]
    dry_run: bool = False
    """Only ask whether the API server would accept it."""
    unless_changed: Mapping[str, Any] | None = None
    """Where these fields are still so, a newer version will do too: only others have changed."""


class Create(msgspec.Struct, frozen=True):
    """A new object; an existing one is left as it is."""

    target: ObjectRef
    manifest: Mapping[str, Any]


class CreateKeys(msgspec.Struct, frozen=True):
    """A new Secret with a fresh SSH key pair, made when it is written: no step ever holds a key.

    An existing Secret keeps its keys.
    """

    target: ObjectRef
    manifest: Mapping[str, Any]
    """All but its `data`."""


class Delete(msgspec.Struct, frozen=True):
    """Delete an object in the background: exactly the version that was seen, or of any version.

    `uid` is for what others go on writing to, such as the status of a PodDisruptionBudget: another
    object that took its name is spared.
    """

    target: ObjectRef
    version: str = ""
    uid: str = ""


Write: TypeAlias = Patch | Create | CreateKeys | Delete


class Action(StrEnum):
    """What an Event tells of, as its `action`; its `reason` says why."""

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


class Note(msgspec.Struct, frozen=True):
    """An Event about a Job: why, what was done, and a sentence for users."""

    target: ObjectRef
    uid: str
    action: Action
    reason: Code
    message: str
    warning: bool = False


class Step(msgspec.Struct, frozen=True):
    """What is done for one training job now: writes in order, the first failure ends the step.

    Writes of pods that follow one another are done at once, those of each pod in order.
    The notes become Events only when every write succeeded.
    """

    job: JobKey
    writes: tuple[Write, ...]
    notes: tuple[Note, ...] = ()
    starts: bool = False
    """Its job is yet to start: while the API server refuses this, it cannot."""
