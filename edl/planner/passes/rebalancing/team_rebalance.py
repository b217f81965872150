"""Rebalancing between teams in a full cluster: borrowed capacity returns to its owner.

A replica moves to the team with the smallest share, from one whose share stays larger than that
was. Each move strictly improves the sorted list of the teams' shares (leximin), so no move is
undone. A team within its guarantee comes first: it takes from all teams that borrow, and donates
nothing.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from edl.feasibility.horizon import FUTURE_IDLE
from edl.planner.packing.node_capacity import NO_NODE
from edl.planner.packing.pod_class import PodSetRequest
from edl.planner.passes.growth import GrowthCeiling, RoleGrowth
from edl.planner.passes.rebalancing.donors import (
    place_freed,
    record_donations,
    replace_last,
    reservation_of_one,
)
from edl.planner.passes.rebalancing.team_donors import TeamDonors
from edl.planner.passes.team_growth import growth_order
from edl.planner.reclaiming.capacity_claim import reserve_capacity
from edl.planner.reclaiming.reservation import Reservation
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.extras.minimum_nodes import any_may_leave
from edl.planner.snapshot.extras.reclaimable import Reclaimable, reclaim_order
from edl.planner.snapshot.extras.yield_order import ReclaimOrder
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.reclaim_priority import ALL_IN_REACH, ALL_RECLAIMABLE, TeamRight
from edl.planner.teams.team_balance import TeamBalance
from edl.planner.teams.team_charge import TeamCharge
from edl.planner.teams.team_guarantees import NO_TEAM

if TYPE_CHECKING:
    from edl.planner.packing.pod_class import PodClass

_ByTeam: TypeAlias = defaultdict[int, defaultdict[TeamCharge, list[RoleAllocation]]]
"""Roles by their team, and by what one replica counts in it."""
_TRIES: Final = 4
"""Searches per plan that only even out shares, at least; the next plan continues.

Donors of this plan are in their cooldown then, so others donate more than they would have now.
"""
_LOOKS: Final = 32_768
"""Donors and teams that one plan may examine for guarantees; the next plan continues."""
_SEARCHES_PER_TRY: Final = 16
"""How many times as many searches one plan may make for guarantees as to even out shares."""


@dataclass(slots=True)
class TeamRebalance:
    """Moves replicas to the team with the smallest share that could grow, while moves are fair."""

    snapshot: Snapshot
    ceiling: GrowthCeiling
    balance: TeamBalance
    _teams: set[int] = field(init=False)
    """Teams that have started roles."""
    _donors: _ByTeam = field(init=False)
    """Roles that may donate a replica."""
    _cooling: _ByTeam = field(init=False)
    """Roles that may donate one after their cooldown."""

    def __post_init__(self) -> None:
        self._teams = {allocation.team for allocation in self.snapshot.allocations}
        self._donors = defaultdict(lambda: defaultdict(list))
        self._cooling = defaultdict(lambda: defaultdict(list))
        for allocation in self.snapshot.allocations:
            charge = allocation.quota_request.team
            if charge is None or allocation.starts:
                continue
            if allocation.may_donate:
                self._donors[charge.team][charge].append(allocation)
            elif allocation.hold.cooling_down and allocation.resizable and not allocation.manual:
                self._cooling[charge.team][charge].append(allocation)

    def run(self, unserved: Sequence[RoleAllocation]) -> int:
        """Make the moves. Returns the team with the smallest share that could still grow."""
        # A donor keeps its satisfaction of before: a lower one would make it retake its replica.
        order = growth_order(
            self.balance, self.snapshot.policy, (role for role in unserved if role.resizable)
        )
        hopeless: set[tuple[int, PodClass]] = set()
        searches = _LOOKS // self._looks_per_search()
        tries = max(searches // _SEARCHES_PER_TRY, _TRIES)
        while tries > 0 and searches > 0 and (recipient := next(order, None)):
            kind = (recipient.team, recipient.pod_class)
            if kind in hopeless or _lacks_quota(recipient):
                continue
            teams = self._donors_for(recipient)
            if not self._may_have_quota(recipient, teams):
                hopeless.add(kind)
                continue
            if recipient.hold.reason or not any(map(teams.have_more, self._teams)):
                break
            if any(map(teams.right.owns, self._donors)):
                searches -= 1
            else:
                tries -= 1
            if not self._serve(recipient, teams):
                hopeless.add(kind)
        self._let_recipients_go_first()
        left = (
            role
            for role in unserved
            if role.size < role.max_replicas and role.quota_request.allows(FUTURE_IDLE)
        )
        first = next(growth_order(self.balance, self.snapshot.policy, left), None)
        return first.team if first else NO_TEAM

    def _looks_per_search(self) -> int:
        """How many donors and teams a search examines, at least a few for its other work."""
        donors = (roles for charges in self._donors.values() for roles in charges.values())
        return len(self._teams) + sum(map(len, donors)) + 32

    def _donors_for(self, recipient: RoleAllocation) -> TeamDonors:
        requests = [PodSetRequest(recipient.pod_class, 1)]
        charge = recipient.quota_request.team
        scope = self.snapshot.reclaim_scope(ALL_RECLAIMABLE, charge, requests)
        return TeamDonors(scope.right or TeamRight(self.balance, recipient.team, NO_TEAM))

    def _may_have_quota(self, recipient: RoleAllocation, teams: TeamDonors) -> bool:
        """Whether teams' limits allow one replica more, or will after a donation below them.

        Not while teams use and keep more than the nodes have: a donated replica's capacity would
        then go to the teams that keep it.
        """
        bound = recipient.quota_request.lending_bound()
        if bound and any(self.balance.kept.left(index) < 0 for index, _ in bound.most):
            return False
        quota = recipient.quota_request.exceeded(FUTURE_IDLE)
        return quota is None or any(
            roles[0].quota_request.amount(quota) and teams.give(charge)
            for charges in self._donors.values()
            for charge, roles in charges.items()
        )

    def would_replace(
        self, donors: Sequence[RoleAllocation], asking: Iterable[tuple[RoleAllocation, int]]
    ) -> bool:
        """Whether another team would soon replace what donors gave to a role of their own team.

        Not if `asking` use it: roles of the team, in order, up to a size each.
        """
        if not any(map(self._would_take, donors)):
            return False
        grown: list[RoleAllocation] = []
        for recipient, most in asking:
            growth = RoleGrowth(self.snapshot, self.ceiling, recipient)
            while recipient.size < most and growth.add_replica():
                grown.append(recipient)
        would = any(map(self._would_take, donors))
        for recipient in reversed(grown):
            recipient.evict()
        return would

    def _would_take(self, recipient: RoleAllocation) -> bool:
        teams = self._donors_for(recipient)
        donors = [*self._giving(self._donors, teams), *self._giving(self._cooling, teams)]
        if not donors:
            return False
        reservation = self._reservation(recipient, teams)
        reclaimable = self._reclaimable(teams, donors)
        if not reserve_capacity(reservation, reclaimable, ALL_IN_REACH, whole=True):
            return False
        evicts = bool(reservation.evicted)
        reservation.discard(reclaimable)
        return evicts

    def _serve(self, recipient: RoleAllocation, teams: TeamDonors) -> bool:
        reservation = self._reservation(recipient, teams)
        donors = [*self._giving(self._donors, teams)]
        first = None if reservation.all_placed() else self._first(donors, recipient.pod_class)
        if first is None or not replace_last(reservation, first):
            reclaimable = self._reclaimable(teams, donors)
            if not reserve_capacity(reservation, reclaimable, ALL_IN_REACH, whole=True):
                return False
        self.balance.note_fall()
        place_freed(self.snapshot, recipient, reservation)
        self.snapshot.moves.recipients[recipient.job.key] = recipient.team
        record_donations(self.snapshot, recipient, reservation.evicted, teams.right)
        return True

    def _reservation(self, recipient: RoleAllocation, teams: TeamDonors) -> Reservation:
        """A reservation for one replica more, which is charged to its team."""
        charge = recipient.quota_request.team
        teams.reserved = charge.amounts if charge else ()
        return reservation_of_one(self.ceiling, recipient)

    def _reclaimable(self, teams: TeamDonors, donors: list[RoleAllocation]) -> Reclaimable:
        order = ReclaimOrder(teams.min_replicas, reclaim_order(self.snapshot).key)
        return Reclaimable(self.snapshot, donors, order)

    def _first(
        self, donors: Iterable[RoleAllocation], pod_class: "PodClass"
    ) -> RoleAllocation | None:
        """The first to yield, by `yield_order`, of those with a replica on an eligible node."""
        usable, key = pod_class.eligible.tolist(), reclaim_order(self.snapshot).key
        usable_donors = [
            donor
            for donor in donors
            if any_may_leave(donor)
            or ((node := donor.placements[-1].node) != NO_NODE and usable[node])
        ]
        teams = {donor.team for donor in usable_donors}
        shares = {team: [-share for share in self.balance.shares(team)] for team in teams}
        ranked = [(donor.reclaim_priority, shares[donor.team]) for donor in usable_donors]
        least = min(ranked, default=None)
        first = (donor for donor, rank in zip(usable_donors, ranked, strict=True) if rank == least)
        return min(first, key=lambda donor: (key(donor), -donor.rank), default=None)

    @staticmethod
    def _giving(roles: _ByTeam, teams: TeamDonors) -> Iterator[RoleAllocation]:
        """Roles of these whose teams may donate a replica."""
        for team, charges in roles.items():
            if teams.have_more(team):
                for charge in filter(teams.give, charges):
                    yield from (role for role in charges[charge] if role.size > role.min_replicas)

    def _let_recipients_go_first(self) -> None:
        """Growth beside the moves keeps its capacity, and waits until they are done."""
        snapshot = self.snapshot
        for allocation in snapshot.allocations if snapshot.moves.recipients else ():
            grows = not allocation.starts and allocation.growth > 0
            if grows and snapshot.waits_for_moves(allocation, allocation.size):
                allocation.pipeline_last(allocation.growth)


def _lacks_quota(recipient: RoleAllocation) -> bool:
    """Whether the quota of its namespace is used up, which no other team can change."""
    quota = recipient.quota_request.exceeded(FUTURE_IDLE)
    return quota is not None and not quota.spec.spans_namespaces
