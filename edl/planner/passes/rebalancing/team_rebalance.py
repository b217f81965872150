"""Rebalancing between teams in a full cluster: borrowed capacity returns to its owner.

A replica moves to the team with the smallest share, from one whose share stays larger. Each move
strictly improves the sorted list of the teams' shares (leximin), so no move is undone. A team
within its guarantee has the share 0: it takes from all teams that borrow, and donates nothing.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from edl import reasons
from edl.feasibility.horizon import FUTURE_IDLE
from edl.planner.packing.pod_class import PodSetRequest
from edl.planner.passes.growth import GrowthCeiling
from edl.planner.passes.reclaim import Reservation, reserve_capacity
from edl.planner.passes.team_growth import growth_order
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.reclaimable import Reclaimable, ReclaimOrder, reclaim_order
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.reclaim_priority import ALL_IN_REACH
from edl.planner.teams.team_balance import NO_TEAM, Amounts, TeamBalance

if TYPE_CHECKING:
    from edl.planner.packing.pod_class import PodClass

_Kind: TypeAlias = tuple[int, Amounts]
"""(team, what one replica counts in it)"""
_TRIES: Final = 4
"""Searches per plan; the next plan continues."""


@dataclass(slots=True)
class TeamRebalance:
    """Moves replicas to the team with the smallest share that could grow, while moves are fair."""

    snapshot: Snapshot
    ceiling: GrowthCeiling
    balance: TeamBalance
    _teams: set[int] = field(init=False)
    """Teams that have started roles."""
    _donors: defaultdict[_Kind, list[RoleAllocation]] = field(init=False)
    """Roles that may donate a replica."""

    def __post_init__(self) -> None:
        self._teams = {one.team for one in self.snapshot.allocations}
        self._donors = defaultdict(list)
        for one in self.snapshot.allocations:
            charge = one.quota_request.team
            if charge is not None and one.may_donate and not one.starts:
                self._donors[charge.team, charge.amounts].append(one)

    def run(self, stuck: Sequence[RoleAllocation]) -> int:
        """Make the moves. Returns the team with the smallest share that could still grow."""
        # A role without remaining quota can take no replica, and must not hold back other roles.
        stuck = [one for one in stuck if one.quota_request.allows(FUTURE_IDLE)]
        # A donor keeps its satisfaction of before: a lower one would make it retake its replica.
        waiting = {
            one: self.snapshot.satisfaction(one)
            for one in stuck
            if one.resizable and not one.restarts_to_resize
        }
        order = growth_order(self.balance, self.snapshot.policy, waiting)
        hopeless: set[tuple[int, PodClass]] = set()
        tries = _TRIES
        while tries > 0 and (recipient := next(order, None)):
            kind = (recipient.team, recipient.pod_class)
            del waiting[recipient]
            if kind in hopeless:
                continue
            if not self._may_take(recipient):
                break
            tries -= 1
            if not self._serve(recipient):
                hopeless.add(kind)
                continue
            if recipient.size < recipient.max_replicas:
                waiting[recipient] = self.snapshot.satisfaction(recipient)
            order = growth_order(self.balance, self.snapshot.policy, waiting)
        left = {
            one: self.snapshot.satisfaction(one) for one in stuck if one.size < one.max_replicas
        }
        first = next(growth_order(self.balance, self.snapshot.policy, left), None)
        return first.team if first else NO_TEAM

    def _may_take(self, recipient: RoleAllocation) -> bool:
        """Whether the recipient may grow now, and some team has a larger share than its own."""
        if recipient.hold.reason or not recipient.quota_request.allows(FUTURE_IDLE):
            return False
        return any(map(TeamDonors(self.balance, recipient.team).have_more, self._teams))

    def _serve(self, recipient: RoleAllocation) -> bool:
        teams = TeamDonors(self.balance, recipient.team)
        order = ReclaimOrder(teams.min_replicas, reclaim_order(self.snapshot).key)
        donors = [
            one
            for kind, found in self._donors.items()
            if teams.give(*kind)
            for one in found
            if one.size > one.min_replicas
        ]
        reclaimable = Reclaimable(self.snapshot, donors, order)
        reservation = Reservation(
            self.snapshot.capacity,
            [PodSetRequest(recipient.pod_class, 1)],
            self.ceiling.holds,
            recipient.quota_request,
        )
        if not reserve_capacity(reservation, reclaimable, ALL_IN_REACH, whole=True):
            return False
        recipient.place_pipelined(reservation.nodes[0][0])
        for donor in reservation.evicted:
            if donor.size < donor.role.status.size:
                code = self.snapshot.policy.rebalance_code
                donor.reason = donor.reason or reasons.gave(code, recipient.job.key)
        return True


@dataclass(slots=True)
class TeamDonors:
    """Which teams may donate to one team, by the current balance.

    Thousands of roles are checked, but only few pairs of teams are compared, so results are cached
    until the balance changes.
    """

    balance: TeamBalance
    team: int
    _version: int = -1
    _beside: dict[int, int] = field(default_factory=dict)
    """By donor team, the highest team on its path that is not on this team's path.

    NO_TEAM if the donor's team may donate nothing.
    """
    _stays_above: dict[_Kind, bool] = field(default_factory=dict)
    """Whether such a team's share stays larger after it has donated such a replica."""

    def have_more(self, other: int) -> bool:
        """Whether another team's share is larger, compared just below the common ancestor."""
        pair = self._parted(other)
        return pair is not None and self.balance.share(pair[1]) > self.balance.share(pair[0])

    def min_replicas(self, donor: RoleAllocation) -> int:
        """The size down to which a donor yields: its current size if its team may not donate."""
        charge = donor.quota_request.team
        if charge is None or not self.give(charge.team, charge.amounts):
            return donor.size
        return donor.min_replicas

    def give(self, other: int, amounts: Amounts) -> bool:
        """Whether another team may donate a replica of these amounts.

        Its share must stay larger, and all teams on its path below the common ancestor must borrow.
        """
        if self._version != self.balance.version:
            self._beside.clear()
            self._stays_above.clear()
            self._version = self.balance.version
        beside = self._beside.get(other)
        if beside is None:
            beside = self._beside[other] = self._where_it_loses(other)
        if beside == NO_TEAM:
            return False
        stays = self._stays_above.get((beside, amounts))
        if stays is None:
            pair = self._parted(other)
            stays = pair is not None and (
                self.balance.share_with(pair[1], amounts, -1) > self.balance.share(pair[0])
            )
            self._stays_above[beside, amounts] = stays
        return stays

    def _where_it_loses(self, other: int) -> int:
        pair = self._parted(other)
        if pair and self.have_more(other) and self.balance.all_borrow(self.team, other):
            return pair[1]
        return NO_TEAM

    def _parted(self, other: int) -> tuple[int, int] | None:
        """The children of the common ancestor on the path of this team and of the other one.

        None if one team is an ancestor of the other.
        """
        mine = self.balance.below_common(other, self.team)
        theirs = self.balance.below_common(self.team, other)
        return (mine[-1], theirs[-1]) if mine and theirs else None
