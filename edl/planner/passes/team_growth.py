"""Growth between teams: within guarantees first, then by weighted dominant share (DRF).

At each level of the team tree, the team with the smallest share gets the next replica; inside a
team it goes to the least satisfied role, as without teams.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from heapq import heapify, heappop, heappush, heapreplace
from typing import Final, TypeAlias

from edl.planner.policies import Policy, Satisfaction
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.team_balance import TeamBalance, dominant_share
from edl.planner.teams.team_turns import Levels, TeamTurns

_Entry: TypeAlias = tuple[float, int, RoleAllocation, int]
"""(satisfaction, rank, role, its team). Ranks are unique, so roles are never compared."""
_Turn: TypeAlias = tuple[float, _Entry]
"""(share of the team, the first role in it and below it)"""
_Put: TypeAlias = Callable[[list[_Turn], _Turn], object]
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
    return _GrowthTurns(balance, roles).in_order(policy.satisfaction)


class _GrowthTurns(TeamTurns[list[_Entry], _Turn]):
    """The roles of all teams that could grow."""

    def __init__(self, balance: TeamBalance, roles: dict[int, list[_Entry]]) -> None:
        """`roles`: by team, a heap of its own roles."""
        super().__init__(balance, roles, [])
        self._may_cover: set[int] = set()
        """Teams whose guarantee may cover more replicas."""

    def in_order(self, satisfaction: Satisfaction) -> Iterator[RoleAllocation]:
        """Yields the role whose turn is next, by the usage of teams after the last one was served.

        All turns are computed anew if `TeamBalance.changes` tells that usage fell. Whether the last
        yielded role has grown is seen from its placements.
        """
        balance, first, paths = self.balance, self.first, self.paths
        put: _Put = heappush
        changes, levels, may_cover = balance.changes, self.start(), self._may_cover
        while True:
            if changes != balance.changes:
                changes, put, levels = balance.changes, heappush, self.start()
            for team, own, below, beside, used, at, owed, weight, others in levels:
                # A plan may take 100,000 turns: this is `TeamBalance.share`, mostly inline.
                part = (used[at] - owed) * weight
                share = dominant_share(used, others) if others or part < 0 else part
                if below and not (own and (share, own[0]) < below[0]):
                    before, entry = below[0]
                elif own:
                    before, entry = share, own[0]
                else:
                    if put is heapreplace:
                        heappop(beside)
                    continue
                if before == _COVERED or (team in may_cover and self._covers(team, entry)):
                    share = _COVERED
                put(beside, (share, entry))
            if not first:
                return
            _, (_, rank, role, team) = first[0]
            size = len(role.placements)
            yield role
            put, levels = heapreplace, paths[team]
            if size < (grown := len(role.placements)) < role.max_replicas:
                heapreplace(levels[0][1], (satisfaction(role, grown), rank, role, team))
            else:
                heappop(levels[0][1])

    def start(self) -> Levels[list[_Entry], _Turn]:
        self._may_cover.update(team for team in self.paths if self.balance.guaranteed[team])
        return super().start()

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
