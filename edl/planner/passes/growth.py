"""Idle room goes to the least satisfied role, one replica at a time, onto real nodes."""

from collections import defaultdict
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from math import inf
from operator import attrgetter

from edl.feasibility.gpu_shares import Horizon
from edl.planner.packing.node_capacity import Ints, ResourceAmounts
from edl.planner.packing.pod_class import PodClass
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.colocation import AnchorNodes
from edl.planner.snapshot.role_allocation import NO_NODE, RoleAllocation
from edl.planner.snapshot.topology_choice import node_in_preferred_domain


@dataclass(slots=True)
class GrowthCeiling:
    """How much cpu and memory growth leaves idle (`Limits.load_ceiling`)."""

    snapshot: Snapshot
    _idle_to_keep: dict[int, int] = field(init=False)
    _least: "_Least" = field(init=False)

    def __post_init__(self) -> None:
        self._idle_to_keep = self.snapshot.capacity.idle_to_keep(self.snapshot.limits.load_ceiling)
        self._least = _Least(self._idle_to_keep)

    def allows(self, fit: PodClass, *, now: bool) -> bool:
        """Whether one more pod stays below it; `now`: also before leaving pods are gone."""
        grid = self.snapshot.capacity
        soon, at_once = grid.total_future_idle, grid.total_idle if now else grid.total_future_idle
        for line, least in self._least[fit]:
            if soon[line] < least or at_once[line] < least:
                return False
        return True

    def exceeded(self, fit: PodClass, idle: list[int]) -> str:
        """The resource that one more pod would take above the ceiling, or nothing."""
        for line, least in self._least[fit]:
            if idle[line] < least:
                return self.snapshot.capacity.resources[line]
        return ""

    def holds(self) -> bool:
        """Whether the ceiling holds as it is."""
        idle = self.snapshot.capacity.total_future_idle
        return all(idle[line] >= least for line, least in self._idle_to_keep.items())


class _Least(dict[PodClass, ResourceAmounts]):
    """What must be idle for one more pod of a shape, so that as much as must be kept is left."""

    def __init__(self, kept: dict[int, int]) -> None:
        self._kept = kept

    def __missing__(self, fit: PodClass) -> ResourceAmounts:
        kept = self._kept
        found = tuple((line, amount + kept[line]) for line, amount in fit.amounts if line in kept)
        self[fit] = found
        return found


def grow(board: Snapshot, ceiling: GrowthCeiling) -> list[RoleAllocation]:
    """Give idle room away; whoever could take more but found none is returned."""
    asking = [
        standing
        for standing in board.allocations
        if len(standing.placements) < standing.max_replicas
        and (standing.reserves_capacity or not standing.hold_reason)
    ]
    # Room only gets less while it is given away: who finds none now will find none.
    full = {fit for fit in {standing.pod_class for standing in asking} if fit.is_full()}
    stuck = [standing for standing in asking if standing.pod_class in full]
    by_share: defaultdict[float, list[RoleAllocation]] = defaultdict(list)
    for standing in asking:
        if standing.pod_class not in full:
            by_share[board.satisfaction(standing)].append(standing)
    levels = list(by_share)
    heapify(levels)
    homes = AnchorNodes(board.allocations) if board.policy.colocate else None
    share = board.policy.satisfaction
    while levels:
        level = heappop(levels)
        for standing in sorted(by_share.pop(level), key=attrgetter("rank")):
            while add_replica(board, ceiling, standing, homes):
                size = len(standing.placements)
                if size >= standing.max_replicas:
                    break
                if (next_level := share(standing, size)) > level:
                    if next_level not in by_share:
                        heappush(levels, next_level)
                    by_share[next_level].append(standing)
                    break
            else:
                stuck.append(standing)
    return stuck


def add_replica(
    board: Snapshot, ceiling: GrowthCeiling, standing: RoleAllocation, homes: AnchorNodes | None
) -> bool:
    """One replica more: now, or as room that is kept for it until leaving pods have freed it."""
    # What is allowed and found at once is so soon, too: the usual case asks once.
    at_once = _comes_at_once(board, ceiling, standing)
    if not (at_once or _is_allowed(ceiling, standing)):
        return False
    soon = standing.pod_class.future_idle
    if at_once and (row := _row(board, standing, homes, now=True)) != NO_NODE:
        standing.place(board.capacity, row, now=True)
        return True
    # What restarts takes its size when it starts: it would restart at once for room to come.
    restarts = standing.starts and standing.restarts_to_resize and not standing.hold_reason
    if restarts or soon.find() == NO_NODE:
        return False
    row = _row(board, standing, homes, now=False)
    if row != NO_NODE:
        standing.place(board.capacity, row, now=False)
        return True
    return False


def could_reserve(ceiling: GrowthCeiling, standing: RoleAllocation, room: Ints) -> bool:
    """Whether budgets, ceiling and a node allow one more where this room is free."""
    if standing.quota_request and not standing.quota_request.allows(now=False):
        return False
    idle = room[:, ceiling.snapshot.capacity.schedulable].sum(axis=1).tolist()
    if len(standing.placements) >= standing.role.min and ceiling.exceeded(standing.pod_class, idle):
        return False
    return bool(standing.pod_class.pods_per_node(room, Horizon.FUTURE_IDLE).any())


def _is_allowed(ceiling: GrowthCeiling, standing: RoleAllocation) -> bool:
    """Whether budgets and ceiling have room for one more, when leaving pods are gone."""
    if standing.quota_request and not standing.quota_request.allows(now=False):
        return False
    return len(standing.placements) < standing.role.min or ceiling.allows(
        standing.pod_class, now=False
    )


def _comes_at_once(board: Snapshot, ceiling: GrowthCeiling, standing: RoleAllocation) -> bool:
    """Whether nothing but room keeps one more from coming now."""
    if (
        standing.hold_reason
        or standing.gave_replicas
        or (standing.quota_request and not standing.quota_request.allows(now=True))
    ):
        return False
    if len(standing.placements) < standing.role.min:
        return True
    calm = (
        board.growth_limit == inf
        or standing.starts
        or board.satisfaction(standing) < board.growth_limit
    )
    return calm and ceiling.allows(standing.pod_class, now=True)


def _row(board: Snapshot, standing: RoleAllocation, homes: AnchorNodes | None, *, now: bool) -> int:
    """Near the others where its user or the policy says so, else the fullest node."""
    near = standing.job.topology.preferred
    if near and (row := node_in_preferred_domain(board, standing, now=now)) != NO_NODE:
        return row
    if homes is not None and (row := homes.node_for(standing, now=now)) != NO_NODE:
        return row
    return standing.pod_class.idle.find() if now else standing.pod_class.future_idle.find()
