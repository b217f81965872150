"""Decodes objects to facts, once per version.

The stores keep `Facts` instead of objects: small, frozen, and equal if nothing relevant here has
changed, so that a heartbeat of a node causes no decision.
"""

from collections.abc import Collection
from sys import intern
from typing import Final

import msgspec
from msgspec.structs import replace

from edl import contract, node_affinity
from edl.contract.pod_limits import PodCount
from edl.kube.cluster import ObjectKey
from edl.kube.decode import gpu_sharing, training_pods, volume_claims
from edl.kube.decode.admission_inputs import admission_inputs
from edl.kube.decode.node_selector import NODE_NAME
from edl.kube.decode.pod_shapes import NamedRequests, ShapeInterner, claim_ref, counted, followed
from edl.kube.decode.schemas import (
    LabelledObject,
    NamespaceObject,
    NodeObject,
    ObjectMeta,
    PodObject,
    PodSpec,
    PriorityClassObject,
)
from edl.model import ClaimRef, Labels, Node, ObjectRef, Pod, ProvisionalPod, Shape, Taint
from edl.model.nodes import CORDONED, NodeStateTimes
from edl.model.object_refs import JOB_TYPE
from edl.parsing import namespace_policy
from edl.parsing.namespace_policy import SILENT, NamespacePolicy
from edl.quantities import Resources

_TRUE: Final = "True"
_UNSCHEDULABLE: Final = "Unschedulable"
"""The reason of `PodScheduled: False` if a scheduler has found no node (PodReasonUnschedulable)."""
_NEVER: Final = "Never"
"""The `preemptionPolicy` of pods for which no other pod is evicted."""
_OF_THEIR_NODE: Final = ("DaemonSet", "Node")
"""Owners whose pods disappear with their node."""
_NAMED: Final = b'"metadata.name"'
_LONGEST_SCHEDULER: Final = 253
_pods: Final = msgspec.json.Decoder(PodObject)
_nodes: Final = msgspec.json.Decoder(NodeObject)
_tagged: Final = msgspec.json.Decoder(LabelledObject)
_namespaces: Final = msgspec.json.Decoder(NamespaceObject)
_classes: Final = msgspec.json.Decoder(PriorityClassObject)


class PodFacts(msgspec.Struct, frozen=True, gc=False):
    """One pod.

    `job` is the uid of the Job that owns it; `pod` is set with `job`, or with `bare`.
    """

    namespace: str
    name: str
    node: str
    shape: Shape
    ended: bool
    leaving: bool
    asking: bool
    """The pod waits for a node, and nothing of its own holds it back. Labelled pods of Jobs never
    do, also while their Job is deleted or not delivered yet."""
    priority: int
    preempts: bool = True
    """Whether its `preemptionPolicy` lets others be evicted for it."""
    scheduler: str = contract.DEFAULT_SCHEDULER
    """Known only while the pod asks for a node."""
    job: str = ""
    pod: Pod | None = None
    bare: training_pods.BarePod | None = None
    labels: Labels = ()
    """The labels that all pods of a template share: one object per template."""
    containers: NamedRequests = ()
    """The containers that run beside each other; none if no Job owns the pod."""
    hold: gpu_sharing.GpuAllocation | None = None
    """The shared GPU capacity that it holds."""
    claims: tuple[ObjectKey, ...] = ()
    """The PersistentVolumeClaims that it names, while it waits for a node."""
    provisional: ProvisionalPod | None = None
    """Set if this is a provisional pod, which asks for a node for the training job of `job`."""
    admitted: bytes = b""
    """The part of the pod that admission depends on (`admission_inputs`)."""
    of_node: bool = False
    """A DaemonSet's pod, or the node's own: autoscalers do not keep a node for it."""
    excess: PodCount | None = None
    """A kind of which it has more than `pod_limits` allow: only its requests count, if bound."""

    @property
    def holds_room(self) -> bool:
        """Whether the pod counts on its node: a terminating pod does so until it is gone."""
        return bool(self.node) and not self.ended

    @property
    def keeps_node(self) -> bool:
        """Whether the pod would have to move if its node were removed."""
        return self.holds_room and not (self.leaving or self.of_node)


class PriorityClassFacts(msgspec.Struct, frozen=True, gc=False):
    """A PriorityClass; the default one applies to pods that name none."""

    name: str
    value: int
    default: bool
    preempts: bool = True
    """Whether its `preemptionPolicy` lets others be evicted for its pods."""


WITHOUT_CLASS: Final = PriorityClassFacts("", 0, default=False)
"""What applies to pods without a PriorityClass where none is the default."""


class NamespaceFacts(msgspec.Struct, frozen=True, gc=False):
    name: str
    policy: NamespacePolicy = SILENT
    labels: Labels = ()
    """All of its labels, sorted by name."""
    terminating: bool = False


class OwnedObjectRef(msgspec.Struct, frozen=True, gc=False):
    """An object around training jobs, and its job; `job` is empty for other owners' objects."""

    kind: str
    namespace: str
    name: str
    job: str
    uid: str = ""

    @property
    def target(self) -> ObjectRef:
        return ObjectRef(self.kind, self.namespace, self.name)


def node(raw: bytes) -> Node:
    """A node without its pods: `used` and `releasing` are empty."""
    obj = _nodes.decode(raw)
    states = [entry for entry in obj.status.conditions or () if entry.type == "Ready"]
    ready = any(entry.status == _TRUE for entry in states)
    name = intern(obj.metadata.name)
    allocatable = Resources.parse(obj.status.allocatable)
    annotations, taints = obj.metadata.annotations, obj.spec.taints or ()
    return Node(
        name=name,
        allocatable=allocatable + gpu_sharing.offered(_labels(obj.metadata), allocatable),
        used=Resources(),
        releasing=Resources(),
        devices=gpu_sharing.devices(_labels(obj.metadata), allocatable),
        cordoned=obj.spec.unschedulable,
        ready=ready,
        since=NodeStateTimes(
            cordoned=next((taint.time_added for taint in taints if taint.key == CORDONED), None),
            unready=None if ready or not states else states[0].last_transition_time,
        ),
        labels={**_labels(obj.metadata), NODE_NAME: name},
        taints=tuple(Taint(taint.key, taint.value, taint.effect) for taint in taints),
        kept=contract.TRUE in (annotations.do_not_disrupt, annotations.scale_down_disabled),
        uid=obj.metadata.uid,
        created_at=obj.metadata.creation_timestamp,
    )


def pod(raw: bytes, shapes: ShapeInterner, unmanaged: Collection[str] = ()) -> PodFacts:
    """`unmanaged`: namespaces in which labels mean nothing."""
    obj = _pods.decode(raw)
    ended, leaving = obj.status.ended, obj.metadata.deletion_timestamp is not None
    owners = obj.metadata.owner_references or ()
    jobs = [owner for owner in owners if (owner.api_version, owner.kind) == JOB_TYPE]
    job = next((owner.uid for owner in jobs if owner.controller), "")
    labels = obj.metadata.labels
    labelled = obj.metadata.namespace not in unmanaged and bool(labels.get(contract.FRAMEWORK))
    ours = bool(job and labelled)
    alone = training_pods.bare_pod(raw) if labelled and not job else None
    provisional = _is_provisional(obj) and not (job or alone)
    spec, beyond = followed(_shape_spec(obj, ours=ours), labels)
    identity, share = shapes.identity(obj.metadata.namespace, labels), gpu_sharing.share(labels)
    shape, annotations = shapes.of(spec, identity, share, _claims(obj)), obj.metadata.annotations
    hold = gpu_sharing.hold(share, annotations.gpus, annotations.gpu_memory)
    asking = not (obj.spec.node_name or ours or provisional or ended or leaving or _unseen(obj))
    return PodFacts(
        namespace=identity.namespace,
        name=obj.metadata.name,
        node=intern(obj.spec.node_name),
        shape=shape,
        ended=ended,
        leaving=leaving,
        asking=asking,
        priority=obj.spec.priority or 0,
        preempts=obj.spec.preemption_policy != _NEVER,
        scheduler=_scheduler(obj) if asking else contract.DEFAULT_SCHEDULER,
        job=next((owner.uid for owner in jobs), "") if provisional else job,
        pod=training_pods.pod(obj, alone, hold.uuids if hold else ()) if job or alone else None,
        bare=alone,
        labels=identity.labels,
        containers=shapes.containers(obj.spec) if job else (),
        hold=hold,
        claims=volume_claims.named(identity.namespace, obj.spec.volumes) if asking else (),
        provisional=_provisional(obj, shape) if provisional else None,
        admitted=admission_inputs(msgspec.json.decode(raw)["spec"]) if provisional else b"",
        of_node=any(owner.kind in _OF_THEIR_NODE for owner in owners),
        excess=beyond,
    )


def _scheduler(pod: PodObject) -> str:
    """Cut, as any user may set it and the API server accepts any length."""
    return intern(pod.spec.scheduler_name[:_LONGEST_SCHEDULER])


def _is_provisional(pod: PodObject) -> bool:
    """Whether this is a provisional pod. Any user may set its label, which does not suffice.

    With its PriorityClass it has the lowest priority of all: a workload gains nothing by imitating
    it.
    """
    labels = pod.metadata.labels
    ours = contract.is_managed(labels)
    last = pod.spec.priority_class_name == contract.PROVISIONAL_PRIORITY
    return contract.PROVISIONAL in labels and ours and last


def _provisional(pod: PodObject, shape: Shape) -> ProvisionalPod:
    metadata = pod.metadata
    return ProvisionalPod(
        name=metadata.name,
        uid=metadata.uid,
        role=metadata.labels.get(contract.PROVISIONAL_ROLE, ""),
        node=intern(pod.spec.node_name),
        created_at=metadata.creation_timestamp,
        requests=shape.requests,
        gone=pod.status.ended or metadata.deletion_timestamp is not None,
    )


def _shape_spec(pod: PodObject, *, ours: bool) -> PodSpec:
    """The spec with the requests that count, without the node that we assigned to a pod of ours.

    So the pods of a template have one shape on all nodes.
    """
    spec = counted(pod.spec, pod.status)
    node, affinity = pod.metadata.annotations.assigned, bytes(spec.affinity)
    if not ours or not node or _NAMED not in affinity:
        return spec
    widened = node_affinity.widened(msgspec.json.decode(affinity), node)
    return replace(spec, affinity=msgspec.Raw(msgspec.json.encode(widened)))


def _unseen(pod: PodObject) -> bool:
    """Whether the pod waits for its gates, or for the first attempt of another scheduler.

    A scheduler that does not run makes none, and free capacity would not help the pod.
    """
    if pod.spec.scheduling_gates:
        return True
    refused = (
        condition.reason == _UNSCHEDULABLE and training_pods.is_refused_by_scheduler(condition)
        for condition in pod.status.conditions or ()
    )
    return pod.spec.scheduler_name != contract.DEFAULT_SCHEDULER and not any(refused)


def _claims(pod: PodObject) -> tuple[ClaimRef, ...]:
    """The pod's claims, without those that its status marks as not needed."""
    made = {status.name: status for status in pod.status.resource_claim_statuses or ()}
    refs = (
        claim_ref(pod.metadata.namespace, claim)
        for claim in pod.spec.resource_claims or ()
        if claim.name not in made or made[claim.name].resource_claim_name
    )
    return tuple(ref for ref in refs if ref)


def priority(raw: bytes) -> PriorityClassFacts:
    obj = _classes.decode(raw)
    preempts = obj.preemption_policy != _NEVER
    return PriorityClassFacts(obj.metadata.name, obj.value, obj.global_default, preempts)


def namespace(raw: bytes) -> NamespaceFacts:
    metadata = _namespaces.decode(raw).metadata
    labels = _labels(metadata)
    policy = namespace_policy.policy(metadata.name, labels, metadata.annotations or {})
    terminating = metadata.deletion_timestamp is not None
    return NamespaceFacts(metadata.name, policy, tuple(sorted(labels.items())), terminating)


def owned_object(kind: str, raw: bytes) -> OwnedObjectRef:
    metadata = _tagged.decode(raw).metadata
    job = _labels(metadata).get(contract.JOB, "")
    return OwnedObjectRef(kind, metadata.namespace, metadata.name, job, metadata.uid)


def _labels(metadata: ObjectMeta) -> dict[str, str]:
    return metadata.labels or {}
