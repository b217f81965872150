"""The table of reason codes in docs/reasons.md. `python -m edl.reasons_markdown` prints it."""

import sys
from collections.abc import Mapping
from typing import Final

from edl.model import Code

MEANINGS: Final[Mapping[Code, str]] = {
    Code.ADMITTED: "All pods of its minimum fit: it was started.",
    Code.IDLE_CAPACITY: "It grew into capacity that no other job asked for.",
    Code.MANUAL_SIZE: "Its size was set by `kubectl edl scale`.",
    Code.ABOVE_MAX: "It was scaled down to its max.",
    Code.RECLAIMED: "It was scaled down for a queued job, for other owners' pods or for a minimum.",
    Code.FAIR_SHARING: "It gave a replica to a job with a smaller share (policy `fair`).",
    Code.FIFO_ORDER: "It gave a replica to a job that was created earlier (policy `fifo`).",
    Code.UTILIZATION: "It gave a replica to one that uses the nodes better (policy `utilisation`).",
    Code.PREEMPTED: "It was suspended for a higher priority (`--preempt`) and waits in the queue.",
    Code.PAUSED: "`kubectl edl pause` suspended it.",
    Code.UNSCHEDULABLE: "Pods above its minimum found no node and were given back.",
    Code.GANG_UNSCHEDULABLE: "Pods of its minimum found no node: it went back to the queue.",
    Code.GROWTH_UNSCHEDULABLE: "It restarted smaller: its new size found no nodes.",
    Code.NODE_TERMINATING: "Its pods leave a node that is taken away.",
    Code.NODE_UNSCHEDULABLE: "Its pods leave a cordoned node.",
    Code.POD_LOST: "It restarts: a pod was lost, and its framework cannot go on without it.",
    Code.CONTAINER_RESTARTED: "It restarts: one container restarted, which the others do not know.",
    Code.PODS_REMOVED: "Pods that its user named were removed.",
    Code.SCALE_FAILED: "A manual size did not come in time and was taken back.",
    Code.SCALE_SUCCEEDED: "A manual size with a time limit has come.",
    Code.COMPLETE: "The training job is done.",
    Code.FAILED: "The training job has failed.",
    Code.INCOMPLETE: "Jobs of its cast do not exist yet.",
    Code.INVALID: "What its Jobs say makes no sense; the message says what.",
    Code.START_REFUSED: "The API server refuses its start; it is tried again with back-off.",
    Code.WRITE_REFUSED: "The API server refuses a change of its Jobs.",
    Code.INSUFFICIENT_CAPACITY: "Its pods do not fit now.",
    Code.NEVER_FITS: "Its pods would not fit even if no training job ran.",
    Code.NO_ELIGIBLE_NODE: "Its node selector, affinity or tolerations allow no schedulable node.",
    Code.QUOTA_EXCEEDED: "A ResourceQuota or the namespace's GPU budget leaves too little.",
    Code.LOAD_CEILING: "The load ceiling leaves no room for growth.",
    Code.QUEUE_ORDER: "A job that has waited longer starts first.",
    Code.PLACEMENT_ORDER: "Pods that come before it do not have their nodes yet.",
    Code.MINIMUM_FIRST: "It starts with its minimum and grows afterwards.",
    Code.PODS_TERMINATING: "It gets the room of pods that are terminating.",
    Code.REBALANCING: "Replicas are moving to jobs with a smaller share.",
    Code.COOLDOWN: "Its size changed a moment ago.",
    Code.BACK_OFF: "Its last start or growth found no nodes: it is tried again later.",
    Code.STABILIZING: "Jobs were started or resized a moment ago (policy `throughput`).",
    Code.PODS_MISSING: "Its lost pods have not been created again yet.",
    Code.PODS_SUCCEEDED: "Some of its pods have succeeded: it is not restarted any more.",
    Code.NEARLY_DONE: "It is nearly finished and keeps its size.",
    Code.FIXED_SIZE: "Its size is fixed.",
    Code.AT_MIN: "It has its min.",
    Code.UNOBSERVED: "The reconciler has not looked at it yet.",
    Code.UNKNOWN: "Its reason was lost.",
    Code.NOT_PLANNED: "There is room, and the plan does not give it to the job now.",
}


def table() -> str:
    """Every code as one row of a Markdown table, ending with a newline."""
    rows = "".join(f"| `{code}` | {MEANINGS[code]} |\n" for code in Code)
    return f"| CODE | MEANING |\n| --- | --- |\n{rows}"


if __name__ == "__main__":
    sys.stdout.write(table())
