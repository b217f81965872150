"""Documents about decisions: `plan` and `explain`."""

from typing import Annotated, Required, TypedDict

from edl.model import CaveatCode, Phase
from edl.model.causes.blockers import Blocker, JobCondition, SizeBound
from edl.model.causes.scarcity import NodeRule, Scarce
from kubectl_edl.output.documents import QUANTITY
from kubectl_edl.output.documents.shared_documents import (
    DomainDocument,
    DomainPodsDocument,
    EstimateDocument,
    ExplainedTopologyDocument,
    LimitedCooldownDocument,
    NamespacedDocument,
    OperationDocument,
    Quantities,
    ReasonCode,
    RoleChangeDocument,
    RoleReplicasDocument,
    SettingsDocument,
    TeamCountDocument,
    Timestamp,
)
from kubectl_edl.output.documents.team_documents import JobCapacityDocument
from kubectl_edl.output.documents.training_job_documents import JobBlockerDocument


class PlannedChangeDocument(TypedDict):
    namespace: Annotated[str, "Namespace of the training job."]
    name: Annotated[str, "Name of the training job."]
    action: Annotated[str, "Start, ScaleUp, ScaleDown, Restart, Suspend or Evict."]
    roles: Annotated[list[RoleChangeDocument], "The roles that change."]
    pods: Annotated[list[str], "Pods that are evicted from a node that is drained."]
    domains: Annotated[list[DomainPodsDocument], "For jobs with a topology: where new pods go."]
    preempted: Annotated[bool, "Whether the whole job is stopped for others."]
    yieldsTo: Annotated[str | None, "Training job that gets its capacity, as namespace/name."]
    pendingPod: Annotated[str | None, "Pod of another owner that gets its capacity, an example."]
    reason: Annotated[ReasonCode, "Why."]
    message: Annotated[str, "The reason, as a sentence."]


class PlannedWaitDocument(TypedDict):
    namespace: Annotated[str, "Namespace of the training job."]
    name: Annotated[str, "Name of the training job."]
    position: Annotated[int | None, "In the queue, from 1; null: it runs, or never starts."]
    blockedBy: Annotated[list[str], "Training jobs ahead of it, as namespace/name."]
    preempts: Annotated[list[str], "Training jobs that are stopped for it, as namespace/name."]
    reason: Annotated[ReasonCode, "Why it waits, or is not scaled up."]
    message: Annotated[str, "The reason, as a sentence."]
    notBefore: Annotated[
        Timestamp | None,
        "End of its cooldown or back-off, or of the cooldown of the job whose replicas move; "
        "null without one.",
    ]


class StayingPodDocument(TypedDict):
    name: Annotated[str, "Name of the pod."]
    nodeName: Annotated[str, "Its cordoned node."]


class StayingPodsDocument(TypedDict):
    namespace: Annotated[str, "Namespace of the training job."]
    name: Annotated[str, "Name of the training job."]
    role: Annotated[str, "Name of the role."]
    pods: Annotated[list[StayingPodDocument], "The pods."]
    blocksDrain: Annotated[bool, "Their PodDisruptionBudget refuses to evict them."]
    unprotected: Annotated[bool, "After `--drain-patience` they have no PodDisruptionBudget."]
    reason: Annotated[ReasonCode | None, "Why nothing replaces them; null: unknown, or none may."]
    message: Annotated[str, "Which pods stay and why, as a sentence."]


class PlanDocument(TypedDict):
    time: Annotated[Timestamp | None, "When it was made."]
    complete: Annotated[bool, "False if the cluster cannot be read: changes are unknown."]
    settings: Annotated[SettingsDocument, "Settings of the decision."]
    changes: Annotated[list[PlannedChangeDocument], "Changes that the reconciler would make now."]
    waiting: Annotated[list[PlannedWaitDocument], "Jobs that do not start or are not scaled up."]
    staying: Annotated[
        list[StayingPodsDocument],
        "Pods that plans leave on cordoned nodes, of those that a PodDisruptionBudget counts.",
    ]
    changesInOtherNamespaces: Annotated[int, "Changes that are not shown."]
    requeueAfterSeconds: Annotated[int | None, "When it may change without an event; null: never."]


class QuotaNameDocument(TypedDict):
    source: Annotated[str, "The ResourceQuota, or edl.dev/gpu-budget."]
    resource: Annotated[str, "Name in the source: requests.cpu, pods, GPUs."]


class BlockerDocument(TypedDict, total=False):
    """The fields behind `remediation` depend on the type."""

    type: Required[Annotated[str, Blocker, "Type of the blocker."]]
    message: Required[Annotated[str, "What blocks it."]]
    remediation: Required[Annotated[str, "What would remove it; empty if it ends by itself."]]
    role: Annotated[str, "Role."]
    pods: Annotated[int, "Pods that must fit."]
    schedulablePods: Annotated[int, "InsufficientResources: pods of them that fit."]
    requests: Annotated[Quantities, "What one pod requests."]
    eligibleNodes: Annotated[int, "Nodes that the pods may use."]
    nodeName: Annotated[
        str | None,
        "The node that comes nearest; null for one that a blocker before it adds.",
    ]
    maxIdle: Annotated[Quantities, "InsufficientResources: the most that is idle on one node."]
    maxAllocatable: Annotated[Quantities, "TooLarge: the most that one node has."]
    missing: Annotated[Quantities, "InsufficientResources: what nodeName lacks for one pod."]
    guaranteedTeams: Annotated[
        list[str],
        "InsufficientResources: teams whose guarantee covers replicas that would make room.",
    ]
    domains: Annotated[list[DomainDocument], "Domains that a topology requires."]
    nodeRule: Annotated[str, NodeRule, "NoUsableNode: what excludes every node."]
    constraint: Annotated[str, Scarce, "ConstraintsUnsatisfied: what excludes the nodes."]
    resource: Annotated[str, "LoadCeiling: the resource."]
    loadCeiling: Annotated[float, "LoadCeiling: the ceiling."]
    sufficientLoadCeiling: Annotated[float, "LoadCeiling: one that is high enough."]
    idle: Annotated[str, QUANTITY, "LoadCeiling: what is idle in the cluster."]
    reserved: Annotated[str, QUANTITY, "LoadCeiling: what stays idle."]
    needed: Annotated[str, QUANTITY, "LoadCeiling, QuotaExceeded: what is needed."]
    quota: Annotated[QuotaNameDocument, "QuotaExceeded: the quota."]
    limit: Annotated[str, QUANTITY, "QuotaExceeded: what the quota allows."]
    used: Annotated[str, QUANTITY, "QuotaExceeded: what is used of the quota."]
    available: Annotated[str, QUANTITY, "QuotaExceeded: what is left of the quota."]
    limitedBy: Annotated[str, SizeBound, "AtBound: what limits the replicas."]
    replicas: Annotated[int, "AtBound: the limit."]
    reason: Annotated[ReasonCode, "TimedHold, InProgress, OwnCondition, Outranked: why."]
    notBefore: Annotated[Timestamp | None, "TimedHold: when it ends."]
    blockedBy: Annotated[list[str], "Outranked: training jobs, as namespace/name."]
    pendingPods: Annotated[list[str], "Outranked: pods of other owners, examples."]
    roles: Annotated[list[RoleReplicasDocument], "Outranked: roles of this job itself."]
    condition: Annotated[str, JobCondition, "OwnCondition: which property it is."]


class BlockersDocument(TypedDict):
    complete: Annotated[bool, "False if removing these may reveal further ones."]
    blockers: Annotated[
        list[BlockerDocument], "Verified: without all of them the job starts or is scaled up."
    ]


class ExplainedRoleDocument(TypedDict):
    name: Annotated[str, "Role."]
    replicas: Annotated[int, "Replicas now."]
    nextReplicas: Annotated[
        int, "Replicas after the reconciler's next change; while none is running, those of now."
    ]
    reason: Annotated[ReasonCode | None, "Why it has this size."]
    message: Annotated[str, "The reason, as a sentence."]
    scaleUp: Annotated[BlockersDocument | None, "Why it is not scaled up; null: it may be."]


class CaveatDocument(TypedDict):
    role: Annotated[str, "Role."]
    type: Annotated[str, CaveatCode, "Where the plan counts devices unlike kube-scheduler."]
    subject: Annotated[str, "The selector, claim or DeviceClass that it is about."]
    message: Annotated[str, "The reason, as a sentence."]


class PendingPodDocument(TypedDict):
    name: Annotated[str, "Name of the pod."]
    jobName: Annotated[str, "Its Job."]
    nodeName: Annotated[str | None, "Its node; null while it is not scheduled."]
    message: Annotated[str, "Why it does not run."]


class TrainingJobExplanationDocument(TypedDict):
    metadata: NamespacedDocument
    phase: Annotated[str, Phase, "Phase."]
    reason: Annotated[ReasonCode | None, "Why it is in this state."]
    message: Annotated[str, "The reason, as a sentence."]
    complete: Annotated[
        bool,
        "False if the cluster cannot be read: only its state and the published queue are known.",
    ]
    settings: Annotated[SettingsDocument, "Settings of the decision."]
    topology: Annotated[ExplainedTopologyDocument | None, "Its topology; null without one."]
    cooldown: Annotated[LimitedCooldownDocument | None, "How often it is resized."]
    team: Annotated[str | None, "Its namespace's; null without teams."]
    teamCapacity: Annotated[
        JobCapacityDocument | None,
        "Its running pods, of resources that a team is guaranteed; null without any.",
    ]
    position: Annotated[int | None, "In the queue, from 1; null: not in it."]
    blockedBy: Annotated[list[str], "Training jobs ahead of it, as namespace/name."]
    blockedByTeam: Annotated[
        list[TeamCountDocument], "Jobs ahead of it that may not be named, by team."
    ]
    observedTime: Annotated[
        Timestamp | None, "When the reconciler published it; null: computed now."
    ]
    estimate: Annotated[EstimateDocument | None, "When it starts, or is scaled up."]
    caveats: Annotated[list[CaveatDocument], "Devices that the plan counts unlike kube-scheduler."]
    start: Annotated[BlockersDocument | None, "Why it does not start; null: it is started."]
    roles: Annotated[list[ExplainedRoleDocument], "Its roles."]
    pendingPods: Annotated[list[PendingPodDocument], "Its pods that do not run."]
    blockers: Annotated[
        list[JobBlockerDocument],
        "Missing Jobs that no blocker above names, and why pods of started roles cannot be "
        "created.",
    ]
    operations: Annotated[list[OperationDocument], "Its last operations, the newest last."]
