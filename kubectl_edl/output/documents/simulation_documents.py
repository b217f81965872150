"""Documents of `simulate`. All times are seconds from the start of the scenario."""

from typing import Annotated, Any, TypedDict

from kubectl_edl.output.documents.shared_documents import (
    DomainPodsDocument,
    NameDocument,
    NamespacedDocument,
)

Points = list[list[Any]]
"""[seconds, value] of each change."""


class SpreadDocument(TypedDict):
    mean: Annotated[float | None, "Mean; null of nothing."]
    median: Annotated[float | None, "Median; null of nothing."]
    max: Annotated[float | None, "Largest; null of nothing."]


class SimulatedJobDocument(TypedDict):
    name: Annotated[str, "Name of the training job."]
    namespace: Annotated[str, "Its namespace."]
    minReplicas: Annotated[int, "Its minimum."]
    maxReplicas: Annotated[int, "Its maximum."]
    arrivalSeconds: Annotated[float, "When it was submitted."]
    startSeconds: Annotated[float | None, "When its minimum was ready; null: never."]
    endSeconds: Annotated[float | None, "When it ended; null: not before the simulation."]
    waitSeconds: Annotated[float | None, "From submission to start; null: it never started."]
    completionSeconds: Annotated[float | None, "From submission to end."]
    restarts: Annotated[int, "How often it was stopped as a whole."]
    resizes: Annotated[int, "How often it was resized."]
    stoppedPods: Annotated[int, "Pods that ended before the job."]
    lostWorkSeconds: Annotated[float, "Work that was done twice, in seconds of one replica."]
    belowMinSeconds: Annotated[float, "How long it had nodes for less than its minimum."]
    replicas: Annotated[Points, "[seconds, replicas] of each change."]
    domains: Annotated[list[DomainPodsDocument], "For a topology: where its pods first ran."]
    message: Annotated[str, "Its last reason, as a sentence."]


class TimelineDocument(TypedDict):
    queuedJobs: Annotated[Points, "[seconds, jobs] of each change."]
    requests: Annotated[Points, "[seconds, {resource: amount}] of each change."]
    allocatable: Annotated[Points, "[seconds, {resource: amount}] of each change."]
    nodes: Annotated[Points, '[seconds, {pool: nodes}] of each change, "" of none.']
    services: Annotated[dict[str, Points], "By service, [seconds, replicas] of each change."]


class SimulationDocument(TypedDict):
    metadata: Annotated[NameDocument, "name: the policy."]
    durationSeconds: Annotated[float, "How long was simulated."]
    completedJobs: Annotated[int, "Training jobs that ended."]
    neverStartedJobs: Annotated[int, "Training jobs that never started."]
    waitSeconds: Annotated[SpreadDocument, "Waits; jobs that never started count to the end."]
    completionSeconds: Annotated[SpreadDocument, "From submission to end."]
    makespanSeconds: Annotated[float | None, "From the first submission to the last end."]
    utilization: Annotated[dict[str, float], "By resource, the mean share that was requested."]
    nodeHours: Annotated[float, "Hours of all nodes, with the start-up of node pools' nodes."]
    cost: Annotated[float, "What the nodes of pools cost, in the unit of their prices."]
    belowMinSeconds: Annotated[float, "How long jobs had nodes for less than their minimum."]
    restarts: Annotated[int, "Jobs that were stopped as a whole."]
    stoppedPods: Annotated[int, "Pods that ended before their job."]
    decisions: Annotated[int, "Decisions of the planner."]
    jobs: Annotated[list[SimulatedJobDocument], "Each training job."]
    timeline: Annotated[TimelineDocument, "What changed over time."]


class WhatIfRoleDocument(TypedDict):
    name: Annotated[str, "The role."]
    replicas: Annotated[int, "Its size now."]


class WhatIfRunRoleDocument(TypedDict):
    name: Annotated[str, "The role."]
    minReplicas: Annotated[int, "Its minimum in this run."]
    maxReplicas: Annotated[int, "Its maximum in this run."]
    replicas: Annotated[int, "Its size at the end of the run."]


class WhatIfRunDocument(TypedDict):
    name: Annotated[str, "as-is, what-if, or the policy."]
    roles: Annotated[list[WhatIfRunRoleDocument], "Each role."]
    startSeconds: Annotated[
        float | None, "When its minimum is scheduled, last; null: queued at the end."
    ]
    endSeconds: Annotated[float | None, "When it ends; null: not in this time."]
    domains: Annotated[list[DomainPodsDocument], "For a topology: where its pods are."]
    message: Annotated[str, "Its last reason, as a sentence."]


class WhatIfDocument(TypedDict):
    metadata: NamespacedDocument
    roles: Annotated[list[WhatIfRoleDocument], "Each role."]
    runs: Annotated[list[WhatIfRunDocument], "One for each case: as it is, and as asked."]
