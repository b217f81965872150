"""How far a started role may move in one plan: bounds, cooldowns, sizes that came to nothing."""

from datetime import datetime, timedelta

from edl import phases, reasons
from edl.cooldowns import cooldown, resized_at
from edl.model import PodPhase, Reason, ResizePolicy, Role, TrainingJob
from edl.planner.limits import Limits
from edl.planner.snapshot import last_resizes
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.existing_placements import existing_placements
from edl.planner.snapshot.restart_backoff import (
    backoff_of,
    doubled_cooldown,
    failed_change,
    last_change_time,
)
from edl.planner.snapshot.role_allocation import RoleAllocation, manual_size
from edl.planner.snapshot.topology_choice import restricted_to_started


def started_role(board: Snapshot, job: TrainingJob, role: Role, rank: int) -> RoleAllocation:
    """A started role with its pods."""
    rows = board.pod_class_state(role.shape)
    standing = RoleAllocation(
        job, role, rank, rows.pod_class, board.cluster_fraction(rows.pod_class)
    )
    standing.pod_class = restricted_to_started(board, standing)
    standing.placements, standing.unscheduled = existing_placements(
        job, role, board.capacity.index, rows
    )
    board.quotas.count_role(standing)
    set_growth_limits(board, standing)
    return standing


def set_growth_limits(board: Snapshot, standing: RoleAllocation) -> None:
    """Set how far a started role may move in this plan, and why not further."""
    role = standing.role
    if not standing.resizable:
        standing.min_replicas = standing.max_replicas = role.size
        return
    manual = manual_size(role)
    most = role.max if manual is None else manual
    standing.min_replicas = min(role.min, role.size)
    standing.max_replicas = max(
        standing.min_replicas, most if role.remaining is None else min(most, role.remaining)
    )
    if standing.restarts_to_resize and nearly_done(standing.job):
        standing.min_replicas = role.size
        standing.hold_reason, standing.reserves_capacity = reasons.NEARLY_DONE, False
    elif _finishing(board, standing):
        standing.hold_reason, standing.reserves_capacity = reasons.LEFT_ALONE, False
        standing.nearly_done = True
    else:
        _cool(board, standing)


def nearly_done(job: TrainingJob) -> bool:
    """Whether pods have succeeded, which would be missing after a restart."""
    return any(
        role.over or any(pod.phase is PodPhase.SUCCEEDED for pod in role.pods) for role in job.live
    )


def _finishing(board: Snapshot, standing: RoleAllocation) -> bool:
    """What its user asks for comes first: a manual size, a higher min, a lower max."""
    done, role = standing.job.progress, standing.role
    return (
        done is not None
        and done >= board.limits.nearly_done
        and not standing.manual
        and role.size >= role.min
    )


def _cool(board: Snapshot, standing: RoleAllocation) -> None:
    job, role = standing.job, standing.role
    if job.problem or job.missing:
        standing.hold_reason, standing.reserves_capacity = phases.unready(job), False
        return
    changed = last_change_time(job, role)
    if changed is None or (standing.min_replicas == standing.max_replicas == role.size):
        return
    if not standing.manual and any(one.since is None for one in standing.unscheduled):
        # In the Job controller's back-off more of it would only stand empty.
        standing.hold_reason, standing.reserves_capacity = reasons.REPLICAS_MISSING, False
    elif later := backoff_of(board, standing):
        standing.hold_reason, standing.hold_until = later
        standing.reserves_capacity = False
        standing.cooling_down = standing.restarts_to_resize
    elif role.size >= role.min and (left := _left(board, standing, changed)) > timedelta():
        board.rechecks.append(left)
        # Whatever its user asks for: room is kept for it no longer than the flags say.
        standing.reserves_capacity = left <= _usual(board, standing)
        # A role that made room by a restart would take it back before the claim has started.
        at_once = standing.manual and not last_resizes.was_reclaimed(role)
        _rest(board, standing, None if at_once else reasons.COOLDOWN)
        standing.hold_until = None if at_once else board.observed_at + left
    elif _still_gives(board, standing, changed):
        _rest(board, standing, reasons.COOLDOWN)


def _still_gives(board: Snapshot, standing: RoleAllocation, changed: datetime) -> bool:
    """Whether a replica that it gave still holds its node; some pods never leave.

    The job that waits for that room has no pod yet: new pods of this one would take it.
    """
    role = standing.role
    return (
        last_resizes.gave_replica(board.policy.rebalance_code, role)
        and any(pod.terminating for pod in role.pods)
        and not board.has_passed(changed, board.limits.queue_patience)
    )


def _rest(board: Snapshot, standing: RoleAllocation, held: Reason | None) -> None:
    standing.cooling_down, standing.hold_reason = True, held
    if last_resizes.gave_replica(board.policy.rebalance_code, standing.role):
        board.growth_limit = min(board.growth_limit, board.satisfaction(standing))


def cool_down_after_restart(board: Snapshot, standing: RoleAllocation) -> None:
    """A role that its job's restart brings back keeps room for more, as in the next plan.

    Else another job takes all of that by a restart, and gives it back by more of them.
    """
    job, role = standing.job, standing.role
    if standing.restarts_to_resize and not (standing.manual or failed_change(board, job, role)):
        most = role.max if role.remaining is None else min(role.max, role.remaining)
        standing.max_replicas = max(standing.max_replicas, most)
        _rest(board, standing, reasons.COOLDOWN)


def default_cooldown(limits: Limits, role: Role) -> timedelta:
    """What the reconciler's flags say."""
    restarts = role.resizing is ResizePolicy.RESTART
    return limits.restart_cooldown if restarts else limits.growth_cooldown


def _usual(board: Snapshot, standing: RoleAllocation) -> timedelta:
    """The same, after restarts one soon after another."""
    return doubled_cooldown(default_cooldown(board.limits, standing.role), standing)


def _left(board: Snapshot, standing: RoleAllocation, changed: datetime) -> timedelta:
    """What is left of its cooldown; after a start that was no resize the flags' counts."""
    job, role = standing.job, standing.role
    usual = _usual(board, standing)
    least, resized = cooldown(job, usual).least, resized_at(job, role)
    left = min(least, usual) - (board.observed_at - changed)
    return max(left, least - (board.observed_at - resized)) if resized else left
