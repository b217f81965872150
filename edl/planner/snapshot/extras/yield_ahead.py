"""Which node a claim would clear for one pod, found without evicting a replica.

Evictions in order compare the nodes on which they are; most of them would be undone. Only the usage
of teams is changed meanwhile, as it decides which team yields next.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from edl.feasibility.eligibility import Mask
from edl.feasibility.horizon import FUTURE_IDLE
from edl.planner.packing.node_capacity import NodeCapacity
from edl.planner.packing.pod_class import PodClass
from edl.planner.snapshot.extras.minimum_nodes import leaves_by_name
from edl.planner.snapshot.extras.reclaimable import Reclaimable
from edl.planner.snapshot.extras.yield_order import Entry, YieldTurn
from edl.planner.snapshot.extras.yield_queue import YieldQueue
from edl.planner.snapshot.role_allocation import NO_NODE, RoleAllocation
from edl.planner.teams.reclaim_priority import ReclaimScope

if TYPE_CHECKING:
    from edl.planner.snapshot.extras.yield_order import Rank, TeamRank
    from edl.planner.snapshot.role_allocation import Placement


class YieldAhead:
    """The replicas that would yield to a claim one after another; `undo` when done."""

    def __init__(self, reclaimable: Reclaimable, queue: YieldQueue, scope: ReclaimScope) -> None:
        self._reclaimable, self._queue, self._scope = reclaimable, queue, scope
        self.steps: list[tuple[RoleAllocation, Placement]] = []
        """Replicas that have yielded, in order."""
        self.aside: dict[RoleAllocation, None] = {}
        """Roles that are passed over."""
        self._fewer: defaultdict[RoleAllocation, int] = defaultdict(int)
        self._entries: dict[RoleAllocation, Entry | None] = {}
        """The present entries of roles in `steps`; None if they are down to their minimum."""
        self._index: defaultdict[int, int] = defaultdict(int)
        """By team, how far its sequence was read."""
        self._read: dict[int, TeamRank | None] = {}
        """By team, from what its turn was read."""
        self._turns: list[tuple[Rank, int]] = []
        """Heap of the teams' turns, which may be due later than that."""
        for team in queue.begin(scope):
            self._add_turn(team)

    def next(self) -> RoleAllocation | None:
        """The role that yields next, or None."""
        turns, queue = self._turns, self._queue
        while turns:
            rank, team = turns[0]
            step = self._step(team)
            if step and team in self._read and self._read[team] is queue.team_rank(team):
                queue.yielding = rank[:2]
                return step.entry.allocation
            heappop(turns)
            self._add_turn(team)
        return None

    def _add_turn(self, team: int) -> None:
        step = self._step(team)
        rank = step and self._queue.rank(step.entry, self._scope)
        if rank:
            self._read[team] = self._queue.team_rank(team)
            heappush(self._turns, (rank, team))

    def _step(self, team: int) -> YieldTurn | None:
        """The replica of a team that yields next."""
        while step := self._queue.step(team, self._index[team]):
            if step.entry.allocation not in self.aside:
                return step
            self._index[team] += 1
        return None

    def pass_over(self, allocation: RoleAllocation) -> None:
        """Let no replica of the role that is next yield."""
        self.aside[allocation] = None
        self._read.pop(allocation.team, None)

    def take(self, allocation: RoleAllocation) -> None:
        """Let a replica of the role that is next yield."""
        team = allocation.team
        step = self._step(team)
        self._index[team] += 1
        self._read.pop(team, None)
        self._yield(allocation, step and step.after)

    def first_on(self, nodes: Collection[int]) -> RoleAllocation | None:
        """Like `next`, of the roles whose next replica is on these nodes.

        None if all are of a later class.
        """
        known, queue = self._entries, self._queue
        entries = (
            known.get(one) or queue.entry(one)
            for one in dict.fromkeys(self._reclaimable.holders(nodes))
            if known.get(one, True) and self.node_of(one) in nodes
        )
        return queue.first_ranked(entries, self._scope)

    def take_from_node(self, allocation: RoleAllocation) -> None:
        """Let a replica of this role yield, whichever is next; `next` is not used afterwards."""
        fewer = self._fewer[allocation] + 1
        more = allocation.size - fewer > self._reclaimable.min_replicas(allocation)
        self._yield(allocation, self._queue.entry(allocation, fewer) if more else None)

    def node_of(self, allocation: RoleAllocation) -> int:
        """The node of its next replica."""
        return allocation.placements[-1 - self._fewer.get(allocation, 0)].node

    def _yield(self, allocation: RoleAllocation, after: Entry | None) -> None:
        placement = allocation.placements[-1 - self._fewer[allocation]]
        self._fewer[allocation] += 1
        self._entries[allocation] = after
        self.steps.append((allocation, placement))
        if placement.counts_in_quota:
            allocation.quota_request.release(placement.quota_horizon)

    def undo(self) -> None:
        """Give the replicas that have yielded back to their teams."""
        for allocation, placement in self.steps:
            if placement.counts_in_quota:
                allocation.quota_request.reserve(placement.quota_horizon)


@dataclass(slots=True)
class NodeComparison:
    """Compares nodes for one pod of a class that resource amounts alone bind."""

    ahead: YieldAhead
    capacity: NodeCapacity
    pod_class: PodClass
    nodes: Mask
    """The nodes on which extras are of use; bool[nodes]."""
    most: int
    """How many nodes are compared before one of them is chosen."""
    begun: set[int] = field(default_factory=set)
    """Nodes on which replicas have yielded."""
    _freed: defaultdict[int, defaultdict[int, int]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(int))
    )
    """What replicas that have yielded hold, by node and resource."""
    _cells: "list[tuple[memoryview[int], int]]" = field(init=False)

    def __post_init__(self) -> None:
        self._cells = self.capacity.cells_to_compare(self.pod_class.amounts, FUTURE_IDLE)

    def run(self) -> int:
        """The node on which a pod fits once the replicas of `ahead` are evicted.

        NO_NODE if the search has to evict these to find out more.
        """
        for allocation, node in self._in_order():
            if node != NO_NODE and self._fits(allocation.pod_class, node):
                return node
            if node != NO_NODE:
                self.begun.add(node)
        return NO_NODE

    def _in_order(self) -> Iterator[tuple[RoleAllocation, int]]:
        """Let roles yield in order until nodes are many; then those on these, and then on one.

        Yields each of them with the node of its replica.
        """
        ahead = self.ahead
        while len(self.begun) < self.most:
            allocation = ahead.next()
            if allocation is None or leaves_by_name(allocation):
                return
            node = ahead.node_of(allocation)
            if self._is_useful(node):
                ahead.take(allocation)
                yield allocation, node
            else:
                ahead.pass_over(allocation)
                self.begun.discard(node)
        while (found := ahead.first_on(self.begun)) and not leaves_by_name(found):
            node = ahead.node_of(found)
            self.begun, self.most = {node}, 1
            ahead.take_from_node(found)
            yield found, node

    def _is_useful(self, node: int) -> bool:
        return node != NO_NODE and bool(self.nodes[node])

    def _fits(self, evicted: PodClass, node: int) -> bool:
        freed = self._freed[node]
        for row, amount in evicted.amounts:
            freed[row] += amount
        needs = zip(self._cells, self.pod_class.amounts, strict=True)
        return bool(self.pod_class.eligible[node]) and all(
            cells[node] + freed[row] >= amount for (cells, _), (row, amount) in needs
        )
