"""Whole gangs go back to the queue for a higher priority, if their operator wants so.

Only where extras do not suffice, and only if the claim then fits: the lowest priority first, of
one priority who is not nearly finished, then the youngest. A victim keeps its place in the queue,
and its room is the claim's, so it starts again when there is room for both.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

import numpy as np

from edl import reasons
from edl.feasibility.horizon import Horizon
from edl.model import Reason, TrainingJob
from edl.planner.packing.node_capacity import Ints
from edl.planner.packing.pod_class import PodClass, PodSetRequest, pack
from edl.planner.passes.reclaim import Reservation, reserve_capacity
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.decisions import Decisions, record_eviction
from edl.planner.snapshot.quota_balance import QuotaRequest
from edl.planner.snapshot.reclaimable import Reclaimable
from edl.planner.snapshot.role_allocation import NO_NODE, Placement, RoleAllocation
from edl.planner.teams.reclaim_priority import Reach, ReclaimScope
from edl.planner.teams.team_balance import TeamBalance, TeamCharge


class Preemptor(NamedTuple):
    """A claim that finds no room, although all extras in its scope would go.

    Where its team says so, jobs may go that borrow what it is guaranteed.
    """

    requests: tuple[PodSetRequest, ...]
    priority: int
    scope: ReclaimScope
    reason: Reason
    """What is said to those who make room."""
    by_priority: bool = True
    """Whether jobs of a lower priority may go; those that borrow from its team go anyway."""


class PodsByNode(NamedTuple):
    """Pods of one shape by node; int64[nodes that hold some]."""

    pod_class: PodClass
    nodes: Ints
    pods: Ints


@dataclass(slots=True, eq=False)
class Victim:
    """One started training job, which may be taken off its nodes."""

    job: TrainingJob
    allocations: list[RoleAllocation]
    holdings: list[PodsByNode]
    """What it holds besides extras, which claims may take anyway."""
    evicted: list[tuple[RoleAllocation, Placement, bool]] = field(default_factory=list)
    """What has been taken off, the first first; the last says whether it was an extra."""

    def charge(self, balance: TeamBalance) -> TeamCharge:
        """What it counts in its team as a whole."""
        total: Counter[int] = Counter()
        for one in self.allocations:
            pods = one.quota_request.team if one.quota_request else None
            for at, amount in pods.amounts if pods else ():
                total[at] += amount * one.size
        return TeamCharge(balance, self.allocations[0].team, tuple(sorted(total.items())))

    @property
    def order(self) -> tuple[int, bool, int]:
        first = self.allocations[0]
        return self.job.priority, first.nearly_done, -first.queue_rank


@dataclass(slots=True)
class Preemption:
    """Suspends gangs for the claims of one plan. Who is to be started or is half started stays."""

    snapshot: Snapshot
    decisions: Decisions
    reclaimable: Reclaimable
    _resizable: set[RoleAllocation] = field(init=False)
    _victims: list[Victim] = field(init=False)
    """Those that are left, in their order."""
    _freed: dict[int, Ints] = field(default_factory=dict)
    """What all of a lower priority hold, by priority; int64[resources, nodes]."""

    def __post_init__(self) -> None:
        self._resizable = set(self.reclaimable.allocations)
        found = victim_candidates(self.snapshot.allocations, self._resizable)
        self._victims = sorted(found, key=lambda victim: victim.order)

    def run(
        self, preemptor: Preemptor, quota_request: QuotaRequest | None = None
    ) -> Reservation | None:
        """Room for all that is asked for, or nothing and no change."""
        victims = self._within_reach(preemptor)
        pods = [request.pods for request in preemptor.requests]
        if not victims or pack(self._most(preemptor), preemptor.requests, Horizon.EMPTY) != pods:
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
        self, victims: list[Victim], preemptor: Preemptor, quota_request: QuotaRequest | None
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

    def _reservation(self, preemptor: Preemptor, quota_request: QuotaRequest | None) -> Reservation:
        requests = list(preemptor.requests)
        return Reservation(self.snapshot.capacity, requests, quota_request=quota_request)

    def _made_room(
        self, chosen: list[Victim], preemptor: Preemptor, quota_request: QuotaRequest | None
    ) -> Reservation | None:
        if not chosen:
            return None
        self._evict(chosen)
        reservation = self._reservation(preemptor, quota_request)
        if not reserve_capacity(reservation, self.reclaimable, preemptor.scope, whole=True):
            self._restore(chosen)
            return None
        record_eviction(reservation.evicted, preemptor.reason)
        self._suspend(chosen, reasons.preempted(preemptor.reason))
        return reservation

    def as_many_as_possible(self, preemptor: Preemptor) -> list[int]:
        """Room for as many pods of the one want as can be had; their nodes."""
        (request,) = preemptor.requests
        most = pack(self._most(preemptor), [request], Horizon.EMPTY)[0]
        reservation = (
            self.run(preemptor._replace(requests=(PodSetRequest(request.pod_class, most),)))
            if most
            else None
        )
        return reservation.nodes[0] if reservation else []

    def _most(self, preemptor: Preemptor) -> Ints:
        """The room if all extras and all victims within reach were gone."""
        freed = None if preemptor.scope.right else self._freed.get(preemptor.priority)
        if freed is None:
            freed = np.zeros_like(self.snapshot.capacity.future_idle)
            for victim in self._within_reach(preemptor):
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
        found: list[Victim] = []
        charges: list[TeamCharge] = []
        for victim in self._victims:
            lower = preemptor.by_priority and victim.job.priority < preemptor.priority
            if not (lower or scope.reclaims_jobs):
                continue
            if scope.reach(victim.allocations[0].team) is Reach.NONE:
                continue
            charge = victim.charge(scope.right.balance)
            charge.reserve(-1)
            if scope.right.stops(charge, lower=lower):
                found.append(victim)
                charges.append(charge)
            else:
                charge.reserve(1)
        for charge in charges:
            charge.reserve(1)
        return found

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

    def _suspend(self, chosen: Sequence[Victim], reason: Reason) -> None:
        gone = set(chosen)
        self._victims = [victim for victim in self._victims if victim not in gone]
        for victim in sorted(chosen, key=lambda one: one.allocations[0].queue_rank):
            self.decisions.suspended[victim.job.key] = reason
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


def victim_candidates(
    allocations: Iterable[RoleAllocation], movable: AbstractSet[RoleAllocation]
) -> Iterator[Victim]:
    """Started jobs; a start that is half done is completed first."""
    started = [found for found in allocations if not (found.starts or found.job.problem)]
    started.sort(key=lambda found: found.rank)
    for _, group in groupby(started, key=lambda found: found.queue_rank):
        roles = list(group)
        if not any(role.status.suspended for role in roles[0].job.live):
            yield Victim(
                roles[0].job, roles, [_held(one, reclaimable=one in movable) for one in roles]
            )


def _held(allocation: RoleAllocation, *, reclaimable: bool) -> PodsByNode:
    placements = (
        allocation.placements[: allocation.min_replicas] if reclaimable else allocation.placements
    )
    nodes = [placement.node for placement in placements if placement.node != NO_NODE]
    return PodsByNode(
        allocation.pod_class, *np.unique(np.array(nodes, dtype=np.int64), return_counts=True)
    )


def add_holdings(room: Ints, victim: Victim, sign: int) -> None:
    """Give what a victim holds to this room, or take it back (-1)."""
    for held in victim.holdings:
        for resource, amount in held.pod_class.amounts:
            room[resource, held.nodes] += sign * amount * held.pods


class FreedCapacity:
    """Room for some wants, while victims leave their nodes one by one, or come back.

    What one victim changes is counted on its own nodes, so that many victims cost no more each.
    """

    def __init__(self, room: Ints, requests: Sequence[PodSetRequest]) -> None:
        self._available, self._requests = room, requests
        self._capacity = [request.pod_class.pods_by_resources(room) for request in requests]
        self._total = [int(found.sum()) for found in self._capacity]
        self._exact = len(requests) == 1 and requests[0].pod_class.is_unconstrained

    def change(self, victim: Victim, sign: int) -> None:
        add_holdings(self._available, victim, sign)
        for held in victim.holdings:
            for at, request in enumerate(self._requests):
                capacity = self._capacity[at]
                found = request.pod_class.pods_by_resources(
                    self._available[:, held.nodes], held.nodes
                )
                self._total[at] += int(found.sum()) - int(capacity[held.nodes].sum())
                capacity[held.nodes] = found

    def may_suffice(self) -> bool:
        """Whether there is room for each want alone, by sums."""
        return all(
            total >= request.pods
            for total, request in zip(self._total, self._requests, strict=True)
        )

    def suffices(self) -> bool:
        if self._exact or not self.may_suffice():
            return self.may_suffice()
        placed = pack(self._available, self._requests, Horizon.EMPTY)
        return placed == [request.pods for request in self._requests]


class TriedCapacity(NamedTuple):
    """Room that shows only when victims leave their nodes in the snapshot itself."""

    change: Callable[[Victim, int], None]
    suffices: Callable[[], bool]

    def may_suffice(self) -> bool:
        return True


def select_victims(found: Sequence[Victim], relief: FreedCapacity | TriedCapacity) -> list[Victim]:
    """The first victims that are enough together, but those that can be reprieved.

    Those that matter most are reprieved first, as by kube-scheduler's preemption.
    """
    chosen = found[: _prefix(found, relief)]
    kept: list[Victim] = []
    at, step = len(chosen), 1
    while at > 0:
        batch = chosen[max(at - step, 0) : at]
        for victim in batch:
            relief.change(victim, -1)
        spares = relief.suffices()
        if not spares:
            for victim in batch:
                relief.change(victim, 1)
        if spares or step == 1:
            at -= len(batch)
            kept += [] if spares else batch
        step = 2 * step if spares else max(step // 2, 1)
    return kept[::-1]


def _prefix(found: Sequence[Victim], relief: FreedCapacity | TriedCapacity) -> int:
    """How many must go, in their order; just those have left when it returns."""
    at, count, step = 0, len(found), 1
    while at < count and not (at and relief.may_suffice()):
        at = _move(found, relief, at, at + 1)
    low = high = at
    while high < count and not relief.suffices():
        low, high, step = high + 1, min(high + step, count), 2 * step
        at = _move(found, relief, at, high)
    while low < high:
        middle = (low + high) // 2
        at = _move(found, relief, at, middle)
        if relief.suffices():
            high = middle
        else:
            low = middle + 1
    return _move(found, relief, at, high)


def _move(found: Sequence[Victim], relief: FreedCapacity | TriedCapacity, at: int, to: int) -> int:
    for victim in found[at:to]:
        relief.change(victim, 1)
    for victim in found[to:at]:
        relief.change(victim, -1)
    return to
