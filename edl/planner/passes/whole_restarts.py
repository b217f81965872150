"""Restarts of jobs some of whose replicas need another place (`RestartNeeds`)."""

from edl import reasons
from edl.feasibility.eligibility import Ints
from edl.feasibility.horizon import FUTURE_IDLE, IDLE
from edl.model import JobKey, Reason
from edl.model.causes.scarcity import Shortage
from edl.planner.fit_errors.fit_error import no_node_error, scarcest
from edl.planner.gangs.restart_feasibility import MOST_CHECKED, have_rules, may_start_again
from edl.planner.packing.pack_order import pack_in_best_order
from edl.planner.packing.placement import first_placement
from edl.planner.reclaiming.removal_choice import move_last
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.restarts.restart_needs import RestartNeeds
from edl.planner.snapshot.restarts.stranded_replicas import Unplaced
from edl.planner.snapshot.role_allocation import RoleAllocation, by_job


def grow_whole(needs: RestartNeeds, grown: RoleAllocation) -> bool:
    """Add a replica by a restart for which each replica gets a place; else the job keeps its size.

    Idle capacity only shrinks during growth, so what fails once is not tried again.
    """
    if needs.reserve(grown):
        return True
    needs.deny_growth(why_kept(needs, grown, needs.snapshot.capacity.future_idle))
    return False


def why_kept(needs: RestartNeeds, grown: RoleAllocation | None, room: Ints) -> Reason:
    """Why a job is not restarted for another size; `room`: int64[resources, nodes]."""
    snapshot, unplaced = needs.snapshot, needs.unplaced(grown)
    if needs.over:
        quota, cost = needs.over
        return reasons.insufficient_quota(quota.spec, cost, quota.used)
    if not unplaced:
        return reasons.minimum_pending(needs.roles[0].job.key)
    quota_request = needs.quota_request(unplaced)
    if line := quota_request.exceeded(FUTURE_IDLE):
        return reasons.insufficient_quota(line.spec, quota_request.amount(line), line.used)
    for group in unplaced:
        if error := no_node_error(snapshot, group.allocation.pod_class):
            return reasons.no_node(error)
    requests = [group.request for group in unplaced]
    placed = sum(pack_in_best_order(room, requests, FUTURE_IDLE))
    wants = tuple(group.need for group in unplaced)
    fitting = placed + sum(group.placed for group in unplaced)
    return reasons.gang(Shortage(wants, fitting, scarcest(snapshot, room, requests, FUTURE_IDLE)))


def settle_restarts(snapshot: Snapshot) -> frozenset[JobKey]:
    """Give a place to all replicas of jobs that this plan restarts, or give up stranded extras.

    Returns jobs whose minimum gets none, as a claim has taken extras: another plan lets them keep
    these.
    """
    restarting = dict.fromkeys(
        allocation.hold.restart_needs
        for allocation in snapshot.allocations
        if allocation.changed and allocation.restarts_to_resize and allocation.is_resized
    )
    unsettled = [needs for needs in restarting if needs and not _settle(needs)]
    return frozenset(needs.roles[0].job.key for needs in unsettled if needs.moves)


def forbidden_by_rules(snapshot: Snapshot) -> frozenset[JobKey]:
    """The jobs that this plan restarts and whose rules between pods would not let them start."""
    resized = {
        allocation.queue_rank
        for allocation in snapshot.allocations
        if allocation.changed and allocation.restarts_to_resize and allocation.is_resized
    }
    restarting = by_job(role for role in snapshot.allocations if role.queue_rank in resized)
    ruled = [roles for roles in restarting if have_rules(roles)]
    stuck = (roles for roles in ruled[:MOST_CHECKED] if not may_start_again(snapshot, roles))
    return frozenset(roles[0].job.key for roles in stuck)


def _settle(needs: RestartNeeds) -> bool:
    """Whether all replicas of its smallest size have places; the others get one or are evicted."""
    cause = next((role.reason for role in needs.roles if role.reason), None)
    unplaced = needs.unplaced()
    places = [_place_or_evict(needs, group, cause) for group in unplaced]
    if all(places) and not any(group.new for group in unplaced):
        needs.clear()
    return all(places)


def _place_or_evict(needs: RestartNeeds, group: Unplaced, cause: Reason | None) -> bool:
    allocation, left = group.allocation, list[int]()
    for position in reversed(group.stranded):  # those of the minimum first
        if to := first_placement(allocation.pod_class, horizons=(IDLE,)):
            allocation.move(position, to)
        else:
            left.append(position)
    least = needs.least[allocation]
    while left and allocation.restarts_to_resize and allocation.size > least:
        move_last(allocation, left.pop())
        allocation.evict()
        allocation.reason = allocation.reason or cause
    return not left
