"""How far a started role may be resized in one plan: bounds, cooldowns, sizes that failed."""

from datetime import datetime, timedelta

from edl import phases, reasons
from edl.cooldowns import cooldown, resized_at
from edl.model import PodPhase, Reason, ResizePolicy, Role, TrainingJob
from edl.planner.decision_limits import Limits
from edl.planner.snapshot import last_resizes
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.existing_placements import PodsOnNodes, existing_placements
from edl.planner.snapshot.restart_backoff import (
    backoff_of,
    doubled_cooldown,
    failed_change,
    last_change_time,
)
from edl.planner.snapshot.role_allocation import RoleAllocation, most_replicas, with_work
from edl.planner.snapshot.started_domains import restricted_to_started


def started_role(
    snapshot: Snapshot, job: TrainingJob, role: Role, rank: int, pods: PodsOnNodes
) -> RoleAllocation:
    """A started role with its pods."""
    allocation = RoleAllocation(job, role, rank, snapshot.pod_class(role.template.shape))
    allocation.pod_class = restricted_to_started(snapshot, allocation)
    allocation.placements, allocation.unscheduled = existing_placements(job, role, pods)
    snapshot.quotas.count_role(allocation)
    set_growth_limits(snapshot, allocation)
    return allocation


def set_growth_limits(snapshot: Snapshot, allocation: RoleAllocation) -> None:
    """Set how far a started role may move in this plan, and why not further."""
    role = allocation.role
    if not allocation.resizable:
        allocation.min_replicas = allocation.max_replicas = role.status.size
        return
    allocation.min_replicas = min(role.spec.min, role.status.size)
    most = with_work(role, most_replicas(role))
    allocation.max_replicas = max(allocation.min_replicas, most)
    if allocation.restarts_to_resize and has_succeeded_pods(allocation.job):
        allocation.min_replicas = role.status.size
        allocation.hold.reason, allocation.hold.reserves_capacity = reasons.NEARLY_DONE, False
    elif _finishing(snapshot, allocation):
        allocation.hold.reason, allocation.hold.reserves_capacity = reasons.LEFT_ALONE, False
        allocation.hold.nearly_done = True
    else:
        _cool(snapshot, allocation)


def has_succeeded_pods(job: TrainingJob) -> bool:
    """Whether pods have succeeded, which would be missing after a restart."""
    return any(
        role.status.completed_indexes
        or any(pod.phase is PodPhase.SUCCEEDED for pod in role.status.pods)
        for role in job.live
    )


def _finishing(snapshot: Snapshot, allocation: RoleAllocation) -> bool:
    """Whether its job is nearly done; user requests come first (manual size, min, lower max)."""
    done, role = allocation.job.progress, allocation.role
    return (
        done is not None
        and done >= snapshot.limits.nearly_done
        and not allocation.manual
        and role.status.size >= role.spec.min
    )


def _cool(snapshot: Snapshot, allocation: RoleAllocation) -> None:
    job, role = allocation.job, allocation.role
    if job.problem or job.missing:
        allocation.hold.reason, allocation.hold.reserves_capacity = phases.unready(job), False
        return
    changed = last_change_time(job, role)
    if changed is None or (allocation.min_replicas == allocation.max_replicas == role.status.size):
        return
    _set_cooldown(snapshot, allocation, changed)
    if not allocation.manual and any(one.since is None for one in allocation.unscheduled):
        # In the Job controller's back-off more of it would only stand empty.
        allocation.hold.reason, allocation.hold.reserves_capacity = reasons.REPLICAS_MISSING, False
        allocation.hold.until = None


def _set_cooldown(snapshot: Snapshot, allocation: RoleAllocation, changed: datetime) -> None:
    role = allocation.role
    if later := backoff_of(snapshot, allocation):
        allocation.hold.reason, allocation.hold.until = later
        allocation.hold.reserves_capacity = False
        allocation.hold.cooling_down = allocation.restarts_to_resize
    elif (
        role.status.size >= role.spec.min
        and (left := _left(snapshot, allocation, changed)) > timedelta()
    ):
        snapshot.rechecks.append(left)
        # Whatever its user asks for: room is kept for it no longer than the flags say.
        allocation.hold.reserves_capacity = left <= _usual(snapshot, allocation)
        # A role that made room by a restart would take it back before the claim has started.
        at_once = allocation.manual and not last_resizes.was_reclaimed(role)
        _rest(snapshot, allocation, None if at_once else reasons.COOLDOWN)
        allocation.hold.until = None if at_once else snapshot.observed_at + left
    elif _still_gives(snapshot, allocation, changed):
        _rest(snapshot, allocation, reasons.COOLDOWN)


def _still_gives(snapshot: Snapshot, allocation: RoleAllocation, changed: datetime) -> bool:
    """Whether a replica that it gave still holds its node; some pods never leave.

    The job that waits for that room has no pod yet: new pods of this one would take it.
    """
    role = allocation.role
    return (
        last_resizes.gave_replica(snapshot.policy.rebalance_code, role)
        and any(pod.terminating for pod in role.status.pods)
        and not snapshot.has_passed(changed, snapshot.limits.queue_patience)
    )


def _rest(snapshot: Snapshot, allocation: RoleAllocation, held: Reason | None) -> None:
    allocation.hold.cooling_down, allocation.hold.reason = True, held
    if last_resizes.gave_replica(snapshot.policy.rebalance_code, allocation.role):
        snapshot.growth_limit = min(snapshot.growth_limit, snapshot.satisfaction(allocation))


def cool_down_after_restart(snapshot: Snapshot, allocation: RoleAllocation) -> None:
    """A role that its job's restart brings back keeps room for more, as in the next plan.

    Else another job takes all of that by a restart, and gives it back by more of them.
    """
    job, role = allocation.job, allocation.role
    if allocation.restarts_to_resize and not (
        allocation.manual or failed_change(snapshot, job, role)
    ):
        most = with_work(role, role.spec.max)
        allocation.max_replicas = max(allocation.max_replicas, most)
        _rest(snapshot, allocation, reasons.COOLDOWN)


def default_cooldown(limits: Limits, role: Role) -> timedelta:
    """The cooldown of the reconciler's flags."""
    restarts = role.spec.resizing is ResizePolicy.RESTART
    return limits.restart_cooldown if restarts else limits.growth_cooldown


def _usual(snapshot: Snapshot, allocation: RoleAllocation) -> timedelta:
    """The same, after restarts one soon after another."""
    return doubled_cooldown(default_cooldown(snapshot.limits, allocation.role), allocation)


def _left(snapshot: Snapshot, allocation: RoleAllocation, changed: datetime) -> timedelta:
    """Remaining cooldown; after a start without a resize the flags' cooldown counts."""
    job, role = allocation.job, allocation.role
    usual = _usual(snapshot, allocation)
    least, resized = cooldown(job, usual).least, resized_at(job, role)
    left = min(least, usual) - (snapshot.observed_at - changed)
    return max(left, least - (snapshot.observed_at - resized)) if resized else left
