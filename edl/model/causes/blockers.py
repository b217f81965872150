"""What blocks the start of a training job, or one more replica: a type per blocker.

The names of these types are those that users read, as `type` of a blocker.
`edl.messages` renders each, and its remedy; `edl.planner.explain.remedies` computes the state
without it.
"""

from datetime import datetime
from enum import StrEnum
from typing import Final, TypeAlias

import msgspec

from edl.model.causes.reason_codes import Code, Reason
from edl.model.causes.scarcity import Lack, NoEligibleNode, Scarce
from edl.model.nodes import Domain, Taint
from edl.model.object_refs import JobKey
from edl.model.quotas import Quota
from edl.quantities import Resources


class SizeBound(StrEnum):
    """The bound that a role's size has reached."""

    MAX = "Max"
    MANUAL = "ManualSize"
    ITEMS = "WorkItems"
    QUEUE = "WorkQueue"


OF_WORK: Final = frozenset({SizeBound.ITEMS, SizeBound.QUEUE})
"""Bounds that only fall: the role gets no more pods until its job ends."""


class AtBound(msgspec.Struct, frozen=True):
    """The role has reached its max, its manual size, or the number of its remaining work items.

    A work queue gets no more pods once one has succeeded: `value` is the number that still run.
    """

    role: str
    bound: SizeBound
    value: int
    most: int | None = None
    """The most pods for which its Job was completed; more need a new one."""


class TimedHold(msgspec.Struct, frozen=True):
    """A rule that ends by itself, such as a cooldown. `until`: when, if nothing changes before."""

    reason: Reason
    until: datetime


class Outranked(msgspec.Struct, frozen=True):
    """Training jobs, pods and roles that would get the capacity first, and the rule that says so.

    `pods`: one example for each group of other owners' pending pods. `roles`: other roles of this
    training job, each with the size that it has reached.
    """

    rule: Code
    jobs: tuple[JobKey, ...]
    pods: tuple[str, ...] = ()
    roles: tuple[tuple[str, int], ...] = ()


class InProgress(msgspec.Struct, frozen=True):
    """The plan already provides what is missing; a resize, move or termination has to finish."""

    reason: Reason


class JobCondition(StrEnum):
    """A property of the training job that keeps it from starting or growing."""

    PAUSED = "Paused"
    PROBLEM = "Problem"
    NAMESPACE = "Namespace"
    MISSING = "Missing"
    FIXED = "Fixed"
    ONE_SIZE = "OneSize"
    """Its framework resizes such a role, but its min and max are equal."""
    NEARLY_DONE = "NearlyDone"
    RULE = "Rule"
    """A rule of the planner; `reason` has all details."""


class OwnCondition(msgspec.Struct, frozen=True):
    """The cause is the training job itself, not the cluster.

    `paused_by`: the ServiceAccount that paused it, if any. `fewest` and `most` are known if its
    minimum never fits: `fewest` pods of the role wait for each other, and fewer need a new Job;
    `most` fit beside the minimums of other jobs.
    """

    what: JobCondition
    reason: Reason
    paused_by: str = ""
    fewest: int = 0
    most: int = 0


class StartSizes(msgspec.Struct, frozen=True):
    """With how many pods a role could start instead.

    `automatic`: without its manual size; None if it has none, or no larger one. `fewest`: fewer
    need a new Job. `most`: how many fit beside pods of other owners if no other training job ran,
    or beside what borrowers keep.
    """

    automatic: int | None = None
    fewest: int = 0
    most: int = 0


class InsufficientResources(msgspec.Struct, frozen=True):
    """No eligible node has enough unreserved capacity for some of the role's pods.

    `fitting` of the `wanted` pods fit; with room for `pods` more, the role gets all of them.
    `nodes`: how many are eligible and large enough; `free`: for each requested resource, the
    largest unreserved amount on one of them; `lack`: what they lack for one more pod.
    `node`: the node that comes nearest; `missing`: what one pod lacks there. `domains`: the
    topology domains to which a required topology limits the pods. `needs_nodes`: whether these
    nodes cannot hold all pods, whatever else leaves them. `kept`: teams whose guarantee covers
    extras that would make room. `taints`: if one node is eligible, untolerated ones of the others.
    """

    role: str
    wanted: int
    fitting: int
    pods: int
    requests: Resources
    nodes: int
    free: Resources
    lack: Lack
    node: str
    missing: Resources
    needs_nodes: bool
    domains: tuple[Domain, ...] = ()
    kept: tuple[str, ...] = ()
    taints: tuple[Taint, ...] = ()
    sizes: StartSizes = StartSizes()


class TooLarge(msgspec.Struct, frozen=True):
    """One pod requests more than any eligible node could offer if it were empty.

    `largest`: for each requested resource, the largest allocatable amount on an eligible node.
    """

    role: str
    pods: int
    requests: Resources
    nodes: int
    largest: Resources
    node: str
    domains: tuple[Domain, ...] = ()


class NoUsableNode(msgspec.Struct, frozen=True):
    """No node is eligible for the role's pods. `rule`: the constraint that excludes the nodes.

    `cordoned`: each node is cordoned or not ready, and at least one is only cordoned.
    """

    role: str
    pods: int
    requests: Resources
    rule: NoEligibleNode
    domains: tuple[Domain, ...] = ()
    cordoned: bool = False


class ConstraintsUnsatisfied(msgspec.Struct, frozen=True):
    """The `nodes` eligible nodes have capacity, but `rule` excludes each of them.

    `node`: one of which more would help; empty if no number of them does.
    """

    role: str
    pods: int
    requests: Resources
    nodes: int
    rule: Scarce
    node: str
    domains: tuple[Domain, ...] = ()


class LoadCeiling(msgspec.Struct, frozen=True):
    """Growth would exceed `--load-ceiling` (`share`); a ceiling of `enough` would permit it.

    `idle_suffices`: whether, at the same ceiling, more idle capacity would permit it, too.
    """

    role: str
    resource: str
    share: float
    idle: int
    kept: int
    needed: int
    enough: float
    idle_suffices: bool = True


class QuotaExceeded(msgspec.Struct, frozen=True):
    """A quota or budget is exhausted. `left`: its unused part; `lacks`: the missing amount."""

    quota: Quota
    needed: int
    used: int
    left: int
    lacks: int


LackOfRoom: TypeAlias = InsufficientResources | TooLarge | NoUsableNode | ConstraintsUnsatisfied
"""Blockers of a role that room on nodes for `pods` more pods would remove."""
Blocker: TypeAlias = (
    LackOfRoom
    | LoadCeiling
    | QuotaExceeded
    | AtBound
    | TimedHold
    | Outranked
    | InProgress
    | OwnCondition
)
