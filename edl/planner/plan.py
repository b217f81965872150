"""The result of `decide`: what to do, and a reason for each job that waits."""

from datetime import datetime, timedelta

import msgspec

from edl.model import Code, JobKey, Reason
from edl.model.causes.reason_subjects import NodesAsked, Usage
from edl.model.causes.scarcity import NodePoolLimit, NodeRule, NoEligibleNode, UnplacedMinimum


class Admission(msgspec.Struct, frozen=True):
    """Start these roles of a queued training job together, at these sizes."""

    job: JobKey
    sizes: tuple[tuple[str, int], ...]
    """(role, replicas) of each role to start."""
    reason: Reason
    grown: tuple[Reason, ...] = ()
    """The reasons of roles that start above their minimum."""
    nodes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """(role, nodes) of gated roles: the node of each replica, by completion index."""


class Resize(msgspec.Struct, frozen=True):
    """Resize one role from `before` to `after` replicas.

    `restart`: the whole training job is suspended, and a later plan starts it at the new size.
    """

    job: JobKey
    role: str
    before: int
    after: int
    reason: Reason
    restart: bool = False
    nodes: tuple[str, ...] = ()
    """The nodes of a gated role's new replicas, or, if it restarts, of all, by completion index."""


class Suspension(msgspec.Struct, frozen=True):
    """Suspend a started training job: it returns to the queue, or stays suspended if paused."""

    job: JobKey
    reason: Reason


class Drain(msgspec.Struct, frozen=True):
    """Evict pods of one role from their nodes; the Job controller recreates their indexes."""

    job: JobKey
    role: str
    pods: tuple[str, ...]
    reason: Reason
    cleared_nodes: tuple[str, ...] = ()
    """Nodes that these pods leave so that a pod with few eligible nodes fits there."""


class StayingPods(msgspec.Struct, frozen=True):
    """Pods that their PodDisruptionBudget counts, and that plans leave on cordoned nodes.

    `reason`: why no other pod can replace them, or which others are to be ready before; None if
    plans never move pods of this role, or soon do.
    """

    job: JobKey
    role: str
    pods: tuple[tuple[str, str], ...]
    """(pod, node)"""
    evictable: int
    """How many of them a drain evicts at once; 0 if their budget refuses the eviction of each."""
    reason: Reason | None = None
    unprotected: bool = False
    """A node of theirs has been cordoned for so long that their role gets no budget."""
    tolerated: bool = False
    """They tolerate the taints of their nodes, the cordon among them, so no plan moves them."""

    @property
    def blocks_drain(self) -> bool:
        return not self.evictable

    @property
    def endangers(self) -> bool:
        """Whether a pause of the job helps: it blocks a drain, or a drain disturbs it."""
        return self.blocks_drain or self.unprotected


class NodeAssignment(msgspec.Struct, frozen=True):
    """Nodes for pods of one role that the scheduling gate `edl.dev/placement` holds back."""

    job: JobKey
    role: str
    nodes: tuple[tuple[str, str], ...]
    """(pod, node); "" leaves the choice to kube-scheduler, once an autoscaler has added a node."""
    replaced_pods: tuple[str, ...] = ()
    """Pods that cannot be bound to their assigned node: they are deleted and recreated."""


class RequestClass(msgspec.Struct, frozen=True):
    """The class of a ProvisioningRequest and its parameters."""

    name: str
    parameters: tuple[tuple[str, str], ...] = ()
    """Sorted by name."""


class ProvisioningRequest(msgspec.Struct, frozen=True):
    """The pods for which a queued training job requests nodes, by role."""

    job: JobKey
    pods: tuple[tuple[str, int], ...]
    """(role, pods): the desired totals, existing provisional pods included; 0 for other roles."""
    image: str = ""
    timeout: timedelta = timedelta(minutes=10)
    """How long the nodes may take to join."""
    by_request: RequestClass | None = None
    """The class of the one ProvisioningRequest that is made; None: provisional pods instead."""


class WaitingJob(msgspec.Struct, frozen=True):
    """A training job that has fewer replicas than it could use, and why.

    `position` is the place in the queue, from 1; it is 0 for a running job that may not grow, and
    if `never`. `reason` contains no clock readings, so an unchanged situation keeps its reason.
    """

    job: JobKey
    reason: Reason
    position: int = 0
    ahead: tuple[JobKey, ...] = ()
    """The first jobs of the queue before this one, at most eight."""
    until: datetime | None = None
    """The end of the wait if time alone ends it, such as a cooldown or a back-off."""
    never: bool = False
    """A queued job that could not start even if every other job ended; it blocks no job."""


def is_never(reason: Reason) -> bool:
    """Whether the job could not start even as the only one on the present nodes and quotas."""
    match reason.about:
        case Usage(budget, needs) if reason.code is Code.QUOTA_EXCEEDED:
            return needs > budget.hard
        case NoEligibleNode(rule):
            return rule not in (NodeRule.UNSCHEDULABLE, NodeRule.OTHERS_UNSCHEDULABLE)
    return reason.code is Code.NEVER_FITS


class Plan(msgspec.Struct, frozen=True):
    """One decision about the whole cluster.

    `recheck_after`: the time until the clock alone may change it; None: it never does.
    """

    admissions: tuple[Admission, ...] = ()
    resizes: tuple[Resize, ...] = ()
    suspensions: tuple[Suspension, ...] = ()
    waiting: tuple[WaitingJob, ...] = ()
    recheck_after: timedelta | None = None
    drains: tuple[Drain, ...] = ()
    node_assignments: tuple[NodeAssignment, ...] = ()
    requests: tuple[ProvisioningRequest, ...] = ()
    """Every request for nodes; provisional pods and requests of other jobs are deleted."""
    unprovisioned: tuple[JobKey, ...] = ()
    """Jobs whose nodes were not provisioned in time."""
    unneeded: tuple[str, ...] = ()
    """Nodes that an autoscaler could remove if replicas above the minimum left them."""
    staying: tuple[StayingPods, ...] = ()
    growth_waits: tuple[tuple[JobKey, str], ...] = ()
    """(training job, role) that keep their size until terminating pods have left the rest of the
    capacity for their growth."""

    def unplaced(self, key: JobKey) -> Reason | None:
        """What pods of a started job's minimum lack; None if they all fit, or wait for others."""
        reasons = (entry.reason for entry in self.waiting if entry.job == key)
        return next((why for why in reasons if isinstance(why.about, UnplacedMinimum)), None)

    def without_nodes(self, key: JobKey) -> Reason | None:
        """Why a started job gets no nodes, or that it waits for them; None if it needs none."""
        reasons = (entry.reason for entry in self.waiting if entry.job == key)
        asked = NodePoolLimit | NodesAsked
        return next((why for why in reasons if isinstance(why.about, asked)), None)

    @property
    def changed_jobs(self) -> frozenset[JobKey]:
        """Jobs that this plan starts, stops or resizes."""
        starts = frozenset(admission.job for admission in self.admissions)
        stops = [suspension.job for suspension in self.suspensions]
        return starts.union(stops, [resize.job for resize in self.resizes])
