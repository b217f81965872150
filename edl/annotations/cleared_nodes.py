"""Counts how often replicas came back to a node that they were moved off.

A replica is moved off a node to free it for a pod that is eligible for few nodes. kube-scheduler
places the replacement; if it picks the same node again, the move freed nothing. The count is kept
on the Job, so the next leader continues it.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from edl.annotations.json_text import read_json
from edl.model import Clearing, Role

REMEMBERED: Final = timedelta(minutes=10)
"""A move is forgotten after this time and may be tried again: the cluster may have changed."""
_TRIES: Final = 3
"""Moves per node. A replacement may get there before the pod that it was moved for, once or
twice."""
_MAX_NODES: Final = 32
"""The most recent nodes that are remembered."""
_MAX_TIMES: Final = 10**6
"""A larger count was not written by the reconciler."""
_decoder: Final = msgspec.json.Decoder(tuple[Clearing, ...])


def cleared(role: Role, nodes: Sequence[str], now: datetime) -> tuple[Clearing, ...]:
    """The record of this role after its replicas have been moved off these nodes."""
    before = {
        old.node: old for old in role.record.cleared if old.node not in nodes and _counts(old, now)
    }
    again = {
        old.node: old.times for old in role.record.cleared if _counts(old, now) and _back(role, old)
    }
    added = [Clearing(node, again.get(node, 0) + 1, now) for node in dict.fromkeys(nodes)]
    return tuple([*before.values(), *added][-_MAX_NODES:])


def exhausted(role: Role) -> Iterator[Clearing]:
    """Nodes off which replicas of this role are not moved again while the record lasts."""
    return (entry for entry in role.record.cleared if entry.times >= _TRIES and _back(role, entry))


def _counts(clearing: Clearing, now: datetime) -> bool:
    """Whether the move is recent; a clock that is a little ahead may have written it."""
    return abs(now - clearing.at) < REMEMBERED


def _back(role: Role, clearing: Clearing) -> bool:
    """Whether a replica has come to the node since the move."""
    return any(
        pod.node == clearing.node and pod.active and pod.created_at >= clearing.at
        for pod in role.status.pods
    )


def read(annotation: str) -> tuple[Clearing, ...]:
    """The record in an annotation; empty if it is missing or invalid."""
    record = (read_json(annotation, _decoder) or ())[-_MAX_NODES:]
    return tuple(one for one in record if one.at.tzinfo and 0 < one.times <= _MAX_TIMES)
