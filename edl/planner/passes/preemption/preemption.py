"""Preemption of whole gangs for a higher priority, if the administrator enabled it.

Only where extras do not suffice, and only if the claim then fits: the lowest priority first, of
one priority those that are not nearly finished, then the youngest. A victim keeps its place in
the queue, and its room is the claim's, so it starts again when there is room for both.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edl import reasons
from edl.feasibility.horizon import Horizon
from edl.model import Reason
from edl.planner.packing.node_capacity import Ints
from edl.planner.packing.pod_class import PodSetRequest, pack
from edl.planner.passes.preemption.victim_order import Victim, add_holdings, victim_candidates
from edl.planner.passes.preemption.victim_selection import (
    FreedCapacity,
    TriedCapacity,
    select_victims,
)
from edl.planner.passes.reclaim import Reservation, reserve_capacity
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.decisions import Decisions, record_eviction
from edl.planner.snapshot.quota_balance import NOT_COUNTED, QuotaRequest
from edl.planner.snapshot.reclaimable import Reclaimable
from edl.planner.snapshot.role_allocation import Placement, RoleAllocation
from edl.planner.teams.reclaim_priority import Reach, ReclaimScope, TeamRight

if TYPE_CHECKING:
    from edl.planner.teams.team_balance import TeamCharge


class Preemptor(NamedTuple):
    """A claim that finds no room, although all extras in its scope would go.

    With `reclaim: jobs`, jobs that borrow its team's guarantee may be victims too.
    """

    requests: tuple[PodSetRequest, ...]
    priority: int
    scope: ReclaimScope
    reason: Reason
    """The reason recorded on the victims."""
    by_priority: bool = True
    """Whether jobs of a lower priority may go; those that borrow from its team go anyway."""

    def takes_by_priority(self, priority: int) -> bool:
        return self.by_priority and priority < self.priority

    def reason_for(self, priority: int) -> Reason:
        """Why a job of this priority goes."""
        if self.takes_by_priority(priority):
            return reasons.preempted(self.reason)
        return reasons.guarantee_reclaimed(self.reason)


@dataclass(slots=True)
class Preemption:
    """Suspends gangs for the claims of one plan. Jobs that start now stay."""

    snapshot: Snapshot
    decisions: Decisions
    reclaimable: Reclaimable
    _resizable: set[RoleAllocation] = field(init=False)
    _victims: list[Victim] = field(init=False)
    """Remaining candidates, in order."""
    _freed: dict[int, Ints] = field(default_factory=dict)
    """Capacity that candidates below each priority hold; int64[resources, nodes]."""

    def __post_init__(self) -> None:
        self._resizable = set(self.reclaimable.allocations)
        found = victim_candidates(self.snapshot.allocations, self._resizable)
        self._victims = sorted(found, key=lambda victim: victim.order)

    def run(
        self, preemptor: Preemptor, quota_request: QuotaRequest = NOT_COUNTED
    ) -> Reservation | None:
        """Room for all that is asked for, or nothing and no change."""
        victims = self._within_reach(preemptor)
        pods = [request.pods for request in preemptor.requests]
        if not victims:
            return None
        if pack(self._most(preemptor, victims), preemptor.requests, Horizon.EMPTY) != pods:
            return None
        room = self.reclaimable.capacity.with_idle(preemptor.scope)
        chosen = select_victims(victims, FreedCapacity(room, preemptor.requests))
        found = self._made_room(chosen, preemptor, quota_request)
        if found or preemptor.scope.right is None:
            return found
        return self._made_room(
            self._tried(victims, preemptor, quota_request), preemptor, quota_request
        )

    def _tried(
        self, victims: list[Victim], preemptor: Preemptor, quota_request: QuotaRequest
    ) -> list[Victim]:
        """Victims that are enough, by trying; none if all are not.

        A team's extras count as room for `_most`, and yield only while it borrows.
        """

        def change(victim: Victim, sign: int) -> None:
            if sign > 0:
                self._evict([victim])
            else:
                self._restore([victim])

        def suffices() -> bool:
            reservation = self._reservation(preemptor, quota_request)
            found = reserve_capacity(reservation, self.reclaimable, preemptor.scope, whole=True)
            if found:
                reservation.discard(self.reclaimable)
            return found

        self._evict(victims)
        possible = suffices()
        self._restore(victims)
        if not possible:
            return []
        chosen = select_victims(victims, TriedCapacity(change, suffices))
        self._restore(chosen)
        return chosen

    def _reservation(self, preemptor: Preemptor, quota_request: QuotaRequest) -> Reservation:
        requests = list(preemptor.requests)
        return Reservation(self.snapshot.capacity, requests, quota_request=quota_request)

    def _made_room(
        self, chosen: list[Victim], preemptor: Preemptor, quota_request: QuotaRequest
    ) -> Reservation | None:
        if not chosen:
            return None
        self._evict(chosen)
        reservation = self._reservation(preemptor, quota_request)
        if not reserve_capacity(reservation, self.reclaimable, preemptor.scope, whole=True):
            self._restore(chosen)
            return None
        record_eviction(reservation.evicted, preemptor.reason)
        self._suspend(chosen, preemptor)
        return reservation

    def as_many_as_possible(self, preemptor: Preemptor) -> list[int]:
        """Room for as many pods of the one want as can be had; their nodes."""
        (request,) = preemptor.requests
        room = self._most(preemptor, self._within_reach(preemptor))
        most = pack(room, [request], Horizon.EMPTY)[0]
        reservation = (
            self.run(preemptor._replace(requests=(PodSetRequest(request.pod_class, most),)))
            if most
            else None
        )
        return reservation.nodes[0] if reservation else []

    def _most(self, preemptor: Preemptor, victims: Iterable[Victim]) -> Ints:
        """The room if all extras and all these victims, those within reach, were gone."""
        freed = None if preemptor.scope.right else self._freed.get(preemptor.priority)
        if freed is None:
            freed = np.zeros_like(self.snapshot.capacity.future_idle)
            for victim in victims:
                add_holdings(freed, victim, 1)
            if not preemptor.scope.right:
                self._freed[preemptor.priority] = freed
        found: Ints = self.reclaimable.capacity.with_idle(preemptor.scope) + freed
        return found

    def _within_reach(self, preemptor: Preemptor) -> list[Victim]:
        """Jobs that may go, in their order; of a team no more than what it borrows."""
        scope = preemptor.scope
        if scope.right is None:
            return self._below(preemptor.priority)
        charges: dict[Victim, TeamCharge] = {}
        self._count_extras(-1)
        for victim in self._victims:
            lower = preemptor.takes_by_priority(victim.job.priority)
            within = scope.reach(victim.allocations[0].team) is not Reach.NONE
            if within and (lower or scope.reclaims_jobs):
                charges[victim] = victim.charge(scope.right.balance)
                charges[victim].reserve(-1)
                if not self._may_stop(victim, preemptor, scope.right):
                    charges.pop(victim).reserve(1)
        # Where those after it go as well, it may be within the guarantee.
        for victim in list(charges):
            if not self._may_stop(victim, preemptor, scope.right):
                charges.pop(victim).reserve(1)
        for charge in charges.values():
            charge.reserve(1)
        self._count_extras(1)
        return list(charges)

    def _count_extras(self, sign: int) -> None:
        """In their teams, as if all had gone (-1), or again: they go before any job does."""
        for one in self.reclaimable.allocations:
            if one.extras and one.quota_request.team:
                one.quota_request.team.reserve(sign * one.extras)

    def _may_stop(self, victim: Victim, preemptor: Preemptor, right: TeamRight) -> bool:
        lower = preemptor.takes_by_priority(victim.job.priority)
        return right.stops(victim.charge_of_return(right.balance), lower=lower)

    def _below(self, priority: int) -> list[Victim]:
        return self._victims[
            : bisect_left(self._victims, priority, key=lambda one: one.job.priority)
        ]

    def _evict(self, chosen: Iterable[Victim]) -> None:
        for victim in chosen:
            for allocation in victim.allocations:
                while allocation.placements:
                    extra = (
                        allocation in self._resizable and allocation.size > allocation.min_replicas
                    )
                    rise = self.reclaimable.evict if extra else self._evict_replica
                    victim.evicted.append((allocation, rise(allocation), extra))
                self.reclaimable.requeue(allocation)

    def _evict_replica(self, allocation: RoleAllocation) -> Placement:
        return allocation.evict()

    def _restore(self, chosen: Sequence[Victim]) -> None:
        for victim in reversed(chosen):
            while victim.evicted:
                allocation, placement, extra = victim.evicted.pop()
                if extra:
                    self.reclaimable.restore(allocation, placement)
                else:
                    allocation.restore(placement)
            for allocation in self._resizable.intersection(victim.allocations):
                self.reclaimable.requeue(allocation)

    def _suspend(self, chosen: Sequence[Victim], preemptor: Preemptor) -> None:
        gone = set(chosen)
        self._victims = [victim for victim in self._victims if victim not in gone]
        for victim in sorted(chosen, key=lambda one: one.allocations[0].queue_rank):
            self.decisions.suspended[victim.job.key] = preemptor.reason_for(victim.job.priority)
            self.decisions.held.pop(victim.job.key, None)
            for priority, freed in self._freed.items():
                if victim.job.priority < priority:
                    add_holdings(freed, victim, -1)

    def drop_suspended(self) -> None:
        """Take those that were suspended out of the plan."""
        snapshot, gone = self.snapshot, self.decisions.suspended
        snapshot.allocations = [
            found for found in snapshot.allocations if found.job.key not in gone
        ]
        snapshot.jobs = [job for job in snapshot.jobs if job.key not in gone]
