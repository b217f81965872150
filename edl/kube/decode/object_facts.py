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
from edl.kube.cluster import ObjectKey
from edl.kube.decode import gpu_sharing, training_pods, volume_claims
from edl.kube.decode.admission_inputs import admission_inputs
from edl.kube.decode.node_selector import NODE_NAME
from edl.kube.decode.pod_shapes import ShapeInterner, claim_ref, counted
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
    """The pod waits for a node, and nothing of its own holds it back."""
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
    found = _nodes.decode(raw)
    states = [entry for entry in found.status.conditions or () if entry.type == "Ready"]
    ready = any(entry.status == _TRUE for entry in states)
    name = intern(found.metadata.name)
    allocatable = Resources.parse(found.status.allocatable)
    annotations, taints = found.metadata.annotations, found.spec.taints or ()
    return Node(
        name=name,
        allocatable=allocatable + gpu_sharing.offered(_labels(found.metadata), allocatable),
        used=Resources(),
        releasing=Resources(),
        devices=gpu_sharing.devices(_labels(found.metadata), allocatable),
        cordoned=found.spec.unschedulable,
        ready=ready,
        since=NodeStateTimes(
            cordoned=next((one.time_added for one in taints if one.key == CORDONED), None),
            unready=None if ready or not states else states[0].last_transition_time,
        ),
        labels={**_labels(found.metadata), NODE_NAME: name},
        taints=tuple(Taint(one.key, one.value, one.effect) for one in taints),
        kept=contract.TRUE in (annotations.do_not_disrupt, annotations.scale_down_disabled),
        uid=found.metadata.uid,
        created_at=found.metadata.creation_timestamp,
    )


def pod(raw: bytes, shapes: ShapeInterner, unmanaged: Collection[str] = ()) -> PodFacts:
    """`unmanaged`: namespaces in which labels mean nothing."""
    found = _pods.decode(raw)
    ended = found.status.phase in ("Succeeded", "Failed")
    leaving = found.metadata.deletion_timestamp is not None
    owners = found.metadata.owner_references or ()
    jobs = [owner for owner in owners if (owner.api_version, owner.kind) == JOB_TYPE]
    job = next((owner.uid for owner in jobs if owner.controller), "")
    # A pod whose managed Job is deleted, or not delivered yet, makes no demand of its own.
    labels = found.metadata.labels
    labelled = found.metadata.namespace not in unmanaged and bool(labels.get(contract.FRAMEWORK))
    ours = bool(job and labelled)
    alone = training_pods.bare_pod(raw) if labelled and not job else None
    provisional = _is_provisional(found) and not (job or alone)
    identity = shapes.identity(found.metadata.namespace, labels)
    share, annotations = gpu_sharing.share(labels), found.metadata.annotations
    shape = shapes.of(_own(found, ours=ours), identity, share, _claims(found))
    hold = gpu_sharing.hold(share, annotations.gpus, annotations.gpu_memory)
    asking = not (found.spec.node_name or ours or provisional or ended or leaving or _unseen(found))
    return PodFacts(
        namespace=identity.namespace,
        name=found.metadata.name,
        node=intern(found.spec.node_name),
        shape=shape,
        ended=ended,
        leaving=leaving,
        asking=asking,
        priority=found.spec.priority or 0,
        preempts=found.spec.preemption_policy != _NEVER,
        scheduler=_scheduler(found) if asking else contract.DEFAULT_SCHEDULER,
        job=next((owner.uid for owner in jobs), "") if provisional else job,
        pod=training_pods.pod(found, alone, hold.uuids if hold else ()) if job or alone else None,
        bare=alone,
        labels=identity.labels,
        hold=hold,
        claims=volume_claims.named(identity.namespace, found.spec.volumes) if asking else (),
        provisional=_provisional(found, shape) if provisional else None,
        admitted=admission_inputs(msgspec.json.decode(raw)["spec"]) if provisional else b"",
        of_node=any(owner.kind in _OF_THEIR_NODE for owner in owners),
    )


def _scheduler(found: PodObject) -> str:
    """Cut, as any user may set it and the API server accepts any length."""
    return intern(found.spec.scheduler_name[:_LONGEST_SCHEDULER])


def _is_provisional(found: PodObject) -> bool:
    """Whether this is a provisional pod. Any user may set its label, which does not suffice.

    With its PriorityClass it has the lowest priority of all: a workload gains nothing by imitating
    it.
    """
    labels = found.metadata.labels
    ours = contract.is_managed(labels)
    last = found.spec.priority_class_name == contract.PROVISIONAL_PRIORITY
    return contract.PROVISIONAL in labels and ours and last


def _provisional(found: PodObject, shape: Shape) -> ProvisionalPod:
    metadata = found.metadata
    ended = found.status.phase in ("Succeeded", "Failed")
    return ProvisionalPod(
        name=metadata.name,
        uid=metadata.uid,
        role=metadata.labels.get(contract.PROVISIONAL_ROLE, ""),
        node=intern(found.spec.node_name),
        created_at=metadata.creation_timestamp,
        requests=shape.requests,
        gone=ended or metadata.deletion_timestamp is not None,
    )


def _own(found: PodObject, *, ours: bool) -> PodSpec:
    """The spec with the requests that count; the nodes of our pods are left out of it.

    So the pods of a template have one shape on all nodes.
    """
    spec = counted(found.spec, found.status)
    node, affinity = found.metadata.annotations.assigned, bytes(spec.affinity)
    if not ours or not node or _NAMED not in affinity:
        return spec
    own = node_affinity.widened(msgspec.json.decode(affinity), node)
    return replace(spec, affinity=msgspec.Raw(msgspec.json.encode(own)))


def _unseen(found: PodObject) -> bool:
    """Whether gates hide the pod, or its scheduler, not the default one, has yet to find no node.

    A scheduler that does not run never does, and free capacity would not help the pod.
    """
    if found.spec.scheduling_gates:
        return True
    refused = (
        one.reason == _UNSCHEDULABLE and training_pods.is_refused_by_scheduler(one)
        for one in found.status.conditions or ()
    )
    return found.spec.scheduler_name != contract.DEFAULT_SCHEDULER and not any(refused)


def _claims(found: PodObject) -> tuple[ClaimRef, ...]:
    """The pod's claims, without those that its status marks as not needed."""
    made = {one.name: one for one in found.status.resource_claim_statuses or ()}
    refs = (
        claim_ref(found.metadata.namespace, one)
        for one in found.spec.resource_claims or ()
        if one.name not in made or made[one.name].resource_claim_name
    )
    return tuple(ref for ref in refs if ref)


def priority(raw: bytes) -> PriorityClassFacts:
    found = _classes.decode(raw)
    preempts = found.preemption_policy != _NEVER
    return PriorityClassFacts(found.metadata.name, found.value, found.global_default, preempts)


def namespace(raw: bytes) -> NamespaceFacts:
    found = _namespaces.decode(raw).metadata
    labels = _labels(found)
    policy = namespace_policy.policy(found.name, labels, found.annotations or {})
    terminating = found.deletion_timestamp is not None
    return NamespaceFacts(found.name, policy, tuple(sorted(labels.items())), terminating)


def owned_object(kind: str, raw: bytes) -> OwnedObjectRef:
    found = _tagged.decode(raw).metadata
    job = _labels(found).get(contract.JOB, "")
    return OwnedObjectRef(kind, found.namespace, found.name, job, found.uid)


def _labels(metadata: ObjectMeta) -> dict[str, str]:
    return metadata.labels or {}
