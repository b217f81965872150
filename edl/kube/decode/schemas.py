"""The parts of Kubernetes objects that we read; msgspec skips everything else undecoded.

Field names are the API's own, in snake case; for Jobs, which `edl.spec.parser` reads as
manifests, as they are there.
"""

from datetime import datetime
from typing import Any, Final, TypeAlias, TypedDict

import msgspec

from edl import contract


class Part(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A part of an object; its subclasses repeat `frozen` because mypy does not inherit it."""


class Owner(Part, frozen=True):
    api_version: str
    kind: str
    uid: str
    controller: bool = False


class Metadata(Part, frozen=True):
    name: str
    namespace: str = ""
    resource_version: str = ""
    labels: dict[str, str] | None = None


class TaggedMetadata(Metadata, frozen=True):
    uid: str = ""


class Tagged(Part, frozen=True):
    """Any object of which only the labels and the identity matter."""

    metadata: TaggedMetadata


class NamespaceMetadata(Metadata, frozen=True):
    annotations: dict[str, str] | None = None


class NamespaceObject(Part, frozen=True):
    metadata: NamespaceMetadata


class TaintPart(Part, frozen=True):
    key: str
    effect: str
    value: str = ""


class Condition(Part, frozen=True):
    type: str
    status: str
    last_transition_time: datetime | None = None


class NodeSpec(Part, frozen=True):
    unschedulable: bool = False
    taints: list[TaintPart] | None = None


class NodeStatus(Part, frozen=True):
    allocatable: dict[str, str] | None = None
    conditions: list[Condition] | None = None


class NodeObject(Part, frozen=True):
    metadata: Metadata
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class PriorityClassObject(Part, frozen=True):
    metadata: Metadata
    value: int = 0
    global_default: bool = False


class OverheadPart(Part, frozen=True):
    pod_fixed: dict[str, str] | None = None


class TolerationPart(Part, frozen=True):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class SchedulingPart(Part, frozen=True):
    node_selector: dict[str, str] | None = None
    tolerations: list[TolerationPart] | None = None


class RuntimeClassObject(Part, frozen=True):
    metadata: Metadata
    overhead: OverheadPart | None = None
    scheduling: SchedulingPart | None = None


class PodAnnotations(msgspec.Struct, frozen=True, gc=False):
    index: str = msgspec.field(name=contract.COMPLETION_INDEX_ANNOTATION, default="")
    hosts: str = msgspec.field(name=contract.HOSTFILE, default="")
    leaving: str = msgspec.field(name=contract.LEAVING, default="")
    published_at: str = msgspec.field(name=contract.PUBLISHED_AT, default="")
    confirmed_at: str = msgspec.field(name=contract.CONFIRMED_AT, default="")
    assigned: str = msgspec.field(name=contract.ASSIGNED_NODE, default="")
    placed_at: str = msgspec.field(name=contract.PLACED_AT, default="")
    gpus: str = msgspec.field(name=contract.SHARED_GPU_UUID, default="")
    gpu_memory: str = msgspec.field(name=contract.SHARED_GPU_MEMORY, default="")


class PodMetadata(Part, frozen=True):
    name: str
    namespace: str
    resource_version: str
    creation_timestamp: datetime
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    annotations: PodAnnotations = PodAnnotations()
    owner_references: list[Owner] | None = None
    finalizers: tuple[str, ...] | None = None


Undecoded: TypeAlias = msgspec.Raw
_NONE = msgspec.Raw(b"null")


class Container(Part, frozen=True):
    resources: Undecoded = _NONE
    ports: Undecoded = _NONE
    restart_policy: str = ""


DEFAULT_SCHEDULER: Final = "default-scheduler"
"""What the API server writes into pods that name no scheduler (core/v1 PodSpec)."""


class Gate(Part, frozen=True):
    name: str


class ClaimSource(Part, frozen=True):
    claim_name: str


class Volume(Part, frozen=True):
    persistent_volume_claim: ClaimSource | None = None


class ClaimStatus(Part, frozen=True):
    phase: str = ""


class ClaimMetadata(Metadata, frozen=True):
    deletion_timestamp: str | None = None


class PersistentVolumeClaimObject(Part, frozen=True):
    metadata: ClaimMetadata
    status: ClaimStatus = ClaimStatus()


class ResourceClaim(Part, frozen=True):
    """A ResourceClaim of a pod, in its spec or its status; a template is named in the spec."""

    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSpec(Part, frozen=True):
    """What the scheduler reads is left undecoded: few pods have a shape that is new."""

    containers: list[Container]
    init_containers: list[Container] | None = None
    resources: Undecoded = _NONE
    overhead: Undecoded = _NONE
    node_selector: Undecoded = _NONE
    tolerations: Undecoded = _NONE
    affinity: Undecoded = _NONE
    topology_spread_constraints: Undecoded = _NONE
    volumes: Undecoded = _NONE
    host_network: bool = False
    scheduler_name: str = DEFAULT_SCHEDULER
    node_name: str = ""
    priority: int | None = None
    scheduling_gates: list[Gate] | None = None
    resource_claims: list[ResourceClaim] | None = None


class Running(Part, frozen=True):
    started_at: datetime | None = None


class ContainerState(Part, frozen=True):
    running: Running | None = None


class ContainerStatus(Part, frozen=True):
    restart_count: int = 0
    state: ContainerState = ContainerState()


class PodStatus(Part, frozen=True):
    """The containers are left undecoded: only those of training jobs are looked at."""

    phase: str = "Pending"
    conditions: list[Condition] | None = None
    container_statuses: Undecoded = _NONE
    resource_claim_statuses: list[ResourceClaim] | None = None


class PodObject(Part, frozen=True):
    metadata: PodMetadata
    spec: PodSpec
    status: PodStatus = PodStatus()


class JobMetadata(TypedDict, total=False):
    """Without `managedFields`, which are half of a Job's text."""

    name: str
    namespace: str
    uid: str
    resourceVersion: str
    creationTimestamp: str
    deletionTimestamp: str
    labels: Any
    annotations: Any


class JobObject(TypedDict, total=False):
    """A manifest that stays one: a dictionary with these fields."""

    kind: str
    metadata: JobMetadata
    spec: Any
    status: Any
