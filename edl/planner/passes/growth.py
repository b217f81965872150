"""Growth: idle capacity goes to the least satisfied role, one replica at a time."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from heapq import heapify, heappop, heappush
from operator import attrgetter

from edl.feasibility.horizon import FUTURE_IDLE, IDLE, Horizon
from edl.planner.packing.node_capacity import Ints, ResourceAmounts
from edl.planner.packing.pod_class import PodClass
from edl.planner.passes.team_growth import growth_order
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.colocation import AnchorNodes
from edl.planner.snapshot.quota_balance import NOT_COUNTED
from edl.planner.snapshot.role_allocation import NO_NODE, RoleAllocation
from edl.planner.snapshot.started_domains import node_in_preferred_domain


@dataclass(slots=True)
class GrowthCeiling:
    """The CPU and memory that growth must leave idle (`Limits.load_ceiling`)."""

    snapshot: Snapshot
    _idle_to_keep: dict[int, int] = field(init=False)
    _least: "_Least" = field(init=False)

    def __post_init__(self) -> None:
        self._idle_to_keep = self.snapshot.capacity.idle_to_keep(self.snapshot.limits.load_ceiling)
        self._least = _Least(self._idle_to_keep)

    def allows(self, pod_class: PodClass, horizon: Horizon) -> bool:
        """Whether one more pod stays below the ceiling."""
        capacity = self.snapshot.capacity
        soon, at_once = (
            capacity.total_future_idle,
            capacity.total_idle if horizon is IDLE else capacity.total_future_idle,
        )
        for resource, least in self._least[pod_class]:
            if soon[resource] < least or at_once[resource] < least:
                return False
        return True

    def exceeded(self, pod_class: PodClass, idle: list[int]) -> str:
        """The resource of which one more pod would exceed the ceiling, or "".

        `idle`: amounts of all schedulable nodes, by resource.
        """
        for resource, least in self._least[pod_class]:
            if idle[resource] < least:
                return self.snapshot.capacity.resources[resource]
        return ""

    def holds(self) -> bool:
        """Whether the future usage is below the ceiling."""
        idle = self.snapshot.capacity.total_future_idle
        return all(idle[resource] >= least for resource, least in self._idle_to_keep.items())


class _Least(dict[PodClass, ResourceAmounts]):
    """By pod class, the idle CPU and memory that one more pod needs to stay below the ceiling."""

    def __init__(self, kept: dict[int, int]) -> None:
        self._kept = kept

    def __missing__(self, pod_class: PodClass) -> ResourceAmounts:
        kept = self._kept
        found = tuple(
            (resource, amount + kept[resource])
            for resource, amount in pod_class.amounts
            if resource in kept
        )
        self[pod_class] = found
        return found


def grow(snapshot: Snapshot, ceiling: GrowthCeiling) -> list[RoleAllocation]:
    """Grow roles on idle capacity. Returns the roles below their max that got no replica."""
    asking = [
        allocation
        for allocation in snapshot.allocations
        if len(allocation.placements) < allocation.max_replicas
        and (allocation.hold.reserves_capacity or not allocation.hold.reason)
    ]
    # Idle capacity only shrinks during this pass, so a class without capacity now stays without.
    full = {
        pod_class
        for pod_class in {allocation.pod_class for allocation in asking}
        if pod_class.is_full()
    }
    stuck = [allocation for allocation in asking if allocation.pod_class in full]
    rest = [allocation for allocation in asking if allocation.pod_class not in full]
    anchors = AnchorNodes(snapshot.allocations) if snapshot.policy.colocate else None
    add = partial(add_replica, snapshot, ceiling, anchors=anchors)
    if snapshot.teams:
        satisfied = {allocation: snapshot.satisfaction(allocation) for allocation in rest}
        order = growth_order(snapshot.teams, snapshot.policy, satisfied)
        return stuck + [allocation for allocation in order if not add(allocation)]
    return stuck + _grow_least_satisfied(snapshot, rest, add)


def _grow_least_satisfied(
    snapshot: Snapshot, asking: Iterable[RoleAllocation], add: Callable[[RoleAllocation], bool]
) -> list[RoleAllocation]:
    """Add one replica at a time to the least satisfied role. Returns roles that `add` refused."""
    by_share: defaultdict[float, list[RoleAllocation]] = defaultdict(list)
    for allocation in asking:
        by_share[snapshot.satisfaction(allocation)].append(allocation)
    levels, stuck = list(by_share), []
    heapify(levels)
    share = snapshot.policy.satisfaction
    while levels:
        level = heappop(levels)
        for allocation in sorted(by_share.pop(level), key=attrgetter("rank")):
            while add(allocation):
                size = len(allocation.placements)
                if size >= allocation.max_replicas:
                    break
                if (next_level := share(allocation, size)) > level:
                    if next_level not in by_share:
                        heappush(levels, next_level)
                    by_share[next_level].append(allocation)
                    break
            else:
                stuck.append(allocation)
    return stuck


def add_replica(
    snapshot: Snapshot,
    ceiling: GrowthCeiling,
    allocation: RoleAllocation,
    anchors: AnchorNodes | None,
) -> bool:
    """Add a replica to the role: on idle capacity, or pipelined onto capacity of terminating pods.

    False if quotas, the ceiling or all nodes refuse both.
    """
    # Fast path: a replica that is admitted now needs no check of the future.
    at_once = _comes_at_once(snapshot, ceiling, allocation)
    if not (at_once or _is_allowed(ceiling, allocation)):
        return False
    if at_once and (node := _row(snapshot, allocation, anchors, IDLE)) != NO_NODE:
        allocation.place(node, IDLE)
        return True
    # A starting job that restarts to resize takes no pipelined replica: it would soon restart.
    restarts = allocation.starts and allocation.restarts_to_resize and not allocation.hold.reason
    if restarts or allocation.pod_class.future_idle.find() == NO_NODE:
        return False
    node = _row(snapshot, allocation, anchors, FUTURE_IDLE)
    if node != NO_NODE:
        allocation.place(node, FUTURE_IDLE)
        return True
    return False


def could_reserve(ceiling: GrowthCeiling, allocation: RoleAllocation, room: Ints) -> bool:
    """Whether quotas, the ceiling and a node admit one more replica if `room` is idle."""
    if not allocation.quota_request.allows(FUTURE_IDLE):
        return False
    idle = room[:, ceiling.snapshot.capacity.schedulable].sum(axis=1).tolist()
    if len(allocation.placements) >= allocation.role.spec.min and ceiling.exceeded(
        allocation.pod_class, idle
    ):
        return False
    return bool(allocation.pod_class.pods_per_node(room, FUTURE_IDLE).any())


def _is_allowed(ceiling: GrowthCeiling, allocation: RoleAllocation) -> bool:
    """Whether quotas and the ceiling admit one more replica once terminating pods are gone."""
    if not allocation.quota_request.allows(FUTURE_IDLE):
        return False
    return len(allocation.placements) < allocation.role.spec.min or ceiling.allows(
        allocation.pod_class, FUTURE_IDLE
    )


def _comes_at_once(snapshot: Snapshot, ceiling: GrowthCeiling, allocation: RoleAllocation) -> bool:
    """Whether one more replica may be created now, provided that a node has idle capacity."""
    if (
        allocation.hold.reason
        or allocation.gave_replicas
        # Fast path: growth asks for each of 100,000 replicas.
        or not (allocation.quota_request is NOT_COUNTED or allocation.quota_request.allows(IDLE))
    ):
        return False
    if len(allocation.placements) < allocation.role.spec.min:
        return True
    waits = not allocation.starts and snapshot.waits_for_moves(
        allocation, len(allocation.placements)
    )
    return not waits and ceiling.allows(allocation.pod_class, IDLE)


def _row(
    snapshot: Snapshot, allocation: RoleAllocation, anchors: AnchorNodes | None, horizon: Horizon
) -> int:
    """A node near the job's other pods if its topology or the policy wants that, else best fit."""
    view = allocation.pod_class.at(horizon)
    near = allocation.job.topology.preferred and not view.is_exhausted
    if near and (node := node_in_preferred_domain(snapshot, allocation, horizon)) != NO_NODE:
        return node
    if anchors is not None and (node := anchors.node_for(allocation, horizon)) != NO_NODE:
        return node
    return view.find()
