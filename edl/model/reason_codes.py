"""Why a training job has its size, or why it waits: a code, and what the code is about.

`edl.reasons` makes these values, decisions, phases, metrics and outputs compare them, and
`edl.messages` renders them.
"""

from enum import StrEnum
from typing import Annotated, Final, TypeAlias

import msgspec

from edl.model.object_refs import JobKey
from edl.model.quotas import Quota
from edl.model.scarcity import NoEligibleNode, NoRoom, Shortage
from edl.quantities import Amount


class Code(StrEnum):
    """What `edl.dev/reason` says, in Kubernetes' form: CamelCase, for machines."""

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
    INCOMPLETE = "Incomplete"
    INVALID = "Invalid"
    WRITE_REFUSED = "WriteRefused"
    START_REFUSED = "StartRefused"
    WAITING_FOR_NODES = "WaitingForNodes"
    NODES_NOT_PROVISIONED = "NodesNotProvisioned"
    INSUFFICIENT_CAPACITY = "InsufficientCapacity"
    NEVER_FITS = "NeverFits"
    NO_ELIGIBLE_NODE = "NoEligibleNode"
    QUOTA_EXCEEDED = "QuotaExceeded"
    LOAD_CEILING = "LoadCeiling"
    NEEDED_NODES_ONLY = "NeededNodesOnly"
    QUEUE_ORDER = "QueueOrder"
    PLACEMENT_ORDER = "PlacementOrder"
    MINIMUM_FIRST = "MinimumFirst"
    PODS_TERMINATING = "PodsTerminating"
    REBALANCING = "Rebalancing"
    COOLDOWN = "Cooldown"
    BACK_OFF = "BackOff"
    STABILIZING = "Stabilizing"
    PODS_MISSING = "PodsMissing"
    PODS_SUCCEEDED = "PodsSucceeded"
    NEARLY_DONE = "NearlyDone"
    FIXED_SIZE = "FixedSize"
    AT_MIN = "AtMin"
    UNOBSERVED = "Unobserved"
    UNKNOWN = "Unknown"
    NOT_PLANNED = "NotPlanned"


class Restart(StrEnum):
    """How far a restart at a new size has come, of whose reason this is a part."""

    NONE = ""
    STOPPED = "Stopped"
    """Stopped in order to start again at the size that it has now."""
    STARTED = "Started"


class Other(msgspec.Struct, frozen=True, tag="TrainingJob"):
    """Another training job."""

    job: JobKey


class Minimum(msgspec.Struct, frozen=True, tag=True):
    """The minimum of a training job, perhaps of the very one that the reason is told to."""

    job: JobKey


class ForeignJob(msgspec.Struct, frozen=True, tag=True):
    """A training job of another namespace, as this one's users may read of it.

    `uid` is one of its Jobs', `team` empty where there are no teams.
    """

    uid: str
    team: str = ""
    minimum: bool = False
    """The reason is about its minimum."""


class PendingPods(msgspec.Struct, frozen=True, tag=True):
    """Pods of other owners that wait for a node."""

    example: str
    """Empty where this namespace's users may not read its name."""
    priority: int


class Pods(msgspec.Struct, frozen=True, tag=True):
    """Its own pods: of its minimum, or of the size that its user has set."""

    count: int
    manual: bool = False


class LostPods(msgspec.Struct, frozen=True, tag=True):
    """Its own: of its minimum, and not made again yet. `seconds`: the Job controller's back-off."""

    count: int
    of: int
    seconds: float


class Awaiting(msgspec.Struct, frozen=True, tag=True):
    """`count` pods wait until others have terminated. `givers`: jobs that yield to them now."""

    pods: int
    givers: tuple[JobKey, ...]


class PodNames(msgspec.Struct, frozen=True, tag=True):
    """Its own pods, each by name."""

    names: tuple[str, ...]


class Roles(msgspec.Struct, frozen=True, tag=True):
    """Roles of the training job itself."""

    names: tuple[str, ...]


class Size(msgspec.Struct, frozen=True, tag=True):
    """A role's new size, and its max."""

    size: int
    max: int


class FixedSize(msgspec.Struct, frozen=True, tag=True):
    """A role that is never resized, and its size."""

    role: str
    size: int


class Growth(msgspec.Struct, frozen=True, tag=True):
    """A manual size that did not come in time, and the size that comes back."""

    wanted: int | None
    before: int
    timeout_seconds: float | None = None


class OffNodes(msgspec.Struct, frozen=True, tag=True):
    """Its own pods that leave nodes; `taints`: the keys that take these away, none of a cordon."""

    pods: tuple[str, ...]
    """As users name them: role and index, `worker-3`."""
    nodes: tuple[str, ...]
    taints: tuple[str, ...] = ()


class Load(msgspec.Struct, frozen=True, tag=True):
    """The share of a resource of the cluster that growth may use, 0..1."""

    share: float
    resource: str


class Period(msgspec.Struct, frozen=True, tag=True):
    """A time in which nothing may change before growth."""

    seconds: float


class Usage(msgspec.Struct, frozen=True, tag=True):
    """A budget, in its unit: what is asked of it, and what is used of it."""

    budget: Quota
    needs: Amount
    used: Amount


class AboveBudget(msgspec.Struct, frozen=True, tag=True):
    """A budget that is overdrawn."""

    budget: Quota


class Attempted(StrEnum):
    """What came to nothing."""

    GANG = "Gang"
    GROWTH = "Growth"
    RECLAMATION = "Reclamation"
    """It made room for a training job that could not start."""
    PLACEMENT = "Placement"
    """Pods of others came first to the nodes of a start, or these are gone."""


class Attempt(msgspec.Struct, frozen=True, tag=True):
    """What came to nothing, and is tried again later."""

    what: Attempted


class NodesAsked(msgspec.Struct, frozen=True, tag=True):
    """Nodes that an autoscaler is asked for: how many pods wait for them, and what it says."""

    pods: int
    said: str = ""


class Told(msgspec.Struct, frozen=True, tag=True):
    """What others say in their own words: a validation, the API server."""

    text: str


About: TypeAlias = (
    Other
    | Minimum
    | ForeignJob
    | PendingPods
    | Pods
    | LostPods
    | Awaiting
    | PodNames
    | Roles
    | Size
    | FixedSize
    | Growth
    | OffNodes
    | Load
    | Period
    | Usage
    | AboveBudget
    | Shortage
    | NoRoom
    | NoEligibleNode
    | Attempt
    | NodesAsked
    | Told
)


class Reason(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a training job is started, stopped, resized, moved, or why it waits."""

    code: Code
    about: About | None = None
    restart: Restart = Restart.NONE
    attempts: Annotated[int, msgspec.Meta(ge=0, le=100)] = 0
    """How many restarts came before this one, each soon after the one before."""


_CODES: Final = {code.value: code for code in Code}


def code_of(annotation: str) -> Code | None:
    """None where there is none, or none of ours."""
    return _CODES.get(annotation)
