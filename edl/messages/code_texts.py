"""Texts of codes, restarts and attempts, and of subjects that a namespace's users may not see."""

from collections.abc import Mapping
from typing import Final

from edl.model.causes.reason_codes import Code, Restart
from edl.model.causes.reason_subjects import Attempted

RESTART: Final[Mapping[Restart, str]] = {
    Restart.NONE: "",
    Restart.STOPPED: "restarts: ",
    Restart.STARTED: "restarted: ",
}

UNTIL: Final = " (until {:%H:%M:%S} UTC)"
"""Follows a sentence, with the time at which its reason ends by itself."""
QUEUE_CLOSED: Final = (
    "a pod of this work queue has succeeded: Kubernetes adds none, and removes none"
)
QUEUE_ENDS: Final = (
    "a pod of this work queue has succeeded: Kubernetes takes the job as complete once no pod runs"
)
_MOVING: Final = "waiting for replicas to move to a job with a smaller share"
PLAIN: Final[Mapping[Code, str]] = {
    Code.MANUAL_SIZE: "manual size",
    Code.IDLE_CAPACITY: "idle capacity",
    Code.ABOVE_MAX: "scaled down to its max",
    Code.PAUSED: "paused",
    Code.PAUSE_REFUSED: f"not paused, as that would end it: {QUEUE_ENDS}",
    Code.UNSCHEDULABLE: "pods above its minimum remained without a node",
    Code.GANG_UNSCHEDULABLE: "pods of its minimum remained unschedulable: requeued",
    Code.GROWTH_UNSCHEDULABLE: "not all pods of its larger size could be scheduled",
    Code.POD_LOST: "a pod was lost, and the others cannot continue without it",
    Code.NODE_FULL: "the node of a pod has no capacity left for it: the pod is rescheduled",
    Code.CONTAINER_RESTARTED: "a container restarted, and the other pods cannot continue with it",
    Code.NODE_UNNEEDED: "moved off nodes that nothing else needs: an autoscaler may remove them",
    Code.NEEDED_NODES_ONLY: "scales up only on nodes that an autoscaler has to keep anyway",
    Code.QUEUE_ORDER: "nodes are requested for jobs ahead of it first",
    Code.PLACEMENT_ORDER: "waiting for pods ahead of it to be scheduled",
    Code.MINIMUM_FIRST: "starts with its minimum, and is scaled up when those pods are scheduled",
    Code.PODS_TERMINATING: "waiting for its previous pods to terminate",
    Code.NAMESPACE_TERMINATING: "its namespace is being deleted: no pod can be created in it",
    Code.PODS_STUCK: "its previous pods do not terminate: other jobs start ahead of it",
    Code.REBALANCING: _MOVING,
    Code.COOLDOWN: "cooldown after its last start or resize",
    Code.PODS_MISSING: "waiting for its lost pods to be recreated",
    Code.PODS_GATED: "its pods wait behind a scheduling gate of their template",
    Code.PODS_SUCCEEDED: "neither scaled up nor restarted: some of its pods have already succeeded",
    Code.NEARLY_DONE: "nearly finished: it keeps its size",
    Code.FIXED_SIZE: "its size is fixed",
    Code.AT_MIN: "its min",
    Code.UNOBSERVED: "not yet processed by the reconciler",
    Code.UNKNOWN: "reason unknown",
    Code.NOT_PLANNED: "capacity is free, but the plan does not use it for this job now",
}
"""Messages of reasons without a subject."""
UNKNOWN: Final = PLAIN[Code.UNKNOWN]
"""The message of a code with an unexpected subject: another client may have written it."""

START_REFUSED: Final = "the API server refuses its start"
RECLAIMED: Final = "to make room for"
OWN_MINIMUM: Final = "its own minimum"
BALANCED: Final[Mapping[Code, str]] = {
    Code.FAIR_SHARING: "equal share with",
    Code.FIFO_ORDER: "created after",
    Code.UTILIZATION: "better utilization by",
}
AHEAD: Final = "jobs ahead of it in the queue start first"
FIRST: Final = "capacity goes first to"
PRECEDENCE: Final[Mapping[Code, str]] = {
    **BALANCED,
    Code.QUEUE_ORDER: f"{AHEAD}:",
    Code.MINIMUM_FIRST: f"{FIRST} the minimum of",
}
TO: Final[Mapping[Code, str]] = {
    **BALANCED,
    Code.RECLAIMED: RECLAIMED,
    Code.REBALANCING: f"{_MOVING}:",
}
"""The words before the name of the training job that gets the capacity."""
SUSPENDED_FOR: Final[Mapping[Code, str]] = {
    Code.PREEMPTED: "its priority is lower",
    Code.GUARANTEE_RECLAIMED: "its team borrows from another team's guarantee",
}
ENDED: Final[Mapping[Code, str]] = {Code.COMPLETE: "is done", Code.FAILED: "has failed"}
ATTEMPTS: Final[Mapping[Attempted, str]] = {
    Attempted.GANG: "not all pods of its last start could be scheduled",
    Attempted.CREATION: "not all pods of its last start could be created",
    Attempted.GROWTH: "not all pods of a larger size were created and scheduled",
    Attempted.RECLAMATION: "it was scaled down for a job that could not start",
    Attempted.RECREATION: "after lost pods the Job controller creates no pod",
    Attempted.COMPLETION: "its remaining roles do not fit beside those that run",
    Attempted.PLACEMENT: "its nodes were removed or taken by other pods",
}
SPENT_RETRIES: Final = "containers of {} were restarted {} times"
FAILED_RANK: Final = "{} {} has failed for good, and the others need it"
NEVER_CREATED: Final = "pods above its minimum could not be created"
UNNAMED_POD: Final = "a pod of another namespace"
"""Replaces the name of a pod that the reader may not see."""


def unnamed_jobs(team: str, count: int = 1) -> str:
    """Training jobs of other namespaces, unnamed; `team` is empty if teams are not configured."""
    if team:
        owner = f"of team {team}"
    else:
        owner = "of another namespace" if count == 1 else "of other namespaces"
    return f"a job {owner}" if count == 1 else f"{count} jobs {owner}"
