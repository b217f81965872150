"""What a reason is about: the other job, the pods, the quota or the nodes that it names."""

from enum import StrEnum
from typing import Annotated, TypeAlias

import msgspec

from edl.model.causes.scarcity import (
    NodePoolLimit,
    NoEligibleNode,
    NoRoom,
    Shortage,
    UnplacedMinimum,
)
from edl.model.nodes import SplitDomains
from edl.model.object_refs import JobKey
from edl.model.quotas import Excess, Quota


class Other(msgspec.Struct, frozen=True, omit_defaults=True, tag="TrainingJob"):
    """Another job. `failure`: why it failed. `guaranteed`: its team's guarantee covers it."""

    job: JobKey
    failure: str = ""
    guaranteed: bool = False


class Minimum(msgspec.Struct, frozen=True, omit_defaults=True, tag=True):
    """The minimum of a training job. `own`: replicas of this job yield to it."""

    job: JobKey
    own: bool = False


class ForeignJob(msgspec.Struct, frozen=True, tag=True):
    """A training job of another namespace, without its name, which users here may not read.

    `uid`: of one of its Jobs. `team`: empty without teams. The others: see `Minimum` and `Other`.
    """

    uid: str
    team: str = ""
    minimum: bool = False
    guaranteed: bool = False


class PendingPods(msgspec.Struct, frozen=True, tag=True):
    """Pending pods of other owners; `example`: `namespace/name` of one, or what replaces it."""

    example: str
    priority: int


class Pods(msgspec.Struct, frozen=True, tag=True):
    """A number of the job's own pods: its minimum, or its manual size."""

    count: int
    manual: bool = False


class LostPods(msgspec.Struct, frozen=True, tag=True):
    """Lost pods, recreated within `seconds`. `confined`: its domain cannot hold its minimum."""

    count: int
    of: int
    seconds: Annotated[float, msgspec.Meta(ge=0, le=600)]
    confined: bool = False
    extras: bool = False


class Awaiting(msgspec.Struct, frozen=True, tag=True):
    """`pods` pods wait until others have terminated. `givers`: jobs that scale down for them."""

    pods: int
    givers: tuple[JobKey, ...]


class PodsOf(msgspec.Struct, frozen=True, tag=True):
    """Pods of these training jobs; `others`: pods of more jobs come first too."""

    jobs: tuple[JobKey, ...]
    others: bool = False


class PodNames(msgspec.Struct, frozen=True, tag=True):
    """Pods of the job itself, by name."""

    names: tuple[str, ...]


class Roles(msgspec.Struct, frozen=True, tag=True):
    """Roles of the training job itself."""

    names: tuple[str, ...]


class Size(msgspec.Struct, frozen=True, tag=True):
    """A role's new size, and its max or its manual size."""

    size: int
    max: int


class FixedSize(msgspec.Struct, frozen=True, tag=True):
    """A role that is never resized, and its size."""

    role: str
    size: int


class Growth(msgspec.Struct, frozen=True, tag=True):
    """A manual size that was not reached in time, the size that replaces it, and what held it."""

    wanted: int | None
    before: int
    timeout_seconds: float | None = None
    held: str = ""


class OffNodes(msgspec.Struct, frozen=True, tag=True):
    """Pods (`worker-3`) that leave nodes; `taints`: the keys that cause it, empty for a cordon."""

    pods: tuple[str, ...]
    nodes: tuple[str, ...]
    taints: tuple[str, ...] = ()


class Load(msgspec.Struct, frozen=True, tag=True):
    """The fraction of the cluster's capacity that growth may use, 0..1 (`--load-ceiling`)."""

    share: float
    resource: str


class Period(msgspec.Struct, frozen=True, tag=True):
    """How long the cluster must have been unchanged before a role grows."""

    seconds: float


class Usage(Excess, frozen=True, omit_defaults=True, tag=True):
    """The request that a quota has too little left for; `more`: its further exceeded resources."""

    more: tuple[Excess, ...] = ()


class OverQuota(msgspec.Struct, frozen=True, tag="AboveBudget"):
    """A quota whose usage is above its limit. Annotations of older releases have this tag."""

    budget: Quota


class Attempted(StrEnum):
    """The kind of a failed attempt, or RECREATION: of the Job controller, after lost pods."""

    GANG = "Gang"
    CREATION = "Creation"  # the API server refused pods of a start
    GROWTH = "Growth"
    RECLAMATION = "Reclamation"  # reclaimed for a training job that then could not start
    PLACEMENT = "Placement"  # other pods took the nodes of a start, or the nodes are gone
    COMPLETION = "Completion"  # suspended roles did not fit beside running ones of the job
    RECREATION = "Recreation"


class Attempt(msgspec.Struct, frozen=True, omit_defaults=True, tag=True):
    """A failed attempt; of a gang: which `scheduler` did not process its pods, or the `refusal`."""

    what: Attempted
    scheduler: str = ""
    refusal: str = ""


class NodesAsked(msgspec.Struct, frozen=True, omit_defaults=True, tag=True):
    """A request for nodes: pods that wait, the autoscaler's message, labels that no node has."""

    pods: int
    message: str = ""
    unlabelled: tuple[str, ...] = ()


class QuotedText(msgspec.Struct, frozen=True, tag=True):
    """A message from outside: a validation error, or the API server's answer."""

    text: str


AboutCapacity: TypeAlias = (
    Load
    | Usage
    | OverQuota
    | Shortage
    | NoRoom
    | NoEligibleNode
    | UnplacedMinimum
    | NodePoolLimit
    | NodesAsked
)
"""What is short: a resource, a quota or nodes."""
About: TypeAlias = (
    AboutCapacity
    | Other
    | Minimum
    | ForeignJob
    | PendingPods
    | Pods
    | LostPods
    | Awaiting
    | PodsOf
    | PodNames
    | Roles
    | Size
    | FixedSize
    | Growth
    | OffNodes
    | SplitDomains
    | Period
    | Attempt
    | QuotedText
)
