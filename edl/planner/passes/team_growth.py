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
from edl.planner.teams.team_turns import TeamTurns, Turn

_Entry: TypeAlias = tuple[float, int, RoleAllocation]
"""(satisfaction, rank, role). Ranks are unique, so roles themselves are never compared."""
_Key: TypeAlias = tuple[float, float, int]
"""(share of the team, satisfaction and rank of the role)"""
_COVERED: Final = -1.0
"""In the place of the share if a guarantee covers the replica: below each share."""


def growth_order(
    balance: TeamBalance, policy: Policy, asking: Iterable[RoleAllocation]
) -> Iterator[RoleAllocation]:
    """Yields the role that may grow next; a role that did not grow when yielded is dropped."""
    roles = defaultdict[int, list[_Entry]](list)
    for one in asking:
        roles[one.team].append((policy.satisfaction(one, len(one.placements)), one.rank, one))
    for own in roles.values():
        heapify(own)
    return _GrowthTurns(balance, policy, roles).in_order()


class _GrowthTurns(TeamTurns[_Key, RoleAllocation]):
    """The roles of all teams that could grow."""

    def __init__(
        self, balance: TeamBalance, policy: Policy, roles: dict[int, list[_Entry]]
    ) -> None:
        """`roles`: by team, a heap of its own roles."""
        super().__init__(balance, roles)
        self._policy, self._roles = policy, roles

    def turns(self, team: int) -> Iterator[Turn[_Key, RoleAllocation]]:
        """Whether the last yielded role has grown is seen from its placements."""
        balance, satisfaction = self.balance, self._policy.satisfaction
        own, (below, later) = self._roles.get(team, []), self.below(team)
        used, may_cover = balance.used[team], bool(balance.owed[team])
        (first, first_owed, first_weight), *others = balance.parts[team]
        while own or below:
            # `dominant_share`: a plan may take 100,000 turns, mostly with one resource.
            share = (used[first] - first_owed) * first_weight
            for at, owed, weight in others:
                if (part := (used[at] - owed) * weight) > share:
                    share = part
            if share < 0:
                share = 0.0
            if below and not (own and (share, *own[0][:2]) < below[0][0]):
                (before, satisfied, rank), _, role = below[0]
                if before == _COVERED:
                    share = _COVERED
                elif may_cover:
                    share, may_cover = self._covered(team, role, share)
                yield (share, satisfied, rank), team, role
                self.renew(below, later)
            else:
                satisfied, rank, role = own[0]
                size = len(role.placements)
                if may_cover:
                    share, may_cover = self._covered(team, role, share)
                yield (share, satisfied, rank), team, role
                if size < (grown := len(role.placements)) < role.max_replicas:
                    heapreplace(own, (satisfaction(role, grown), rank, role))
                else:
                    heappop(own)

    def _covered(self, team: int, role: RoleAllocation, share: float) -> tuple[float, bool]:
        """Its place in the order, and whether the team's guarantee may cover more replicas.

        Growth only adds usage, so once the guarantee is used up it covers none.
        """
        charge = role.quota_request.team
        if charge is not None and charge.is_within(team):
            return _COVERED, True
        return share, self.balance.has_left(team)
