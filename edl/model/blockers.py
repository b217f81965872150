"""What stops a training job from getting one more replica, or from starting: data, a type a cause.

`edl.messages` renders each, and what would change it; `edl.planner.explain.remedies` makes the
situation in which it is not in the way.
"""

from datetime import datetime
from enum import StrEnum
from typing import ClassVar, TypeAlias

import msgspec

from edl.model.object_refs import JobKey
from edl.model.quotas import Quota
from edl.model.reason_codes import Code, Reason
from edl.model.scarcity import NoEligibleNode, Scarce
from edl.model.topology_domains import Domain
from edl.quantities import Resources


class BlockerKind(StrEnum):
    """The type of a cause, as `kubectl edl explain -o json` shows it."""

    ROOM = "Room"
    TOO_LARGE = "TooLarge"
    NO_NODE = "NoNode"
    KEPT = "Kept"
    LOAD_CEILING = "LoadCeiling"
    BUDGET = "Budget"
    BOUND = "Bound"
    UNTIL = "Until"
    OTHERS = "Others"
    PROMISED = "Promised"
    ITSELF = "Itself"


class SizeBound(StrEnum):
    """What limits the replicas of a role."""

    MAX = "Max"
    MANUAL = "ManualSize"
    ITEMS = "WorkItems"


class AtBound(msgspec.Struct, frozen=True):
    """The role has as many replicas as it is allowed, or as there is work for."""

    kind: ClassVar = BlockerKind.BOUND
    role: str
    bound: SizeBound
    value: int


class TimedHold(msgspec.Struct, frozen=True):
    """A rule that time alone ends. `until` is when, as things stand."""

    kind: ClassVar = BlockerKind.UNTIL
    reason: Reason
    until: datetime


class Outranked(msgspec.Struct, frozen=True):
    """Training jobs, pods and roles that would get the room first. `rule`: why they come first.

    `pods`: an example of each group of other owners' pending pods among them. `roles`: those of
    this training job itself, with the size that they have got.
    """

    kind: ClassVar = BlockerKind.OTHERS
    rule: Code
    jobs: tuple[JobKey, ...]
    pods: tuple[str, ...] = ()
    roles: tuple[tuple[str, int], ...] = ()


class InProgress(msgspec.Struct, frozen=True):
    """It gets what it asks for as soon as what is on its way has happened."""

    kind: ClassVar = BlockerKind.PROMISED
    reason: Reason


class JobCondition(StrEnum):
    """What about a training job itself keeps it as it is."""

    PAUSED = "Paused"
    PROBLEM = "Problem"
    MISSING = "Missing"
    FIXED = "Fixed"
    NEARLY_DONE = "NearlyDone"
    RULE = "Rule"
    """A rule of the plan, of which `reason` says all that is known."""


class OwnCondition(msgspec.Struct, frozen=True):
    """Something about the training job itself."""

    kind: ClassVar = BlockerKind.ITSELF
    what: JobCondition
    reason: Reason


class InsufficientResources(msgspec.Struct, frozen=True):
    """Some of the pods that one role asks for fit on no node that it may use.

    `free` is, of each resource it asks for, the most that is free on any one of these nodes and
    promised to no other pod. On `node` least is missing: `missing`, for one pod. `domains`: those
    that a required topology keeps the pods to.
    """

    kind: ClassVar = BlockerKind.ROOM
    role: str
    wanted: int
    fitting: int
    requests: Resources
    nodes: int
    free: Resources
    node: str
    missing: Resources
    domains: tuple[Domain, ...] = ()

    @property
    def pods(self) -> int:
        """How many find no place."""
        return self.wanted - self.fitting


class TooLarge(msgspec.Struct, frozen=True):
    """A pod asks for more than any node that it may use has, even empty.

    `largest` is, of each resource it asks for, the most that any one of these nodes has.
    """

    kind: ClassVar = BlockerKind.TOO_LARGE
    role: str
    pods: int
    requests: Resources
    nodes: int
    largest: Resources
    node: str
    domains: tuple[Domain, ...] = ()


class NoUsableNode(msgspec.Struct, frozen=True):
    """No node at all is one that this role may use. `rule`: what keeps it off."""

    kind: ClassVar = BlockerKind.NO_NODE
    role: str
    pods: int
    requests: Resources
    rule: NoEligibleNode
    domains: tuple[Domain, ...] = ()


class ConstraintsUnsatisfied(msgspec.Struct, frozen=True):
    """Nodes have room, but `rule` keeps the role's pods off all `nodes` that it may use."""

    kind: ClassVar = BlockerKind.KEPT
    role: str
    pods: int
    requests: Resources
    nodes: int
    rule: Scarce
    node: str
    domains: tuple[Domain, ...] = ()


class LoadCeiling(msgspec.Struct, frozen=True):
    """Growth leaves some of a resource idle. `enough` is the share that would let it grow."""

    kind: ClassVar = BlockerKind.LOAD_CEILING
    role: str
    resource: str
    share: float
    idle: int
    kept: int
    needed: int
    enough: float


class QuotaExceeded(msgspec.Struct, frozen=True):
    """A budget does not allow more. `left`: of it; `lacks`: by how much it is too small."""

    kind: ClassVar = BlockerKind.BUDGET
    quota: Quota
    needed: int
    used: int
    left: int
    lacks: int


Blocker: TypeAlias = (
    InsufficientResources
    | TooLarge
    | NoUsableNode
    | ConstraintsUnsatisfied
    | LoadCeiling
    | QuotaExceeded
    | AtBound
    | TimedHold
    | Outranked
    | InProgress
    | OwnCondition
)
