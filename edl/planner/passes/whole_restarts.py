"""Restarts of jobs for new sizes (`JobRestart`): all of their roles together, with all places."""

from collections.abc import Sequence
from typing import Final

from edl import reasons
from edl.feasibility.eligibility import Ints
from edl.feasibility.horizon import FUTURE_IDLE, IDLE, Horizon
from edl.model import JobKey, Reason
from edl.model.causes.scarcity import Shortage
from edl.planner.fit_errors.fit_error import no_node_error, scarcest
from edl.planner.gangs.empty_cluster import may_start_again
from edl.planner.packing.pack_order import pack_in_best_order
from edl.planner.packing.placement import first_placement
from edl.planner.reclaiming.removal_choice import move_last
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.restarts.job_restart import (
    JobRestart,
    Unplaced,
    lacking,
    planned_restarts,
)
from edl.planner.snapshot.role_allocation import RoleAllocation

_MOST_CHECKED: Final = 8
"""Most jobs of one plan whose rules are looked at, as each costs a snapshot of the cluster."""


def grow_whole(grown: RoleAllocation) -> bool:
    """Add a replica by a restart for which each replica gets a place; else the job keeps its size.

    Idle capacity only shrinks during growth, so what fails once is not tried again.
    """
    restart = grown.hold.restart
    if restart is None:
        return False
    unplaced = restart.unplaced(lambda role: lacking(role) or int(role is grown))
    if restart.place(unplaced):
        return True
    restart.deny_growth(why_kept(restart, unplaced, restart.snapshot.capacity.future_idle))
    return False


def why_kept(restart: JobRestart, unplaced: Sequence[Unplaced], room: Ints) -> Reason:
    """Why a job is not restarted for another size; `room`: int64[resources, nodes]."""
    snapshot = restart.snapshot
    if restart.over:
        quota, cost = restart.over
        return reasons.insufficient_quota(quota.spec, cost, quota.used)
    if not unplaced:
        return reasons.minimum_pending(restart.job.key)
    request = restart.quota_request(unplaced)
    if line := request.exceeded(FUTURE_IDLE):
        return reasons.insufficient_quota(line.spec, request.amount(line), line.used)
    for group in unplaced:
        if error := no_node_error(snapshot, group.allocation.pod_class):
            return reasons.no_node(error)
    return reasons.gang(shortage(snapshot, unplaced, room, FUTURE_IDLE))


def shortage(
    snapshot: Snapshot, unplaced: Sequence[Unplaced], room: Ints, horizon: Horizon
) -> Shortage:
    """How many pods of these roles fit, beside those in place; `room`: int64[resources, nodes]."""
    requests = [group.request for group in unplaced]
    fitting = sum(pack_in_best_order(room, requests, horizon))
    fitting += sum(group.placed for group in unplaced)
    wants = tuple(group.need for group in unplaced)
    return Shortage(wants, fitting, scarcest(snapshot, room, requests, horizon))


def settle_restarts(snapshot: Snapshot) -> frozenset[JobKey]:
    """Give a place to all replicas of jobs that this plan restarts, or give up stranded extras.

    Returns jobs whose minimum gets none, as a claim has taken extras: another plan lets them keep
    these.
    """
    restarting = [restart for restart in planned_restarts(snapshot) if restart.lacks_places]
    unsettled = [restart for restart in restarting if not _settle(restart)]
    return frozenset(restart.job.key for restart in unsettled if restart.moves)


def forbidden_by_rules(snapshot: Snapshot) -> frozenset[JobKey]:
    """The jobs that this plan restarts and whose rules between pods would not let them start."""
    ruled = [restart.roles for restart in planned_restarts(snapshot) if restart.has_rules]
    stuck = (roles for roles in ruled[:_MOST_CHECKED] if not may_start_again(snapshot, roles))
    return frozenset(roles[0].job.key for roles in stuck)


def _settle(restart: JobRestart) -> bool:
    """Whether all replicas of its smallest size have places; the others get one or are evicted."""
    cause = next((role.reason for role in restart.roles if role.reason), None)
    unplaced = restart.unplaced()
    places = [_place_or_evict(restart, group, cause) for group in unplaced]
    restart.lacks_places = not all(places) or any(group.new for group in unplaced)
    return all(places)


def _place_or_evict(restart: JobRestart, group: Unplaced, cause: Reason | None) -> bool:
    allocation, left = group.allocation, list[int]()
    for position in reversed(group.stranded):  # those of the minimum first
        if to := first_placement(allocation.pod_class, horizons=(IDLE,)):
            allocation.move(position, to)
        else:
            left.append(position)
    least = restart.least[allocation]
    while left and allocation.restarts_to_resize and allocation.size > least:
        move_last(allocation, left.pop())
        allocation.evict()
        allocation.reason = allocation.reason or cause
    return not left
