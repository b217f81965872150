"""Parts that several documents share.

A field's description is in its annotation; mypy checks the code that builds a document.
"""

from typing import Annotated, TypedDict

from edl.annotations.job_history import Operation, OperationPhase
from edl.forecast.estimate import Certainty
from kubectl_edl.output.documents import DATE_TIME, QUANTITY, REASON

Timestamp = Annotated[str, DATE_TIME]
ReasonCode = Annotated[str, REASON]
Quantities = dict[str, Annotated[str, QUANTITY]]
"""Amounts by resource as Kubernetes writes them: millicores of CPU, whole units otherwise."""


class NameDocument(TypedDict):
    name: Annotated[str, "Name."]


class NamespacedDocument(NameDocument):
    namespace: Annotated[str, "Namespace."]


class CreatedDocument(NamespacedDocument):
    creationTimestamp: Annotated[Timestamp | None, "When its first Job was created."]


class RoleChangeDocument(TypedDict):
    name: Annotated[str, "Role."]
    oldReplicas: Annotated[int, "Replicas before."]
    newReplicas: Annotated[int, "Replicas after."]


class RoleReplicasDocument(TypedDict):
    name: Annotated[str, "Role."]
    replicas: Annotated[int, "Replicas."]


class OperationDocument(TypedDict):
    time: Annotated[Timestamp | None, "When it began."]
    operation: Annotated[str, Operation, "What was done."]
    phase: Annotated[str, OperationPhase, "Its progress or outcome."]
    roles: Annotated[list[RoleChangeDocument], "The roles that it changed."]
    reason: Annotated[ReasonCode | None, "Why; null if another version wrote it."]
    message: Annotated[str, "Why, as a sentence."]


class CooldownDocument(TypedDict):
    periodSeconds: Annotated[
        float,
        "The training job is resized at most once in this time, but scale-ups may follow sooner.",
    ]
    source: Annotated[str, "What sets it: edl.dev/cooldown, reconciler, or a program's default."]


class LimitedCooldownDocument(CooldownDocument):
    notBefore: Annotated[Timestamp | None, "No resize before this time; null: one is allowed now."]


class EstimateDocument(TypedDict):
    certainty: Annotated[str, Certainty, "How certain the estimate is."]
    time: Annotated[
        Timestamp | None, "When; with `LaterThan`, not before; null where it is unknown."
    ]
    message: Annotated[str, "What it depends on, or why it is unknown."]


class SettingsDocument(TypedDict):
    policy: Annotated[str, "The policy that decides."]
    loadCeiling: Annotated[float, "The share of CPU and memory up to which jobs are scaled up."]
    preempt: Annotated[bool, "Whether queued jobs preempt running jobs of a lower priority."]
    source: Annotated[str, "Where they come from: reconciler, flags or default."]


class TopologyKeyDocument(TypedDict):
    role: Annotated[str | None, "Role; null for the pods of all roles."]
    topologyKey: Annotated[str, "Node label."]


class DomainDocument(TopologyKeyDocument):
    value: Annotated[str | None, "Value of the label; null for nodes without it, or for new ones."]


class DomainPodsDocument(DomainDocument):
    pods: Annotated[int, "Pods of the role in this domain."]


class TopologyRequestDocument(TypedDict):
    required: Annotated[list[TopologyKeyDocument], "Labels of which all pods need one value."]
    preferred: Annotated[list[str], "Labels of which few values are preferred, widest first."]


class TopologyDocument(TopologyRequestDocument):
    domains: Annotated[
        list[DomainPodsDocument] | None, "Where the pods are; null where nodes may not be read."
    ]


class NearestDomainsDocument(TypedDict):
    domains: Annotated[list[DomainDocument], "The domains with capacity for most of the pods."]
    schedulablePods: Annotated[int, "Pods that fit there."]
    pods: Annotated[int, "Pods that must fit."]
    neverFits: Annotated[bool, "Whether no more pods fit even with no training job running."]


class TopologyWaitDocument(TopologyRequestDocument):
    nearest: Annotated[
        NearestDomainsDocument | None, "For a queued job: the domains that come nearest."
    ]


class ExplainedTopologyDocument(TopologyDocument):
    nearest: Annotated[
        NearestDomainsDocument | None, "For a queued job: the domains that come nearest."
    ]


class ResourceHoursDocument(TypedDict):
    unit: Annotated[str, "GPU, or CPU for jobs without GPUs."]
    used: Annotated[float, "Resource-hours that its pods have requested so far."]
    atMaxReplicas: Annotated[float, "What a job of fixed size max would have requested."]
    complete: Annotated[bool, "Whether the history reaches back to the start."]


class ResourceHoursCostDocument(ResourceHoursDocument):
    cost: Annotated[float | None, "What they cost; null where no node of this unit has a price."]
    costAtMaxReplicas: Annotated[float | None, "What a job of fixed size max would have cost."]


class TeamCountDocument(TypedDict):
    team: Annotated[str | None, "Its name; null: all that are not counted apart."]
    jobs: Annotated[int, "Training jobs."]
