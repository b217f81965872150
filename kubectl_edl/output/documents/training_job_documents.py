"""Documents about training jobs: `status`, `history`, `queue`, `top jobs`."""

from typing import Annotated, TypedDict

from edl.model import JobEnd, Phase, ResizePolicy
from kubectl_edl.output.documents.shared_documents import (
    CooldownDocument,
    CreatedDocument,
    EstimateDocument,
    NamespacedDocument,
    OperationDocument,
    Quantities,
    ReasonCode,
    ResourceHoursDocument,
    TeamCountDocument,
    Timestamp,
    TopologyDocument,
    TopologyWaitDocument,
)


class WhyDocument(TypedDict):
    reason: Annotated[ReasonCode | None, "Why it is in this state."]
    message: Annotated[str, "The reason, as a sentence."]


class PodDocument(TypedDict):
    name: Annotated[str, "Name of the pod."]
    completionIndex: Annotated[int | None, "Its index in the Job; null without one."]
    nodeName: Annotated[str | None, "Its node; null while it is not scheduled."]
    status: Annotated[str, "As kubectl get pods shows it, SchedulingGated behind a gate."]
    creationTimestamp: Annotated[Timestamp | None, "When it was created."]


class RoleDocument(TypedDict):
    name: Annotated[str, "Role."]
    jobName: Annotated[str, "Its Job."]
    replicas: Annotated[int, "Replicas that it has now; 0 while suspended and after its end."]
    minReplicas: Annotated[int, "The least that it runs with."]
    maxReplicas: Annotated[int, "The most that it is scaled up to."]
    manualReplicas: Annotated[int | None, "The manual size (kubectl edl scale); null: automatic."]
    runningReplicas: Annotated[int, "Pods that run."]
    pendingReplicas: Annotated[
        int, "Missing or not running pods; queued or restarting: all that it starts with."
    ]
    resizePolicy: Annotated[str, ResizePolicy, "How it is resized."]
    result: Annotated[str | None, JobEnd, "How its Job ended; null while it has not."]
    lastScaleTime: Annotated[Timestamp | None, "When it was last resized."]
    reason: Annotated[ReasonCode | None, "Why it has this size."]
    message: Annotated[str, "The reason, as a sentence."]
    pods: Annotated[list[PodDocument], "Its pods."]


class TrainingJobDocument(TypedDict):
    metadata: CreatedDocument
    framework: Annotated[str, "Value of edl.dev/framework."]
    phase: Annotated[str, Phase, "Phase."]
    reason: Annotated[ReasonCode | None, "Why it is in this state."]
    message: Annotated[str, "The reason, as a sentence."]
    pendingReplicas: Annotated[int, "Pods of all roles that are missing or do not run."]
    priority: Annotated[int, "Priority."]
    paused: Annotated[bool, "Whether it is paused (kubectl edl pause)."]
    cooldown: Annotated[CooldownDocument | None, "How often it is resized; null: unknown, never."]
    startTime: Annotated[Timestamp | None, "When it first started; null before."]
    missingRoles: Annotated[list[str], "Roles whose Job does not exist, or is left out."]
    conflictingJobs: Annotated[list[str], "Jobs with its edl.dev/job that are left out of it."]
    roles: Annotated[list[RoleDocument], "Its roles."]


class JobEventDocument(TypedDict):
    lastTimestamp: Annotated[Timestamp | None, "When it was last seen."]
    jobName: Annotated[str, "The Job that it is about."]
    type: Annotated[str, "Normal or Warning."]
    reason: Annotated[str, "The Event's reason."]
    message: Annotated[str, "The Event's message."]
    count: Annotated[int, "How often it was seen."]


class JobBlockerDocument(TypedDict):
    message: Annotated[str, "What keeps the training job from making progress."]
    remediation: Annotated[str, "What to do about it."]


class TrainingJobDetailDocument(TrainingJobDocument):
    topology: Annotated[TopologyDocument | None, "Its topology; null without one."]
    events: Annotated[list[JobEventDocument], "The last Events of its Jobs."]
    operations: Annotated[list[OperationDocument], "Its last operations, the newest last."]
    blockers: Annotated[list[JobBlockerDocument], "What blocks it."]


class EventSummaryDocument(TypedDict):
    lastTimestamp: Annotated[Timestamp | None, "When it was last seen."]
    object: Annotated[str, "The object that it is about, as kind/name."]
    reason: Annotated[str, "The Event's reason."]
    message: Annotated[str, "The Event's message."]
    count: Annotated[int, "How often it was seen."]


class TrainingJobHistoryDocument(TypedDict):
    metadata: NamespacedDocument
    operations: Annotated[
        list[OperationDocument], "The last of each role, up to 50 or 4 KiB, the newest last."
    ]
    warnings: Annotated[
        list[EventSummaryDocument],
        "The last ten Warning Events, and the last three evictions, by taints or by preemption.",
    ]


class QueuedTrainingJobDocument(TypedDict):
    metadata: CreatedDocument
    position: Annotated[int | None, "In the cluster's queue, from 1; 0: starts now; null: none."]
    team: Annotated[str | None, "Its namespace's; null without teams."]
    positionInTeam: Annotated[int | None, "Among the queued jobs of its team; null: none."]
    share: Annotated[
        float | None,
        "The largest part of the cluster that its team borrows, by weight; null: unknown.",
    ]
    priority: Annotated[int, "Priority."]
    minReplicas: Annotated[dict[str, int], "By role, its minimum."]
    startReplicas: Annotated[
        dict[str, int], "By role, the replicas that must fit at once: minimum or manual size."
    ]
    requests: Annotated[Quantities, "What the pods of startReplicas request together."]
    blockedBy: Annotated[
        list[str] | None, "Training jobs ahead of it, as namespace/name; null if unknown."
    ]
    blockedByTeam: Annotated[
        list[TeamCountDocument], "Jobs ahead of it that may not be named, by team."
    ]
    observedTime: Annotated[
        Timestamp | None, "When the reconciler published it; null: computed now."
    ]
    reason: Annotated[ReasonCode | None, "Why it waits."]
    message: Annotated[str, "The reason, as a sentence."]
    topology: Annotated[TopologyWaitDocument | None, "Its topology; null without one."]
    estimatedStart: Annotated[EstimateDocument | None, "When it starts; null where not estimated."]


class TrainingJobUsageDocument(TypedDict):
    metadata: NamespacedDocument
    phase: Annotated[str, Phase, "Phase."]
    pods: Annotated[int, "Pods that have not ended."]
    runningPods: Annotated[int, "Those of them that run."]
    measuredPods: Annotated[int, "Running pods that metrics-server has measured."]
    requests: Annotated[Quantities, "What its pods request together."]
    usage: Annotated[Quantities | None, "What they use; null without metrics-server."]
    resourceHours: Annotated[ResourceHoursDocument, "What they have requested over time."]
    startTime: Annotated[Timestamp | None, "When it first started; null before."]
