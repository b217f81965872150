"""The facts of objects of dynamic resource allocation, decoded once per version."""

from sys import intern
from typing import Any, Final

import msgspec

from edl.kube.cluster import ObjectKey
from edl.kube.decode.node_selector import terms
from edl.kube.decode.schemas import RawJson
from edl.kube.dra.device_partitions import CounterAmounts, amounts
from edl.kube.dra.dra_schemas import (
    DeviceClassObject,
    DeviceSelector,
    ExactDeviceRequest,
    ResourceClaimObject,
    ResourceClaimSpec,
    ResourceClaimTemplateObject,
    ResourceSliceObject,
)
from edl.model import Requirement, Toleration

_slices: Final = msgspec.json.Decoder(ResourceSliceObject)
_classes: Final = msgspec.json.Decoder(DeviceClassObject)
_claims: Final = msgspec.json.Decoder(ResourceClaimObject)
_templates: Final = msgspec.json.Decoder(ResourceClaimTemplateObject)
_ALL: Final = "All"

Affinity = tuple[tuple[Requirement, ...], ...]
"""Alternatives, each a conjunction, as in `Shape`; without any, all nodes."""


class DeviceKind(msgspec.Struct, frozen=True, gc=False, order=True):
    """Which devices satisfy a request: a DeviceClass, and the request's own conditions."""

    device_class: str
    selectors: tuple[str, ...] = ()
    """CEL expressions; a device must match all of them."""
    tolerations: tuple[Toleration, ...] = ()


class DeviceCount(msgspec.Struct, frozen=True, gc=False):
    """A number of devices of a kind; 0 for all of a node (`allocationMode: All`)."""

    kind: DeviceKind
    count: int


class RequestedDevices(msgspec.Struct, frozen=True, gc=False):
    """What a claim requests: for each entry, the first alternative that can be satisfied."""

    requests: tuple[tuple[DeviceCount, ...], ...] = ()
    constrained: bool = False
    """The claim has constraints on its devices, such as a common attribute."""


class DeviceId(msgspec.Struct, frozen=True, gc=False, order=True):
    """A device as allocations name it."""

    driver: str
    pool: str
    name: str


class ResourceSliceFacts(msgspec.Struct, frozen=True, gc=False):
    """A ResourceSlice. `devices` is JSON, which is decoded when the devices are counted."""

    name: str
    driver: str
    pool: str
    generation: int
    slices: int
    """Slices in the pool's generation; while some are missing, no device of the pool is
    allocated."""
    node: str = ""
    nodes: Affinity | None = None
    """None if `node` names the node, or if each device names its own."""
    devices: bytes = b"null"
    counters: CounterAmounts = ()
    """Counters that the devices of the pool share."""


class DeviceClassFacts(msgspec.Struct, frozen=True, gc=False):
    name: str
    created_at: str = ""
    selectors: tuple[str, ...] = ()
    extended: str = ""
    """The extended resource name that stands for the class."""


class ResourceClaimFacts(msgspec.Struct, frozen=True, gc=False):
    namespace: str
    name: str
    owner: str = ""
    """The pod that the claim was created for; empty for a claim that pods name."""
    requested: RequestedDevices = RequestedDevices()
    """The requests of a claim that pods name; those of other claims are in their templates."""
    allocated: bool = False
    devices: tuple[DeviceId, ...] = ()
    """Devices that the claim holds (without adminAccess)."""
    nodes: Affinity = ()
    """The nodes that can use its devices; empty for all."""
    pods: tuple[str, ...] = ()
    """The pods that the claim is reserved for."""
    leaving: bool = False


def resource_slice(raw: bytes) -> ResourceSliceFacts:
    decoded = _slices.decode(raw)
    spec = decoded.spec
    local = spec.node_name or spec.per_device_node_selection
    return ResourceSliceFacts(
        name=decoded.metadata.name,
        driver=intern(spec.driver),
        pool=intern(spec.pool.name),
        generation=spec.pool.generation,
        slices=spec.pool.resource_slice_count,
        node=intern(spec.node_name),
        nodes=None if local else reach(spec.node_selector, everywhere=spec.all_nodes),
        devices=bytes(spec.devices),
        counters=amounts(spec.driver, spec.pool.name, spec.shared_counters),
    )


def reach(selector: RawJson, *, everywhere: bool) -> Affinity:
    """The nodes that can use a device that belongs to no single node."""
    return () if everywhere else terms(msgspec.json.decode(selector) or {})


def device_class(raw: bytes) -> DeviceClassFacts:
    obj = _classes.decode(raw)
    return DeviceClassFacts(
        name=obj.metadata.name,
        created_at=obj.metadata.creation_timestamp,
        selectors=_selectors(obj.spec.selectors),
        extended=obj.spec.extended_resource_name,
    )


def resource_claim(raw: bytes) -> ResourceClaimFacts:
    obj = _claims.decode(raw)
    owners = obj.metadata.owner_references or ()
    owner = next((owner.name for owner in owners if owner.kind == "Pod" and owner.controller), "")
    allocation = obj.status.allocation
    results = (allocation.devices.results if allocation else None) or ()
    return ResourceClaimFacts(
        namespace=obj.metadata.namespace,
        name=obj.metadata.name,
        owner=owner,
        requested=RequestedDevices() if owner else requested(obj.spec),
        allocated=allocation is not None,
        devices=tuple(
            DeviceId(intern(result.driver), intern(result.pool), intern(result.device))
            for result in results
            if not result.admin_access
        ),
        nodes=() if owner or allocation is None else _terms(allocation.node_selector),
        pods=tuple(one.name for one in obj.status.reserved_for or () if one.resource == "pods"),
        leaving=obj.metadata.deletion_timestamp is not None,
    )


def template(raw: bytes) -> RequestedDevices:
    return requested(_templates.decode(raw).spec.spec)


def requested(spec: ResourceClaimSpec) -> RequestedDevices:
    """What a claim with this spec requests. Requests with adminAccess hold no device."""
    choices = (
        [request.exactly] if request.exactly else request.first_available or []
        for request in spec.devices.requests or ()
    )
    return RequestedDevices(
        tuple(
            tuple(map(_wanted, requests))
            for requests in choices
            if requests and not any(request.admin_access for request in requests)
        ),
        constrained=bool(msgspec.json.decode(spec.devices.constraints)),
    )


def _wanted(request: ExactDeviceRequest) -> DeviceCount:
    tolerations = tuple(request.tolerations or ())
    kind = DeviceKind(request.device_class_name, _selectors(request.selectors), tolerations)
    return DeviceCount(kind, 0 if request.allocation_mode == _ALL else request.count)


def _selectors(selectors: list[DeviceSelector] | None) -> tuple[str, ...]:
    return tuple(selector.cel.expression for selector in selectors or ())


def _terms(selector: RawJson) -> Affinity:
    node_selector: Any = msgspec.json.decode(selector)
    return terms(node_selector) if node_selector else ()


def holders_of(claim: ResourceClaimFacts) -> set[ObjectKey]:
    """The pods that hold the devices of a claim."""
    names = {claim.owner} if claim.owner else set(claim.pods)
    return {ObjectKey(claim.namespace, name) for name in names}


def name_of(facts: ResourceClaimFacts) -> ObjectKey:
    return ObjectKey(facts.namespace, facts.name)
