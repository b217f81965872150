"""What the ConfigMap `edl-queue` of a namespace says: one JSON document, and how it is read back.

Its readers are users of that namespace, so it names no training job of another one. Others may
write to the ConfigMap, too: what is read back is bounded, and may be anything until it is parsed.
"""

from datetime import datetime
from typing import Annotated, Final, Literal

import msgspec

from edl.forecast.estimate import Certainty

CONFIG_MAP: Final = "edl-queue"
KEY: Final = "queue"
"""The only key of its data."""
API_VERSION: Final = "edl.dev/v1alpha1"
MOST_JOBS: Final = 100
"""Training jobs of one namespace that are told of, by position; of the others only the number."""
MOST_TEAMS: Final = 8
"""Teams that are counted apart among the jobs ahead of one."""
MOST_BYTES: Final = 64 * 1024
"""What jobs add to one document; where it is not enough, the last ones are left out."""
_MOST_CAUSES: Final = 16
_LONGEST: Final = 1024 * 1024
"""Characters of a document that is parsed at all: no ConfigMap is larger."""

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
    """Training jobs of one team; an empty `team` stands for all that are not counted apart."""

    jobs: _Count
    team: _Name = ""


class PublishedCause(msgspec.Struct, frozen=True, omit_defaults=True):
    """One blocker: a type of `edl.model.blockers.CauseKind`, and what users read of it."""

    type: _Name
    message: _Text
    remediation: _Text = ""


class PublishedStops(msgspec.Struct, frozen=True):
    """What is in the way of a start; `complete` is False where there may be more."""

    complete: bool
    blockers: Annotated[tuple[PublishedCause, ...], msgspec.Meta(max_length=_MOST_CAUSES)]


class PublishedEstimate(msgspec.Struct, frozen=True, omit_defaults=True):
    """When a training job starts; `time` is None where that is unknown, or never."""

    certainty: Certainty
    time: _Moment | None = None


class PublishedJob(msgspec.Struct, frozen=True, rename=_JSON_NAMES, omit_defaults=True):
    """One queued training job. `position` counts over the whole cluster; None: it has none."""

    name: _Name
    reason: _Name
    message: _Text
    position: Annotated[int, msgspec.Meta(ge=1, le=10**9)] | None = None
    ahead: Annotated[tuple[TeamCount, ...], msgspec.Meta(max_length=MOST_TEAMS + 1)] = ()
    estimate: PublishedEstimate | None = None
    """None where it was not worked out."""
    start: PublishedStops | None = None
    """None where it was not worked out: that takes its time in a large cluster."""


class NamespaceQueue(msgspec.Struct, frozen=True, rename=_JSON_NAMES, omit_defaults=True):
    """The queued training jobs of one namespace: their number `jobs`, and the first as `items`."""

    changed_at: _Moment
    """When the content became what it is; it may be right for much longer."""
    jobs: _Count
    items: Annotated[tuple[PublishedJob, ...], msgspec.Meta(max_length=10 * MOST_JOBS)]
    team: _Name = ""
    """The namespace's; empty where no teams are configured."""
    share: Annotated[float, msgspec.Meta(ge=0, le=10**9)] | None = None
    """Its team's weighted dominant share of what is borrowed, in steps of 0.001; None without."""
    api_version: Literal["edl.dev/v1alpha1"] = API_VERSION
    kind: Literal["NamespaceQueue"] = "NamespaceQueue"


_decoder: Final = msgspec.json.Decoder(NamespaceQueue)


def render(queue: NamespaceQueue) -> str:
    found = msgspec.to_builtins(queue, builtin_types=(datetime,))
    head = {"apiVersion": queue.api_version, "kind": queue.kind}
    return msgspec.json.encode(head | found).decode()


def parse(text: str) -> NamespaceQueue:
    """Raises ValueError with the path of what is wrong; fields of later releases are ignored."""
    if len(text) > _LONGEST:
        raise ValueError(f"longer than {_LONGEST} characters")
    try:
        return _decoder.decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
