"""Extras: replicas above the minimum that claims may take. Their order, and what they hold."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter

import numpy as np

from edl.feasibility.eligibility import Mask
from edl.model import TrainingJob
from edl.planner.packing.placement import Placement
from edl.planner.packing.pod_class import PodSetRequest
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.colocation import AnchorNodes
from edl.planner.snapshot.extras.minimum_nodes import MinimumNodes
from edl.planner.snapshot.extras.reclaimable_capacity import ReclaimableCapacity, ReclaimableQuotas
from edl.planner.snapshot.extras.team_extras import TeamExtras
from edl.planner.snapshot.extras.yield_order import ReclaimOrder, YieldKey
from edl.planner.snapshot.extras.yield_queue import YieldQueue
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.reclaim_priority import (
    NONE_RECLAIMABLE,
    Margin,
    ReclaimPriority,
    ReclaimScope,
)


def reclaim_order(snapshot: Snapshot) -> ReclaimOrder:
    """The order for demands, gangs and minimums: down to the minimum, lowest priority first.

    If the policy colocates pods, roles whose highest index is away from their job yield first
    within a priority.
    """
    anchors = AnchorNodes(snapshot.allocations) if snapshot.policy.colocate else None

    def key(allocation: RoleAllocation) -> YieldKey:
        near = anchors is not None and not anchors.last_is_elsewhere(allocation)
        return allocation.reclaim_priority, near, -snapshot.satisfaction(allocation)

    return ReclaimOrder(lambda allocation: allocation.min_replicas, key, gathers_minimums=True)


def order_by_satisfaction(
    snapshot: Snapshot, min_replicas: Callable[[RoleAllocation], int]
) -> ReclaimOrder:
    """The order in which donors yield down to `min_replicas`: the most satisfied first."""

    def key(allocation: RoleAllocation) -> YieldKey:
        return NONE_RECLAIMABLE, False, -snapshot.satisfaction(allocation)

    return ReclaimOrder(min_replicas, key)


def reclaim_priority_of(snapshot: Snapshot, job: TrainingJob) -> ReclaimPriority:
    """The reclaim priority of a waiting job's claim.

    Before `reclaim_delay` it takes from lower priorities only; after `queue_patience` also from
    nearly finished jobs.
    """
    delay, waited = snapshot.policy.reclaim_delay, snapshot.clock.waited_or_recheck
    if delay and not waited(job, delay):
        return ReclaimPriority(job.priority, Margin.DELAYED)
    if snapshot.any_nearly_done and waited(job, snapshot.limits.queue_patience):
        return ReclaimPriority(job.priority, Margin.NEARLY_DONE)
    return ReclaimPriority(job.priority)


def minimum_priority(priority: int) -> ReclaimPriority:
    """The reclaim priority of claims for other owners' pods, and for a started job's minimum."""
    return ReclaimPriority(priority, Margin.NEARLY_DONE)


class Reclaimable:
    """Replicas that may be taken: their roles' order, and what they hold."""

    def __init__(
        self,
        snapshot: Snapshot,
        allocations: Sequence[RoleAllocation],
        order: ReclaimOrder,
        team_extras: TeamExtras | None = None,
    ) -> None:
        """`team_extras` is kept up to date."""
        self._order, self._teams, self._team_extras = order, snapshot.teams, team_extras
        self.allocations, self.min_replicas = allocations, order.min_replicas
        self.node_capacity, self.deleted_by_name = snapshot.capacity, snapshot.moves.deleted_by_name
        self.queue = YieldQueue(snapshot.teams, order, allocations)
        self._on_node: defaultdict[int, list[RoleAllocation]] = defaultdict(list)
        """By node, the roles that have, or had, extras there; empty until first read."""
        least = order.min_replicas
        extras = [(role, tail) for role in allocations if (tail := role.placements[least(role) :])]
        self.capacity = ReclaimableCapacity(snapshot.capacity, extras)
        self.quotas = ReclaimableQuotas(allocations, least)
        gathering = allocations if order.gathers_minimums else ()
        self.minimums = MinimumNodes(self.capacity, gathering, least)

    def queue_on(self, nodes: Mask) -> YieldQueue:
        """The queue of the roles with extras on these nodes, if those are few; else of all roles.

        Where extras are spread evenly, a claim then passes over at most as many roles as the square
        root of all. bool[nodes].
        """
        if np.count_nonzero(nodes) ** 2 * len(self.allocations) >= len(nodes) ** 2:
            return self.queue
        holders = dict.fromkeys(self.holders(np.flatnonzero(nodes).tolist()))
        return YieldQueue(self._teams, self._order, [*holders])

    def holders(self, nodes: Iterable[int]) -> Iterator[RoleAllocation]:
        """The roles with extras on these nodes, once for each node; some may have left the node."""
        if not self._on_node:
            on_node = self._on_node
            for allocation in self.allocations:
                extras = allocation.placements[self.min_replicas(allocation) :]
                for node in dict.fromkeys(map(attrgetter("node"), extras)):
                    on_node[node].append(allocation)
        return (
            allocation
            for node in nodes
            for allocation in self._on_node.get(node, ())
            if allocation.size > self.min_replicas(allocation)
        )

    def gather_minimums(
        self, requests: Sequence[PodSetRequest], scope: ReclaimScope
    ) -> list[int] | None:
        """Keep interchangeable minimums together for a claim; see `MinimumNodes.gather`."""
        fit = self.minimums.gather(requests, scope)
        if fit is not None:
            self._on_node.clear()
        return fit

    def move(self, allocation: RoleAllocation, position: int, to: Placement) -> int:
        """Move an extra; see `RoleAllocation.move`."""
        self.capacity.add(allocation, allocation.placements[position], -1)
        self._add(allocation, to)
        return allocation.move(position, to)

    def evict(self, allocation: RoleAllocation) -> Placement:
        placement = allocation.evict()
        self.capacity.add(allocation, placement, -1)
        if self._team_extras:
            self._team_extras.count(allocation, placement, -1)
        return placement

    def restore(self, allocation: RoleAllocation, placement: Placement) -> None:
        allocation.restore(placement)
        self._add(allocation, placement)
        if self._team_extras:
            self._team_extras.count(allocation, placement, 1)

    def _add(self, allocation: RoleAllocation, placement: Placement) -> None:
        self.capacity.add(allocation, placement, 1)
        if self._on_node and allocation not in (holders := self._on_node[placement.node]):
            holders.append(allocation)
