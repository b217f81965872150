"""Documents about the cluster and the installation: `top`, `doctor`, `certs`, `version`."""

from typing import Annotated, TypedDict

from kubectl_edl.output.documents import QUANTITY
from kubectl_edl.output.documents.shared_documents import (
    NameDocument,
    Quantities,
    ResourceHoursCostDocument,
)


class NodeUsageDocument(TypedDict):
    metadata: NameDocument
    ready: Annotated[bool, "Whether it is ready."]
    schedulable: Annotated[bool, "Whether it is ready and not cordoned."]
    trainingPods: Annotated[int, "Pods of training jobs on it."]
    allocatable: Annotated[Quantities, "What it offers to pods."]
    requests: Annotated[Quantities, "What its pods request together."]
    idle: Annotated[Quantities, "What is not requested; nothing on a node that takes no pods."]
    usage: Annotated[Quantities | None, "What is used; null without metrics-server."]


class ResourceUsageDocument(TypedDict):
    allocatable: Annotated[str, QUANTITY, "What ready nodes offer."]
    requests: Annotated[str, QUANTITY, "What pods on ready nodes request."]
    trainingRequests: Annotated[str, QUANTITY, "What pods of training jobs request there."]
    queuedRequests: Annotated[str, QUANTITY, "What the pods request that queued jobs start with."]
    idle: Annotated[str, QUANTITY, "What is not requested on nodes that take pods."]
    usage: Annotated[str | None, QUANTITY, "What is used; null where not measured."]


class NodeSharesDocument(TypedDict):
    minimums: Annotated[
        float, "Requested by replicas up to the minimum of their role, and by provisional pods."
    ]
    extras: Annotated[float, "Requested by replicas above the minimum."]
    others: Annotated[float, "Requested by pods of other owners."]
    idle: Annotated[float, "Idle."]


class ClusterUsageDocument(TypedDict):
    nodes: Annotated[int, "Nodes."]
    unschedulableNodes: Annotated[int, "Nodes that are cordoned or not ready."]
    trainingJobs: Annotated[dict[str, int], "Training jobs, by phase."]
    resources: Annotated[dict[str, ResourceUsageDocument], "By resource; gpu: whole and shared."]
    resourceHours: Annotated[
        list[ResourceHoursCostDocument], "What training jobs have requested, and what that cost."
    ]
    nodeShares: Annotated[NodeSharesDocument, "Nodes, by what requests their GPUs, or CPUs."]
    hourlyCost: Annotated[NodeSharesDocument | None, "Their hourly prices; null without --price."]
    unpricedNodes: Annotated[int, "Nodes for which no --price is given."]


class CheckDocument(TypedDict):
    section: Annotated[str, "Section of the report."]
    name: Annotated[str, "Stable name of the check."]
    result: Annotated[str, "ok, warning or failure."]
    message: Annotated[str, "What was found."]
    remediation: Annotated[
        str,
        "How to fix it, or find its cause: words, commands or both; empty if there is nothing "
        "to do.",
    ]


class CheckReportDocument(TypedDict):
    result: Annotated[str, "The worst of its checks: ok, warning or failure."]
    complete: Annotated[bool, "False if a failure kept other checks from running."]
    checks: Annotated[list[CheckDocument], "The checks, in the order of the sections."]


class VersionDocument(TypedDict):
    clientVersion: Annotated[str, "Version of the plugin."]
    pythonVersion: Annotated[str, "Version of the Python that runs it."]
