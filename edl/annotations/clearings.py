"""Replicas that were moved off a node for a pod that may use few nodes: how often they came back.

Another one of the role takes the place of each that is moved, wherever kube-scheduler puts it. If
that is the same node again, moving it frees nothing. The reconciler counts on the Job, so that
the next leader continues to count.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from edl.model import Clearing, Role

REMEMBERED: Final = timedelta(minutes=10)
"""After this time it is tried again: the cluster may have changed."""
_TRIES: Final = 3
"""One replica may slip in beside the pod that it is moved for: that happens once, or twice."""
_MOST: Final = 32
"""Nodes that are remembered, the latest."""
_MOST_TIMES: Final = 10**6
"""A larger count was not written by the reconciler."""
_decoder: Final = msgspec.json.Decoder(tuple[Clearing, ...])


def cleared(role: Role, nodes: Sequence[str], now: datetime) -> tuple[Clearing, ...]:
    """What is known once replicas of this role have been moved off these nodes."""
    before = {
        one.node: one for one in role.record.cleared if one.node not in nodes and _counts(one, now)
    }
    again = {
        one.node: one.times for one in role.record.cleared if _counts(one, now) and _back(role, one)
    }
    found = [Clearing(node, again.get(node, 0) + 1, now) for node in dict.fromkeys(nodes)]
    return tuple([*before.values(), *found][-_MOST:])


def exhausted(role: Role) -> Iterator[Clearing]:
    """The nodes off which replicas of this role are moved no more while that is remembered."""
    return (one for one in role.record.cleared if one.times >= _TRIES and _back(role, one))


def _counts(one: Clearing, now: datetime) -> bool:
    """Also if it was written by a clock that is a little ahead."""
    return abs(now - one.at) < REMEMBERED


def _back(role: Role, one: Clearing) -> bool:
    """Whether a replica came to the node since."""
    return any(
        pod.node == one.node and pod.active and pod.created_at >= one.at for pod in role.status.pods
    )


def text(found: tuple[Clearing, ...]) -> str:
    """The annotation that keeps it."""
    return msgspec.json.encode(found).decode()


def read(annotation: str) -> tuple[Clearing, ...]:
    """Empty if it is missing or invalid."""
    try:
        found = _decoder.decode(annotation)
    except (msgspec.MsgspecError, RecursionError):
        return ()
    return tuple(one for one in found[-_MOST:] if one.at.tzinfo and 0 < one.times <= _MOST_TIMES)
