"""The parts of Kubernetes objects that are read; msgspec skips everything else undecoded.

Field names are the API's own in snake case; those of Jobs are unchanged, as `edl.parsing.parser`
reads Jobs as manifests.
"""

from datetime import datetime
from typing import Any, Final, TypeAlias, TypedDict

import msgspec

from edl import contract
from edl.model import Toleration


class ObjectPart(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A part of an object; its subclasses repeat `frozen` because mypy does not inherit it."""


class OwnerReference(ObjectPart, frozen=True):
    api_version: str
    kind: str
    uid: str
    controller: bool = False


class ObjectMeta(ObjectPart, frozen=True):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None


class LabelledObject(ObjectPart, frozen=True):
    """Any object of which only the labels and the identity matter."""

    metadata: ObjectMeta


class NamespaceMetadata(ObjectMeta, frozen=True):
    annotations: dict[str, str] | None = None


class NamespaceObject(ObjectPart, frozen=True):
    metadata: NamespaceMetadata


class NodeAnnotations(msgspec.Struct, frozen=True, gc=False):
    do_not_disrupt: str = msgspec.field(name=contract.DO_NOT_DISRUPT, default="")
    scale_down_disabled: str = msgspec.field(name=contract.SCALE_DOWN_DISABLED, default="")


class NodeMetadata(ObjectMeta, frozen=True):
    annotations: NodeAnnotations = NodeAnnotations()
    creation_timestamp: datetime | None = None


class Condition(ObjectPart, frozen=True):
    type: str
    status: str
    last_transition_time: datetime | None = None
    reason: str = ""
    message: str = ""


class NodeTaint(ObjectPart, frozen=True):
    key: str
    value: str = ""
    effect: str = ""
    time_added: datetime | None = None


class NodeSpec(ObjectPart, frozen=True):
    unschedulable: bool = False
    taints: list[NodeTaint] | None = None


class NodeStatus(ObjectPart, frozen=True):
    allocatable: dict[str, str] | None = None
    conditions: list[Condition] | None = None


class NodeObject(ObjectPart, frozen=True):
    metadata: NodeMetadata
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class PriorityClassObject(ObjectPart, frozen=True):
    metadata: ObjectMeta
    value: int = 0
    global_default: bool = False
    preemption_policy: str = ""


class OverheadPart(ObjectPart, frozen=True):
    pod_fixed: dict[str, str] | None = None


class SchedulingPart(ObjectPart, frozen=True):
    node_selector: dict[str, str] | None = None
    tolerations: list[Toleration] | None = None


class RuntimeClassObject(ObjectPart, frozen=True):
    metadata: ObjectMeta
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
    container: str = msgspec.field(name=contract.DEFAULT_CONTAINER, default="")
    gpus: str = msgspec.field(name=contract.SHARED_GPU_UUID, default="")
    gpu_memory: str = msgspec.field(name=contract.SHARED_GPU_MEMORY, default="")
    do_not_disrupt: str | None = msgspec.field(name=contract.DO_NOT_DISRUPT, default=None)
    safe_to_evict: str | None = msgspec.field(name=contract.SAFE_TO_EVICT, default=None)


class PodMetadata(ObjectPart, frozen=True):
    name: str
    namespace: str
    resource_version: str
    creation_timestamp: datetime
    uid: str = ""
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] = {}
    annotations: PodAnnotations = PodAnnotations()
    owner_references: list[OwnerReference] | None = None
    finalizers: tuple[str, ...] | None = None


RawJson: TypeAlias = msgspec.Raw
_NONE = msgspec.Raw(b"null")


class Container(ObjectPart, frozen=True):
    name: str = ""
    resources: RawJson = _NONE
    ports: RawJson = _NONE
    restart_policy: str = ""


SCHEDULING_GATED: Final = "SchedulingGated"
"""The reason of `PodScheduled: False` that the API server writes for a pod with scheduling gates,
and leaves when they are removed: no scheduler has refused such a pod."""


class SchedulingGate(ObjectPart, frozen=True):
    name: str


class ClaimSource(ObjectPart, frozen=True):
    claim_name: str


class Volume(ObjectPart, frozen=True):
    persistent_volume_claim: ClaimSource | None = None


class ClaimStatus(ObjectPart, frozen=True):
    phase: str = ""


class PersistentVolumeClaimObject(ObjectPart, frozen=True):
    metadata: ObjectMeta
    status: ClaimStatus = ClaimStatus()


class PodResourceClaim(ObjectPart, frozen=True):
    """A ResourceClaim of a pod, in its spec or its status; a template is named in the spec."""

    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSpec(ObjectPart, frozen=True):
    """The fields that the scheduler reads stay undecoded: few pods have a new shape."""

    containers: list[Container]
    init_containers: list[Container] | None = None
    resources: RawJson = _NONE
    overhead: RawJson = _NONE
    node_selector: RawJson = _NONE
    tolerations: RawJson = _NONE
    affinity: RawJson = _NONE
    topology_spread_constraints: RawJson = _NONE
    volumes: RawJson = _NONE
    host_network: bool = False
    scheduler_name: str = contract.DEFAULT_SCHEDULER
    node_name: str = ""
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    scheduling_gates: list[SchedulingGate] | None = None
    resource_claims: list[PodResourceClaim] | None = None


class ContainerRunning(ObjectPart, frozen=True):
    started_at: datetime | None = None


class ContainerWaiting(ObjectPart, frozen=True):
    reason: str = ""
    message: str = ""


class ContainerTerminated(ObjectPart, frozen=True):
    exit_code: int = 0
    reason: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None


class ContainerState(ObjectPart, frozen=True):
    running: ContainerRunning | None = None
    waiting: ContainerWaiting | None = None
    terminated: ContainerTerminated | None = None


class ContainerStatus(ObjectPart, frozen=True):
    name: str = ""
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class RequestedResources(ObjectPart, frozen=True):
    limits: dict[str, str] | None = None
    requests: dict[str, str] | None = None


class ContainerInEffect(ObjectPart, frozen=True):
    """A container's status: what the kubelet has allocated to it, and what is in effect."""

    name: str = ""
    resources: RequestedResources | None = None
    allocated_resources: dict[str, str] | None = None


ENDED_PHASES: Final = frozenset({"Succeeded", "Failed"})
"""Phases of a pod whose containers have all terminated for good."""


class PodStatus(ObjectPart, frozen=True):
    """The containers' statuses stay undecoded: only those of training jobs are needed."""

    phase: str = "Pending"
    conditions: list[Condition] | None = None
    init_container_statuses: RawJson = _NONE
    container_statuses: RawJson = _NONE
    resource_claim_statuses: list[PodResourceClaim] | None = None

    @property
    def ended(self) -> bool:
        return self.phase in ENDED_PHASES


class PodObject(ObjectPart, frozen=True):
    metadata: PodMetadata
    spec: PodSpec
    status: PodStatus = PodStatus()


class FieldManager(TypedDict, total=False):
    """An entry of `managedFields`, without its fields, which are half of a Job's text."""

    subresource: str
    time: str


class JobMetadata(TypedDict, total=False):
    name: str
    namespace: str
    uid: str
    resourceVersion: str
    creationTimestamp: str
    deletionTimestamp: str
    labels: Any
    annotations: Any
    ownerReferences: Any
    managedFields: list[FieldManager]


class JobObject(TypedDict, total=False):
    """A Job as a dictionary with these fields: the parser reads manifests."""

    kind: str
    metadata: JobMetadata
    spec: Any
    status: Any
