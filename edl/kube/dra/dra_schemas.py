"""The parts of `resource.k8s.io/v1` objects that we read, in the API's own names."""

from typing import TypeAlias

import msgspec

from edl.kube.decode.schemas import ClaimMetadata, Metadata, Owner, Part, Undecoded

_NONE = msgspec.Raw(b"null")


class Attribute(Part, frozen=True):
    """One of these is set. `version` is a semantic version."""

    text: str | None = msgspec.field(name="string", default=None)
    number: int | None = msgspec.field(name="int", default=None)
    flag: bool | None = msgspec.field(name="bool", default=None)
    version: str | None = None


class Capacity(Part, frozen=True):
    value: str = "0"


class Counters(Part, frozen=True):
    """A pool's set of counters by its name, or what a device takes of one."""

    name: str = ""
    counter_set: str = ""
    counters: dict[str, Capacity] | None = None


class DeviceTaint(Part, frozen=True):
    key: str = ""
    value: str = ""
    effect: str = ""


class DeviceObject(Part, frozen=True):
    """A device of a ResourceSlice; where its pool's devices differ in their nodes, with its own."""

    name: str
    attributes: dict[str, Attribute] | None = None
    capacity: dict[str, Capacity] | None = None
    taints: list[DeviceTaint] | None = None
    node_name: str = ""
    node_selector: Undecoded = _NONE
    all_nodes: bool = False
    consumes_counters: list[Counters] | None = None


class Pool(Part, frozen=True):
    name: str
    generation: int = 0
    resource_slice_count: int = 1


class SliceSpec(Part, frozen=True):
    driver: str
    pool: Pool
    node_name: str = ""
    node_selector: Undecoded = _NONE
    all_nodes: bool = False
    per_device_node_selection: bool = False
    devices: Undecoded = _NONE
    shared_counters: list[Counters] | None = None


class ResourceSliceObject(Part, frozen=True):
    metadata: Metadata
    spec: SliceSpec


class Cel(Part, frozen=True):
    expression: str = ""


class DeviceSelector(Part, frozen=True):
    cel: Cel = Cel()


class TimedMetadata(Metadata, frozen=True):
    creation_timestamp: str = ""


class ClassSpec(Part, frozen=True):
    selectors: list[DeviceSelector] | None = None
    extended_resource_name: str = ""


class DeviceClassObject(Part, frozen=True):
    metadata: TimedMetadata
    spec: ClassSpec = ClassSpec()


class DeviceToleration(Part, frozen=True):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class Ask(Part, frozen=True):
    """What a request asks for exactly, or one of its alternatives."""

    device_class_name: str = ""
    selectors: list[DeviceSelector] | None = None
    allocation_mode: str = "ExactCount"
    count: int = 1
    admin_access: bool = False
    tolerations: list[DeviceToleration] | None = None


class DeviceRequest(Part, frozen=True):
    name: str = ""
    exactly: Ask | None = None
    first_available: list[Ask] | None = None


class DeviceClaim(Part, frozen=True):
    requests: list[DeviceRequest] | None = None
    constraints: Undecoded = _NONE


class ClaimSpec(Part, frozen=True):
    devices: DeviceClaim = DeviceClaim()


class TemplateSpec(Part, frozen=True):
    spec: ClaimSpec = ClaimSpec()


class ResourceClaimTemplateObject(Part, frozen=True):
    metadata: Metadata
    spec: TemplateSpec = TemplateSpec()


class Allocated(Part, frozen=True):
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool = False


class AllocatedDevices(Part, frozen=True):
    results: list[Allocated] | None = None


class Allocation(Part, frozen=True):
    devices: AllocatedDevices = AllocatedDevices()
    node_selector: Undecoded = _NONE


class Consumer(Part, frozen=True):
    resource: str = ""
    name: str = ""


class ClaimState(Part, frozen=True):
    allocation: Allocation | None = None
    reserved_for: list[Consumer] | None = None


class NamedOwner(Owner, frozen=True):
    name: str = ""


class OwnedMetadata(ClaimMetadata, frozen=True):
    owner_references: list[NamedOwner] | None = None


class ResourceClaimObject(Part, frozen=True):
    metadata: OwnedMetadata
    spec: ClaimSpec = ClaimSpec()
    status: ClaimState = ClaimState()


Requests: TypeAlias = tuple[DeviceRequest, ...]
