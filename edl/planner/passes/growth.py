"""Growth: idle capacity goes to the least satisfied role, one replica at a time."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from heapq import heapify, heappop, heappush
from itertools import filterfalse

from edl.feasibility.eligibility import Ints
from edl.feasibility.horizon import FUTURE_IDLE, IDLE, Horizon
from edl.planner.packing.node_capacity import NO_NODE, ResourceAmounts
from edl.planner.packing.pod_class import PodClass
from edl.planner.passes.team_growth import growth_order
from edl.planner.passes.whole_restarts import grow_whole
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.colocation import AnchorNodes
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.snapshot.started_domains import PreferredDomains


@dataclass(slots=True)
class GrowthCeiling:
    """The CPU and memory that growth must leave idle (`Limits.load_ceiling`)."""

    snapshot: Snapshot
    _idle_to_keep: dict[int, int] = field(init=False)
    _least: Callable[[PodClass], ResourceAmounts] = field(init=False)

    def __post_init__(self) -> None:
        self._idle_to_keep = self.snapshot.capacity.idle_to_keep(self.snapshot.limits.load_ceiling)
        self._least = cache(self._idle_for)

    def _idle_for(self, pod_class: PodClass) -> ResourceAmounts:
        """The idle CPU and memory that one more pod needs to stay below the ceiling."""
        idle_to_keep = self._idle_to_keep
        needs = (
            (row, amount + idle_to_keep[row])
            for row, amount in pod_class.amounts
            if row in idle_to_keep
        )
        return tuple(needs)

    def allows(self, pod_class: PodClass, horizon: Horizon) -> bool:
        """Whether one more pod stays below the ceiling."""
        capacity = self.snapshot.capacity
        return not (
            self.exceeded(pod_class, capacity.total_future_idle)
            or (horizon is IDLE and self.exceeded(pod_class, capacity.total_idle))
        )

    def least_pods(self, largest: Mapping[int, int]) -> int:
        """How many pods of up to these amounts, by resource, stay below the ceiling at least."""
        now, soon = self.snapshot.capacity.total_idle, self.snapshot.capacity.total_future_idle
        counts = (
            max(min(now[resource], soon[resource]) - amount, 0) // largest[resource]
            for resource, amount in self._idle_to_keep.items()
            if resource in largest
        )
        return min(counts, default=0)

    def exceeded(self, pod_class: PodClass, idle: list[int]) -> str:
        """The resource of which one more pod would exceed the ceiling, or "".

        `idle`: amounts of all schedulable nodes, by resource.
        """
        for resource, least in self._least(pod_class):
            if idle[resource] < least:
                return self.snapshot.capacity.resources[resource]
        return ""

    def holds(self) -> bool:
        """Whether the future usage is below the ceiling."""
        idle = self.snapshot.capacity.total_future_idle
        return all(idle[resource] >= least for resource, least in self._idle_to_keep.items())


class _CeilingOfGrowth:
    """`GrowthCeiling.allows` for pods of these classes while only such pods are added.

    Far below the ceiling, the totals are read once per many pods.
    """

    __slots__ = ("_ceiling", "_changes", "_largest", "_until")

    def __init__(self, ceiling: GrowthCeiling, pod_classes: Iterable[PodClass]) -> None:
        self._ceiling, self._changes = ceiling, ceiling.snapshot.capacity.changed_nodes
        self._largest: dict[int, int] = {}
        """By resource, the most that one pod requests."""
        for pod_class in pod_classes:
            for resource, amount in pod_class.amounts:
                self._largest[resource] = max(amount, self._largest.get(resource, 0))
        self._until = 0
        """While there are fewer changes, one more pod of any class is allowed."""

    def allows(self, pod_class: PodClass, horizon: Horizon) -> bool:
        changes = len(self._changes)
        if changes < self._until:
            return True
        self._until = changes + self._ceiling.least_pods(self._largest)
        return self._ceiling.allows(pod_class, horizon)


def grow(snapshot: Snapshot, ceiling: GrowthCeiling) -> list[RoleAllocation]:
    """Grow roles on idle capacity. Returns the roles below their max that wait for more."""
    asking = [
        allocation
        for allocation in snapshot.allocations
        if len(allocation.placements) < allocation.max_replicas
        and (allocation.hold.reserves_capacity or not allocation.hold.reason)
    ]
    # Idle capacity only shrinks during this pass, so a class without capacity now stays without.
    pod_classes = {allocation.pod_class for allocation in asking}
    full = {pod_class for pod_class in pod_classes if pod_class.is_full()}
    unserved = [allocation for allocation in asking if allocation.pod_class in full]
    anchors = AnchorNodes(snapshot.allocations) if snapshot.policy.colocate else None
    most = _CeilingOfGrowth(ceiling, pod_classes)
    rest = {
        allocation: RoleGrowth(snapshot, most, allocation, anchors)
        for allocation in asking
        if allocation.pod_class not in full
    }
    if snapshot.teams:
        order = growth_order(snapshot.teams, snapshot.policy, rest)
        refused = filterfalse(RoleGrowth.add_replica, map(rest.__getitem__, order))
        unserved += [growth.allocation for growth in refused]
    else:
        unserved += _grow_least_satisfied(snapshot, rest.values())
    return [
        allocation
        for allocation in unserved
        if allocation.may_pipeline and not allocation.lacks_places
    ]


def _grow_least_satisfied(
    snapshot: Snapshot, asking: Iterable["RoleGrowth"]
) -> list[RoleAllocation]:
    """Add one replica at a time to the least satisfied role. Returns roles that got none."""
    by_share: defaultdict[float, list[tuple[int, RoleGrowth]]] = defaultdict(list)
    for growth in asking:
        by_share[snapshot.satisfaction(growth.allocation)].append((growth.allocation.rank, growth))
    levels, unserved = list(by_share), []
    heapify(levels)
    share = snapshot.policy.satisfaction
    while levels:
        level = heappop(levels)
        # Ranks are unique, so that roles themselves are never compared.
        for turn in sorted(by_share.pop(level)):
            growth = turn[1]
            allocation = growth.allocation
            while growth.add_replica():
                size = len(allocation.placements)
                if size >= allocation.max_replicas:
                    break
                if (next_level := share(allocation, size)) > level:
                    if next_level not in by_share:
                        heappush(levels, next_level)
                    by_share[next_level].append(turn)
                    break
            else:
                unserved.append(allocation)
    return unserved


class RoleGrowth:
    """Adds replicas to one role while capacity only shrinks.

    What cannot change meanwhile is read once: a decision may add 100,000 replicas.
    """

    __slots__ = (
        "_anchors",
        "_ceiling",
        "_counts",
        "_creates",
        "_min",
        "_near",
        "_snapshot",
        "_waits",
        "allocation",
    )

    def __init__(
        self,
        snapshot: Snapshot,
        ceiling: GrowthCeiling | _CeilingOfGrowth,
        allocation: RoleAllocation,
        anchors: AnchorNodes | None = None,
    ) -> None:
        self._snapshot, self._ceiling, self.allocation = snapshot, ceiling, allocation
        self._anchors, self._min = anchors, allocation.role.spec.min
        self._counts = allocation.quota_request.is_bounded
        self._creates = not (allocation.hold.reason or allocation.gave_replicas)
        self._waits = snapshot.any_waits_for_moves and not allocation.starts
        preferred = allocation.job.topology.preferred
        self._near: dict[Horizon, PreferredDomains] | None = {} if preferred else None

    def add_replica(self) -> bool:
        """Add a replica: on idle capacity, or pipelined onto capacity of terminating pods.

        False if quotas, the ceiling or all nodes refuse both.
        """
        allocation = self.allocation
        # Fast path: growth may place 100,000 replicas, most of them live.
        if allocation.restart and allocation.lacks_places:
            return self._creates and self._is_allowed(IDLE) and grow_whole(allocation)
        # A replica that is admitted now needs no check of the future.
        if self._creates and self._is_allowed(IDLE):
            if (node := self._node(IDLE)) != NO_NODE:
                allocation.place(node, IDLE)
                return True
        elif not self._is_allowed(FUTURE_IDLE):
            return False
        if not allocation.may_pipeline or allocation.pod_class.future_idle.find() == NO_NODE:
            return False
        node = self._node(FUTURE_IDLE)
        if node != NO_NODE:
            allocation.place(node, FUTURE_IDLE)
        return node != NO_NODE

    def _is_allowed(self, horizon: Horizon) -> bool:
        """Whether quotas, moves and the ceiling admit one more replica at this horizon."""
        allocation = self.allocation
        if self._counts and not allocation.quota_request.allows(horizon):
            return False
        size = len(allocation.placements)
        if size < self._min:
            return True
        if self._waits and horizon is IDLE and self._snapshot.waits_for_moves(allocation, size):
            return False
        return self._ceiling.allows(allocation.pod_class, horizon)

    def _node(self, horizon: Horizon) -> int:
        """A node near the job's pods if its topology or the policy wants that, else best fit."""
        allocation = self.allocation
        pod_class = allocation.pod_class
        view = pod_class.idle if horizon is IDLE else pod_class.future_idle
        if self._near is not None and not view.is_exhausted:
            if horizon not in self._near:
                self._near[horizon] = PreferredDomains(self._snapshot, allocation, horizon)
            if (node := self._near[horizon].find()) != NO_NODE:
                return node
        anchors = self._anchors
        if anchors is not None and (node := anchors.node_for(allocation, horizon)) != NO_NODE:
            return node
        return view.find()


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
