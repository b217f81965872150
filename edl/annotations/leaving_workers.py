"""Annotations on launchers' pods about the workers that leave their host list."""

from typing import Final

import msgspec
from msgspec.structs import replace

from edl import reasons
from edl.annotations.json_text import json_text, read_json
from edl.annotations.last_change import read_reason
from edl.model import Leaving, Reason, Restart


class _Written(msgspec.Struct):
    pods: list[str]
    size: int
    reason: msgspec.Raw = msgspec.Raw()


_decoder: Final = msgspec.json.Decoder(_Written)


def leaving_text(leaving: Leaving) -> str:
    """The annotation's text."""
    reason = msgspec.Raw(msgspec.json.encode(leaving.reason))
    return json_text(_Written(sorted(leaving.pods), leaving.size, reason))


def read_leaving(annotation: str) -> Leaving | None:
    """The value of an annotation; None if it is missing or invalid."""
    record = read_json(annotation, _decoder)
    if record is None:
        return None
    return Leaving(frozenset(record.pods), record.size, _reason(bytes(record.reason).decode()))


def _reason(text: str) -> Reason:
    """The reason, never with a restart.

    Any user who may patch pods can write this annotation, and it must not restart a training job.
    """
    reason = read_reason(text) or reasons.UNKNOWN
    return replace(reason, restart=Restart.NONE)
