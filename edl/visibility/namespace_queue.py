"""The JSON document in the ConfigMap `edl-queue` of a namespace, written and read back.

Users of that namespace read it, so it names no training job of another namespace. Users may also
write to the ConfigMap, so what is read back is limited in size and validated.
"""

from datetime import datetime
from typing import Annotated, Final, Literal

import msgspec

from edl.forecast.estimate import Certainty

CONFIG_MAP: Final = "edl-queue"
KEY: Final = "queue"
"""The only key of its data."""
API_VERSION: Final = "edl.dev/v1alpha1"
MAX_JOBS: Final = 100
"""Most jobs listed per namespace, by position; the total number counts all."""
MAX_TEAMS: Final = 8
"""Most teams that are counted separately among the jobs ahead of one."""
MAX_BYTES: Final = 64 * 1024
"""Most bytes of all listed jobs of one document; the last ones are left out beyond that."""
_MAX_BLOCKERS: Final = 16
_LONGEST: Final = 1024 * 1024
"""Most characters of a document to parse: no ConfigMap is larger."""

_JSON_NAMES: Final = {
    "ahead": "blockedByTeam",
    "api_version": "apiVersion",
    "changed_at": "lastTransitionTime",
    "estimate": "estimatedStart",
}
_Count = Annotated[int, msgspec.Meta(ge=0, le=10**9)]
_Name = Annotated[str, msgspec.Meta(max_length=253)]
_Text = Annotated[str, msgspec.Meta(max_length=2048)]
_Moment = Annotated[datetime, msgspec.Meta(tz=True)]


class TeamCount(msgspec.Struct, frozen=True, omit_defaults=True):
    """A number of training jobs of one team; `team` "" stands for all other teams."""

    jobs: _Count
    team: _Name = ""


class PublishedBlocker(msgspec.Struct, frozen=True, omit_defaults=True):
    """One blocker: a type of `edl.model.causes.blockers`, and messages for users."""

    type: _Name
    message: _Text
    remediation: _Text = ""


class PublishedBlockers(msgspec.Struct, frozen=True):
    """The blockers of a start; `complete` is False if there may be more."""

    complete: bool
    blockers: Annotated[tuple[PublishedBlocker, ...], msgspec.Meta(max_length=_MAX_BLOCKERS)]


class PublishedEstimate(msgspec.Struct, frozen=True, omit_defaults=True):
    """When a training job starts; `time` is None if that is unknown, now or never."""

    certainty: Certainty
    time: _Moment | None = None


class PublishedJob(msgspec.Struct, frozen=True, rename=_JSON_NAMES, omit_defaults=True):
    """One queued training job. `position` is its place in the cluster-wide queue, if any."""

    name: _Name
    reason: _Name
    message: _Text
    position: Annotated[int, msgspec.Meta(ge=1, le=10**9)] | None = None
    ahead: Annotated[tuple[TeamCount, ...], msgspec.Meta(max_length=MAX_TEAMS + 1)] = ()
    estimate: PublishedEstimate | None = None
    """None if it was not computed."""
    start: PublishedBlockers | None = None
    """None if it was not computed, which takes long in a large cluster."""
    priority: Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)] | None = None
    """The value of its PriorityClass; None in a document of an earlier release."""


class NamespaceQueue(msgspec.Struct, frozen=True, rename=_JSON_NAMES, omit_defaults=True):
    """The queued training jobs of one namespace: their number `jobs`, the first ones in `items`."""

    changed_at: _Moment
    """When the content last changed; it may be correct for much longer."""
    jobs: _Count
    items: Annotated[tuple[PublishedJob, ...], msgspec.Meta(max_length=10 * MAX_JOBS)]
    team: _Name = ""
    """The namespace's team; "" if no teams are configured."""
    share: Annotated[float, msgspec.Meta(ge=0, le=10**9)] | None = None
    """The team's weighted dominant share of borrowed capacity, in steps of 0.001, if any."""
    api_version: Literal["edl.dev/v1alpha1"] = API_VERSION
    kind: Literal["NamespaceQueue"] = "NamespaceQueue"


_decoder: Final = msgspec.json.Decoder(NamespaceQueue)


def render(queue: NamespaceQueue) -> str:
    body = msgspec.to_builtins(queue, builtin_types=(datetime,))
    head = {"apiVersion": queue.api_version, "kind": queue.kind}
    return msgspec.json.encode(head | body).decode()


def parse(text: str) -> NamespaceQueue:
    """Raises ValueError with the path of the invalid field; unknown fields are ignored."""
    if len(text) > _LONGEST:
        raise ValueError(f"longer than {_LONGEST} characters")
    try:
        return _decoder.decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
