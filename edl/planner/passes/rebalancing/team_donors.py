"""Which teams may donate a replica to another team."""

from dataclasses import dataclass, field
from math import inf
from typing import Final

from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.kept_capacity import Amounts
from edl.planner.teams.reclaim_priority import Reach, TeamRight
from edl.planner.teams.team_charge import TeamCharge

_NOTHING: Final = -1.0
"""Below each share."""


@dataclass(slots=True)
class TeamDonors:
    """Which teams may donate one replica to one team, by the current balance.

    All teams on the donor's path below the common ancestor must borrow. A team donates all that it
    borrows where a guarantee covers the replica, else as long as its share stays larger. It keeps
    replicas that a guarantee of its own covers: they would be the first to come back.

    Thousands of roles are checked, but few charges: results are cached until the balance changes.
    """

    right: TeamRight
    reserved: Amounts = ()
    """The charge of the replica, once it is reserved: shares are compared without it."""
    _charged: int = -1
    """The length of `TeamUsage.charged` for which the answers below hold."""
    _least: dict[int, float] = field(default_factory=dict)
    """By donor team, the share above which the team just below the common ancestor must stay; inf
    if it has nothing to donate."""
    _gives: dict[TeamCharge, bool] = field(default_factory=dict)
    """Whether a team may donate such a replica."""

    def have_more(self, other: int) -> bool:
        """Whether another team has anything to donate."""
        return self._least_of(other) < inf

    def _least_of(self, other: int) -> float:
        if self._charged != len(self.right.balance.charged):
            self._least.clear()
            self._gives.clear()
            self._charged = len(self.right.balance.charged)
        if other not in self._least:
            theirs = self.right.balance.below_common(self.right.team, other)
            least = self._stays_above(theirs[-1]) if theirs else inf
            keeps_all = least < inf and self.right.reach(other) is Reach.NONE
            self._least[other] = inf if keeps_all else least
        return self._least[other]

    def min_replicas(self, donor: RoleAllocation) -> int:
        """The size down to which a donor yields: its current size if its team may not donate."""
        charge = donor.quota_request.team
        return donor.min_replicas if charge and self.give(charge) else donor.size

    def give(self, charge: TeamCharge) -> bool:
        """Whether another team may donate a replica with this charge."""
        least, balance = self._least_of(charge.team), self.right.balance
        if least < inf and charge not in self._gives:
            theirs = balance.below_common(self.right.team, charge.team)
            stays = balance.share_without(theirs[-1], charge.amounts) > least
            within = (
                team for team in theirs if balance.guaranteed[team] and charge.is_within(team, 0)
            )
            self._gives[charge] = stays and next(within, None) is None
        return least < inf and self._gives[charge]

    def _stays_above(self, other: int) -> float:
        """The share above which a team just below the common ancestor must stay.

        inf if it has no larger one: neither it nor a team below it may donate anything.
        """
        balance, team = self.right.balance, self.right.team
        mine = balance.below_common(other, team)
        if not mine:
            return inf
        owns = self.right.owns(other)
        least = _NOTHING if owns else balance.share_without(mine[-1], self.reserved)
        return least if balance.share(other) > least else inf
