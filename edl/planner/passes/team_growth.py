"""Idle capacity between teams: growth within a guarantee first, then by weighted dominant share.

The team furthest below its share gets the next replica (DRF); inside a team the least satisfied
role does, as everywhere.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heapreplace

from edl.planner.policies import Policy
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.team_balance import TeamBalance, TeamCharge
from edl.planner.teams.team_turns import TeamPrecedence, TeamTurns


def growth_turns(
    balance: TeamBalance, policy: Policy, asking: Iterable[RoleAllocation]
) -> tuple[TeamTurns, dict[int, "GrowingTeam"]]:
    """The roles that could grow, by team, and whose turn it is."""
    by_team: defaultdict[int, list[RoleAllocation]] = defaultdict(list)
    for allocation in asking:
        by_team[allocation.team].append(allocation)
    queues = {team: GrowingTeam(policy, team, found) for team, found in by_team.items()}
    return TeamTurns(balance, queues.values()), queues


def grow_in_turn(
    balance: TeamBalance,
    policy: Policy,
    asking: Iterable[RoleAllocation],
    add: Callable[[RoleAllocation], bool],
) -> list[RoleAllocation]:
    """Give idle capacity away by `add`, which says whether a role got a replica; the others."""
    turns, queues = growth_turns(balance, policy, asking)
    stuck = []
    while found := turns.first:
        queue = queues[found.team]
        allocation = queue.role
        if add(allocation):
            queue.renew()
        else:
            stuck.append(allocation)
            queue.drop()
        turns.renew(queue)
    return stuck


@dataclass(slots=True)
class GrowingTeam:
    """The roles of one team that could grow, the least satisfied first."""

    policy: Policy
    team: int
    roles: list[RoleAllocation]
    waiting: bool = True
    _heap: list[tuple[float, int, RoleAllocation]] = field(init=False)
    _charge: TeamCharge | None = None
    """What one replica of the first role counts in its team."""

    def __post_init__(self) -> None:
        self._heap = [self._entry(one) for one in self.roles]
        heapify(self._heap)
        self._read()

    def _entry(self, one: RoleAllocation) -> tuple[float, int, RoleAllocation]:
        return self.policy.satisfaction(one, one.size), one.rank, one

    def _read(self) -> None:
        self.waiting = bool(self._heap)
        request = self._heap[0][2].quota_request if self._heap else None
        self._charge = None if request is None else request.team

    @property
    def first(self) -> tuple[TeamPrecedence, TeamPrecedence]:
        return (), self._heap[0][:2]

    @property
    def role(self) -> RoleAllocation:
        """The role that grows next."""
        return self._heap[0][2]

    def first_is_within(self, team: int) -> bool:
        return self._charge is not None and self._charge.is_within(team)

    def any_is_within(self, team: int) -> bool:  # noqa: ARG002 - of a protocol
        """Only the least satisfied role grows."""
        return False

    def drop(self) -> None:
        heappop(self._heap)
        self._read()

    def renew(self) -> None:
        """The first has got a replica."""
        _, rank, one = self._heap[0]
        size = len(one.placements)
        if size < one.max_replicas:
            heapreplace(self._heap, (self.policy.satisfaction(one, size), rank, one))
        else:
            heappop(self._heap)
        self._read()
