"""Restarts of jobs for new sizes (`JobRestart`): all of their roles together, with all places."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from edl import reasons
from edl.feasibility.eligibility import Ints
from edl.feasibility.horizon import FUTURE_IDLE, IDLE, Horizon
from edl.model import JobKey, Reason
from edl.model.causes.scarcity import ResourceNeed, Shortage
from edl.planner.fit_errors.fit_error import no_node_error, scarcest
from edl.planner.gangs.empty_cluster import may_start_again
from edl.planner.gangs.gang import Gang
from edl.planner.packing.pack_order import (
    pack_in_best_order,
    reserve_idle,
    reserve_nodes_in_some_order,
)
from edl.planner.packing.placement import Placement, first_placement
from edl.planner.packing.pod_class import PodSetRequest
from edl.planner.reclaiming.removal_choice import move_last
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.restarts.job_restart import (
    JobRestart,
    lacking,
    planned_restarts,
    staying,
)
from edl.planner.snapshot.role_allocation import RoleAllocation

_MAX_CHECKED: Final = 8
"""Most jobs of one plan whose rules are looked at, as each costs a snapshot of the cluster."""


def restart_gang(
    snapshot: Snapshot,
    roles: Sequence[RoleAllocation],
    new: Callable[[RoleAllocation], int] = lacking,
) -> Gang:
    """The pods of one job's started roles that need places, as if they started together.

    Those of stranded replicas and, for each role, `new` ones, which quotas do not count yet.
    """
    more = {role: new(role) for role in roles}
    pods = [(role, role.size - staying(role) + more[role]) for role in roles]
    return Gang(
        roles[0].job,
        tuple(role.role for role, count in pods if count),
        tuple(PodSetRequest(role.pod_class, count) for role, count in pods if count),
        quota_request=snapshot.quotas.request_of(
            roles[0].job, [(role.role, count) for role, count in more.items()]
        ),
    )


def place(restart: JobRestart, gang: Gang, claimed: Sequence[Sequence[int]] | None = None) -> bool:
    """Place all pods of its `restart_gang` on idle capacity; False, and no change, if one lacks it.

    `claimed`: where its claim would place them. New replicas up to the minimum belong to it.
    """
    if not gang.quota_request.allows(IDLE):
        return False
    nodes: Sequence[Sequence[int]] | None = reserve_idle(gang.requests)
    if nodes is None:
        if claimed is None or not reserve_nodes_in_some_order(gang.requests, claimed):
            return False
        nodes = claimed
    by_name = {role.role.name: role for role in restart.roles}
    for role, there in zip(gang.roles, nodes, strict=True):
        allocation = by_name[role.name]
        positions = stranded(allocation)
        for node in there:
            allocation.pod_class.idle.release(node)
            if positions:
                to = Placement(node, holds_idle=True, is_new=False)
                allocation.move(positions.pop(0), to)
            else:
                allocation.place(node, IDLE)
        if allocation.size <= role.spec.min:
            allocation.min_replicas = allocation.size
    restart.lacks_places = restart.keeps_size = False
    return True


def grow_whole(grown: RoleAllocation) -> bool:
    """Add a replica by a restart for which each replica gets a place; else the job keeps its size.

    Idle capacity only shrinks during growth, so what fails once is not tried again.
    """
    restart = grown.restart
    if restart is None:
        return False
    snapshot = restart.snapshot
    gang = restart_gang(snapshot, restart.roles, lambda role: lacking(role) or int(role is grown))
    if place(restart, gang):
        return True
    restart.deny_growth(why_kept(restart, gang, snapshot.capacity.future_idle))
    return False


def why_kept(restart: JobRestart, gang: Gang, room: Ints) -> Reason:
    """Why a job is not restarted for another size; `room`: int64[resources, nodes]."""
    if restart.over:
        quota, cost = restart.over
        return reasons.insufficient_quota(quota.spec, cost, quota.used)
    if not gang.requests:
        return reasons.minimum_pending(restart.job.key)
    asked = gang.quota_request
    if line := asked.exceeded(FUTURE_IDLE):
        return reasons.insufficient_quota(line.spec, asked.amount(line), line.used)
    for request in gang.requests:
        if error := no_node_error(restart.snapshot, request.pod_class):
            return reasons.no_node(error)
    short = shortage(restart.snapshot, restart.roles, gang, room, FUTURE_IDLE)
    fits = short.fitting == sum(need.pods for need in short.needs)
    if fits and (line := asked.unlent()):
        return reasons.insufficient_quota(line.spec, asked.amount(line), line.used)
    return reasons.gang(short)


def shortage(
    snapshot: Snapshot,
    roles: Iterable[RoleAllocation],
    gang: Gang,
    room: Ints,
    horizon: Horizon,
) -> Shortage:
    """How many pods of a gang's whole roles fit, those in place included.

    room: int64[resources, nodes].
    """
    stay = {role.role.name: staying(role) for role in roles}
    needs = tuple(
        ResourceNeed(role.name, stay[role.name] + pods, pod_class.shape.requests)
        for role, (pod_class, pods) in zip(gang.roles, gang.requests, strict=True)
    )
    fitting = sum(pack_in_best_order(room, gang.requests, horizon))
    fitting += sum(stay[role.name] for role in gang.roles)
    return Shortage(needs, fitting, scarcest(snapshot, room, gang.requests, horizon))


def settle_restarts(snapshot: Snapshot) -> frozenset[JobKey]:
    """Give a place to all replicas of jobs that this plan restarts, or give up stranded extras.

    Returns jobs whose minimum gets none, as a claim has taken extras: another plan lets them keep
    these.
    """
    restarting = [restart for restart in planned_restarts(snapshot) if restart.lacks_places]
    return frozenset(restart.job.key for restart in restarting if not _settle(restart))


def forbidden_by_rules(snapshot: Snapshot) -> frozenset[JobKey]:
    """The jobs that this plan restarts and whose rules between pods would not let them start."""
    ruled = [restart.roles for restart in planned_restarts(snapshot) if restart.has_rules]
    forbidden = (roles for roles in ruled[:_MAX_CHECKED] if not may_start_again(snapshot, roles))
    return frozenset(roles[0].job.key for roles in forbidden)


def _settle(restart: JobRestart) -> bool:
    """Whether all replicas of its smallest size have places; the others get one or are evicted."""
    cause = next((role.reason for role in restart.roles if role.reason), None)
    places = [_place_or_evict(role, restart.least[role], cause) for role in restart.roles]
    restart.lacks_places = not all(places) or any(map(lacking, restart.roles))
    return all(places)


def _place_or_evict(allocation: RoleAllocation, least: int, cause: Reason | None) -> bool:
    left = list[int]()
    for position in reversed(stranded(allocation)):  # those of the minimum first
        if to := first_placement(allocation.pod_class, horizons=(IDLE,)):
            allocation.move(position, to)
        else:
            left.append(position)
    while left and allocation.restarts_to_resize and allocation.size > least:
        move_last(allocation, left.pop())
        allocation.evict()
        allocation.reason = allocation.reason or cause
    return not left


def stranded(allocation: RoleAllocation) -> list[int]:
    """The positions of the stranded replicas, the highest first."""
    placements = allocation.placements
    return [index for index in range(len(placements) - 1, -1, -1) if placements[index].stranded]
