"""What stands on launchers' pods about the workers that leave their host list."""

from typing import Final

import msgspec

from edl.model import Code, Leaving, Reason


class _Written(msgspec.Struct):
    pods: list[str]
    size: int
    reason: Reason | None = None


_decoder: Final = msgspec.json.Decoder(_Written)


def leaving_text(leaving: Leaving) -> str:
    """The annotation that keeps it."""
    found = _Written(sorted(leaving.pods), leaving.size, leaving.reason)
    return msgspec.json.encode(found).decode()


def read_leaving(annotation: str) -> Leaving | None:
    """None where there is none, or none of ours."""
    if not annotation:
        return None
    try:
        found = _decoder.decode(annotation)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return Leaving(frozenset(found.pods), found.size, found.reason or Reason(Code.UNKNOWN))
