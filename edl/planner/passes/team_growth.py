"""Idle capacity between teams: growth within a guarantee first, then by weighted dominant share.

The team furthest below its share gets the next replica (DRF), as it is compared at each level of
the hierarchy; inside a team the least satisfied role does, as everywhere.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush, heapreplace
from typing import TypeAlias

from edl.planner.policies import Policy
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.team_balance import BORROWED, TeamBalance

Turn: TypeAlias = tuple[int, tuple[float, ...], float, int]
"""How far up the guarantee is, the shares of its team's path, its satisfaction, its rank."""


def turn_of(balance: TeamBalance, policy: Policy, allocation: RoleAllocation) -> Turn:
    """When one more replica of a role comes, among all roles; the smallest first."""
    charge = allocation.quota_request.team if allocation.quota_request else None
    levels = charge.levels_up() if charge else BORROWED
    shares = balance.shares(allocation.team) if levels else ()
    return levels, shares, policy.satisfaction(allocation, allocation.size), allocation.rank


def grow_in_turn(
    balance: TeamBalance,
    policy: Policy,
    asking: Iterable[RoleAllocation],
    add: Callable[[RoleAllocation], bool],
) -> list[RoleAllocation]:
    """Give idle capacity away by `add`, which says whether a role got a replica; who got none."""
    by_team: defaultdict[int, list[RoleAllocation]] = defaultdict(list)
    for allocation in asking:
        by_team[allocation.team].append(allocation)
    queues = [_Growing(balance, policy, found) for found in by_team.values()]
    turns = [(one.turn(), at) for at, one in enumerate(queues)]
    heapify(turns)
    stuck = []
    while turns:
        before, at = turns[0]
        queue = queues[at]
        # What teams hold only grows meanwhile, and so do their turns.
        if (turn := queue.turn()) > before:
            heapreplace(turns, (turn, at))
            continue
        allocation = queue.first
        if not add(allocation):
            stuck.append(allocation)
            queue.drop()
        else:
            queue.renew()
        if queue.waiting:
            heapreplace(turns, (queue.turn(), at))
        else:
            heappop(turns)
    return stuck


@dataclass(slots=True)
class _Growing:
    """The roles of one team that could grow, the least satisfied first."""

    balance: TeamBalance
    policy: Policy
    roles: list[RoleAllocation]
    waiting: list[tuple[float, int, RoleAllocation]] = field(init=False)

    def __post_init__(self) -> None:
        self.waiting = [self._entry(one) for one in self.roles]
        heapify(self.waiting)

    def _entry(self, one: RoleAllocation) -> tuple[float, int, RoleAllocation]:
        return self.policy.satisfaction(one, one.size), one.rank, one

    @property
    def first(self) -> RoleAllocation:
        return self.waiting[0][2]

    def turn(self) -> Turn:
        return turn_of(self.balance, self.policy, self.first)

    def drop(self) -> None:
        heappop(self.waiting)

    def renew(self) -> None:
        """The first has got a replica."""
        one = heappop(self.waiting)[2]
        if one.size < one.max_replicas:
            heappush(self.waiting, self._entry(one))
