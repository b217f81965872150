"""Why a training job has its size, or why it waits; `edl.messages` renders these values."""

from enum import StrEnum
from typing import Annotated, Final

import msgspec

from edl.model.causes.reason_subjects import About


class Code(StrEnum):
    """The value of `edl.dev/reason`: CamelCase, as in Kubernetes' conditions."""

    # Why a size was changed, or a training job was started, stopped or moved.
    ADMITTED = "Admitted"
    IDLE_CAPACITY = "IdleCapacity"
    MANUAL_SIZE = "ManualSize"
    ABOVE_MAX = "AboveMax"
    RECLAIMED = "Reclaimed"
    FAIR_SHARING = "FairSharing"
    FIFO_ORDER = "FIFOOrder"
    UTILIZATION = "Utilization"
    PREEMPTED = "Preempted"
    GUARANTEE_RECLAIMED = "GuaranteeReclaimed"
    PAUSED = "Paused"
    UNSCHEDULABLE = "Unschedulable"
    GANG_UNSCHEDULABLE = "GangUnschedulable"
    GROWTH_UNSCHEDULABLE = "GrowthUnschedulable"
    NODE_TERMINATING = "NodeTerminating"
    NODE_UNSCHEDULABLE = "NodeUnschedulable"
    NODE_FULL = "NodeFull"
    NODE_UNNEEDED = "NodeUnneeded"
    POD_LOST = "PodLost"
    CONTAINER_RESTARTED = "ContainerRestarted"
    PODS_REMOVED = "PodsRemoved"
    SCALE_FAILED = "ScaleFailed"
    SCALE_SUCCEEDED = "ScaleSucceeded"
    COMPLETE = "Complete"
    FAILED = "Failed"
    # Why it waits, or does not grow.
    PAUSE_REFUSED = "PauseRefused"
    INCOMPLETE = "Incomplete"
    INVALID = "Invalid"
    JOB_CONFLICT = "JobConflict"
    EXEC_NOT_ALLOWED = "ExecNotAllowed"
    WRITE_REFUSED = "WriteRefused"
    START_REFUSED = "StartRefused"
    NAMESPACE_TERMINATING = "NamespaceTerminating"
    WAITING_FOR_NODES = "WaitingForNodes"
    NODES_NOT_PROVISIONED = "NodesNotProvisioned"
    INSUFFICIENT_CAPACITY = "InsufficientCapacity"
    NEVER_FITS = "NeverFits"
    NO_ELIGIBLE_NODE = "NoEligibleNode"
    QUOTA_EXCEEDED = "QuotaExceeded"
    LOAD_CEILING = "LoadCeiling"
    NEEDED_NODES_ONLY = "NeededNodesOnly"
    TOPOLOGY_VIOLATED = "TopologyViolated"
    QUEUE_ORDER = "QueueOrder"
    PLACEMENT_ORDER = "PlacementOrder"
    MINIMUM_FIRST = "MinimumFirst"
    PODS_TERMINATING = "PodsTerminating"
    PODS_STUCK = "PodsStuck"
    REBALANCING = "Rebalancing"
    COOLDOWN = "Cooldown"
    BACK_OFF = "BackOff"
    STABILIZING = "Stabilizing"
    PODS_MISSING = "PodsMissing"
    PODS_GATED = "PodsGated"
    PODS_UNREADY = "PodsUnready"
    CONTAINER_WAITING = "ContainerWaiting"
    PODS_SUCCEEDED = "PodsSucceeded"
    NEARLY_DONE = "NearlyDone"
    FIXED_SIZE = "FixedSize"
    AT_MIN = "AtMin"
    BELOW_MIN = "BelowMin"
    UNOBSERVED = "Unobserved"
    UNKNOWN = "Unknown"
    NOT_PLANNED = "NotPlanned"


class Restart(StrEnum):
    """The progress of a restart for a new size; part of the reason of that resize."""

    NONE = ""
    STOPPED = "Stopped"  # suspended: it starts again at its present size
    STARTED = "Started"


class Reason(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a training job was started, stopped, resized or moved, or why it waits."""

    code: Code
    about: About | None = None
    restart: Restart = Restart.NONE
    attempts: Annotated[int, msgspec.Meta(ge=0, le=100)] = 0
    """How many restarts preceded this one in quick succession, or failures to grow in a row."""
    failed_starts: Annotated[int, msgspec.Meta(ge=0, le=100)] = 0
    """How many failed starts in a row preceded the last one."""


TIMED_CODES: Final = frozenset({Code.COOLDOWN, Code.BACK_OFF})
"""Reasons that end when their time is over."""
PROMISING_CODES: Final = frozenset(
    {Code.PODS_TERMINATING, Code.PLACEMENT_ORDER, Code.REBALANCING, Code.MINIMUM_FIRST}
    | {Code.WAITING_FOR_NODES}
)
"""Reasons that announce the wanted change: operations in progress will bring it about."""
_CODES: Final = {code.value: code for code in Code}


def code_of(annotation: str) -> Code | None:
    """None for an empty annotation or an unknown code."""
    return _CODES.get(annotation)
