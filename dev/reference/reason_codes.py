"""The tables of docs/reference/reason-codes.md."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from dev.reference.markdown import table
from edl.annotations.job_history import OperationPhase
from edl.model import Code
from edl.model.blockers import BlockerKind, JobCondition, SizeBound
from edl.model.scarcity import NodeRule, Scarce

_REASONS: Final[Mapping[StrEnum, str]] = {
    Code.ADMITTED: "All pods of its minimum fit: it was started.",
    Code.IDLE_CAPACITY: "It grew into capacity that no other job asked for.",
    Code.MANUAL_SIZE: "Its size was set by `kubectl edl scale`.",
    Code.ABOVE_MAX: "It was scaled down to its max.",
    Code.RECLAIMED: "It was scaled down for a queued job, for other owners' pods or for a minimum.",
    Code.FAIR_SHARING: "It gave a replica to a job with a smaller share (policy `fair`).",
    Code.FIFO_ORDER: "It gave a replica to a job that was created earlier (policy `fifo`).",
    Code.UTILIZATION: "It gave a replica to one that uses the nodes better (policy `utilisation`).",
    Code.PREEMPTED: "It was suspended for a higher priority (`--preempt`) and waits in the queue.",
    Code.GUARANTEE_RECLAIMED: "It was suspended: a team with `reclaim: jobs` needed its guarantee.",
    Code.PAUSED: "`kubectl edl pause` suspended it.",
    Code.UNSCHEDULABLE: "Pods above its minimum found no node and were given back.",
    Code.GANG_UNSCHEDULABLE: "Pods of its minimum found no node or were lost: it was queued again.",
    Code.GROWTH_UNSCHEDULABLE: "It restarted smaller: its new size found no nodes.",
    Code.NODE_TERMINATING: "Its pods leave a node that is taken away.",
    Code.NODE_UNSCHEDULABLE: "Its pods leave a cordoned node.",
    Code.NODE_FULL: "Others have taken the room on a pod's node: it is placed again.",
    Code.NODE_UNNEEDED: "Its extras left a node that nothing else needs.",
    Code.POD_LOST: "It restarts: a pod was lost, and its framework cannot go on without it.",
    Code.CONTAINER_RESTARTED: "It restarts: one container restarted, which the others do not know.",
    Code.PODS_REMOVED: "Pods that its user named were removed.",
    Code.SCALE_FAILED: "A manual size did not come in time and was taken back.",
    Code.SCALE_SUCCEEDED: "A manual size with a time limit has come.",
    Code.COMPLETE: "The training job is done.",
    Code.FAILED: "The training job has failed.",
    Code.INCOMPLETE: "Jobs of its roles do not exist yet.",
    Code.INVALID: "What its Jobs say makes no sense; the message says what.",
    Code.WRITE_REFUSED: "The API server refuses a change of its Jobs.",
    Code.START_REFUSED: "The API server refuses its start; it is tried again with back-off.",
    Code.WAITING_FOR_NODES: "It asks an autoscaler for nodes, by provisional pods.",
    Code.NODES_NOT_PROVISIONED: "Nodes did not come in time: it asks again later, with back-off.",
    Code.INSUFFICIENT_CAPACITY: "Its pods do not fit now.",
    Code.NEVER_FITS: "Its pods would not fit even if no training job ran.",
    Code.NO_ELIGIBLE_NODE: "Its node selector, affinity or tolerations allow no schedulable node.",
    Code.QUOTA_EXCEEDED: "A ResourceQuota or the namespace's GPU budget leaves too little.",
    Code.LOAD_CEILING: "The load ceiling leaves no room for growth.",
    Code.NEEDED_NODES_ONLY: "The room that is left is on nodes that an autoscaler may remove.",
    Code.QUEUE_ORDER: "A job that has waited longer starts first.",
    Code.PLACEMENT_ORDER: "Pods that come before it do not have their nodes yet.",
    Code.MINIMUM_FIRST: "It starts with its minimum and grows afterwards.",
    Code.PODS_TERMINATING: "It gets the room of other pods, and waits until these have terminated.",
    Code.REBALANCING: "Replicas are moving to jobs with a smaller share.",
    Code.COOLDOWN: "Its size changed a moment ago.",
    Code.BACK_OFF: "Its last start or growth found no nodes, or pods were lost: it waits.",
    Code.STABILIZING: "Jobs were started or resized a moment ago (policy `throughput`).",
    Code.PODS_MISSING: "Its lost pods have not been created again yet.",
    Code.PODS_GATED: "Its pods wait behind a scheduling gate that is not kubectl-edl's.",
    Code.PODS_SUCCEEDED: "Some of its pods have succeeded: it is not restarted any more.",
    Code.NEARLY_DONE: "It is nearly finished and keeps its size.",
    Code.FIXED_SIZE: "Its size is fixed.",
    Code.AT_MIN: "It has its min.",
    Code.BELOW_MIN: "Its min was raised above its size: it waits for room, and grows first.",
    Code.UNOBSERVED: "The reconciler has not looked at it yet.",
    Code.UNKNOWN: "Its reason was lost.",
    Code.NOT_PLANNED: "There is room, and the plan does not give it to the job now.",
}


_CAUSES: Final[Mapping[StrEnum, str]] = {
    BlockerKind.ROOM: "Pods fit on no node that they may use.",
    BlockerKind.TOO_LARGE: "A pod asks for more than any node that it may use has, even empty.",
    BlockerKind.NO_NODE: "The role may use no node, or none that is large enough; `rule` says why.",
    BlockerKind.KEPT: "Nodes have room, and `rule` keeps the pods off them.",
    BlockerKind.LOAD_CEILING: "The load ceiling keeps the rest of a resource idle.",
    BlockerKind.BUDGET: "A ResourceQuota or the namespace's GPU budget allows no more.",
    BlockerKind.BOUND: "The role has reached `bound`.",
    BlockerKind.UNTIL: "A rule that ends by itself at `until`.",
    BlockerKind.OTHERS: "Other jobs or pods get the room first; `rule` is the reason code for it.",
    BlockerKind.PROMISED: "It comes by itself, with what is on its way.",
    BlockerKind.ITSELF: "The training job itself keeps it; `what` says how.",
}
_RULES: Final[Mapping[StrEnum, str]] = {
    NodeRule.UNSCHEDULABLE: "No node is schedulable.",
    NodeRule.NODE_SELECTOR: "No node matches its node selector.",
    NodeRule.NODE_AFFINITY: "No node matches its node affinity.",
    NodeRule.TAINTS: "It does not tolerate the taints of the nodes that it selects, or of "
    "those that are large enough.",
    NodeRule.TOPOLOGY: "No node that it may use has the labels of the topology that it requires.",
    NodeRule.OTHERS_UNSCHEDULABLE: "No node that it may use is schedulable.",
    Scarce.RULES: "Pod (anti-)affinity or topology spread.",
    Scarce.DEVICES: "Other pods have shares of the GPUs.",
}
_BOUNDS: Final[Mapping[StrEnum, str]] = {
    SizeBound.MAX: "Its max.",
    SizeBound.MANUAL: "Its manual size.",
    SizeBound.ITEMS: "The work items that are left.",
}
_HINDRANCES: Final[Mapping[StrEnum, str]] = {
    JobCondition.PAUSED: "It is paused.",
    JobCondition.PROBLEM: "It is invalid, or its start is refused.",
    JobCondition.MISSING: "Jobs of its roles do not exist.",
    JobCondition.FIXED: "The size of the role is fixed.",
    JobCondition.NEARLY_DONE: "It is nearly finished, or some of its pods have succeeded.",
    JobCondition.RULE: "A rule of the plan; `reason` is its code.",
}
_PHASES: Final[Mapping[StrEnum, str]] = {
    OperationPhase.STARTING: "Its minimum does not run yet.",
    OperationPhase.RUNNING: "It was started.",
    OperationPhase.SCALING: "Pods of the new size come or leave.",
    OperationPhase.SCALE_SUCCEEDED: "The new size is there.",
    OperationPhase.SCALE_FAILED: "The new size did not come in time and was taken back.",
    OperationPhase.SUSPENDED: "It was stopped.",
    OperationPhase.SUCCEEDED: "The training job is done.",
    OperationPhase.FAILED: "The training job has failed.",
}
TABLES: Final[tuple[tuple[str, Mapping[StrEnum, str]], ...]] = (
    ("CODE", _REASONS),
    ("`kind` OF A CAUSE (`explain`)", _CAUSES),
    ("`rule` OF NoNode AND Kept", _RULES),
    ("`bound` OF Bound", _BOUNDS),
    ("`what` OF Itself", _HINDRANCES),
    ("`phase` OF AN OPERATION (`history`, `status`, `explain`)", _PHASES),
)
"""Every code that users see in annotations, Events, metrics and the plugin's documents."""


def tables() -> str:
    """Markdown tables with a row per code, separated by empty lines, ending with a newline."""
    return "\n".join(
        table((title, "MEANING"), ((f"`{code}`", meaning) for code, meaning in meanings.items()))
        for title, meanings in TABLES
    )
