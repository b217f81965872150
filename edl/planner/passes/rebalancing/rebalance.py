"""Rebalancing in a full cluster: replicas move from the most to the least satisfied role.

Growth and moves strictly improve the sorted list of all roles' satisfactions (leximin). Growth
raises one of them. A move requires that every donor stays more satisfied than the recipient was
before, and that the recipient, or a less satisfied role, gets the capacity. So a move is not made
if the next plan would reserve its capacity for a role in its cooldown, or if a donor might retake
it on coming back from its restart. As sizes are finite, resizes come to an end, and none is undone.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import heapify, heappop, heappush
from math import inf
from typing import Final

from edl.feasibility.eligibility import Ints
from edl.feasibility.horizon import FUTURE_IDLE, IDLE
from edl.job_state import last_changes
from edl.planner.packing.pod_class import PodClass
from edl.planner.passes.growth import GrowthCeiling, RoleGrowth
from edl.planner.passes.placement_order import defer_growth
from edl.planner.passes.rebalancing.cooldown_holds import CooldownHolds
from edl.planner.passes.rebalancing.donors import (
    Donors,
    place_freed,
    record_donations,
    reservation_of_one,
)
from edl.planner.passes.rebalancing.team_rebalance import TeamRebalance
from edl.planner.reclaiming.capacity_claim import reserve_capacity
from edl.planner.reclaiming.reservation import Reservation
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.extras.reclaimable import Reclaimable, order_by_satisfaction
from edl.planner.snapshot.quota_balance import NOT_COUNTED
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.reclaim_priority import ALL_IN_REACH
from edl.planner.teams.team_guarantees import NO_TEAM

_LOOKS: Final = 8_192
"""Donors that one plan examines in searches for several donors at once; the next plan continues."""


@dataclass(slots=True)
class Rebalance:
    """Moves replicas until no allowed move helps a recipient."""

    snapshot: Snapshot
    ceiling: GrowthCeiling
    team: int = NO_TEAM
    """The team of donors and recipients; NO_TEAM if no teams are configured."""
    teams: TeamRebalance | None = None
    """Moves between teams; None if no teams are configured."""
    donors: Donors = field(init=False)
    _looks: int = _LOOKS
    _shrunk_donors: list[RoleAllocation] = field(default_factory=list)
    _hopeless: set[tuple[PodClass, int]] = field(default_factory=set)
    """Each (pod class, priority) for which a search for several donors failed."""
    _deferred: CooldownHolds = field(init=False)
    _recipients: list[RoleAllocation] = field(default_factory=list)
    _took: bool = False
    """Whether any replica has moved."""
    _failed_shares: dict[tuple[PodClass, int], float] = field(default_factory=dict)
    """By (pod class, priority), the lowest satisfaction at which a search has failed since the last
    move; it fails at any higher one too."""

    def run(self, unserved: Sequence[RoleAllocation]) -> None:
        share = self.snapshot.policy.satisfaction
        heap = [
            (share(recipient, len(recipient.placements)), recipient.rank, recipient)
            for recipient in unserved
            if recipient.resizable and recipient.team == self.team
        ]
        heapify(heap)
        self._recipients = [recipient for _, _, recipient in heap]
        self._deferred = CooldownHolds(self.snapshot, self.ceiling)
        if any(not recipient.hold.reason for _, _, recipient in heap):
            donors = [
                allocation
                for allocation in self.snapshot.allocations
                if allocation.team == self.team and allocation.may_donate
            ]
            self.donors = Donors(self.snapshot, donors)
        while heap:
            _, rank, recipient = heappop(heap)
            if self._takes_what_is_left(recipient) or (
                not recipient.hold.reason and self._serve(recipient)
            ):
                if recipient.size < recipient.max_replicas:
                    heappush(heap, (self.snapshot.satisfaction(recipient), rank, recipient))
            elif recipient.hold.reason:
                self._deferred.add(recipient)
        # By allocated replicas, without pipelined ones: so the next plan computes it as well.
        of_donors = (
            share(donor, donor.allocated) for donor in self._shrunk_donors if donor.gave_replicas
        )
        moves = self.snapshot.moves
        if (lowest := min(moves.lowest_donor(self.team), *of_donors, inf)) < inf:
            moves.donor_satisfactions[self.team] = lowest
            self._wait(lowest)
        self._let_recipients_go_first()

    def _takes_what_is_left(self, recipient: RoleAllocation) -> bool:
        """Add a replica on capacity that donors freed beyond need, as the next plan would."""
        if not (self._took and RoleGrowth(self.snapshot, self.ceiling, recipient).add_replica()):
            return False
        self.donors.refresh(recipient)
        self._keep(recipient)
        return True

    def _keep(self, recipient: RoleAllocation) -> None:
        placement = recipient.placements[-1]
        if not placement.holds_idle:
            self._deferred.keep(recipient.pod_class, placement.node)

    def _serve(self, recipient: RoleAllocation) -> bool:
        """Add a replica to the recipient by a move; whether that was possible."""
        # A role that has donated since is less satisfied than when it was put into the heap.
        kind, share = _kind(recipient), self.snapshot.satisfaction(recipient)
        if share >= self._failed_shares.get(kind, inf):
            return False
        served = self._move(recipient)
        if served:
            self._failed_shares.clear()
        elif recipient.quota_request is NOT_COUNTED and self._is_hopeless(recipient):
            self._failed_shares[kind] = share
        return served

    def _is_hopeless(self, recipient: RoleAllocation) -> bool:
        """Whether its pod class and priority no longer get a search for several donors."""
        return self._looks <= 0 or _kind(recipient) in self._hopeless

    def _let_recipients_go_first(self) -> None:
        """Defer growth of recent donors while their recipients grow.

        Otherwise kube-scheduler might bind the donors' pods to the capacity freed for recipients,
        and the moves would repeat.
        """
        growing = [
            allocation
            for allocation in self.snapshot.allocations
            if allocation.changed and allocation.growth > 0 and not allocation.starts
        ]
        gives = self.snapshot.policy.rebalance_code
        gave = [
            allocation
            for allocation in growing
            if last_changes.gave_replica(gives, allocation.role)
        ]
        for allocation in gave if len(gave) < len(growing) else ():
            defer_growth(allocation)

    def _wait(self, lowest: float) -> None:
        """Defer growth beyond the lowest of `MovingReplicas.donor_satisfactions`."""
        share = self.snapshot.policy.satisfaction
        for allocation in self.snapshot.allocations:
            if allocation.team == self.team and allocation.growth > 0 and not allocation.starts:
                sizes = range(allocation.allocated - allocation.growth, allocation.allocated)
                below = bisect_left(sizes, lowest, key=partial(share, allocation))
                allocation.pipeline_last(len(sizes) - below)

    def _move(self, recipient: RoleAllocation) -> bool:
        short = not recipient.quota_request.allows(FUTURE_IDLE)
        if not self.donors.any_for(recipient):
            return False
        if not short and not self.donors.any_for(recipient, recipient.pod_class):
            return self._takes_several(recipient)
        places = self.donors.candidates(recipient)
        helpful = self.donors.helpful(recipient.pod_class, places)
        if short:
            if not self.donors.relieving_quotas(
                recipient.quota_request, places, together=True
            ).size:
                return False
            helpful = self.donors.relieving_quotas(recipient.quota_request, helpful, together=False)
        if helpful.size and self._take_one(recipient, self.donors.most_satisfied(helpful)):
            self.donors.refresh(recipient)
            return True
        return self._takes_several(recipient)

    def _take_one(self, recipient: RoleAllocation, donor: RoleAllocation) -> bool:
        placement = donor.evict()
        if self._deferred.would_reserve() or not (
            self.ceiling.allows(recipient.pod_class, FUTURE_IDLE)
            and recipient.pod_class.future_idle.allows(placement.node)
        ):
            donor.restore(placement)
            return False
        at_once = (
            placement.holds_idle
            and not recipient.gave_replicas
            and recipient.pod_class.idle.fits(placement.node)
            and recipient.quota_request.allows(IDLE)
        )
        recipient.place(placement.node, IDLE if at_once else FUTURE_IDLE)
        if self._others_would_give(recipient, [donor], placed=True):
            recipient.evict()
            donor.restore(placement)
            return False
        self._gave(recipient, [donor])
        return True

    def _takes_several(self, recipient: RoleAllocation) -> bool:
        if self._is_hopeless(recipient):
            return False
        places = self.donors.candidates(recipient)
        self._looks -= len(places)
        moved = self._take_several(recipient, places)
        self.donors.refresh(recipient)
        return moved

    def _take_several(self, recipient: RoleAllocation, places: Ints) -> bool:
        """Take replicas from several donors: one pod, or the load ceiling, may require that."""
        snapshot, before = self.snapshot, self.snapshot.satisfaction(recipient)
        donors = [self.donors.allocations[place] for place in places]
        least = {donor: self._least(donor, before) for donor in donors}
        rules = order_by_satisfaction(snapshot, lambda donor: min(least[donor], donor.size))
        reclaimable = Reclaimable(snapshot, donors, rules)
        reservation = reservation_of_one(self.ceiling, recipient)
        if not reserve_capacity(reservation, reclaimable, ALL_IN_REACH, whole=True):
            if recipient.quota_request.allows(FUTURE_IDLE):
                self._hopeless.add(_kind(recipient))
            return False
        smaller = snapshot.policy.only_if_larger and not _is_larger(recipient, reservation)
        if (
            smaller
            or self._deferred.would_take(reservation)
            or self._others_would_give(recipient, reservation.evicted, placed=False)
        ):
            reservation.discard(reclaimable)
            self._hopeless.add(_kind(recipient))
            return False
        place_freed(self.snapshot, recipient, reservation)
        self._gave(recipient, reservation.evicted)
        return True

    def _others_would_give(
        self, recipient: RoleAllocation, donors: Iterable[RoleAllocation], *, placed: bool
    ) -> bool:
        """Whether another team would replace what donors gave beyond the need of this team.

        `placed`: whether the recipient has the replica, or only its capacity.
        """
        larger = [donor for donor in donors if donor.pod_class is not recipient.pod_class]
        if not (self.teams and larger):
            return False
        asking = (
            (other, other.max_replicas - (other is recipient and not placed))
            for other in self._recipients
        )
        if not self.teams.would_replace(larger, asking):
            return False
        self._failed_shares[_kind(recipient)] = self.snapshot.satisfaction(recipient, -placed)
        return True

    def _least(self, donor: RoleAllocation, before: float) -> int:
        share, sizes = self.snapshot.policy.satisfaction, range(donor.min_replicas, donor.size)
        more = bisect_right(sizes, before, key=partial(share, donor))
        return donor.min_replicas + more if sizes else donor.size

    def _gave(self, recipient: RoleAllocation, donors: Iterable[RoleAllocation]) -> None:
        self._took = True
        self._keep(recipient)
        for donor in donors:
            self.donors.refresh(donor)
        self._shrunk_donors += record_donations(self.snapshot, recipient, donors)


def _kind(recipient: RoleAllocation) -> tuple[PodClass, int]:
    """Recipients of one kind have the same donors, except those that are less satisfied."""
    return recipient.pod_class, recipient.job.priority


def _is_larger(recipient: RoleAllocation, reservation: Reservation) -> bool:
    """Whether it uses more of the cluster than the donated replicas did; one of its size may go."""
    evicted = reservation.evicted.items()
    sizes = [donor.cluster_fraction for donor, placements in evicted for _ in placements]
    return len(sizes) == 1 or sum(sizes) < recipient.cluster_fraction
