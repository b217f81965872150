"""Constructors of all reasons: no other module builds one, so each code keeps to its subject types.

Constants have the names of their codes, followed by that of the failed attempt.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final, Literal

from msgspec.structs import replace

from edl.model import Demand, Domain, EndCondition, JobEnd, JobKey, Quota, Role, TrainingJob
from edl.model.causes.reason_codes import Code, Reason, Restart
from edl.model.causes.reason_subjects import (
    Attempt,
    Attempted,
    Awaiting,
    FixedSize,
    Growth,
    Load,
    LostPods,
    Minimum,
    NodesAsked,
    OffNodes,
    Other,
    OverQuota,
    PendingPods,
    Period,
    PodNames,
    Pods,
    PodsOf,
    QuotedText,
    Roles,
    Size,
    Usage,
)
from edl.model.causes.scarcity import (
    Lack,
    NodePoolLimit,
    NodeRule,
    NoEligibleNode,
    NoRoom,
    Shortage,
    UnplacedMinimum,
)
from edl.model.nodes import SplitDomains
from edl.model.quotas import Excess
from edl.quantities import Resources

PAUSED: Final = Reason(Code.PAUSED)
PAUSE_REFUSED: Final = Reason(Code.PAUSE_REFUSED)
MANUAL_SIZE: Final = Reason(Code.MANUAL_SIZE)
ABOVE_MAX: Final = Reason(Code.ABOVE_MAX)
UNSCHEDULABLE: Final = Reason(Code.UNSCHEDULABLE)
UNSCHEDULABLE_CREATION: Final = Reason(Code.UNSCHEDULABLE, Attempt(Attempted.CREATION))
GANG_UNSCHEDULABLE: Final = Reason(Code.GANG_UNSCHEDULABLE)
GANG_UNSCHEDULABLE_CREATION: Final = Reason(Code.GANG_UNSCHEDULABLE, Attempt(Attempted.CREATION))
GANG_UNSCHEDULABLE_PLACEMENT: Final = Reason(Code.GANG_UNSCHEDULABLE, Attempt(Attempted.PLACEMENT))
GANG_UNSCHEDULABLE_COMPLETION: Final = Reason(
    Code.GANG_UNSCHEDULABLE, Attempt(Attempted.COMPLETION)
)
BACK_OFF_GANG: Final = Reason(Code.BACK_OFF, Attempt(Attempted.GANG))
BACK_OFF_RECREATION: Final = Reason(Code.BACK_OFF, Attempt(Attempted.RECREATION))
BACK_OFF_GROWTH: Final = Reason(Code.BACK_OFF, Attempt(Attempted.GROWTH))
BACK_OFF_RECLAMATION: Final = Reason(Code.BACK_OFF, Attempt(Attempted.RECLAMATION))
COOLDOWN: Final = Reason(Code.COOLDOWN)
QUEUE_ORDER: Final = Reason(Code.QUEUE_ORDER)
PLACEMENT_ORDER: Final = Reason(Code.PLACEMENT_ORDER)
PODS_TERMINATING: Final = Reason(Code.PODS_TERMINATING)
NAMESPACE_TERMINATING: Final = Reason(Code.NAMESPACE_TERMINATING)
PODS_STUCK: Final = Reason(Code.PODS_STUCK)
REBALANCING: Final = Reason(Code.REBALANCING)
POD_LOST: Final = Reason(Code.POD_LOST)
NODE_FULL: Final = Reason(Code.NODE_FULL)
CONTAINER_RESTARTED: Final = Reason(Code.CONTAINER_RESTARTED)
NODE_UNNEEDED: Final = Reason(Code.NODE_UNNEEDED)
NEEDED_NODES_ONLY: Final = Reason(Code.NEEDED_NODES_ONLY)
PODS_MISSING: Final = Reason(Code.PODS_MISSING)
PODS_GATED: Final = Reason(Code.PODS_GATED)
PODS_SUCCEEDED: Final = Reason(Code.PODS_SUCCEEDED)
NEARLY_DONE: Final = Reason(Code.NEARLY_DONE)
GROWTH_UNSCHEDULABLE: Final = Reason(Code.GROWTH_UNSCHEDULABLE)
MINIMUM_FIRST: Final = Reason(Code.MINIMUM_FIRST)
NOT_PLANNED: Final = Reason(Code.NOT_PLANNED)
AT_MIN: Final = Reason(Code.AT_MIN)
FIXED_SIZE: Final = Reason(Code.FIXED_SIZE)
SCALE_SUCCEEDED: Final = Reason(Code.SCALE_SUCCEEDED)
UNOBSERVED: Final = Reason(Code.UNOBSERVED)
UNKNOWN: Final = Reason(Code.UNKNOWN)


def started(pods: int, *, manual: bool = False) -> Reason:
    return Reason(Code.ADMITTED, Pods(pods, manual))


def completed(roles: Sequence[str]) -> Reason:
    return Reason(Code.ADMITTED, Roles(tuple(roles)))


def grown(size: int, most: int, *, minimum: bool = False) -> Reason:
    return Reason(Code.IDLE_CAPACITY, Pods(size) if minimum else Size(size, most))


def room_for_demand(demand: Demand) -> Reason:
    return Reason(Code.RECLAIMED, PendingPods(demand.example, demand.priority))


def room_for_job(key: JobKey) -> Reason:
    return Reason(Code.RECLAIMED, Other(key))


def room_for_minimum(key: JobKey) -> Reason:
    return Reason(Code.RECLAIMED, Minimum(key))


def below_minimum(lacks: int) -> Reason:
    return Reason(Code.BELOW_MIN, Pods(lacks))


def missing(lost: int, of: int, back_off: timedelta, *, extras: bool = False) -> Reason:
    """Pods were lost, and the Job controller's back-off delays their replacements.

    `extras`: `of` is the size of the job, whose minimum is complete; else it is the minimum.
    """
    return Reason(Code.PODS_MISSING, LostPods(lost, of, back_off.total_seconds(), extras=extras))


def lost_minimum(lost: int, of: int, back_off: timedelta, *, confined: bool = False) -> Reason:
    """Why a gang that cannot train until that back-off ends goes back to the queue."""
    return Reason(Code.GANG_UNSCHEDULABLE, LostPods(lost, of, back_off.total_seconds(), confined))


def gang_pending(scheduler: str, refusal: str) -> Reason:
    """Why a gang of which not all pods were scheduled goes back to the queue."""
    about = Attempt(Attempted.GANG, scheduler, refusal) if scheduler or refusal else None
    return replace(GANG_UNSCHEDULABLE, about=about)


def after_failed_start(last: Reason | None) -> Reason:
    """Why a job whose start failed for this reason is not started again yet."""
    about = last.about if last else None
    return Reason(Code.BACK_OFF, about) if isinstance(about, Attempt) else BACK_OFF_GANG


def minimum_pending(key: JobKey) -> Reason:
    return Reason(Code.INSUFFICIENT_CAPACITY, Minimum(key))


def unplaced(about: UnplacedMinimum) -> Reason:
    return Reason(Code.INSUFFICIENT_CAPACITY, about)


def gave(gives: Code, key: JobKey, *, guaranteed: bool = False) -> Reason:
    """A replica was given up to another job; `gives` is what the policy balances."""
    return Reason(gives, Other(key, guaranteed=guaranteed))


def moving(recipient: JobKey | None, key: JobKey) -> Reason:
    """Why the job of this key waits while replicas move, to a recipient if that is known."""
    if recipient is None or recipient == key:
        return REBALANCING
    return Reason(Code.REBALANCING, Other(recipient))


def off_nodes(pods: Sequence[str], nodes: Iterable[str], taints: Iterable[str] = ()) -> Reason:
    """Pods move off nodes with these taints; without taints, off cordoned nodes."""
    about = OffNodes(tuple(pods), tuple(sorted(nodes)), tuple(sorted(taints)))
    return Reason(Code.NODE_TERMINATING if about.taints else Code.NODE_UNSCHEDULABLE, about)


def preempted(asker: Reason) -> Reason:
    """Why a whole job of a lower priority was evicted."""
    return Reason(Code.PREEMPTED, asker.about)


def guarantee_reclaimed(asker: Reason) -> Reason:
    """Why a whole job of a borrowing team was evicted, whatever its priority."""
    return Reason(Code.GUARANTEE_RECLAIMED, asker.about)


def not_idle(idle: timedelta) -> Reason:
    return Reason(Code.STABILIZING, Period(idle.total_seconds()))


def ceiling(share: float, resource: str) -> Reason:
    return Reason(Code.LOAD_CEILING, Load(share, resource))


def leaving(pods: int, givers: Iterable[JobKey] = ()) -> Reason:
    """Pods wait for terminating pods; `givers` are the jobs that give up capacity in this plan."""
    return Reason(Code.PODS_TERMINATING, Awaiting(pods, tuple(sorted(givers))))


def placed_after(jobs: Iterable[JobKey], *, others: bool = False) -> Reason:
    """Pods of these jobs are placed first, and have no nodes yet."""
    ordered = tuple(sorted(jobs))
    return Reason(Code.PLACEMENT_ORDER, PodsOf(ordered, others)) if ordered else PLACEMENT_ORDER


def goes_first(key: JobKey) -> Reason:
    return Reason(Code.QUEUE_ORDER, Other(key))


def waits_for_turn(unfit: Reason) -> Reason:
    """Nodes are requested for others first; with what present ones lack, if they may do later."""
    lacks = unfit.code is Code.INSUFFICIENT_CAPACITY and isinstance(unfit.about, Shortage)
    return replace(unfit, code=Code.QUEUE_ORDER) if lacks else QUEUE_ORDER


def no_room(requests: Resources, lack: Lack, domains: tuple[Domain, ...] = ()) -> Reason:
    return Reason(Code.INSUFFICIENT_CAPACITY, NoRoom(requests, lack, domains))


def gang(missing: Shortage, *, never: bool = False) -> Reason:
    return Reason(Code.NEVER_FITS if never else Code.INSUFFICIENT_CAPACITY, missing)


def split(about: SplitDomains) -> Reason:
    return Reason(Code.TOPOLOGY_VIOLATED, about)


def no_node(about: NoEligibleNode) -> Reason:
    return Reason(Code.NO_ELIGIBLE_NODE, about)


def insufficient_quota(quota: Quota, needs: int, used: int, *more: Excess) -> Reason:
    """The quota, or the namespace's GPU budget, has too little left for what the job needs."""
    return Reason(Code.QUOTA_EXCEEDED, Usage(quota, needs, used, more))


def start_refused(usage: Usage) -> Reason:
    return Reason(Code.START_REFUSED, usage)


def over_quota(quota: Quota) -> Reason:
    return Reason(Code.QUOTA_EXCEEDED, OverQuota(quota))


def waits_for_nodes(pods: int, message: str, unfit: Reason | None = None) -> Reason:
    """An autoscaler was asked for nodes for these pods, for which present nodes are `unfit`."""
    labels: tuple[str, ...] = ()
    if unfit and isinstance(about := unfit.about, NoEligibleNode):
        labels = tuple(label for label, _ in about.selector if about.rule is NodeRule.TOPOLOGY)
    return Reason(Code.WAITING_FOR_NODES, NodesAsked(pods, message, labels))


def not_provisioned(message: str) -> Reason:
    """Nodes that an autoscaler was asked for did not arrive in time."""
    return Reason(Code.NODES_NOT_PROVISIONED, NodesAsked(0, message))


def above_pool_limits(limit: NodePoolLimit) -> Reason:
    return Reason(Code.NODES_NOT_PROVISIONED, limit)


def fixed(role: Role) -> Reason:
    return Reason(Code.FIXED_SIZE, FixedSize(role.name, role.status.size))


def about_pods(
    code: Literal[Code.PODS_REMOVED, Code.INVALID, Code.PODS_UNREADY], names: Iterable[str]
) -> Reason:
    """These are removed by name, or do not exist, or delay a move as they are not ready."""
    return Reason(code, PodNames(tuple(sorted(names))))


def scale_failed(growth: Growth) -> Reason:
    return Reason(Code.SCALE_FAILED, growth)


def ended(job: TrainingJob, end: JobEnd, failure: EndCondition | None = None) -> Reason:
    if end is JobEnd.COMPLETE:
        return Reason(Code.COMPLETE, Other(job.key))
    return Reason(Code.FAILED, Other(job.key, str(failure or job.failure or "")))


def incomplete(missing: Sequence[str]) -> Reason:
    """The job waits for the Jobs of these roles."""
    return Reason(Code.INCOMPLETE, Roles(tuple(missing)))


def quoted(code: Code, text: str) -> Reason:
    """A message from elsewhere: from validation, the API server, or an annotation of a Job."""
    return Reason(code, QuotedText(text))


def restart(reason: Reason) -> Reason:
    """Why a training job is stopped, to start again at another size."""
    return replace(reason, restart=Restart.STOPPED)


def restarted(reason: Reason) -> Reason:
    """The reason of a restart, once the job has started again."""
    return replace(reason, restart=Restart.STARTED)


def grew_smaller(reason: Reason) -> Reason:
    """Why a job that was stopped to scale up has started at a smaller size."""
    return replace(restarted(reason), code=Code.GROWTH_UNSCHEDULABLE, about=None)
