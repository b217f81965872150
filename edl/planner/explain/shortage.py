"""Shortages of capacity in figures, as a gang's claim or all passes left the snapshot."""

from collections.abc import Iterator
from math import ceil
from typing import NamedTuple

import numpy as np

from edl.feasibility.eligibility import Ints, Mask
from edl.feasibility.horizon import FUTURE_IDLE, Horizon
from edl.model import JobKey, Role, Taint
from edl.model.causes.blockers import (
    Blocker,
    ConstraintsUnsatisfied,
    InsufficientResources,
    LoadCeiling,
    QuotaExceeded,
    StartSizes,
    TooLarge,
)
from edl.planner.explain.kept_extras import kept_extras
from edl.planner.explain.sufficient_ceiling import CEILING_PRECISION
from edl.planner.fit_errors.fit_error import (
    excluding_rule,
    no_domain_error,
    no_node_error,
    no_usable_node,
    resource_lack,
)
from edl.planner.gangs.gang import Gang
from edl.planner.packing.node_capacity import NO_NODE
from edl.planner.packing.pack_order import pack_in_best_order
from edl.planner.packing.placement import reserve_in
from edl.planner.packing.pod_class import PodClass, PodSetRequest
from edl.planner.pass_results import PassResults
from edl.planner.passes.admission.claim_sources import ClaimSources
from edl.planner.passes.growth import GrowthCeiling
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.quota_balance import QuotaLine, QuotaRequest
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.quantities import Resources
from edl.spec.allowed_sizes import manual_size


def gang_shortage(snapshot: Snapshot, gang: Gang) -> Iterator[Blocker]:
    """The blockers of a gang's start, by role; pods that fit count as placed.

    What teams keep blocks a gang only where it would fit with that. `snapshot`: as this gang's
    claim left it.
    """
    sources = ClaimSources(snapshot, PassResults())
    quota = _gang_quota_shortage(sources, gang)
    if quota and not quota.quota.lendable:
        yield quota
    rooms = _room_shortages(sources, gang)
    yield from rooms
    if quota and quota.quota.lendable and not rooms:
        yield quota


def _room_shortages(sources: ClaimSources, gang: Gang) -> list[Blocker]:
    """By role; a role of which some pods do not fit fills `room` before the next one."""
    snapshot, (room, near) = sources.snapshot, sources.attained(gang)
    unlabelled = None if near else no_domain_error(gang)
    gang = near[0] if near else gang
    alone = _beside_own(snapshot, gang.job.key, snapshot.capacity.allocatable)
    """What its replicas leave if only its job ran; then if pods of other owners ran, too."""
    beside_others = _beside_own(snapshot, gang.job.key, snapshot.capacity_without_training_jobs)
    extras = kept_extras(sources, gang, room)
    fit = pack_in_best_order(room, gang.requests, FUTURE_IDLE)
    fit_alone = pack_in_best_order(alone, gang.requests, Horizon.EMPTY)
    fit_beside_others = pack_in_best_order(beside_others, gang.requests, Horizon.EMPTY)
    errors = [unlabelled or no_node_error(snapshot, request.pod_class) for request in gang.requests]
    counts = zip(fit, fit_alone, fit_beside_others, strict=True)
    wanted = zip(gang.roles, gang.requests, errors, counts, strict=True)
    unusable, short = list[Blocker](), list[Blocker]()
    for role, request, error, (fits, fits_alone, fits_beside_others) in wanted:
        pod_class = request.pod_class
        if error:
            unusable.append(no_usable_node(snapshot, role, request, error))
        elif fits < request.pods:
            places = pod_class.pods_by_resources(room)
            improvable = pod_class.pods_by_resources(alone) > _fill_all(room, pod_class)
            most = fits if extras.of_borrowers else max(fits_beside_others, fits)
            needs_nodes = extras.of_borrowers or fits_alone < request.pods
            unplaced = _Unplaced(role, request, fits, most, needs_nodes, improvable, extras.teams)
            short.append(_room(snapshot, room, unplaced, places))
    return unusable + short


def growth_shortage(
    snapshot: Snapshot, ceiling: GrowthCeiling, allocation: RoleAllocation
) -> Blocker:
    """The capacity blocker of one more replica for a started role, after all passes."""
    pod_class, capacity = allocation.pod_class, snapshot.capacity
    request, has_room = allocation.quota_request, pod_class.future_idle.find() != NO_NODE
    if quota := request.exceeded(FUTURE_IDLE):
        return quota_shortage(quota, request, 0)
    if rule := no_node_error(snapshot, pod_class):
        domains = snapshot.domains.kept_to(pod_class)
        return no_usable_node(snapshot, allocation.role, PodSetRequest(pod_class, 1), rule, domains)
    over = ceiling.exceeded(pod_class, capacity.total_future_idle)
    if over and has_room:
        return _ceiling(snapshot, allocation, over)
    if has_room and (quota := request.unlent()):
        return quota_shortage(quota, request, 0)
    alone = _beside_own(snapshot, allocation.job.key, capacity.allocatable)
    improvable = pod_class.pods_by_resources(alone) > 0
    pods = PodSetRequest(pod_class, 1)
    unplaced = _Unplaced(allocation.role, pods, 0, 0, not improvable.any(), improvable)
    room = capacity.future_idle
    return _room(snapshot, room, unplaced, pod_class.pods_by_resources(room))


def most_beside_minimums(snapshot: Snapshot, allocation: RoleAllocation) -> int:
    """How many replicas of a started role fit beside its siblings and other jobs' minimums."""
    room = snapshot.capacity_without_training_jobs.copy()
    for other in snapshot.allocations:
        count = other.size if other.job.key == allocation.job.key else other.size - other.extras
        reserve_in(other.pod_class, room, other.placements[:count])
    request = PodSetRequest(allocation.pod_class, allocation.role.spec.max)
    (more,) = pack_in_best_order(room, [request], Horizon.EMPTY)
    return allocation.size + more


class _Unplaced(NamedTuple):
    """Pods of one role of which only `fitting` fit."""

    role: Role
    request: PodSetRequest
    fitting: int
    most: int
    """How many would fit if no other training job ran, or beside what borrowers keep."""
    needs_nodes: bool
    """Whether these nodes cannot hold them all, whatever else leaves them."""
    improvable: Mask
    """Nodes on which one more would fit if only their training job ran; bool[nodes]."""
    kept: tuple[str, ...] = ()
    """Teams whose guarantee covers extras that it would otherwise take."""


def _beside_own(snapshot: Snapshot, key: JobKey, room: Ints) -> Ints:
    """What a job's own replicas leave of `room`; both int64[resources, nodes]."""
    left = room.copy()
    for allocation in snapshot.allocations:
        if allocation.job.key == key:
            reserve_in(allocation.pod_class, left, allocation.placements)
    return left


def quota_shortage(quota: QuotaLine, quota_request: QuotaRequest, comes: int) -> QuotaExceeded:
    """The blocker of an exceeded quota; `comes` is the amount that extras would release."""
    needed, left = quota_request.amount(quota), quota.future_remaining + comes
    return QuotaExceeded(
        quota.spec,
        needed,
        used=quota.used,
        left=max(quota.future_remaining, 0),
        lacks=max(needed - left, 1),
    )


def _gang_quota_shortage(sources: ClaimSources, gang: Gang) -> QuotaExceeded | None:
    """The first quota that stays exceeded even if all extras within the gang's reach yield."""
    quotas, scope = sources.reclaimable.quotas, sources.full_scope(gang)
    if quota := quotas.exceeded(gang.quota_request, scope):
        return quota_shortage(quota, gang.quota_request, quotas.released(quota, scope))
    return None


def _fill_all(room: Ints, pod_class: PodClass) -> Ints:
    """Subtract from `room` as many pods of this class as fit; returns their number per node."""
    capacity = pod_class.pods_per_node(room, FUTURE_IDLE)
    pod_class.subtract(room, capacity)
    return capacity


def _room(
    snapshot: Snapshot, room: Ints, unplaced: _Unplaced, places: Ints
) -> InsufficientResources | ConstraintsUnsatisfied | TooLarge:
    """`places`: pods that resources allowed per node before any of them was placed."""
    role, (pod_class, pods), fitting, *_ = unplaced
    if (too_large := _too_large(snapshot, role, pod_class, pods - fitting)) is not None:
        return too_large
    every = pod_class.nodes
    allowed = every[[pod_class.future_idle.allows(int(node)) for node in every]]
    large = allowed[pod_class.large_enough[allowed]]
    indexes = large if large.size else allowed
    fitting_there = pod_class.pods_by_resources(room[:, indexes], indexes)
    if not pod_class.is_unconstrained and (fitting_there.any() or not indexes.size):
        rule = excluding_rule(pod_class, places, pods, FUTURE_IDLE)
        closest = _closest_node(snapshot, room, pod_class, indexes if indexes.size else every)
        return ConstraintsUnsatisfied(
            role.name,
            pods - fitting,
            pod_class.shape.requests,
            len(every),
            rule,
            snapshot.capacity.node_names[closest],
            snapshot.domains.kept_to(pod_class),
        )
    return _insufficient(snapshot, room, unplaced, indexes)


def _insufficient(
    snapshot: Snapshot, room: Ints, unplaced: _Unplaced, indexes: Ints
) -> InsufficientResources:
    """The blocker of pods for which none of the nodes `indexes` has enough capacity left."""
    role, (pod_class, pods), fitting, most, needs_nodes, improvable, kept_by = unplaced
    names = snapshot.capacity.resources
    likely = indexes[improvable[indexes]]
    best = _closest_node(snapshot, room, pod_class, likely if likely.size else indexes)
    return InsufficientResources(
        role=role.name,
        wanted=pods,
        fitting=fitting,
        pods=pods - fitting,
        requests=pod_class.shape.requests,
        nodes=len(indexes),
        free=Resources.of(
            {names[row]: max(int(room[row, indexes].max()), 0) for row, _ in pod_class.amounts}
        ),
        lack=resource_lack(snapshot, room, pod_class, indexes),
        node=snapshot.capacity.node_names[best],
        missing=Resources.of(
            {names[row]: max(amount - int(room[row, best]), 0) for row, amount in pod_class.amounts}
        ),
        needs_nodes=needs_nodes,
        kept=kept_by,
        domains=snapshot.domains.kept_to(pod_class),
        taints=_taints_of_others(snapshot, pod_class),
        sizes=_start_sizes(role, pods, most),
    )


def _start_sizes(role: Role, pods: int, most: int) -> StartSizes:
    manual = manual_size(role) == pods > role.spec.min
    return StartSizes(role.spec.min if manual else None, role.template.sizes[0], most)


def _too_large(snapshot: Snapshot, role: Role, pod_class: PodClass, pods: int) -> TooLarge | None:
    """The blocker of a role for whose pod no eligible node is large enough; None if one is."""
    if pod_class.large_enough.any():
        return None
    nodes, names = pod_class.nodes, snapshot.capacity.resources
    offered = snapshot.capacity.allocatable
    largest = {names[row]: int(offered[row, nodes].max()) for row, _ in pod_class.amounts}
    return TooLarge(
        role=role.name,
        pods=pods,
        requests=pod_class.shape.requests,
        nodes=len(nodes),
        largest=Resources.of(largest),
        node=snapshot.capacity.node_names[_closest_node(snapshot, offered, pod_class, nodes)],
        domains=snapshot.domains.kept_to(pod_class),
    )


def _taints_of_others(snapshot: Snapshot, pod_class: PodClass) -> tuple[Taint, ...]:
    """The taints that keep the pods off all selected nodes but one; empty if several remain."""
    if len(pod_class.nodes) != 1:
        return ()
    eligibility, shape = snapshot.eligibility, pod_class.shape
    return eligibility.untolerated(shape, eligibility.selected(shape))


def _closest_node(snapshot: Snapshot, room: Ints, pod_class: PodClass, nodes: Ints) -> int:
    """The one of `nodes` that lacks least for one pod.

    Missing amounts are compared as fractions of the cluster's total, by the largest per node.
    """
    totals = snapshot.capacity.totals
    lacks = np.zeros(len(nodes))
    for row, amount in pod_class.amounts:
        short = np.maximum(amount - room[row, nodes], 0)
        lacks = np.maximum(lacks, short / max(totals[row], 1))
    return int(nodes[np.argmin(lacks)])


def _ceiling(snapshot: Snapshot, allocation: RoleAllocation, resource: str) -> LoadCeiling:
    capacity = snapshot.capacity
    index = capacity.resources.index(resource)
    needed = dict(allocation.pod_class.amounts)[index]
    idle = min(capacity.total_future_idle[index], capacity.total_idle[index])
    return LoadCeiling(
        role=allocation.role.name,
        resource=resource,
        share=snapshot.limits.load_ceiling,
        idle=idle,
        kept=capacity.idle_to_keep(snapshot.limits.load_ceiling)[index],
        needed=needed,
        enough=_enough(capacity.totals[index], idle - needed),
    )


def _enough(total: int, left: int) -> float:
    """The smallest reportable load ceiling at which only `left` of `total` must stay idle."""
    share = ceil((total - left) * CEILING_PRECISION / max(total, 1)) / CEILING_PRECISION
    return min(share, 1.0)
