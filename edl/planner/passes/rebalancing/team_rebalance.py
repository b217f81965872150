"""Replicas move between teams in a full cluster: what is borrowed returns to its owner.

A replica moves to the team that is furthest below its share, from one that stays above it. So what
strictly improves is the sorted list of the teams' shares (leximin), and no move is undone. A team
within its guarantee has the share 0: it takes of all that borrow, and nothing is taken of it.
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
"""A team, and what one replica counts in it."""
_TRIES: Final = 4
"""Searches of one plan; the next one goes on."""


@dataclass(slots=True)
class TeamRebalance:
    """Moves replicas to the first team of those that could grow, until no move is fair."""

    snapshot: Snapshot
    ceiling: GrowthCeiling
    balance: TeamBalance
    _teams: set[int] = field(init=False)
    """Teams with roles."""
    _donors: defaultdict[_Kind, list[RoleAllocation]] = field(init=False)
    """Roles that may give a replica."""

    def __post_init__(self) -> None:
        self._teams = {one.team for one in self.snapshot.allocations}
        self._donors = defaultdict(list)
        for one in self.snapshot.allocations:
            charge = one.quota_request.team
            if charge is not None and one.may_donate and not one.starts:
                self._donors[charge.team, charge.amounts].append(one)

    def run(self, stuck: Sequence[RoleAllocation]) -> int:
        """The team that is furthest below its share of those that could grow, after all moves."""
        # A role without quota takes nothing from any donor: it holds back no other role.
        stuck = [one for one in stuck if one.quota_request.allows(FUTURE_IDLE)]
        # A role that gives keeps its place: else it would take back what it has given.
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
        """Whether it may grow now, and some team has a larger share."""
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
    """What other teams may give to one, as the balance is now.

    Thousands of roles are asked about, but paths part in few places: each of these is compared
    once, until teams hold something else.
    """

    balance: TeamBalance
    team: int
    _version: int = -1
    _beside: dict[int, int] = field(default_factory=dict)
    """The team at which the path of another parts, NO_TEAM if that one may lose nothing."""
    _stays_above: dict[_Kind, bool] = field(default_factory=dict)
    """Whether a team that gives such a replica still has more afterwards."""

    def have_more(self, other: int) -> bool:
        """Whether another team has more, where their paths part."""
        pair = self._parted(other)
        return pair is not None and self.balance.share(pair[1]) > self.balance.share(pair[0])

    def min_replicas(self, donor: RoleAllocation) -> int:
        """How many replicas a donor keeps at least: all, where its team would fall below."""
        charge = donor.quota_request.team
        if charge is None or not self.give(charge.team, charge.amounts):
            return donor.size
        return donor.min_replicas

    def give(self, other: int, amounts: Amounts) -> bool:
        """Whether another team may give such a replica, and still has more afterwards.

        It borrows at each level at which it is beside the team.
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
        """Where the paths of two teams part, each one's own; None where one is above the other."""
        mine = self.balance.below_common(other, self.team)
        theirs = self.balance.below_common(self.team, other)
        return (mine[-1], theirs[-1]) if mine and theirs else None
