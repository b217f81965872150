"""The parts of `resource.k8s.io/v1` objects that are read, under the API's own names."""

from decimal import Decimal

import msgspec

from edl.kube.decode.schemas import ObjectMeta, ObjectPart, OwnerReference, RawJson
from edl.model import Taint, Toleration
from edl.quantities import quantity

_NONE = msgspec.Raw(b"null")


class DeviceAttribute(ObjectPart, frozen=True):
    """An attribute: exactly one of these fields is set. `version` is a semantic version."""

    text: str | None = msgspec.field(name="string", default=None)
    number: int | None = msgspec.field(name="int", default=None)
    flag: bool | None = msgspec.field(name="bool", default=None)
    version: str | None = None


class DeviceCapacity(ObjectPart, frozen=True):
    value: str = "0"

    @property
    def amount(self) -> Decimal:
        """The amount; 0 if `value` is not a quantity."""
        try:
            return quantity(self.value)
        except ValueError:
            return Decimal(0)


class CounterSet(ObjectPart, frozen=True):
    """A counter set of a pool, by its `name`, or what a device takes of one, by `counter_set`."""

    name: str = ""
    counter_set: str = ""
    counters: dict[str, DeviceCapacity] | None = None


class DeviceObject(ObjectPart, frozen=True):
    """A device of a ResourceSlice. It names its own nodes if the slice selects nodes per device."""

    name: str
    attributes: dict[str, DeviceAttribute] | None = None
    capacity: dict[str, DeviceCapacity] | None = None
    taints: list[Taint] | None = None
    node_name: str = ""
    node_selector: RawJson = _NONE
    all_nodes: bool = False
    allow_multiple_allocations: bool = False
    consumes_counters: list[CounterSet] | None = None


class ResourcePool(ObjectPart, frozen=True):
    name: str
    generation: int = 0
    resource_slice_count: int = 1


class ResourceSliceSpec(ObjectPart, frozen=True):
    driver: str
    pool: ResourcePool
    node_name: str = ""
    node_selector: RawJson = _NONE
    all_nodes: bool = False
    per_device_node_selection: bool = False
    devices: RawJson = _NONE
    shared_counters: list[CounterSet] | None = None


class ResourceSliceObject(ObjectPart, frozen=True):
    metadata: ObjectMeta
    spec: ResourceSliceSpec


class CelDeviceSelector(ObjectPart, frozen=True):
    expression: str = ""


class DeviceSelector(ObjectPart, frozen=True):
    cel: CelDeviceSelector = CelDeviceSelector()


class TimedMetadata(ObjectMeta, frozen=True):
    creation_timestamp: str = ""


class DeviceClassSpec(ObjectPart, frozen=True):
    selectors: list[DeviceSelector] | None = None
    extended_resource_name: str = ""


class DeviceClassObject(ObjectPart, frozen=True):
    metadata: TimedMetadata
    spec: DeviceClassSpec = DeviceClassSpec()


class ExactDeviceRequest(ObjectPart, frozen=True):
    """What a request asks for exactly, or one of its alternatives."""

    device_class_name: str = ""
    selectors: list[DeviceSelector] | None = None
    allocation_mode: str = "ExactCount"
    count: int = 1
    admin_access: bool = False
    tolerations: list[Toleration] | None = None


class DeviceRequest(ObjectPart, frozen=True):
    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: list[ExactDeviceRequest] | None = None


class DeviceClaim(ObjectPart, frozen=True):
    requests: list[DeviceRequest] | None = None
    constraints: RawJson = _NONE


class ResourceClaimSpec(ObjectPart, frozen=True):
    devices: DeviceClaim = DeviceClaim()


class ResourceClaimTemplateSpec(ObjectPart, frozen=True):
    spec: ResourceClaimSpec = ResourceClaimSpec()


class ResourceClaimTemplateObject(ObjectPart, frozen=True):
    metadata: ObjectMeta
    spec: ResourceClaimTemplateSpec = ResourceClaimTemplateSpec()


class DeviceRequestAllocationResult(ObjectPart, frozen=True):
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool = False


class DeviceAllocationResult(ObjectPart, frozen=True):
    results: list[DeviceRequestAllocationResult] | None = None


class AllocationResult(ObjectPart, frozen=True):
    devices: DeviceAllocationResult = DeviceAllocationResult()
    node_selector: RawJson = _NONE


class ConsumerReference(ObjectPart, frozen=True):
    resource: str = ""
    name: str = ""


class ResourceClaimStatus(ObjectPart, frozen=True):
    allocation: AllocationResult | None = None
    reserved_for: list[ConsumerReference] | None = None


class NamedOwner(OwnerReference, frozen=True):
    name: str = ""


class OwnedMetadata(ObjectMeta, frozen=True):
    owner_references: list[NamedOwner] | None = None


class ResourceClaimObject(ObjectPart, frozen=True):
    metadata: OwnedMetadata
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()
