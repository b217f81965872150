"""Idle capacity between teams: growth within a guarantee first, then by weighted dominant share.

The team furthest below its share gets the next replica (DRF); inside a team the least satisfied
role does, as everywhere.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import InitVar, dataclass, field
from heapq import heapify, heappop, heapreplace

from edl.planner.policies import Policy
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.team_balance import TeamBalance, TeamCharge
from edl.planner.teams.team_turns import TeamPrecedence, TeamTurns


def growth_turns(
    balance: TeamBalance, policy: Policy, asking: Iterable[RoleAllocation]
) -> "TeamTurns[GrowingTeam]":
    """The roles that could grow, by team, and whose turn it is."""
    by_team: defaultdict[int, list[RoleAllocation]] = defaultdict(list)
    for allocation in asking:
        by_team[allocation.team].append(allocation)
    queues = (GrowingTeam(policy, team, found) for team, found in by_team.items())
    return TeamTurns(balance, queues)


def grow_in_turn(
    balance: TeamBalance,
    policy: Policy,
    asking: Iterable[RoleAllocation],
    add: Callable[[RoleAllocation], bool],
) -> list[RoleAllocation]:
    """Give idle capacity away by `add`, which says whether a role got a replica; the others."""
    turns = growth_turns(balance, policy, asking)
    stuck = []
    while team := turns.first:
        role = team.role
        if add(role):
            team.renew()
        else:
            stuck.append(role)
            team.drop()
        turns.renew(team)
    return stuck


@dataclass(slots=True)
class GrowingTeam:
    """The roles of one team that could grow, the least satisfied first."""

    policy: Policy
    team: int
    roles: InitVar[Iterable[RoleAllocation]]
    waiting: bool = True
    role: RoleAllocation = field(init=False)
    """The role that grows next."""
    charge: TeamCharge | None = None
    """What one replica of that role counts in its team."""
    first: tuple[TeamPrecedence, TeamPrecedence] = ((), ())
    _heap: list[tuple[float, int, RoleAllocation]] = field(init=False)

    def __post_init__(self, roles: Iterable[RoleAllocation]) -> None:
        share = self.policy.satisfaction
        self._heap = [(share(one, len(one.placements)), one.rank, one) for one in roles]
        heapify(self._heap)
        self._read()

    def _read(self) -> None:
        if self._heap:
            # Ranks differ, so entries compare by satisfaction and rank alone.
            self.first = (), self._heap[0]
            self.role = self._heap[0][2]
            request = self.role.quota_request
            self.charge = None if request is None else request.team
        else:
            self.waiting = False

    def any_is_within(self, team: int) -> bool:  # noqa: ARG002 - of a protocol
        """Only the least satisfied role grows."""
        return False

    def drop(self) -> None:
        heappop(self._heap)
        self._read()

    def renew(self) -> None:
        """The first has got a replica."""
        role = self.role
        if (size := len(role.placements)) < role.max_replicas:
            heapreplace(self._heap, (self.policy.satisfaction(role, size), role.rank, role))
        else:
            heappop(self._heap)
        self._read()
