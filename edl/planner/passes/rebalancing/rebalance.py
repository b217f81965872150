"""Equal shares in a full cluster: a replica moves from the most to the least satisfied role.

What strictly improves with each resize that no claim asks for is the sorted list of all roles'
satisfactions (leximin). Growth raises one of them. A move needs givers that stay more satisfied
than the taker was before it, and it needs the taker, or a less satisfied role, to get the room:
so there is no move whose room the next plan would keep for a role in its cooldown, and none whose
room a giver might take when it comes back from its restart. Sizes are finite, so resizes end, and
none is undone.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import heapify, heappop, heappush
from math import inf
from typing import Final

import numpy as np

from edl import reasons
from edl.planner.packing.node_capacity import Ints
from edl.planner.packing.pod_class import PodClass, PodSetRequest
from edl.planner.passes.growth import GrowthCeiling, add_replica
from edl.planner.passes.pending_turns import defer_growth
from edl.planner.passes.rebalancing.cooldown_holds import CooldownHolds
from edl.planner.passes.rebalancing.defragment import defragment_for
from edl.planner.passes.rebalancing.donors import Donors
from edl.planner.passes.reclaim import Reservation, reserve_capacity
from edl.planner.snapshot import last_resizes
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.reclaimable import Reclaimable, ReclaimOrder
from edl.planner.snapshot.role_allocation import RoleAllocation

_LOOKS: Final = 8_192
"""At so many givers a plan looks in its searches for several to one taker; the next one goes on."""
_REPACKS: Final = 4
"""A plan's vain tries to move its new seats."""


@dataclass(slots=True)
class Rebalance:
    """Moves replicas until no move is fair, or none helps."""

    snapshot: Snapshot
    ceiling: GrowthCeiling
    donors: Donors = field(init=False)
    _looks: int = _LOOKS
    _repacks: int = _REPACKS
    _gave_up: list[RoleAllocation] = field(default_factory=list)
    _hopeless: set[PodClass] = field(default_factory=set)
    """Shapes for which a search among several givers found nothing."""
    _deferred: CooldownHolds = field(init=False)
    _took: bool = False
    """Whether anything has moved."""
    _vain: dict[tuple[PodClass, int], float] = field(default_factory=dict)
    """How satisfied is who asked in vain since the last move, by shape and priority: who has as
    much will do so, too."""

    def run(self, stuck: Sequence[RoleAllocation]) -> None:
        share = self.snapshot.policy.satisfaction
        heap = [
            (share(taker, len(taker.placements)), taker.rank, taker)
            for taker in stuck
            if taker.resizable
        ]
        heapify(heap)
        self._deferred = CooldownHolds(self.snapshot, self.ceiling)
        if any(not taker.hold_reason for _, _, taker in heap):
            self.donors = Donors(self.snapshot, list(filter(_gives, self.snapshot.allocations)))
        while heap:
            _, rank, taker = heappop(heap)
            if self._takes_what_is_left(taker) or (not taker.hold_reason and self._serve(taker)):
                if taker.size < taker.max_replicas:
                    heappush(heap, (self.snapshot.satisfaction(taker), rank, taker))
            elif taker.hold_reason:
                self._deferred.add(taker)
        # Without what a giver takes elsewhere once its replica has left: so the next plan sees it.
        less = (share(giver, giver.allocated) for giver in self._gave_up if giver.gave_replicas)
        self.snapshot.growth_limit = min(self.snapshot.growth_limit, *less, inf)
        if self.snapshot.growth_limit < inf:
            self._wait()
        self._let_takers_go_first()

    def _takes_what_is_left(self, taker: RoleAllocation) -> bool:
        """A giver may have freed more than its taker needs: the next plan would hand that out."""
        if not (self._took and add_replica(self.snapshot, self.ceiling, taker, None)):
            return False
        self.donors.refresh(taker)
        self._keep(taker)
        return True

    def _keep(self, taker: RoleAllocation) -> None:
        seat = taker.placements[-1]
        if not seat.holds_idle:
            self._deferred.keep(taker.pod_class, seat.node)

    def _serve(self, taker: RoleAllocation) -> bool:
        """One replica more for the least satisfied, if there is a way."""
        # Who gave meanwhile is less satisfied than when he was put into the heap.
        kind, share = (taker.pod_class, taker.job.priority), self.snapshot.satisfaction(taker)
        if share >= self._vain.get(kind, inf):
            return False
        served = self._repack(taker) or self._move(taker)
        if served:
            self._vain.clear()
        elif taker.quota_request is None and self._gives_up(taker):
            self._vain[kind] = share
        return served

    def _gives_up(self, taker: RoleAllocation) -> bool:
        """Whether there is no search left for this shape whose result may differ."""
        return self._repacks_no_more() and (self._looks <= 0 or taker.pod_class in self._hopeless)

    def _repack(self, taker: RoleAllocation) -> bool:
        """Room among the seats of this plan costs nobody anything."""
        if self._repacks_no_more():
            return False
        if defragment_for(self.snapshot, self.ceiling, taker):
            self.donors.refresh(taker)
            # New seats of others may be on other nodes now.
            for moved in (one for one in self.donors.allocations if one.changed):
                self.donors.refresh(moved)
            return True
        self._repacks -= 1
        return False

    def _repacks_no_more(self) -> bool:
        return not self._repacks or self.snapshot.growth_limit < inf or bool(self._gave_up)

    def _let_takers_go_first(self) -> None:
        """Who gave a moment ago grows again when those have grown for whom it gave.

        Else the scheduler might put its pods where theirs are to go, and all would begin anew.
        """
        growing = [
            one for one in self.snapshot.allocations if one.changed and one.grows and not one.starts
        ]
        gives = self.snapshot.policy.rebalance_code
        gave = [one for one in growing if last_resizes.gave_replica(gives, one.role)]
        for standing in gave if len(gave) < len(growing) else ():
            defer_growth(self.snapshot, standing)

    def _wait(self) -> None:
        """Growth beyond the givers waits until the moves are done (`Board.calm`)."""
        share, calm = self.snapshot.policy.satisfaction, self.snapshot.growth_limit
        for standing in self.snapshot.allocations:
            if standing.grows and not standing.starts:
                sizes = range(standing.allocated - standing.growth, standing.allocated)
                less = bisect_left(sizes, calm, key=partial(share, standing))
                standing.defer(self.snapshot.capacity, len(sizes) - less)

    def _move(self, taker: RoleAllocation) -> bool:
        """From the others, as long as one more of them is ruled out by its restart."""
        while True:
            ruled_out = self.donors.ruled_out
            if self._moves(taker):
                return True
            if self.donors.ruled_out == ruled_out:
                return False

    def _moves(self, taker: RoleAllocation) -> bool:
        short = taker.quota_request is not None and not taker.quota_request.allows(now=False)
        if not self.donors.any_for(taker):
            return False
        if not short and not self.donors.any_for(taker, taker.pod_class):
            return self._takes_several(taker)
        places = self.donors.candidates(taker)
        helpful = self.donors.helpful(taker.pod_class, places)
        if taker.quota_request and short:
            if not self.donors.relieving_quotas(taker.quota_request, places, together=True).size:
                return False
            helpful = self.donors.relieving_quotas(taker.quota_request, helpful, together=False)
        if not helpful.size:
            return self._takes_several(taker)
        ruled_out = self.donors.ruled_out
        if self._take_one(taker, self.donors.most_satisfied(helpful)):
            self.donors.refresh(taker)
            return True
        return self.donors.ruled_out == ruled_out and self._takes_several(taker)

    def _take_one(self, taker: RoleAllocation, giver: RoleAllocation) -> bool:
        grid = self.snapshot.capacity
        seat = giver.evict(grid)
        if self._deferred.would_reserve() or not (
            self.ceiling.allows(taker.pod_class, now=False)
            and taker.pod_class.allows(seat.node, now=False)
        ):
            giver.restore(grid, seat)
            return False
        now = (
            seat.holds_idle
            and not taker.gave_replicas
            and taker.pod_class.fits(seat.node, now=True)
        )
        now = now and (taker.quota_request is None or taker.quota_request.allows(now=True))
        taker.place(grid, seat.node, now=now)
        self._gave(taker, [giver])
        return True

    def _takes_several(self, taker: RoleAllocation) -> bool:
        if self._looks <= 0 or taker.pod_class in self._hopeless:
            return False
        places = self.donors.candidates(taker)
        self._looks -= len(places)
        moved = self._take_several(taker, places)
        self.donors.refresh(taker)
        return moved

    def _take_several(self, taker: RoleAllocation, places: Ints) -> bool:
        """One pod may need the room of several, and so may the load ceiling."""
        board, before = self.snapshot, self.snapshot.satisfaction(taker)
        rules = ReclaimOrder(
            min_replicas=lambda giver: self._least(giver, before),
            key=lambda giver: (0.0, False, -board.satisfaction(giver)),
        )
        extras = Reclaimable(board, [self.donors.allocations[place] for place in places], rules)
        claim = Reservation(
            board.capacity,
            [PodSetRequest(taker.pod_class, 1)],
            self.ceiling.holds,
            taker.quota_request,
        )
        if not reserve_capacity(claim, extras, np.inf, whole=True):
            if taker.quota_request is None or taker.quota_request.allows(now=False):
                self._hopeless.add(taker.pod_class)
            return False
        if board.policy.only_if_larger and _weight(claim) >= taker.cluster_fraction:
            claim.discard(extras)
            self._hopeless.add(taker.pod_class)
            return False
        if self._deferred_would_take(claim):
            claim.discard(extras)
            self._hopeless.add(taker.pod_class)
            return False
        taker.place_pipelined(claim.nodes[0][0])
        self._gave(taker, claim.evicted)
        return True

    def _deferred_would_take(self, claim: Reservation) -> bool:
        grid, ((row, *_), *_), (want, *_) = self.snapshot.capacity, claim.nodes, claim.requests
        grid.release(row, want.pod_class, now=False)
        if claim.quota_request:
            claim.quota_request.release(now=False)
        would = self._deferred.would_reserve()
        grid.reserve(row, want.pod_class, now=False)
        if claim.quota_request:
            claim.quota_request.reserve(now=False)
        return would

    def _least(self, giver: RoleAllocation, before: float) -> int:
        share, sizes = self.snapshot.policy.satisfaction, range(giver.min_replicas, giver.size)
        more = bisect_right(sizes, before, key=partial(share, giver))
        return giver.min_replicas + more if sizes else giver.size

    def _gave(self, taker: RoleAllocation, givers: Iterable[RoleAllocation]) -> None:
        self._took = True
        self._keep(taker)
        for giver in givers:
            self.donors.refresh(giver)
            if giver.size < giver.role.size:
                giver.reason = giver.reason or reasons.gave(
                    self.snapshot.policy.rebalance_code, taker.job.key
                )
                self._gave_up.append(giver)


def _weight(claim: Reservation) -> float:
    """The part of the cluster that those who gave had there."""
    return sum(giver.cluster_fraction * len(seats) for giver, seats in claim.evicted.items())


def _gives(standing: RoleAllocation) -> bool:
    """A job that cannot be planned keeps what it has, and so does one that is nearly finished."""
    stays = standing.manual or standing.cooling_down or standing.nearly_done or standing.job.missing
    return standing.resizable and not stays
