"""Decodes Karpenter's NodePools: their limits, and the capacity of their nodes."""

from collections.abc import Iterator
from typing import Final, TypeAlias

import msgspec

from edl.kube.decode.schemas import ObjectMeta, ObjectPart
from edl.quantities import Amount, Resources

_Amounts: TypeAlias = dict[str, str | int | float]


class NodePoolFacts(msgspec.Struct, frozen=True):
    """A NodePool, with what Karpenter says of its nodes."""

    name: str = ""
    limits: tuple[tuple[str, Amount], ...] = ()
    """(resource, amount) sorted by name; a limit of zero is kept."""
    used: Resources = Resources()
    """`status.resources`, which Karpenter renews every 5 s: NodeClaims count from their launch on,
    but nodes that it removes no longer do."""


class _Spec(ObjectPart, frozen=True):
    limits: _Amounts | None = None


class _Status(ObjectPart, frozen=True):
    resources: _Amounts | None = None


class _NodePool(ObjectPart, frozen=True):
    metadata: ObjectMeta
    spec: _Spec = _Spec()
    status: _Status = _Status()


_decoder: Final = msgspec.json.Decoder(_NodePool)


def node_pool(raw: bytes) -> NodePoolFacts:
    """A limit that cannot be read, or whose usage cannot be read, does not count."""
    try:
        pool = _decoder.decode(raw)
    except msgspec.ValidationError:
        return NodePoolFacts()
    limits, resources = _readable(pool.spec.limits), pool.status.resources or {}
    used = _readable(resources)
    unknown = resources.keys() - used.keys()
    counted = ((name, limit) for name, limit in sorted(limits.items()) if name not in unknown)
    return NodePoolFacts(pool.metadata.name, tuple(counted), Resources.of(used))


def _readable(amounts: _Amounts | None) -> dict[str, int]:
    return dict(_amounts(amounts or {}))


def _amounts(amounts: _Amounts) -> Iterator[tuple[str, int]]:
    for name, text in amounts.items():
        try:
            yield name, Resources.parse({name: text}).get(name)
        except ValueError:
            continue
