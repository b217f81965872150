"""Which teams may donate a replica to another team."""

from dataclasses import dataclass, field
from math import inf
from typing import Final

from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.kept_capacity import Amounts
from edl.planner.teams.reclaim_priority import Reach, TeamRight
from edl.planner.teams.team_balance import TeamCharge

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
    _changes: int = -1
    """The length of `TeamBalance.charged` for which the answers below hold."""
    _least: dict[int, float] = field(default_factory=dict)
    """By donor team just below the common ancestor, the share above which it must stay."""
    _paths: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """By donor team, its path below the common ancestor; () if it has nothing to donate."""
    _stays: dict[tuple[int, Amounts], bool] = field(default_factory=dict)
    """Whether the share of such a team stays above that one without this charge."""
    _gives: dict[TeamCharge, bool] = field(default_factory=dict)
    """Whether a team may donate such a replica."""

    def have_more(self, other: int) -> bool:
        """Whether another team has anything to donate."""
        if self._changes != len(self.right.balance.charged):
            self._forget()
        if other not in self._paths:
            theirs = self.right.balance.below_common(self.right.team, other)
            if theirs and theirs[-1] not in self._least:
                self._least[theirs[-1]] = self._stays_above(theirs[-1])
            keeps_all = not theirs or self._least[theirs[-1]] == inf
            keeps_all = keeps_all or self.right.reach(other) is Reach.NONE
            self._paths[other] = () if keeps_all else theirs
        return bool(self._paths[other])

    def _forget(self) -> None:
        for answers in (self._least, self._paths, self._stays, self._gives):
            answers.clear()
        self._changes = len(self.right.balance.charged)

    def min_replicas(self, donor: RoleAllocation) -> int:
        """The size down to which a donor yields: its current size if its team may not donate."""
        charge = donor.quota_request.team
        return donor.min_replicas if charge and self.give(charge) else donor.size

    def give(self, charge: TeamCharge) -> bool:
        """Whether another team may donate a replica with this charge."""
        if self._changes != len(self.right.balance.charged):
            self._forget()
        gives = self._gives.get(charge)
        return self.have_more(charge.team) and self.may_donate(charge) if gives is None else gives

    def may_donate(self, charge: TeamCharge) -> bool:
        """`give` for a team that has just been found to have more."""
        if charge not in self._gives:
            theirs, balance = self._paths[charge.team], self.right.balance
            donation = theirs[-1], charge.amounts
            if donation not in self._stays:
                self._stays[donation] = balance.share_with(*donation, -1) > self._least[theirs[-1]]
            within = (one for one in theirs if balance.owed[one] and charge.is_within(one, 0))
            self._gives[charge] = self._stays[donation] and next(within, None) is None
        return self._gives[charge]

    def _stays_above(self, other: int) -> float:
        """The share above which a team just below the common ancestor must stay.

        inf if it has no larger one: neither it nor a team below it may donate anything.
        """
        balance, team = self.right.balance, self.right.team
        mine = balance.below_common(other, team)
        if not mine:
            return inf
        owns = self.right.owns(other)
        least = _NOTHING if owns else balance.share_with(mine[-1], self.reserved, -1)
        return least if balance.share(other) > least else inf
