"""Whole gangs go back to the queue for a higher priority, if their operator wants so.

Only where extras do not suffice, and only if the claim then fits: the lowest priority first, of
one priority who is not nearly finished, then the youngest. A victim keeps its place in the queue,
and its room is the claim's, so it starts again when there is room for both.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

import numpy as np

from edl import reasons
from edl.feasibility.gpu_shares import Horizon
from edl.model import Reason, TrainingJob
from edl.planner.packing.node_capacity import Ints
from edl.planner.packing.pod_class import PodClass, PodSetRequest, pack
from edl.planner.passes.reclaim import Reservation, reserve_capacity
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.decisions import Decisions, record_eviction
from edl.planner.snapshot.quota_balance import QuotaRequest
from edl.planner.snapshot.reclaimable import Reclaimable
from edl.planner.snapshot.role_allocation import NO_NODE, Placement, RoleAllocation


class Preemptor(NamedTuple):
    """Who finds no room, although extras up to `level` would go."""

    requests: tuple[PodSetRequest, ...]
    priority: int
    reclaim_priority: float
    reason: Reason
    """What is said to those who make room."""


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

    def run(self, asker: Preemptor, bill: QuotaRequest | None = None) -> Reservation | None:
        """Room for all that is asked for, or nothing and no change."""
        chosen = self._choose(asker)
        if not chosen:
            return None
        self._evict(chosen)
        claim = Reservation(self.snapshot.capacity, list(asker.requests), quota_request=bill)
        if not reserve_capacity(claim, self.reclaimable, asker.reclaim_priority, whole=True):
            self._restore(chosen)
            return None
        record_eviction(claim.evicted, asker.reason)
        self._suspend(chosen, reasons.preempted(asker.reason))
        return claim

    def as_many_as_possible(self, asker: Preemptor) -> list[int]:
        """Room for as many pods of the one want as can be had; their nodes."""
        (want,) = asker.requests
        most = pack(self._most(asker), [want], Horizon.EMPTY)[0]
        claim = (
            self.run(asker._replace(requests=(PodSetRequest(want.pod_class, most),)))
            if most
            else None
        )
        return claim.nodes[0] if claim else []

    def _most(self, asker: Preemptor) -> Ints:
        """The room if all extras and all victims within reach were gone."""
        freed = self._freed.get(asker.priority)
        if freed is None:
            freed = np.zeros_like(self.snapshot.capacity.future_idle)
            for victim in self._below(asker.priority):
                add_holdings(freed, victim, 1)
            self._freed[asker.priority] = freed
        found: Ints = self.reclaimable.capacity.with_idle(asker.reclaim_priority) + freed
        return found

    def _below(self, priority: int) -> list[Victim]:
        return self._victims[
            : bisect_left(self._victims, priority, key=lambda one: one.job.priority)
        ]

    def _choose(self, asker: Preemptor) -> list[Victim]:
        """Whom to suspend so that all these pods fit; nobody if they would not fit even then."""
        pods = [want.pods for want in asker.requests]
        found = self._below(asker.priority)
        if not found or pack(self._most(asker), asker.requests, Horizon.EMPTY) != pods:
            return []
        return select_victims(
            found,
            FreedCapacity(
                self.reclaimable.capacity.with_idle(asker.reclaim_priority), asker.requests
            ),
        )

    def _evict(self, chosen: Iterable[Victim]) -> None:
        for victim in chosen:
            for standing in victim.allocations:
                while standing.placements:
                    extra = standing in self._resizable and standing.size > standing.min_replicas
                    rise = self.reclaimable.evict if extra else self._evict_replica
                    victim.evicted.append((standing, rise(standing), extra))
                self.reclaimable.requeue(standing)

    def _evict_replica(self, standing: RoleAllocation) -> Placement:
        return standing.evict(self.snapshot.capacity)

    def _restore(self, chosen: Sequence[Victim]) -> None:
        for victim in reversed(chosen):
            while victim.evicted:
                standing, seat, extra = victim.evicted.pop()
                if extra:
                    self.reclaimable.restore(standing, seat)
                else:
                    standing.restore(self.snapshot.capacity, seat)
            for standing in self._resizable.intersection(victim.allocations):
                self.reclaimable.requeue(standing)

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
        board, gone = self.snapshot, self.decisions.suspended
        board.allocations = [found for found in board.allocations if found.job.key not in gone]
        board.jobs = [job for job in board.jobs if job.key not in gone]


def victim_candidates(
    standings: Iterable[RoleAllocation], movable: AbstractSet[RoleAllocation]
) -> Iterator[Victim]:
    """Started jobs; a start that is half done is completed first."""
    started = [found for found in standings if not (found.starts or found.job.problem)]
    started.sort(key=lambda found: found.rank)
    for _, group in groupby(started, key=lambda found: found.queue_rank):
        roles = list(group)
        if not any(role.suspended for role in roles[0].job.live):
            yield Victim(roles[0].job, roles, [_held(one, extras=one in movable) for one in roles])


def _held(standing: RoleAllocation, *, extras: bool) -> PodsByNode:
    seats = standing.placements[: standing.min_replicas] if extras else standing.placements
    rows = [seat.node for seat in seats if seat.node != NO_NODE]
    return PodsByNode(
        standing.pod_class, *np.unique(np.array(rows, dtype=np.int64), return_counts=True)
    )


def add_holdings(room: Ints, victim: Victim, sign: int) -> None:
    """Give what a victim holds to this room, or take it back (-1)."""
    for held in victim.holdings:
        for line, amount in held.pod_class.amounts:
            room[line, held.nodes] += sign * amount * held.pods


class FreedCapacity:
    """Room for some wants, while victims leave their nodes one by one, or come back.

    What one victim changes is counted on its own nodes, so that many victims cost no more each.
    """

    def __init__(self, room: Ints, wants: Sequence[PodSetRequest]) -> None:
        self._available, self._requests = room, wants
        self._capacity = [want.pod_class.pods_by_resources(room) for want in wants]
        self._total = [int(found.sum()) for found in self._capacity]
        self._exact = len(wants) == 1 and wants[0].pod_class.is_unconstrained

    def change(self, victim: Victim, sign: int) -> None:
        add_holdings(self._available, victim, sign)
        for held in victim.holdings:
            for at, want in enumerate(self._requests):
                capacity = self._capacity[at]
                found = want.pod_class.pods_by_resources(self._available[:, held.nodes], held.nodes)
                self._total[at] += int(found.sum()) - int(capacity[held.nodes].sum())
                capacity[held.nodes] = found

    def may_suffice(self) -> bool:
        """Whether there is room for each want alone, by sums."""
        return all(
            total >= want.pods for total, want in zip(self._total, self._requests, strict=True)
        )

    def suffices(self) -> bool:
        if self._exact or not self.may_suffice():
            return self.may_suffice()
        placed = pack(self._available, self._requests, Horizon.EMPTY)
        return placed == [want.pods for want in self._requests]


def select_victims(found: Sequence[Victim], relief: FreedCapacity) -> list[Victim]:
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


def _prefix(found: Sequence[Victim], relief: FreedCapacity) -> int:
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


def _move(found: Sequence[Victim], relief: FreedCapacity, at: int, to: int) -> int:
    for victim in found[at:to]:
        relief.change(victim, 1)
    for victim in found[to:at]:
        relief.change(victim, -1)
    return to
