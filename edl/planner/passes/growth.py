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

    board: Snapshot
    _kept: dict[int, int] = field(init=False)
    _least: "_Least" = field(init=False)

    def __post_init__(self) -> None:
        self._kept = self.board.grid.kept_idle(self.board.limits.load_ceiling)
        self._least = _Least(self._kept)

    def allows(self, fit: PodClass, *, now: bool) -> bool:
        """Whether one more pod stays below it; `now`: also before leaving pods are gone."""
        grid = self.board.grid
        soon, at_once = grid.idle_soon, grid.idle_now if now else grid.idle_soon
        for line, least in self._least[fit]:
            if soon[line] < least or at_once[line] < least:
                return False
        return True

    def over(self, fit: PodClass, idle: list[int]) -> str:
        """The resource that one more pod would take above the ceiling, or nothing."""
        for line, least in self._least[fit]:
            if idle[line] < least:
                return self.board.grid.resources[line]
        return ""

    def kept(self) -> bool:
        """Whether the ceiling holds as it is."""
        idle = self.board.grid.idle_soon
        return all(idle[line] >= least for line, least in self._kept.items())


class _Least(dict[PodClass, ResourceAmounts]):
    """What must be idle for one more pod of a shape, so that as much as must be kept is left."""

    def __init__(self, kept: dict[int, int]) -> None:
        self._kept = kept

    def __missing__(self, fit: PodClass) -> ResourceAmounts:
        kept = self._kept
        found = tuple((line, amount + kept[line]) for line, amount in fit.need if line in kept)
        self[fit] = found
        return found


def grow(board: Snapshot, ceiling: GrowthCeiling) -> list[RoleAllocation]:
    """Give idle room away; whoever could take more but found none is returned."""
    asking = [
        standing
        for standing in board.standings
        if len(standing.seats) < standing.cap and (standing.reserves or not standing.held)
    ]
    # Room only gets less while it is given away: who finds none now will find none.
    full = {fit for fit in {standing.fit for standing in asking} if fit.is_full()}
    stuck = [standing for standing in asking if standing.fit in full]
    by_share: defaultdict[float, list[RoleAllocation]] = defaultdict(list)
    for standing in asking:
        if standing.fit not in full:
            by_share[board.share(standing)].append(standing)
    levels = list(by_share)
    heapify(levels)
    homes = AnchorNodes(board.standings) if board.policy.together else None
    share = board.policy.share
    while levels:
        level = heappop(levels)
        for standing in sorted(by_share.pop(level), key=attrgetter("rank")):
            while add_replica(board, ceiling, standing, homes):
                size = len(standing.seats)
                if size >= standing.cap:
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
    soon = standing.fit.soon
    if at_once and (row := _row(board, standing, homes, now=True)) != NO_NODE:
        standing.sit(board.grid, row, now=True)
        return True
    # What restarts takes its size when it starts: it would restart at once for room to come.
    restarts = standing.starts and standing.restarts and not standing.held
    if restarts or soon.find() == NO_NODE:
        return False
    row = _row(board, standing, homes, now=False)
    if row != NO_NODE:
        standing.sit(board.grid, row, now=False)
        return True
    return False


def could_reserve(ceiling: GrowthCeiling, standing: RoleAllocation, room: Ints) -> bool:
    """Whether budgets, ceiling and a node allow one more where this room is free."""
    if standing.bill and not standing.bill.allows(now=False):
        return False
    idle = room[:, ceiling.board.grid.open].sum(axis=1).tolist()
    if len(standing.seats) >= standing.role.min and ceiling.over(standing.fit, idle):
        return False
    return bool(standing.fit.capacity(room, Horizon.FUTURE_IDLE).any())


def _is_allowed(ceiling: GrowthCeiling, standing: RoleAllocation) -> bool:
    """Whether budgets and ceiling have room for one more, when leaving pods are gone."""
    if standing.bill and not standing.bill.allows(now=False):
        return False
    return len(standing.seats) < standing.role.min or ceiling.allows(standing.fit, now=False)


def _comes_at_once(board: Snapshot, ceiling: GrowthCeiling, standing: RoleAllocation) -> bool:
    """Whether nothing but room keeps one more from coming now."""
    if standing.held or standing.gave or (standing.bill and not standing.bill.allows(now=True)):
        return False
    if len(standing.seats) < standing.role.min:
        return True
    calm = board.calm == inf or standing.starts or board.share(standing) < board.calm
    return calm and ceiling.allows(standing.fit, now=True)


def _row(board: Snapshot, standing: RoleAllocation, homes: AnchorNodes | None, *, now: bool) -> int:
    """Near the others where its user or the policy says so, else the fullest node."""
    near = standing.job.topology.preferred
    if near and (row := node_in_preferred_domain(board, standing, now=now)) != NO_NODE:
        return row
    if homes is not None and (row := homes.near(standing, now=now)) != NO_NODE:
        return row
    return standing.fit.both.find() if now else standing.fit.soon.find()
