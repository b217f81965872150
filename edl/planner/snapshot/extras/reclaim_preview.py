"""Which replicas would yield to a claim one after another, found without evicting any.

Only the usage of teams is changed meanwhile, as it decides which team yields next.
"""

from collections import defaultdict
from collections.abc import Collection
from heapq import heappop, heappush, heapreplace
from typing import TYPE_CHECKING

from edl.planner.snapshot.extras.reclaimable import Reclaimable
from edl.planner.snapshot.extras.yield_order import Entry, YieldTurn
from edl.planner.snapshot.extras.yield_queue import YieldQueue
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.reclaim_priority import ReclaimScope

if TYPE_CHECKING:
    from edl.planner.snapshot.extras.yield_order import Rank, RankedTurn
    from edl.planner.snapshot.role_allocation import Placement
    from edl.planner.teams.team_balance import TeamCharge


class ReclaimPreview:
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
        self._charged: defaultdict[TeamCharge, int] = defaultdict(int)
        """What they count in their teams, by the number of such replicas."""
        self._index: defaultdict[int, int] = defaultdict(int)
        """By team, how far its sequence was read."""
        self._current: dict[int, RankedTurn] = {}
        """By team, its replica that yields next."""
        self._turns: list[tuple[Rank, int]] = []
        """Heap of the teams' turns, which may be due later than that."""
        teams = queue.begin(scope)
        self._cached = set(queue.independent)
        """Teams whose turns are those of `YieldQueue.ranked_step`: none of theirs was left out."""
        for team in teams:
            if rank := self._turn_of(team):
                heappush(self._turns, (rank, team))

    def next(self) -> RoleAllocation | None:
        """The role that yields next, or None."""
        turns, queue, currents, cached = self._turns, self._queue, self._current, self._cached
        while turns:
            rank, team = turns[0]
            current = currents.get(team)
            if current and (team in cached or current.team_rank is queue.team_rank(team)):
                queue.yielding = rank[:2]
                return current.turn.entry.allocation
            if later := self._turn_of(team):
                heapreplace(turns, (later, team))
            else:
                heappop(turns)
        return None

    def _turn_of(self, team: int) -> "Rank | None":
        """Read the replica of a team that yields next. Its rank; None if none may be taken."""
        if team in self._cached:
            found = self._queue.ranked_step(team, self._index[team], self._scope)
        else:
            step = self._step(team)
            found = step and self._queue.with_rank(step, self._scope)
        if not (found and found.rank):
            return None
        self._current[team] = found
        return found.rank

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
        self._cached.discard(allocation.team)
        del self._current[allocation.team]

    def take(self, allocation: RoleAllocation) -> None:
        """Let a replica of the role that is next yield."""
        current = self._current.pop(allocation.team)
        self._index[allocation.team] += 1
        self._yield(allocation, current.turn.after)

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
        fewer = self._fewer[allocation]
        placement = allocation.placements[-1 - fewer]
        self._fewer[allocation] = fewer + 1
        self._entries[allocation] = after
        self.steps.append((allocation, placement))
        charge = allocation.quota_request.team
        if charge and placement.counts_in_quota:
            charge.reserve(-1)
            self._charged[charge] += 1

    def undo(self) -> None:
        """Give the replicas that have yielded back to their teams."""
        for charge, pods in self._charged.items():
            charge.reserve(pods)
