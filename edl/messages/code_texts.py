"""Texts of codes, restarts and attempts, and of subjects that a namespace's users may not see."""

from collections.abc import Mapping
from typing import Final

from edl.model.reason_codes import Attempted, Code, Restart

RESTART: Final[Mapping[Restart, str]] = {
    Restart.NONE: "",
    Restart.STOPPED: "restarts: ",
    Restart.STARTED: "restarted: ",
}

PLAIN: Final[Mapping[Code, str]] = {
    Code.MANUAL_SIZE: "manual size",
    Code.ABOVE_MAX: "scaled down to its max",
    Code.PAUSED: "paused",
    Code.UNSCHEDULABLE: "pods stayed Pending: no node takes them",
    Code.GANG_UNSCHEDULABLE: "pods of its minimum stayed Pending: back to the queue",
    Code.GROWTH_UNSCHEDULABLE: "not all pods of its larger size found a node",
    Code.POD_LOST: "a pod was lost, and the others cannot go on without it",
    Code.CONTAINER_RESTARTED: "a container restarted, and the other pods cannot go on with it",
    Code.NODE_UNNEEDED: "left nodes that nothing else needs: an autoscaler may remove them",
    Code.NEEDED_NODES_ONLY: "grows only on nodes that are needed anyway: others may be removed",
    Code.PLACEMENT_ORDER: "waiting for pods ahead of it to be scheduled",
    Code.MINIMUM_FIRST: "starts with its minimum, and is scaled up when those pods are scheduled",
    Code.PODS_TERMINATING: "waiting for its previous pods to terminate",
    Code.REBALANCING: "waiting for replicas to move to a job with a smaller share",
    Code.COOLDOWN: "cooldown after its last start or resize",
    Code.PODS_MISSING: "waiting for its lost pods to be recreated",
    Code.PODS_GATED: "its pods wait behind a scheduling gate of their template",
    Code.PODS_SUCCEEDED: "some of its pods have succeeded: it is not restarted any more",
    Code.NEARLY_DONE: "nearly finished: it keeps its size",
    Code.FIXED_SIZE: "its size is fixed",
    Code.AT_MIN: "its min",
    Code.UNOBSERVED: "waiting for the reconciler to look at it",
    Code.UNKNOWN: "its reason is not known any more",
    Code.NOT_PLANNED: "there is room, but the plan does not use it for this job now",
}
"""Messages of reasons without a subject."""
UNKNOWN: Final = PLAIN[Code.UNKNOWN]
"""The message of a code with an unexpected subject: another client may have written it."""

RECLAIMED: Final = "to make room for"
BALANCED: Final[Mapping[Code, str]] = {
    Code.FAIR_SHARING: "equal share with",
    Code.FIFO_ORDER: "came after",
    Code.UTILIZATION: "better utilization by",
}
TO: Final[Mapping[Code, str]] = {
    **BALANCED,
    Code.RECLAIMED: RECLAIMED,
}
"""The words before the name of the training job that gets the capacity."""
SUSPENDED_FOR: Final[Mapping[Code, str]] = {
    Code.PREEMPTED: "its priority is lower",
    Code.GUARANTEE_RECLAIMED: "its team borrows what another is guaranteed",
}
ENDED: Final[Mapping[Code, str]] = {Code.COMPLETE: "is done", Code.FAILED: "has failed"}
ATTEMPTS: Final[Mapping[Attempted, str]] = {
    Attempted.GANG: "back-off: its last start found no nodes for all pods",
    Attempted.GROWTH: "back-off: a larger size found no nodes",
    Attempted.RECLAMATION: "back-off: it made room for a job that could not start",
    Attempted.COMPLETION: "its other roles found no room beside those that run: back to the queue",
    Attempted.PLACEMENT: "its nodes are taken or gone: back to the queue",
}
UNNAMED_POD: Final = "a pod of another namespace"
"""Replaces the name of a pod that the reader may not see."""


def unnamed_jobs(team: str, count: int = 1) -> str:
    """Training jobs of other namespaces, unnamed; `team` is empty if teams are not configured."""
    if team:
        owner = f"of team {team}"
    else:
        owner = "of another namespace" if count == 1 else "of other namespaces"
    return f"a job {owner}" if count == 1 else f"{count} jobs {owner}"
