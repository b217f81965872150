"""How far a plan may resize a started role: bounds, cooldowns and sizes that failed."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from edl import reasons
from edl.job_state import last_changes, phases
from edl.job_state.cooldowns import cooldown, resized_at
from edl.job_state.lost_pods import recorded_delay, why_any_missing
from edl.model import Code, Reason, Role, TrainingJob
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.existing_placements import LeavingPods, existing_placements, is_lost
from edl.planner.snapshot.growth_hold import GrowthHold
from edl.planner.snapshot.restart_backoff import (
    backoff_of,
    failed_change,
    last_change_time,
    usual_cooldown,
)
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.snapshot.started_domains import restricted_to_started, why_split
from edl.spec.allowed_sizes import (
    is_finishing,
    manual_size,
    most_replicas,
    with_unended,
    with_work,
)

_LACKS_PODS: Final = (Code.PODS_MISSING, Code.PODS_GATED)


def started_role(
    snapshot: Snapshot, job: TrainingJob, role: Role, rank: int, leaving: LeavingPods
) -> RoleAllocation:
    """The allocation of a started role, with the placements of its pods."""
    allocation = RoleAllocation(job, role, rank, snapshot.pod_class(role.template.shape))
    allocation.pod_class = restricted_to_started(snapshot, allocation)
    allocation.placements, allocation.unscheduled = existing_placements(
        snapshot, job, role, leaving
    )
    snapshot.quotas.count_role(allocation)
    set_growth_limits(snapshot, allocation)
    return allocation


def set_growth_limits(snapshot: Snapshot, allocation: RoleAllocation) -> None:
    """Set the smallest and largest size of a started role in this plan, and its hold."""
    role = allocation.role
    if not allocation.resizable:
        allocation.min_replicas = allocation.max_replicas = role.status.size
        return
    allocation.min_replicas = _least_size(allocation)
    allocation.hold.patience = _patience(snapshot, allocation)
    most = with_work(role, most_replicas(role))
    allocation.max_replicas = max(allocation.min_replicas, most)
    if allocation.restarts_to_resize and allocation.job.has_succeeded_pods:
        allocation.min_replicas = role.status.size
        allocation.hold.deny(reasons.PODS_SUCCEEDED)
    elif _keeps_size_to_finish(snapshot, allocation):
        allocation.hold.deny(reasons.NEARLY_DONE)
        allocation.hold.nearly_done = True
    else:
        _hold_after_change(snapshot, allocation)
    if allocation.job.has_succeeded_pods and is_finishing(role):
        _hold_to_finish(allocation.hold)
    if why := why_split(snapshot, allocation):
        allocation.hold.deny_as_well(why)
    if allocation.job.refusals:
        _keep_refused_size(allocation)
    if not allocation.restarts_to_resize and (refused := _why_pods_are_refused(role)):
        allocation.hold.deny(refused)


def _least_size(allocation: RoleAllocation) -> int:
    """The smallest size at which the minimum of replicas still runs, without ended ranks.

    If these run beside pending ones, the pending ones are spare.
    """
    role, size = allocation.role, allocation.role.status.size
    least = min(with_unended(role, min(role.spec.min, size)), size)
    # Fast path: few roles have pods without a node, and of fewer a rank has ended.
    if allocation.restarts_to_resize or not (allocation.unscheduled and role.ended_ranks):
        return least
    away = role.ended_ranks.union(replica.position for replica in allocation.unscheduled)
    run = [index for index in range(size) if index not in away]
    if len(run) < role.spec.min:
        return least
    allocation.unscheduled = [replica._replace(is_spare=True) for replica in allocation.unscheduled]
    return max(least, run[role.spec.min - 1] + 1)


def _patience(snapshot: Snapshot, allocation: RoleAllocation) -> timedelta:
    """How long growth may still wait to be one step; 0 if a second step soon follows the first.

    It does if growth needs no restart and its cooldown is no longer than the flags', during which
    capacity stays reserved. During a longer one other jobs would take, or retake, what terminating
    pods free after the first step. No wait is longer than that cooldown and `queue_patience`: in a
    large cluster some pod is always terminating.
    """
    job, role, limits = allocation.job, allocation.role, snapshot.limits
    rest = cooldown(job, usual_cooldown(snapshot, allocation)).least
    soon = rest <= limits.growth_cooldown or allocation.manual or role.status.size < role.spec.min
    if soon and not allocation.restarts_to_resize:
        return timedelta()
    since = role.growth_awaited_since or snapshot.clock.now
    waited = max(snapshot.clock.now - since, timedelta())  # a wall clock may go back
    return min(rest, limits.queue_patience) - waited


def _keep_refused_size(allocation: RoleAllocation) -> None:
    """Keep the size of a role whose new size, or whose stop, the API server refuses.

    Unless a scale-down was refused, its extras still yield to claims.
    """
    job, role, size = allocation.job, allocation.role, allocation.role.status.size
    shrink_refused = size > 1 and job.refuses(role, size - 1)
    if shrink_refused:
        allocation.min_replicas = size
        allocation.max_replicas = max(allocation.max_replicas, size)
    if shrink_refused or job.keeps_running or job.refuses(role, size + 1):
        allocation.hold.deny(phases.why_kept(job, role.name))


def _why_pods_are_refused(role: Role) -> Reason | None:
    """Why the API server would refuse any further pod of a role; None if it would not."""
    texts = list(role.template.pod_refusals)
    if role.template.missing_class:
        texts.append(f'PriorityClass "{role.template.missing_class}" does not exist')
    return reasons.quoted(Code.WRITE_REFUSED, "; ".join(texts)) if texts else None


def hold_incomplete_gang(allocations: Sequence[RoleAllocation]) -> None:
    """Hold the growth of a gang's roles while pods of its minimum have no node.

    A larger size would help none of them, and would take capacity of jobs that run.
    """
    waits = any(
        replica.since is not None and allocation.needs(replica)
        for allocation in allocations
        for replica in allocation.unscheduled
    )
    for allocation in allocations if waits else ():
        if allocation.resizable and not allocation.hold.reason:
            allocation.hold.deny(reasons.minimum_pending(allocation.job.key))


def _keeps_size_to_finish(snapshot: Snapshot, allocation: RoleAllocation) -> bool:
    """Whether it keeps its size as its job is nearly done; manual sizes and minimums go first."""
    role = allocation.role
    return (
        snapshot.is_nearly_done(allocation.job)
        and not allocation.manual
        and role.status.size >= role.spec.min
    )


def _hold_to_finish(hold: GrowthHold) -> None:
    """No growth until its training has ended; pods that it lacks meanwhile are told first."""
    if hold.reason is None or hold.reason.code not in _LACKS_PODS:
        hold.deny(reasons.PODS_SUCCEEDED)


def _hold_after_change(snapshot: Snapshot, allocation: RoleAllocation) -> None:
    job, role = allocation.job, allocation.role
    if job.problem or job.missing:
        allocation.hold.deny(phases.unready(job))
        return
    changed = last_change_time(job, role)
    if changed is None or (allocation.min_replicas == allocation.max_replicas == role.status.size):
        return
    _set_cooldown(snapshot, allocation, changed)
    held_back = [replica for replica in allocation.unscheduled if replica.since is None]
    if held_back and not allocation.manual:
        # During the Job controller's back-off, further replicas would get no pods either.
        lost = any(map(is_lost, held_back))
        missing = why_any_missing(job) or reasons.PODS_MISSING
        allocation.hold.deny(missing if lost else reasons.PODS_GATED)
    elif not allocation.manual and (until := recorded_delay(role, snapshot.clock.now)):
        # Nor if the last resize left no pod missing.
        snapshot.clock.rechecks.append(until - snapshot.clock.now)
        allocation.hold.deny(reasons.BACK_OFF_RECREATION, until)


def _set_cooldown(snapshot: Snapshot, allocation: RoleAllocation, changed: datetime) -> None:
    role = allocation.role
    if later := backoff_of(snapshot, allocation):
        allocation.hold.deny(*later)
        allocation.hold.cooling_down = allocation.restarts_to_resize
    elif (
        role.status.size >= role.spec.min
        and (left := _left(snapshot, allocation, changed)) > timedelta()
    ):
        snapshot.clock.rechecks.append(left)
        # A user's longer cooldown reserves capacity for no longer than the flags' cooldown.
        allocation.hold.reserves_capacity = left <= usual_cooldown(snapshot, allocation)
        left = _left_to_grow(snapshot, allocation, left)
        # A role restarted smaller for a claim would retake the capacity before the claim starts,
        # and one that has got a part of its manual size would restart for each further replica.
        again = last_changes.reached_part_of(manual_size(role), role)
        at_once = allocation.manual and not (again or last_changes.was_reclaimed(role))
        reason = None if at_once or left <= timedelta() else reasons.COOLDOWN
        _cool_down(snapshot, allocation, reason, snapshot.clock.now + left)
    elif _donation_pending(snapshot, allocation, changed):
        _cool_down(snapshot, allocation)


def _donation_pending(snapshot: Snapshot, allocation: RoleAllocation, changed: datetime) -> bool:
    """Whether a pod of a donated replica is still terminating; ignored after `queue_patience`.

    The recipient has no pod yet, so a new pod of this role would take the freed capacity. Some
    pods never terminate.
    """
    role = allocation.role
    return (
        last_changes.gave_replica(snapshot.policy.rebalance_code, role)
        and any(pod.terminating for pod in role.status.pods)
        and not snapshot.clock.elapsed_or_recheck(changed, snapshot.limits.queue_patience)
    )


def _cool_down(
    snapshot: Snapshot,
    allocation: RoleAllocation,
    reason: Reason | None = reasons.COOLDOWN,
    until: datetime | None = None,
) -> None:
    """Start a cooldown, which ends at `until`; None if unknown."""
    allocation.hold.cool_down(reason, until)
    if not last_changes.gave_replica(snapshot.policy.rebalance_code, allocation.role):
        return
    reference, moves = last_changes.given_to(allocation.role), snapshot.moves
    recipient = snapshot.referenced_jobs.get(reference) if reference else None
    if recipient and (team := _other_team(snapshot, allocation, recipient)) is not None:
        moves.recipients[recipient.key] = team
    elif (satisfaction := snapshot.satisfaction(allocation)) < moves.lowest_donor(allocation.team):
        moves.donor_satisfactions[allocation.team] = satisfaction
        if moves.recipients:  # growth waits for those alone
            return
    else:
        return
    moves.recipient, moves.until = recipient.key if recipient else None, until


def _other_team(
    snapshot: Snapshot, allocation: RoleAllocation, recipient: TrainingJob
) -> int | None:
    """The recipient's team if it is not the donor's; None without teams."""
    if snapshot.teams is None:
        return None
    team = snapshot.teams.number(snapshot.state.team_of(recipient.key.namespace))
    return team if team != allocation.team else None


def cool_down_after_restart(snapshot: Snapshot, allocation: RoleAllocation) -> None:
    """Start the cooldown of a restarted role, which reserves capacity for its later growth.

    Otherwise another job would restart to take that capacity, and restart again to return it.
    """
    job, role = allocation.job, allocation.role
    if allocation.restarts_to_resize and not (
        allocation.manual or failed_change(snapshot, job, role)
    ):
        most = with_work(role, role.spec.max)
        allocation.max_replicas = max(allocation.max_replicas, most)
        _cool_down(snapshot, allocation)


def _left_to_grow(snapshot: Snapshot, allocation: RoleAllocation, left: timedelta) -> timedelta:
    """The part of the remaining cooldown that holds growth; not above zero if it may grow now.

    Capacity often becomes idle bit by bit, and the first bit would keep the others idle. A resize
    before the last one is carried out would only add to the work of the Job controller.
    """
    job, role = allocation.job, allocation.role
    rest = cooldown(job, usual_cooldown(snapshot, allocation))
    if rest.after_growth is None or resized_at(job, role) is None or not last_changes.grew(role):
        return left
    if any(replica.pod is None or replica.pod.unplaced for replica in allocation.unscheduled):
        return left
    left -= rest.least - rest.after_growth
    if left > timedelta():
        snapshot.clock.rechecks.append(left)
    return left


def _left(snapshot: Snapshot, allocation: RoleAllocation, changed: datetime) -> timedelta:
    """The remaining cooldown.

    The job's own cooldown counts from a resize; after a start it is cut to the flags' cooldown.
    """
    job, role = allocation.job, allocation.role
    usual = usual_cooldown(snapshot, allocation)
    least, resized = cooldown(job, usual).least, resized_at(job, role)
    left = min(least, usual) - (snapshot.clock.now - changed)
    return max(left, least - (snapshot.clock.now - resized)) if resized else left
