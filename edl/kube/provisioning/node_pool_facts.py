"""Decodes Karpenter's NodePools: their limits, their template, and the capacity of their nodes."""

from collections.abc import Iterator
from typing import Final, TypeAlias

import msgspec

from edl.contract import NODE_POOL, pod_limits
from edl.kube.decode.schemas import ObjectMeta, ObjectPart, RawJson
from edl.model import Requirement, Taint
from edl.model.nodes import NODES, NodePoolTemplate
from edl.quantities import Amount, Resources

_Amounts: TypeAlias = dict[str, str | int | float]


class NodePoolFacts(msgspec.Struct, frozen=True):
    """A NodePool, with what Karpenter says of its nodes."""

    name: str = ""
    limits: tuple[tuple[str, Amount], ...] = ()
    """(resource, amount) sorted by name; a limit of zero is kept. The replicas of a static NodePool
    limit its nodes."""
    used: Resources = Resources()
    """`status.resources`, which Karpenter renews every 5 s: NodeClaims count from their launch on,
    but nodes that it removes no longer do."""
    template: NodePoolTemplate | None = None
    """None if it is absent or cannot be read, or has more entries than are compared."""


class _Spec(ObjectPart, frozen=True):
    limits: _Amounts | None = None
    replicas: int | None = None
    template: RawJson = RawJson(b"null")


class _Status(ObjectPart, frozen=True):
    resources: _Amounts | None = None


class _NodePool(ObjectPart, frozen=True):
    metadata: ObjectMeta
    spec: _Spec = _Spec()
    status: _Status = _Status()


class _Labels(ObjectPart, frozen=True):
    labels: dict[str, str] | None = None


class _Need(ObjectPart, frozen=True):
    key: str
    operator: str
    values: tuple[str, ...] | None = None


class _Nodes(ObjectPart, frozen=True):
    taints: tuple[Taint, ...] | None = None
    requirements: tuple[_Need, ...] | None = None


class _Template(ObjectPart, frozen=True):
    """Startup taints are left out: Karpenter expects that they are removed."""

    spec: _Nodes
    metadata: _Labels = _Labels()


_decoder: Final = msgspec.json.Decoder(_NodePool)
_template_decoder: Final = msgspec.json.Decoder(_Template)


def node_pool(raw: bytes) -> NodePoolFacts:
    """A limit that cannot be read, or whose usage cannot be read, does not count."""
    try:
        pool = _decoder.decode(raw)
    except msgspec.ValidationError:
        return NodePoolFacts()
    limits, resources = _limits(pool.spec), pool.status.resources or {}
    used = _readable(resources)
    unknown = resources.keys() - used.keys()
    counted = ((name, limit) for name, limit in sorted(limits.items()) if name not in unknown)
    template = _template(pool.spec.template, pool.metadata.name)
    return NodePoolFacts(pool.metadata.name, tuple(counted), Resources.of(used), template)


def _limits(spec: _Spec) -> dict[str, int]:
    """What may be added at most. Karpenter adds nodes of a static NodePool up to its replicas."""
    limits = _readable(spec.limits)
    if spec.replicas is not None:
        limits[NODES] = min(spec.replicas, limits.get(NODES, spec.replicas))
    return limits


def _template(raw: RawJson, pool: str) -> NodePoolTemplate | None:
    try:
        read = _template_decoder.decode(raw)
    except msgspec.ValidationError:
        return None
    taints, needs = read.spec.taints or (), read.spec.requirements or ()
    labels = (read.metadata.labels or {}) | {NODE_POOL: pool}
    values = sum(len(need.values or ()) for need in needs)
    if len(taints) + len(needs) + len(labels) > pod_limits.MAX_LABELS:
        return None
    if values > pod_limits.MAX_VALUES:
        return None
    requirements = [Requirement(key, "In", (value,)) for key, value in labels.items()]
    requirements += [Requirement(one.key, one.operator, one.values or ()) for one in needs]
    return NodePoolTemplate(taints, tuple(requirements))


def _readable(amounts: _Amounts | None) -> dict[str, int]:
    return dict(_amounts(amounts or {}))


def _amounts(amounts: _Amounts) -> Iterator[tuple[str, int]]:
    for name, text in amounts.items():
        try:
            yield name, Resources.parse({name: text}).get(name)
        except ValueError:
            continue
