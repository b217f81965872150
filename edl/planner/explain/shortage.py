"""Where pods find no room, in figures: read off the board when everything has been decided."""

from collections.abc import Iterator
from math import ceil

import numpy as np

from edl.feasibility.gpu_shares import Horizon
from edl.model import Role, TrainingJob
from edl.model.blockers import (
    Blocker,
    ConstraintsUnsatisfied,
    InsufficientResources,
    LoadCeiling,
    NoUsableNode,
    QuotaExceeded,
    TooLarge,
)
from edl.model.scarcity import Scarce
from edl.planner.packing.node_capacity import Ints
from edl.planner.packing.pack_order import pack_in_best_order
from edl.planner.packing.pod_class import PodClass, PodSetRequest
from edl.planner.passes.admission.gang import Gang
from edl.planner.passes.admission.topology_placement import closest_fit
from edl.planner.passes.fit_errors import no_domain_error, no_node_error
from edl.planner.passes.growth import GrowthCeiling
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.quota_balance import QuotaLine, QuotaRequest
from edl.planner.snapshot.reclaimable import Reclaimable, reclaim_order, reclaim_priority_of
from edl.planner.snapshot.role_allocation import NO_NODE, RoleAllocation
from edl.quantities import Resources

_PRECISION = 10_000
"""Load ceilings are told in hundredths of a percent."""


def gang_shortage(board: Snapshot, gang: Gang) -> Iterator[Blocker]:
    """What keeps a gang from starting, by role; as many pods as fit are counted as placed."""
    if gang.quota_request and (line := gang.quota_request.exceeded(now=False)):
        yield quota_shortage(line, gang.quota_request, _given_back(board, line, gang.job.priority))
    room = reachable_capacity(board, gang.job)
    near = closest_fit(board, gang, room, Horizon.FUTURE_IDLE)
    if near is None:
        yield from _unlabelled(gang)
        return
    gang = near[0]
    found = pack_in_best_order(room, gang.requests, Horizon.FUTURE_IDLE)
    wanted = list(zip(gang.roles, gang.requests, found, strict=True))
    for role, want, _ in wanted:
        if not want.pod_class.eligible.any():
            yield NoUsableNode(
                role.name,
                want.pods,
                want.pod_class.shape.requests,
                no_node_error(board, want.pod_class),
            )
    for role, want, fitting in wanted:
        if want.pod_class.eligible.any() and fitting < want.pods:
            _fill_all(room, want.pod_class)
            yield _room(board, room, role, (want, fitting))


def _unlabelled(gang: Gang) -> Iterator[Blocker]:
    """No node that its pods may use has the labels of the topology that it requires."""
    rule = no_domain_error(gang)
    for role, want in zip(gang.roles, gang.requests, strict=True):
        yield NoUsableNode(role.name, want.pods, want.pod_class.shape.requests, rule)


def growth_shortage(board: Snapshot, ceiling: GrowthCeiling, standing: RoleAllocation) -> Blocker:
    """What keeps a started role from one more replica, if it is room."""
    fit, grid = standing.pod_class, board.capacity
    if standing.quota_request and (line := standing.quota_request.exceeded(now=False)):
        return quota_shortage(line, standing.quota_request, 0)
    if not fit.eligible.any():
        rule, domains = no_node_error(board, fit), board.domains_of(fit)
        return NoUsableNode(standing.role.name, 1, fit.shape.requests, rule, domains)
    over = ceiling.exceeded(fit, grid.total_future_idle)
    if over and fit.future_idle.find() != NO_NODE:
        return _ceiling(board, standing, over)
    return _room(board, grid.future_idle, standing.role, (PodSetRequest(fit, 1), 0))


def reachable_capacity(board: Snapshot, job: TrainingJob) -> Ints:
    """The room on `soon`, and what extras hold that yield to a job that waits."""
    movable = [found for found in board.allocations if found.resizable]
    level = max(reclaim_priority_of(board, job), job.priority)
    return Reclaimable(board, movable, reclaim_order(board)).capacity.with_idle(level)


def quota_shortage(line: QuotaLine, bill: QuotaRequest, comes: int) -> QuotaExceeded:
    """A budget that is too small, also when `comes` is given back to it."""
    needed, left = bill.amount(line), line.future_remaining + comes
    return QuotaExceeded(line.quota, needed, max(line.future_remaining, 0), max(needed - left, 1))


def _given_back(board: Snapshot, line: QuotaLine, priority: int) -> int:
    """What extras count in a budget that yield to a claim of this priority."""
    return sum(
        (standing.size - standing.min_replicas) * standing.quota_request.amount(line)
        for standing in board.allocations
        if standing.resizable and standing.quota_request and standing.reclaim_priority <= priority
    )


def _fill_all(room: Ints, fit: PodClass) -> None:
    """Take every place for a pod of this shape: what is left on each node is less than one."""
    capacity = fit.pods_per_node(room, Horizon.FUTURE_IDLE)
    for line, amount in fit.amounts:
        room[line] -= capacity * amount


def _room(
    board: Snapshot, room: Ints, role: Role, placed: tuple[PodSetRequest, int]
) -> InsufficientResources | ConstraintsUnsatisfied | TooLarge:
    (fit, pods), fitting = placed
    if (large := _too_large(board, role, fit, pods - fitting)) is not None:
        return large
    names, nodes = board.capacity.resources, list(board.capacity.index)
    every = np.flatnonzero(fit.eligible)
    rows = every[[fit.allows(int(row), now=False) for row in every]]
    best = int((rows if rows.size else every)[0])
    if rows.size:
        best = int(rows[_least_missing(board, room, fit, rows)])
    missing = {names[line]: max(amount - int(room[line, best]), 0) for line, amount in fit.amounts}
    if _is_ruled(fit) and not (rows.size and any(missing.values())):
        rule = Scarce.DEVICES if fit.constraints is None else Scarce.RULES
        requests = fit.shape.requests
        where = board.domains_of(fit)
        return ConstraintsUnsatisfied(
            role.name, pods - fitting, requests, len(every), rule, nodes[best], where
        )
    free = {names[line]: max(int(room[line, rows].max()), 0) for line, _ in fit.amounts}
    return InsufficientResources(
        role=role.name,
        wanted=pods,
        fitting=fitting,
        requests=fit.shape.requests,
        nodes=len(rows),
        free=Resources.of(free),
        node=nodes[best],
        missing=Resources.of(missing),
        domains=board.domains_of(fit),
    )


def _too_large(board: Snapshot, role: Role, fit: PodClass, pods: int) -> TooLarge | None:
    """A pod for which no node that it may use is large enough, however empty."""
    rows = np.flatnonzero(fit.eligible)
    has = board.capacity.allocatable[:, rows]
    enough = np.ones(len(rows), dtype=np.bool_)
    for line, amount in fit.amounts:
        enough &= has[line] >= amount
    if enough.any():
        return None
    names = board.capacity.resources
    largest = {names[line]: int(has[line].max()) for line, _ in fit.amounts}
    return TooLarge(
        role=role.name,
        pods=pods,
        requests=fit.shape.requests,
        nodes=len(rows),
        largest=Resources.of(largest),
        node=list(board.capacity.index)[
            int(rows[_least_missing(board, board.capacity.allocatable, fit, rows)])
        ],
        domains=board.domains_of(fit),
    )


def _is_ruled(fit: PodClass) -> bool:
    """Whether more than its sums decides where its pods may be."""
    return fit.constraints is not None or fit.share_allocator is not None


def _least_missing(board: Snapshot, room: Ints, fit: PodClass, rows: Ints) -> int:
    """The place in `rows` of the node that lacks the smallest part of what a pod asks for."""
    totals = board.resource_totals
    lacks = np.zeros(len(rows))
    for line, amount in fit.amounts:
        short = np.maximum(amount - room[line, rows], 0)
        lacks = np.maximum(lacks, short / max(totals[line], 1))
    return int(np.argmin(lacks))


def _ceiling(board: Snapshot, standing: RoleAllocation, resource: str) -> LoadCeiling:
    grid = board.capacity
    line = grid.resources.index(resource)
    needed = dict(standing.pod_class.amounts)[line]
    idle = min(grid.total_future_idle[line], grid.total_idle[line])
    total = board.resource_totals[line]
    return LoadCeiling(
        role=standing.role.name,
        resource=resource,
        share=board.limits.load_ceiling,
        idle=idle,
        kept=grid.idle_to_keep(board.limits.load_ceiling)[line],
        needed=needed,
        enough=_enough(total, idle - needed),
    )


def _enough(total: int, left: int) -> float:
    """The smallest load ceiling, in steps, at which so much may be left idle."""
    return min(ceil((total - left) * _PRECISION / max(total, 1)) / _PRECISION, 1.0)
