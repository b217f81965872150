"""The blockers of a start, or of one more replica, found in one decision."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from edl import reasons
from edl.frameworks import resizes
from edl.job_state import lost_pods, phases
from edl.model import Code, JobKey, Reason, Role, TrainingJob
from edl.model.causes.blockers import (
    OF_WORK,
    AtBound,
    Blocker,
    InProgress,
    InsufficientResources,
    JobCondition,
    Outranked,
    OwnCondition,
    SizeBound,
    TimedHold,
)
from edl.model.causes.reason_codes import PROMISING_CODES, TIMED_CODES
from edl.model.causes.reason_subjects import Minimum, Other, PendingPods
from edl.model.causes.scarcity import NodePoolLimit, UnplacedMinimum
from edl.planner.decide import snapshot_at_turn
from edl.planner.decision import Decision
from edl.planner.explain import shortage
from edl.planner.explain.what_if_state import DecisionInput
from edl.planner.gangs.gang import gang_to_start, is_restarting
from edl.planner.growth_reasons import GrowthReasons
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.spec.allowed_sizes import RESIZABLE, manual_size

_KEEPING: Final[Mapping[Code, JobCondition]] = {
    Code.PODS_SUCCEEDED: JobCondition.NEARLY_DONE,
    Code.NEARLY_DONE: JobCondition.NEARLY_DONE,
    Code.WRITE_REFUSED: JobCondition.PROBLEM,
}
"""Holds that keep the size of a role for longer than one plan."""
_FINAL: Final = frozenset(
    {
        JobCondition.NAMESPACE,
        JobCondition.FIXED,
        JobCondition.ONE_SIZE,
        JobCondition.NEARLY_DONE,
    }
)
"""Conditions by which a role keeps its size until its job ends."""
_LAST: Final = _FINAL | {JobCondition.RULE}
Subject = tuple[JobKey, str]
"""(training job, role); role "" stands for the whole job."""
_ReadReason = Callable[[Decision], Reason | None]
"""Reads from a decision the reason why a role or job gets no more; None if there is none."""


def start_blockers(what_if: DecisionInput, decision: Decision, key: JobKey) -> Sequence[Blocker]:
    """The blockers of a waiting training job's start."""
    job = what_if.job(key)
    if job is None:
        return ()
    if condition := _own_condition(job):
        return [condition]
    if stopped := decision.why_stopped(key):
        return [OwnCondition(JobCondition.RULE, stopped)]
    reason = decision.why_waits(key)
    if reason and (named := _named_blocker(reason)):
        return [named]
    if reason and isinstance(reason.about, NodePoolLimit):
        return [OwnCondition(JobCondition.RULE, reason)]
    timed = reason and reason.code in TIMED_CODES
    rooms = () if timed else _gang_shortage(what_if, job)
    return rooms or [_hold_until(what_if, decision, lambda later: later.why_waits(key))]


def _gang_shortage(what_if: DecisionInput, job: TrainingJob) -> tuple[Blocker, ...]:
    snapshot = snapshot_at_turn(what_if.state, what_if.policy, what_if.limits, job.key)
    wanted = gang_to_start(snapshot, job, returns=is_restarting(snapshot, job))
    return tuple(shortage.gang_shortage(snapshot, wanted))


def growth_blockers(
    what_if: DecisionInput, decision: Decision, allocation: RoleAllocation
) -> Sequence[Blocker]:
    """The blockers of one more replica for a role that is started, or starts in this plan."""
    condition = _own_condition(allocation.job) or _work_bound(allocation)
    if condition := condition or _lacks_minimum(decision, allocation) or _fixed(allocation):
        return [condition]
    if allocation.planned_size >= allocation.max_replicas:
        return [_bound(allocation.role)]
    if reason := allocation.reason or allocation.hold.reason:
        key, name = allocation.job.key, allocation.role.name
        missing = reason.code is Code.PODS_MISSING
        if missing and (awaited := _awaited(allocation.role, what_if.state.observed_at)):
            return [awaited]
        timed = _named_blocker(reason) or _hold_until(
            what_if, decision, lambda later: _why_no_growth(later, key, name)
        )
        if isinstance(timed, OwnCondition) and reason.code is Code.NEVER_FITS:
            most = shortage.most_beside_minimums(decision.snapshot, allocation)
            timed = replace(timed, fewest=allocation.role.template.sizes[0], most=most)
        return [timed]
    if allocation.size > allocation.planned_size:
        growth = GrowthReasons(decision.snapshot, decision.ceiling)
        return [InProgress(growth.why_no_more(allocation))]
    return [_capacity_blocker(decision, allocation)]


def _lacks_minimum(decision: Decision, allocation: RoleAllocation) -> OwnCondition | None:
    """That pods of its minimum fit nowhere, or get no nodes: then no bound keeps its size."""
    why = decision.why_waits(allocation.job.key)
    if why is None or not isinstance(why.about, UnplacedMinimum | NodePoolLimit):
        return None
    elastic = resizes(allocation.job, allocation.role.name)
    return OwnCondition(JobCondition.RULE, why) if elastic else None


def _awaited(role: Role, moment: datetime) -> Blocker | None:
    """What delays the replacements of lost pods; None if none was lost and none terminates."""
    lost = lost_pods.missing_pods(role)
    if lost and (delay := lost_pods.recreation_delay(role)):
        until = delay[0] + lost_pods.recreated_within(role)  # the longest back-off is rare
        if until > moment:
            return TimedHold(reasons.BACK_OFF_RECREATION, until)
    awaited = lost or any(pod.terminating for pod in role.status.pods)
    return OwnCondition(JobCondition.RULE, reasons.PODS_MISSING) if awaited else None


def _capacity_blocker(decision: Decision, allocation: RoleAllocation) -> Blocker:
    """The capacity that one more replica lacks; a rule of the plan if it lacks none."""
    lack = shortage.growth_shortage(decision.snapshot, decision.ceiling, allocation)
    if not isinstance(lack, InsufficientResources) or lack.missing:
        return lack
    if allocation.starts:
        return InProgress(reasons.MINIMUM_FIRST)
    return OwnCondition(JobCondition.RULE, reasons.NOT_PLANNED)


def is_final(blocker: Blocker) -> bool:
    """Whether the role keeps its size, or loses pods, until its job ends."""
    if isinstance(blocker, AtBound):
        return blocker.bound in OF_WORK
    return isinstance(blocker, OwnCondition) and blocker.what in _FINAL


def is_last(blocker: Blocker, job: TrainingJob) -> bool:
    """Whether no decision without this blocker can be foreseen.

    After its back-off the Job controller first creates the lost pods, on nodes not known yet.
    """
    match blocker:
        case AtBound():
            return blocker.bound in OF_WORK
        case TimedHold(reason):
            awaits = reason == reasons.BACK_OFF_RECREATION
            return awaits and any(map(lost_pods.missing_pods, job.live))
        case OwnCondition(what):
            return what in _LAST
    return isinstance(blocker, InProgress)


def _own_condition(job: TrainingJob) -> OwnCondition | None:
    if job.paused:
        return OwnCondition(JobCondition.PAUSED, phases.why_paused(job), job.paused_by)
    if why := phases.blocked(job):
        terminating = job.namespace_terminating
        return OwnCondition(JobCondition.NAMESPACE if terminating else JobCondition.PROBLEM, why)
    if why := phases.incomplete(job):
        return OwnCondition(JobCondition.MISSING, why)
    return None


def _work_bound(allocation: RoleAllocation) -> AtBound | None:
    """The bound of work items, if each that remains has a pod, or of a work queue that ends."""
    role, remaining = allocation.role, allocation.role.status.remaining
    if role.queue_closed:
        return AtBound(role.name, SizeBound.QUEUE, remaining or 0)
    if remaining is None or remaining > allocation.planned_size:
        return None
    return AtBound(role.name, SizeBound.ITEMS, remaining)


def _fixed(allocation: RoleAllocation) -> OwnCondition | None:
    role, reason = allocation.role, allocation.hold.reason
    if role.spec.resizing not in RESIZABLE:
        elastic = resizes(allocation.job, role.name)
        what = JobCondition.ONE_SIZE if elastic else JobCondition.FIXED
        return OwnCondition(what, reasons.fixed(role))
    condition = _KEEPING.get(reason.code) if reason else None
    return OwnCondition(condition, reason) if reason and condition else None


def _bound(role: Role) -> AtBound:
    """The smallest upper bound of a role, which it has reached."""
    manual = manual_size(role)
    bounds = [
        (role.status.remaining, SizeBound.ITEMS),
        (manual, SizeBound.MANUAL if manual != role.spec.max else SizeBound.MAX),
        (role.spec.max, SizeBound.MAX),
    ]
    known_bounds = [(value, bound) for value, bound in bounds if value is not None]
    value, bound = min(known_bounds, key=lambda pair: pair[0])
    return AtBound(role.name, bound, value, role.template.sizes[1])


def _named_blocker(reason: Reason) -> Blocker | None:
    """The blocker for a plan's reason that names other jobs or a reservation; else None."""
    if reason.code in PROMISING_CODES:
        return InProgress(reason)
    match reason.about:
        case Other(job):
            return Outranked(reason.code, (job,))
        case Minimum(own=True):
            return InProgress(reason)
        case Minimum(job) if reason.code is Code.RECLAIMED:
            return Outranked(Code.MINIMUM_FIRST, (job,))
        case PendingPods(example, _):
            return Outranked(reason.code, (), (example,))
    return None


def _hold_until(what_if: DecisionInput, decision: Decision, read: _ReadReason) -> Blocker:
    """A hold that ends at a known time, found by deciding at the rechecks; else a rule."""
    current = read(decision)
    wakes = sorted(set(decision.snapshot.clock.rechecks))

    def past(wait: timedelta) -> bool:
        return read(what_if.at(what_if.state.observed_at + wait).run_passes()) != current

    place = bisect_left(wakes, x=True, key=past)
    reason = current or reasons.NOT_PLANNED
    if place == len(wakes):
        return OwnCondition(JobCondition.RULE, reason)
    return TimedHold(reason, what_if.state.observed_at + wakes[place])


def _why_no_growth(decision: Decision, key: JobKey, role: str) -> Reason | None:
    allocation = decision.allocation(key, role)
    return allocation.reason or allocation.hold.reason if allocation else None
