"""Since when plans have found nodes unneeded, handed from one leader to the next.

The record is an annotation of the Lease, which is renewed anyway: no plan costs an extra write.
Users without access to nodes may read the Lease (`settingsReaders`): nodes are recorded by uid.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final, TypeAlias, TypeVar

import msgspec

from edl.annotations.json_text import json_text, read_json

Since: TypeAlias = tuple[tuple[str, datetime], ...]
"""(node's name, time) sorted by name; in the annotation (node's uid, time)."""
_Time = TypeVar("_Time", bound=datetime | None)

_MAX_NODES: Final = 1000
"""Nodes that the Lease records, in 64 KiB; those that are unneeded longest come first."""
_AHEAD: Final = timedelta(minutes=1)
"""The clocks of two leaders may differ by this much."""
_decoder: Final = msgspec.json.Decoder(dict[str, datetime])


def noted(
    before: tuple[tuple[str, _Time], ...], names: Iterable[str], now: _Time
) -> tuple[tuple[str, _Time], ...]:
    """The record after a plan found exactly these nodes unneeded."""
    times = dict(before)
    return tuple((name, times.get(name, now)) for name in sorted(names))


def text(since: Since) -> str:
    """The annotation's text, in whole seconds."""
    longest = sorted(since, key=lambda pair: (pair[1], pair[0]))[:_MAX_NODES]
    rounded = {uid: moment.replace(microsecond=0) for uid, moment in sorted(longest)}
    return json_text(rounded)


def read(annotation: str, now: datetime) -> Since:
    """The record in an annotation; empty if it is missing or invalid.

    Any client that may update the Lease can write it.
    """
    record = read_json(annotation, _decoder) or {}
    times = {uid: moment for uid, moment in record.items() if moment.tzinfo}
    pairs = sorted((uid, moment) for uid, moment in times.items() if moment - now < _AHEAD)
    return tuple(pairs) if len(pairs) <= _MAX_NODES else ()
