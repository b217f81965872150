"""Growth between teams: within guarantees first, then by weighted dominant share (DRF).

At each level of the team tree, the team with the smallest share gets the next replica; inside a
team it goes to the least satisfied role, as without teams. The turn of a team is its share, or
`_COVERED`, with the role that would grow; each heap has the turns of the teams below one:

    first             (0.1, r2)  (0.4, r1)         r2 grows; then the turns on the path of its
                         |          |              team are computed anew, from the lowest up
    top teams            b          a: own roles r1, r4
                         |
    heap below b      (0.1, r2)  (0.2, r3)
                         |          |
    teams below b       b1         b2

`tests/edl/planner/reference_growth.py` is the same without heaps: it computes all turns each time.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
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
_COVERED: Final = -1.0
"""In the place of the share if a guarantee covers the replica: below each share."""


def growth_order(
    balance: TeamBalance, policy: Policy, asking: Iterable[RoleAllocation]
) -> Iterator[RoleAllocation]:
    """Yields the role that may grow next; a role that did not grow when yielded is dropped."""
    roles = defaultdict[int, list[_Entry]](list)
    for role in asking:
        satisfied, team = policy.satisfaction(role, len(role.placements)), role.team
        roles[team].append((satisfied, role.rank, role, team))
    for entries in roles.values():
        heapify(entries)
    return _GrowthTurns(balance, roles).in_order(policy.satisfaction)


def _requeue_or_drop(roles: list[_Entry], size: int, satisfaction: Satisfaction) -> None:
    """Move the first role of a heap, of this size before its turn, behind the less satisfied ones.

    A role that did not grow, or cannot grow further, is dropped.
    """
    _, rank, role, team = roles[0]
    if size < (grown := len(role.placements)) < role.max_replicas:
        heapreplace(roles, (satisfaction(role, grown), rank, role, team))
    else:
        heappop(roles)


class _GrowthTurns(TeamTurns[list[_Entry], _Turn]):
    """The roles of all teams that could grow."""

    def __init__(self, balance: TeamBalance, roles: dict[int, list[_Entry]]) -> None:
        """`roles`: by team, a heap of its own roles."""
        super().__init__(balance, roles, [])
        self._may_cover: set[int] = set()
        """Teams whose guarantee may cover more replicas."""

    def in_order(self, satisfaction: Satisfaction) -> Iterator[RoleAllocation]:
        """Yields the role whose turn is next, by the usage of teams after the last one was served.

        All turns are computed anew if `TeamUsage.falls` tells that usage fell. Whether the last
        yielded role has grown is seen from its placements.
        """
        balance, first, paths = self.balance, self.first, self.paths
        falls, levels, may_cover = balance.falls, self.start(), self._may_cover
        served = False
        while True:
            if falls != balance.falls:
                falls, levels, served = balance.falls, self.start(), False
            for team, roles, below, beside, used, first_part, others in levels:
                # A plan may take 100,000 turns: this is `TeamBalance.share`, mostly inline.
                index, guaranteed, weight = first_part
                part = (used[index] - guaranteed) * weight
                share = dominant_share(used, others) if others or part < 0 else part
                if below and not (roles and (share, roles[0]) < below[0]):
                    before, entry = below[0]
                elif roles:
                    before, entry = share, roles[0]
                else:
                    if served:
                        heappop(beside)
                    continue
                if before == _COVERED or (team in may_cover and self._covers(team, entry)):
                    share = _COVERED
                if served:  # the team's last turn was the first of this heap
                    heapreplace(beside, (share, entry))
                else:
                    heappush(beside, (share, entry))
            if not first:
                return
            _, (_, _, role, team) = first[0]
            size = len(role.placements)
            yield role
            levels, served = paths[team], True
            _requeue_or_drop(levels[0][1], size, satisfaction)

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
