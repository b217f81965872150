"""Decodes Karpenter's NodePools: their limits, and the capacity of their nodes."""

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

import msgspec

from edl.kube.decode.schemas import ObjectPart
from edl.model import NodePoolHeadroom
from edl.quantities import Resources

_Amounts: TypeAlias = dict[str, str | int | float]


class _Spec(ObjectPart, frozen=True):
    limits: _Amounts | None = None


class _Status(ObjectPart, frozen=True):
    resources: _Amounts | None = None
    """The capacity of all its nodes, including those that are being created."""


class _NodePool(ObjectPart, frozen=True):
    spec: _Spec = _Spec()
    status: _Status = _Status()


_decoder: Final = msgspec.json.Decoder(_NodePool)


def headroom(raw: bytes) -> NodePoolHeadroom:
    """What may be added to a pool; limits that cannot be read do not count."""
    try:
        found = _decoder.decode(raw)
    except msgspec.ValidationError:
        return NodePoolHeadroom()
    limits, used = found.spec.limits or {}, found.status.resources or {}
    return NodePoolHeadroom(tuple(_headroom(limits, used)))


def _headroom(
    limits: Mapping[str, str | float], used: Mapping[str, str | float]
) -> Iterator[tuple[str, int]]:
    for name, limit in sorted(limits.items()):
        try:
            left = Resources.parse({name: limit}) - Resources.parse({name: used.get(name, 0)})
        except ValueError:
            continue
        yield name, max(left.get(name), 0)
