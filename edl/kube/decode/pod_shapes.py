"""Decodes what the scheduler reads of a pod's spec to a `Shape`; equal shapes are one object."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec
from msgspec.structs import replace

from edl import contract
from edl.contract import pod_limits
from edl.contract.pod_limits import PodCount
from edl.kube.decode import pod_affinity
from edl.kube.decode.node_selector import NODE_NAME, both, terms
from edl.kube.decode.pod_affinity import NO_IDENTITY, PodIdentity
from edl.kube.decode.schemas import (
    Container,
    ContainerInEffect,
    PodResourceClaim,
    PodSpec,
    PodStatus,
    RawJson,
    RequestedResources,
)
from edl.model import ClaimRef, Requirement, Shape, Share, Toleration
from edl.model.nodes import CORDONED
from edl.quantities import SHARED_GPU, Resources, pod_requests, quantity
from edl.writes import Json

_MAX_SHAPES: Final = 8192
_MAX_IDENTITIES: Final = 65536
_MAX_LABELS: Final = 64
"""Labels of a pod; the identity of a pod with more is not cached."""
_LONGEST: Final = 16 * 1024
"""Bytes of a shape's source that are kept as a cache key: users may write a megabyte."""
_specs: Final = msgspec.json.Decoder(PodSpec)
_resources: Final = msgspec.json.Decoder(RequestedResources | None)
_statuses: Final = msgspec.json.Decoder(list[ContainerInEffect] | None)
_PENDING: Final = "PodResizePending"
_IN_PROGRESS: Final = "PodResizeInProgress"
_OF_BOUND_PODS: Final = (
    Toleration(operator="Exists", effect="NoSchedule"),
    Toleration(CORDONED, "Exists", effect="NoSchedule"),
)
"""What pods tolerate in effect that kube-scheduler does not bind."""
_Key: TypeAlias = tuple[bytes, ...]
NamedRequests: TypeAlias = tuple[tuple[str, Resources], ...]
"""The requests of containers, by the container's name."""


class ShapeInterner:
    """Shapes by the JSON they came from: pods of one template cost one look-up each.

    Beyond `most` entries the cache is cleared; shapes in use stay valid.
    """

    def __init__(self, most: int = _MAX_SHAPES) -> None:
        self._most = most
        self._by_json: dict[_Key, Shape] = {}
        self._interned: dict[Shape, Shape] = {}
        self._ruled: dict[tuple[Shape, PodIdentity, _Key], Shape] = {}
        self._identities: dict[PodIdentity, PodIdentity] = {}
        self._containers: dict[tuple[tuple[str, bytes], ...], NamedRequests] = {}

    def __len__(self) -> int:
        """The number of distinct shapes that are kept."""
        return len(self._interned)

    def identity(self, namespace: str, labels: Mapping[str, str]) -> PodIdentity:
        """A pod as selectors see it: one object for all pods of a template."""
        if len(self._identities) >= _MAX_IDENTITIES:
            self._identities.clear()
        identity = pod_affinity.identity(namespace, labels)
        if len(labels) > _MAX_LABELS:
            return identity
        return self._identities.setdefault(identity, identity)

    def containers(self, spec: PodSpec) -> NamedRequests:
        """The containers that run beside each other: one object for all pods of a template."""
        sidecars = (one for one in spec.init_containers or () if one.restart_policy == "Always")
        key = tuple((one.name, bytes(one.resources)) for one in (*spec.containers, *sidecars))
        if (cached := self._containers.get(key)) is not None:
            return cached
        named = tuple((name, _asked(resources)) for name, resources in key)
        if sum(len(name) + len(resources) for name, resources in key) > _LONGEST:
            return named
        if len(self._containers) >= self._most:
            self._containers.clear()
        return self._containers.setdefault(key, named)

    def of(
        self,
        spec: PodSpec,
        identity: PodIdentity = NO_IDENTITY,
        share: Share | None = None,
        claims: tuple[ClaimRef, ...] = (),
    ) -> Shape:
        """The shape of a pod.

        `share` is its request of shared GPUs, `claims` its ResourceClaims.
        """
        shape = self._alone(spec, share, claims)
        asked = pod_affinity.asked(spec)
        return self._beside(shape, spec, identity, asked) if asked else shape

    def _beside(self, shape: Shape, spec: PodSpec, identity: PodIdentity, asked: _Key) -> Shape:
        """The shape with its rules about other pods, if it has any."""
        key = (shape, identity, asked)
        if (cached := self._ruled.get(key)) is not None:
            return cached
        if len(self._ruled) >= self._most:
            self._ruled.clear()
        constraints = pod_affinity.rules(_json(spec), identity)
        ruled = replace(shape, constraints=constraints) if constraints else shape
        if _is_long(asked):
            return ruled
        self._ruled[key] = self._shared(ruled)
        return self._ruled[key]

    def _alone(self, spec: PodSpec, share: Share | None, claims: tuple[ClaimRef, ...]) -> Shape:
        key = (*_key(spec), _text(share), _text(claims))
        if (cached := self._by_json.get(key)) is not None:
            return cached
        shape = _shape(_json(spec), share, claims)
        if _is_long(key):
            return shape
        if len(self._by_json) >= self._most:
            self._by_json.clear()
        self._by_json[key] = self._shared(shape)
        return self._by_json[key]

    def of_json(
        self, spec: Json, share: Share | None = None, identity: PodIdentity = NO_IDENTITY
    ) -> Shape:
        """The shape of a decoded `spec` of a pod template, with all claims that it names.

        A `nodeName` in it binds pods without kube-scheduler: they can only use that node, whether
        or not it is cordoned or has taints with the effect NoSchedule, which kubelets ignore.
        """
        template = _specs.decode(msgspec.json.encode(spec))
        refs = (claim_ref(identity.namespace, claim) for claim in template.resource_claims or ())
        shape = self.of(template, identity, share, tuple(ref for ref in refs if ref))
        if not template.node_name:
            return shape
        only = ((Requirement(NODE_NAME, "In", (template.node_name,)),),)
        tolerations = (*shape.tolerations, *_OF_BOUND_PODS)
        bound = replace(shape, affinity=both(shape.affinity, only), tolerations=tolerations)
        return self._shared(bound)

    def _shared(self, shape: Shape) -> Shape:
        """The same object for all equal shapes, which makes comparisons fast."""
        if len(self._interned) >= self._most:
            self._interned.clear()
        return self._interned.setdefault(shape, shape)


def _shape(spec: Json, share: Share | None, claims: tuple[ClaimRef, ...]) -> Shape:
    return Shape(
        requests=pod_requests(spec) + Resources.of({SHARED_GPU: share.compute if share else 0}),
        share=share,
        node_selector=tuple(sorted((spec.get("nodeSelector") or {}).items())),
        tolerations=tuple(_toleration(entry) for entry in spec.get("tolerations") or ()),
        affinity=_affinity(spec),
        claims=claims,
    )


def _asked(resources: bytes) -> Resources:
    """What a container requests; by default its limits."""
    amounts = _resources.decode(resources) or RequestedResources()
    return Resources.parse({**(amounts.limits or {}), **(amounts.requests or {})})


def _key(spec: PodSpec) -> _Key:
    inits = spec.init_containers or ()
    return (
        *(bytes(container.resources) for container in spec.containers),
        *(container.restart_policy.encode() + bytes(container.resources) for container in inits),
        len(inits).to_bytes(4),
        *(bytes(part) for part in _parts(spec).values()),
    )


def _is_long(key: _Key) -> bool:
    return sum(map(len, key)) > _LONGEST


def _text(part: Share | tuple[ClaimRef, ...] | None) -> bytes:
    return repr(part).encode() if part else b""


def claim_ref(namespace: str, claim: PodResourceClaim) -> ClaimRef | None:
    """The claim of an entry of a pod's spec; None if it names neither a claim nor a template."""
    if claim.resource_claim_name:
        return ClaimRef(namespace, claim.resource_claim_name)
    template = claim.resource_claim_template_name
    return ClaimRef(namespace, template, template=True) if template else None


def counted(spec: PodSpec, status: PodStatus) -> PodSpec:
    """The spec with the requests that kube-scheduler counts while the pod is resized in place.

    The most of the spec, of what the kubelet has allocated, and of what is in effect; without the
    spec if its node can never allocate it (docs/kubernetes.md 30).
    """
    resizing = [one for one in status.conditions or () if one.type in (_PENDING, _IN_PROGRESS)]
    if not resizing:
        return spec
    infeasible = (_PENDING, "Infeasible") in ((one.type, one.reason) for one in resizing)
    texts = (status.container_statuses, status.init_container_statuses)
    states = {one.name: one for text in texts for one in _statuses.decode(text) or ()}

    def all_of(containers: Sequence[Container]) -> list[Container]:
        return [_in_effect(one, states.get(one.name), infeasible=infeasible) for one in containers]

    inits = None if spec.init_containers is None else all_of(spec.init_containers)
    return replace(spec, containers=all_of(spec.containers), init_containers=inits)


def _in_effect(
    container: Container, status: ContainerInEffect | None, *, infeasible: bool
) -> Container:
    # kube-scheduler counts the spec until the kubelet reports what is in effect.
    if status is None or status.resources is None:
        return container
    resources = _resources.decode(container.resources) or RequestedResources()
    asked = {} if infeasible else {**(resources.limits or {}), **(resources.requests or {})}
    amounts = (asked, status.allocated_resources or {}, status.resources.requests or {})
    most = {
        name: max((entry[name] for entry in amounts if name in entry), key=quantity)
        for name in sorted({name for entry in amounts for name in entry})
    }
    return replace(container, resources=msgspec.Raw(msgspec.json.encode({"requests": most})))


def followed(spec: PodSpec, labels: Mapping[str, str]) -> tuple[PodSpec, PodCount | None]:
    """The spec, without rules if it has too many of a kind (`pod_limits`), and that kind."""
    if pod_affinity.asks_for_little(spec, labels):
        return spec, None
    decoded = _json(spec) | {
        "volumes": msgspec.json.decode(spec.volumes),
        "resourceClaims": [*(spec.resource_claims or ())],
    }
    excess = next(pod_limits.excess(labels, decoded, pod_limits.ADDED), None)
    return (pod_affinity.without_rules(spec) if excess else spec), excess


def _parts(spec: PodSpec) -> Mapping[str, RawJson]:
    return {
        "resources": spec.resources,
        "overhead": spec.overhead,
        "nodeSelector": spec.node_selector,
        "tolerations": spec.tolerations,
        "affinity": spec.affinity,
        "topologySpreadConstraints": spec.topology_spread_constraints,
    }


def _json(spec: PodSpec) -> Json:
    decoded = {name: msgspec.json.decode(part) for name, part in _parts(spec).items()}
    return decoded | {
        "hostNetwork": spec.host_network,
        "containers": _containers(spec.containers),
        "initContainers": _containers(spec.init_containers or ()),
    }


def _containers(containers: Sequence[Container]) -> list[Json]:
    return [
        {
            "resources": msgspec.json.decode(container.resources),
            "ports": msgspec.json.decode(container.ports),
            "restartPolicy": container.restart_policy,
        }
        for container in containers
    ]


def _toleration(entry: Mapping[str, Any]) -> Toleration:
    return Toleration(
        key=entry.get("key") or "",
        operator=entry.get("operator") or "Equal",
        value=entry.get("value") or "",
        effect=entry.get("effect") or "",
        seconds=entry.get("tolerationSeconds"),
    )


def _affinity(spec: Json) -> tuple[tuple[Requirement, ...], ...]:
    """The alternatives of the required node affinity."""
    node_affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = node_affinity.get(contract.REQUIRED_AFFINITY)
    return terms(required) if required else ()
