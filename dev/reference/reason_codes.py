"""The tables of docs/reference/reason-codes.md."""

from collections.abc import Mapping
from typing import Final

from dev.reference import table
from edl.annotations.job_history import OperationPhase
from edl.model import Code
from edl.model.causes.blockers import (
    AtBound,
    ConstraintsUnsatisfied,
    InProgress,
    InsufficientResources,
    JobCondition,
    LoadCeiling,
    NoUsableNode,
    Outranked,
    OwnCondition,
    QuotaExceeded,
    SizeBound,
    TimedHold,
    TooLarge,
)
from edl.model.causes.scarcity import NodeRule, Scarce

_REASONS: Final[Mapping[str, str]] = {
    Code.ADMITTED: "All pods of its minimum fit: it was started.",
    Code.IDLE_CAPACITY: "It was scaled up on capacity that no other job requested.",
    Code.MANUAL_SIZE: "Its size was set by `kubectl edl scale`.",
    Code.ABOVE_MAX: "It was scaled down to its max.",
    Code.RECLAIMED: "It was scaled down for a queued job, for other owners' pods or for a minimum.",
    Code.FAIR_SHARING: "It gave a replica to a job with a smaller share, or of a team within its "
    "guarantee (policy `fair`).",
    Code.FIFO_ORDER: "It gave a replica to a job that was created earlier (policy `fifo`).",
    Code.UTILIZATION: "It gave a replica to one that uses the nodes better (policy `utilisation`).",
    Code.PREEMPTED: "It was suspended for a higher priority (`--preempt`) and waits in the queue.",
    Code.GUARANTEE_RECLAIMED: "It was suspended: a team with `reclaim: jobs` needed its guarantee.",
    Code.PAUSED: "`kubectl edl pause` suspended it.",
    Code.PAUSE_REFUSED: "A pause would end it: a pod of its work queue has succeeded.",
    Code.UNSCHEDULABLE: "Pods above its minimum were unschedulable or refused, and were removed.",
    Code.GANG_UNSCHEDULABLE: "Pods of its minimum were unschedulable, refused or lost: requeued.",
    Code.GROWTH_UNSCHEDULABLE: "It restarted smaller: its new size could not be scheduled.",
    Code.NODE_TERMINATING: "Its pods move off a node that is being removed.",
    Code.NODE_UNSCHEDULABLE: "Its pods move off a cordoned node.",
    Code.NODE_FULL: "Other pods took the capacity of a pod's node: the pod is rescheduled.",
    Code.NODE_UNNEEDED: "Its extras left a node that nothing else needs.",
    Code.POD_LOST: "It restarts: a pod was lost, and its framework cannot continue without it.",
    Code.CONTAINER_RESTARTED: "It restarts: one container restarted, and the others cannot rejoin.",
    Code.PODS_REMOVED: "Pods that its user named were removed.",
    Code.SCALE_FAILED: "A manual size was not reached in time and was reverted.",
    Code.SCALE_SUCCEEDED: "A manual size with a time limit was reached.",
    Code.COMPLETE: "The training job is done.",
    Code.FAILED: "The training job has failed.",
    Code.INCOMPLETE: "Jobs of its roles do not exist yet, or are left out of it.",
    Code.INVALID: "Its Jobs or their annotations are invalid; the message says why.",
    Code.JOB_CONFLICT: "Another Job with its `edl.dev/job` has started, and the two disagree, or"
    " pods of this one would be refused.",
    Code.EXEC_NOT_ALLOWED: "Its namespace does not let launchers exec into their workers.",
    Code.WRITE_REFUSED: "The API server rejects a change of its Jobs; it is retried with back-off.",
    Code.START_REFUSED: "The API server rejects its start; it is retried with back-off.",
    Code.NAMESPACE_TERMINATING: "Its namespace is being deleted: it does not start or scale up.",
    Code.WAITING_FOR_NODES: "It has requested nodes from an autoscaler.",
    Code.NODES_NOT_PROVISIONED: (
        "Requested nodes did not arrive in time (retried with back-off), or the limits of"
        " Karpenter's NodePools do not allow them."
    ),
    Code.INSUFFICIENT_CAPACITY: "Its pods do not fit now.",
    Code.NEVER_FITS: "Its pods would not fit even if no training job ran.",
    Code.NO_ELIGIBLE_NODE: "Its node selector, affinity or tolerations allow no schedulable node.",
    Code.QUOTA_EXCEEDED: "A ResourceQuota or the namespace's GPU budget leaves too little for "
    "its start, its growth or the replacement of lost pods.",
    Code.LOAD_CEILING: "The load ceiling leaves no capacity for growth.",
    Code.TOPOLOGY_VIOLATED: "Its pods run in several domains of its required topology, or outside, "
    "because labels of nodes were changed: it keeps its size.",
    Code.NEEDED_NODES_ONLY: "The free capacity is on nodes that an autoscaler may remove.",
    Code.QUEUE_ORDER: "A job ahead of it in the queue starts, or requests nodes, first.",
    Code.PLACEMENT_ORDER: "Pods ahead of it have not been scheduled yet.",
    Code.MINIMUM_FIRST: "It starts with its minimum and is scaled up afterwards.",
    Code.PODS_TERMINATING: "It waits until its previous pods, or those that it follows, are gone.",
    Code.PODS_STUCK: "Pods of its last start still run long after their grace period.",
    Code.REBALANCING: "Replicas are moving to jobs with a smaller share.",
    Code.COOLDOWN: "Its size changed recently.",
    Code.BACK_OFF: "Its last start or growth could not be scheduled, or pods were lost.",
    Code.STABILIZING: "Jobs were started or resized recently (policy `throughput`).",
    Code.PODS_MISSING: "Its lost pods have not been recreated yet.",
    Code.PODS_UNREADY: "Pods stay on a cordoned node while others of their role are not ready.",
    Code.CONTAINER_WAITING: "A container cannot start, or is restarted again and again.",
    Code.PODS_GATED: "Its pods have a scheduling gate that is not kubectl-edl's.",
    Code.PODS_SUCCEEDED: "It is neither scaled up nor restarted: some of its pods have succeeded.",
    Code.NEARLY_DONE: "It is nearly finished and keeps its size.",
    Code.FIXED_SIZE: "Its size is fixed.",
    Code.AT_MIN: "It has its min.",
    Code.BELOW_MIN: "Its min was raised above its size; it is scaled up first.",
    Code.UNOBSERVED: "The reconciler has not processed it yet.",
    Code.UNKNOWN: "Its reason is unknown.",
    Code.NOT_PLANNED: "Capacity is free, and the plan does not use it for the job now.",
}


_BLOCKERS: Final[Mapping[str, str]] = {
    InsufficientResources.__name__: "No eligible node has enough free resources for the pods.",
    TooLarge.__name__: "A pod requests more than any eligible node has, even an empty one.",
    NoUsableNode.__name__: "No node is eligible, or none that is large enough (`nodeRule`).",
    ConstraintsUnsatisfied.__name__: "Nodes have the resources; `constraint` excludes them.",
    LoadCeiling.__name__: "The load ceiling keeps the rest of a resource idle.",
    QuotaExceeded.__name__: "A ResourceQuota or the namespace's GPU budget is exhausted.",
    AtBound.__name__: "The role has reached a limit; `limitedBy` says which.",
    TimedHold.__name__: "A rule such as a cooldown, which ends by itself at `notBefore`.",
    Outranked.__name__: "Other jobs or pods get the capacity first, by the rule `reason`.",
    InProgress.__name__: "A resize, move or termination in progress provides what is missing.",
    OwnCondition.__name__: "A property of the training job itself; `condition` says which.",
}
_RULES: Final[Mapping[str, str]] = {
    NodeRule.UNSCHEDULABLE: "No node is schedulable.",
    NodeRule.NODE_NAME: "No node has the name that it gives, by `nodeName` or `matchFields`.",
    NodeRule.NODE_SELECTOR: "No node matches its node selector.",
    NodeRule.NODE_AFFINITY: "No node matches its node affinity.",
    NodeRule.TAINTS: "It does not tolerate the taints of the nodes that it selects, or of "
    "those that are large enough.",
    NodeRule.TOPOLOGY: "No eligible node has the label of the topology that it requires.",
    NodeRule.TOPOLOGY_SPREAD: "No eligible node has the labels of its topology spread.",
    NodeRule.POD_AFFINITY: "No pod that its pod affinity requires runs near an eligible node.",
    NodeRule.POD_ANTI_AFFINITY: "Pod anti-affinity to other owners' pods excludes all nodes.",
    NodeRule.OTHERS_UNSCHEDULABLE: "Every eligible node is cordoned.",
    Scarce.RULES: "Pod (anti-)affinity or topology spread.",
    Scarce.PORTS: "Its host ports: a node has each of them for one pod.",
    Scarce.DEVICES: "The GPUs are shared, and none has a large enough free share.",
}
_BOUNDS: Final[Mapping[str, str]] = {
    SizeBound.MAX: "Its max.",
    SizeBound.MANUAL: "Its manual size.",
    SizeBound.ITEMS: "The number of remaining work items.",
    SizeBound.QUEUE: "A pod of its work queue has succeeded: no pod is added, none removed.",
}
_CONDITIONS: Final[Mapping[str, str]] = {
    JobCondition.PAUSED: "It is paused.",
    JobCondition.PROBLEM: "It is invalid, or the API server rejects its start.",
    JobCondition.NAMESPACE: "Its namespace is being deleted.",
    JobCondition.MISSING: "Jobs of its roles do not exist.",
    JobCondition.FIXED: "The framework never resizes the role.",
    JobCondition.ONE_SIZE: "The min and max of the role are equal.",
    JobCondition.NEARLY_DONE: "It is nearly finished, or some of its pods have succeeded.",
    JobCondition.RULE: "A rule of the plan; `reason` is its code.",
}
_PHASES: Final[Mapping[str, str]] = {
    OperationPhase.STARTING: "Its minimum is not running yet.",
    OperationPhase.RUNNING: "It was started.",
    OperationPhase.SCALING: "Pods are being created or removed for the new size.",
    OperationPhase.SCALE_SUCCEEDED: "The new size was reached.",
    OperationPhase.SCALE_FAILED: "The new size was not reached in time, or its pods never ran: "
    "it was reverted.",
    OperationPhase.SUSPENDED: "It was suspended.",
    OperationPhase.SUCCEEDED: "The training job is done.",
    OperationPhase.FAILED: "The training job has failed.",
}
TABLES: Final[tuple[tuple[str, Mapping[str, str]], ...]] = (
    ("CODE", _REASONS),
    ("`type` OF A BLOCKER (`explain`)", _BLOCKERS),
    ("`nodeRule` OF NoUsableNode, `constraint` OF ConstraintsUnsatisfied", _RULES),
    ("`limitedBy` OF AtBound", _BOUNDS),
    ("`condition` OF OwnCondition", _CONDITIONS),
    ("`phase` OF AN OPERATION (`history`, `status`, `explain`)", _PHASES),
)
"""Every code that users see in annotations, Events, metrics and the plugin's documents."""


def tables() -> str:
    """Markdown tables with a row per code, separated by empty lines, ending with a newline."""
    return "\n".join(
        table((title, "MEANING"), ((f"`{code}`", meaning) for code, meaning in meanings.items()))
        for title, meanings in TABLES
    )
