"""Annotations on launchers' pods about the workers that leave their host list."""

from typing import Final

import msgspec
from msgspec.structs import replace

from edl import reasons
from edl.annotations.last_change import read_reason, text_of
from edl.model import Leaving, Reason, Restart


class _Written(msgspec.Struct):
    pods: list[str]
    size: int
    reason: msgspec.Raw = msgspec.Raw()


_decoder: Final = msgspec.json.Decoder(_Written)


def leaving_text(leaving: Leaving) -> str:
    """The annotation's text."""
    found = _Written(
        sorted(leaving.pods), leaving.size, msgspec.Raw(text_of(leaving.reason).encode())
    )
    return msgspec.json.encode(found).decode()


def read_leaving(annotation: str) -> Leaving | None:
    """The value of an annotation; None if it is missing or invalid."""
    if not annotation:
        return None
    try:
        found = _decoder.decode(annotation)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return Leaving(frozenset(found.pods), found.size, _reason(bytes(found.reason).decode()))


def _reason(text: str) -> Reason:
    """The reason, never with a restart.

    Any user who may patch pods can write this annotation, and it must not restart a training job.
    """
    found = read_reason(text) or reasons.UNKNOWN
    return replace(found, restart=Restart.NONE)
