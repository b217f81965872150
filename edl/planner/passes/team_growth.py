"""Growth between teams: within guarantees first, then by weighted dominant share (DRF).

At each level of the team tree, the team with the smallest share gets the next replica; inside a
team it goes to the least satisfied role, as without teams.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heapreplace
from typing import Final, TypeAlias

from edl.planner.policies import Policy
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.team_balance import TeamBalance
from edl.planner.teams.team_turns import Path, Put, TeamTurns

_Entry: TypeAlias = tuple[float, int, RoleAllocation, int]
"""(satisfaction, rank, role, its team). Ranks are unique, so roles are never compared."""
_Turn: TypeAlias = tuple[float, _Entry]
"""(share of the team, the first role in it and below it)"""
_COVERED: Final = -1.0
"""In the place of the share if a guarantee covers the replica: below each share."""


def growth_order(
    balance: TeamBalance, policy: Policy, asking: Iterable[RoleAllocation]
) -> Iterator[RoleAllocation]:
    """Yields the role that may grow next; a role that did not grow when yielded is dropped."""
    roles = defaultdict[int, list[_Entry]](list)
    for one in asking:
        team, satisfied = one.team, policy.satisfaction(one, len(one.placements))
        roles[team].append((satisfied, one.rank, one, team))
    for own in roles.values():
        heapify(own)
    return _GrowthTurns(balance, policy, roles).in_order()


class _GrowthTurns(TeamTurns[list[_Entry], _Turn, RoleAllocation]):
    """The roles of all teams that could grow."""

    def __init__(
        self, balance: TeamBalance, policy: Policy, roles: dict[int, list[_Entry]]
    ) -> None:
        """`roles`: by team, a heap of its own roles."""
        super().__init__(balance, roles, [])
        self._policy = policy
        self._may_cover: set[int] = set()
        """Teams whose guarantee may cover more replicas."""

    def forget(self) -> None:
        self._may_cover = {team for team in self.paths if self.balance.owed[team]}

    def serve(self, changes: int) -> Iterator[RoleAllocation]:
        """Whether the last yielded role has grown is seen from its placements."""
        balance, first, satisfaction = self.balance, self.first, self._policy.satisfaction
        paths, renew = self.paths, self.renew
        while first and changes == balance.changes:
            _, (_, rank, role, team) = first[0]
            size = len(role.placements)
            yield role
            path = paths[team]
            own = path[0][1]
            if size < (grown := len(role.placements)) < role.max_replicas:
                heapreplace(own, (satisfaction(role, grown), rank, role, team))
            else:
                heappop(own)
            renew(path)

    def renew(self, path: Path[list[_Entry], _Turn], put: Put[_Turn] = heapreplace) -> None:
        may_cover = self._may_cover
        for team, own, below, beside, used, parts in path:
            # `dominant_share`: a plan may take 100,000 turns.
            share = 0.0
            for at, owed, weight in parts:
                if (part := (used[at] - owed) * weight) > share:
                    share = part
            if below and not (own and (share, own[0]) < below[0]):
                before, entry = below[0]
            elif own:
                before, entry = share, own[0]
            elif put is heapreplace:
                heappop(beside)
                continue
            else:
                continue
            if before == _COVERED or (team in may_cover and self._covers(team, entry)):
                share = _COVERED
            put(beside, (share, entry))

    def _covers(self, team: int, entry: _Entry) -> bool:
        """Whether a team's guarantee covers one more replica of a role.

        Growth only adds usage, so once the guarantee is used up it covers none.
        """
        charge = entry[2].quota_request.team
        if charge is not None and charge.is_within(team):
            return True
        if not self.balance.has_left(team):
            self._may_cover.remove(team)
        return False
