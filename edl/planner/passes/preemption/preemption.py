"""Preemption of whole gangs by claims of higher priority, if the administrator enabled it.

Gangs are preempted only if extras do not suffice and the claim then fits. Victims are taken by
lowest priority, then those that are not nearly finished, then the youngest. A victim keeps its
place in the queue, and the claim keeps its capacity, so it starts again once both fit.

A gang that trains nothing until its lost pods are created again is a victim in any case, and the
first one of its priority: it loses no work.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from edl import reasons
from edl.feasibility.eligibility import Ints
from edl.feasibility.horizon import Horizon
from edl.job_state.lost_pods import why_returns
from edl.model import JobKey, Reason
from edl.planner.packing.pod_class import PodSetRequest, pack
from edl.planner.pass_results import PassResults, record_eviction
from edl.planner.passes.preemption.victims import (
    Trial,
    Victim,
    ahead_by_job,
    select_victims,
    trial_by_amounts,
    victim_candidates,
)
from edl.planner.reclaiming.capacity_claim import reserve_capacity
from edl.planner.reclaiming.reservation import Reservation
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.extras.reclaimable import Reclaimable
from edl.planner.snapshot.quota_balance import NOT_COUNTED, QuotaRequest
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.reclaim_priority import ReclaimScope, TeamRight
from edl.planner.teams.team_charge import TeamCharge

_MAX_VAIN_SEARCHES: Final = 100_000
"""Without teams, victims for further claims are chosen by amounts alone: about 0.3 s."""


class Preemptor(NamedTuple):
    """A claim that does not fit even if all extras in its scope are evicted.

    With `reclaim: jobs`, jobs that borrow its team's guarantee may be victims at any priority.
    """

    requests: tuple[PodSetRequest, ...]
    scope: ReclaimScope
    reason: Reason
    """The reason recorded on the victims."""
    quota_request: QuotaRequest = NOT_COUNTED
    uncounted: "TeamCharge | None" = None
    """What each of its pods counts in its team, unless that is counted otherwise."""

    @property
    def priority(self) -> int:
        return self.scope.priority.priority

    def reservation(self, snapshot: Snapshot, *, preempts: bool = True) -> Reservation:
        return Reservation(
            snapshot.capacity,
            list(self.requests),
            quota_request=self.quota_request,
            uncounted=self.uncounted,
            preempts=preempts,
        )


@dataclass(slots=True)
class Preemption:
    """Suspends gangs for the claims of one plan, except jobs that this plan starts."""

    snapshot: Snapshot
    results: PassResults
    reclaimable: Reclaimable
    standing_still: AbstractSet[JobKey] = frozenset()
    """Gangs that train nothing until their lost pods are created again."""
    _resizable: set[RoleAllocation] = field(init=False)
    _victims: list[Victim] = field(init=False)
    """Remaining candidates, the first to preempt first."""
    _in_vain: int = 0
    """Pods of candidates that were evicted and restored for claims that did not fit then."""
    _freed: dict[int, Ints] = field(default_factory=dict)
    """By priority, the capacity of all candidates below it; int64[resources, nodes]."""

    def __post_init__(self) -> None:
        self._resizable = set(self.reclaimable.allocations)
        candidates = victim_candidates(self.snapshot.allocations, self._resizable)
        self._victims = sorted(candidates, key=self._precedence)

    def _precedence(self, victim: Victim) -> tuple[int, bool, bool, int]:
        """Sort key of candidates: see the module; those that queued last are the youngest."""
        job, rank = victim.job, victim.allocations[0].queue_rank
        return job.priority, not self._stands(victim), self.snapshot.is_nearly_done(job), -rank

    def run(self, preemptor: Preemptor) -> Reservation | None:
        """Preempt victims and reserve capacity for the whole claim; None, and no change, if not."""
        victims, right = self._within_reach(preemptor), preemptor.scope.right
        pods = [request.pods for request in preemptor.requests]
        if not victims:
            return None
        if pack(self._most(preemptor, victims), preemptor.requests, Horizon.EMPTY) != pods:
            return None
        reservation = self._run(preemptor, victims)
        if reservation or right is None:
            return reservation
        rest = self._stoppable(preemptor, right, victims, gone=victims)
        return self._run(preemptor, rest) if 0 < len(rest) < len(victims) else None

    def _run(self, preemptor: Preemptor, victims: list[Victim]) -> Reservation | None:
        room = self.reclaimable.capacity.with_idle(preemptor.scope)
        chosen = select_victims(victims, trial_by_amounts(room, preemptor.requests))
        reservation = self._made_room(chosen, preemptor)
        if reservation or (preemptor.scope.right is None and self._in_vain > _MAX_VAIN_SEARCHES):
            return reservation
        return self._made_room(self._tried(victims, preemptor), preemptor)

    def _tried(self, victims: list[Victim], preemptor: Preemptor) -> list[Victim]:
        """Victims that suffice when tried in the snapshot; [] if all together do not.

        Those chosen by amounts may not: rules between pods or quotas keep the claim from their
        nodes, or, with teams, extras yield only while their team borrows.
        """

        def suffices() -> bool:
            reservation = preemptor.reservation(self.snapshot)
            placed = reserve_capacity(reservation, self.reclaimable, preemptor.scope, whole=True)
            if placed:
                reservation.discard(self.reclaimable)
            return placed

        def suffice(candidates: Sequence[Victim]) -> bool:
            self._evict(*candidates)
            possible = suffices()
            self._restore(*candidates)
            return possible

        pods = sum(role.size for victim in victims for role in victim.allocations)
        if not suffice(victims):
            victims = _without_needed(victims, preemptor)
            if not (victims and suffice(victims)):
                self._in_vain += pods
                return []
        chosen = select_victims(victims, Trial(self._evict, self._restore, [suffices]))
        self._restore(*chosen)
        return chosen

    def _made_room(self, chosen: list[Victim], preemptor: Preemptor) -> Reservation | None:
        right = preemptor.scope.right if len(chosen) > 1 else None
        # Once all of them are gone, the guarantee of their team may cover one of them.
        if not chosen or (
            right and self._stoppable(preemptor, right, chosen, gone=chosen) != chosen
        ):
            return None
        self._evict(*chosen)
        reservation = preemptor.reservation(self.snapshot)
        if not reserve_capacity(reservation, self.reclaimable, preemptor.scope, whole=True):
            self._restore(*chosen)
            return None
        record_eviction(reservation.evicted, preemptor.reason)
        self._suspend(chosen, preemptor)
        return reservation

    def as_many_as_possible(self, preemptor: Preemptor) -> list[int]:
        """Preempt for as many pods of the claim's only request as possible; their nodes."""
        (request,) = preemptor.requests
        room = self._most(preemptor, self._within_reach(preemptor))
        pods = pack(room, [request], Horizon.EMPTY)[0]
        while pods:
            most = request._replace(pods=pods)
            if reservation := self.run(preemptor._replace(requests=(most,))):
                return reservation.nodes[0]
            pods //= 2  # rules between pods keep some off; the next plan claims for the rest
        return []

    def _most(self, preemptor: Preemptor, victims: Iterable[Victim]) -> Ints:
        """Capacity if all extras in scope and all these victims were evicted.

        int64[resources, nodes]; cached by priority if no teams are configured.
        """
        freed = None if preemptor.scope.right else self._freed.get(preemptor.priority)
        if freed is None:
            freed = np.zeros_like(self.snapshot.capacity.future_idle)
            for victim in victims:
                victim.release_in(freed)
            if not preemptor.scope.right:
                self._freed[preemptor.priority] = freed
        room: Ints = self.reclaimable.capacity.with_idle(preemptor.scope) + freed
        return room

    def _within_reach(self, preemptor: Preemptor) -> list[Victim]:
        """Candidates that this claim may preempt, in order."""
        if (right := preemptor.scope.right) is None:
            lower = bisect_left(self._victims, preemptor.priority, key=lambda one: one.job.priority)
            victims = self._victims[:lower]
            return victims if self.snapshot.limits.preempt else list(filter(self._stands, victims))
        return self._stoppable(preemptor, right, self._victims)

    def _stoppable(
        self,
        preemptor: Preemptor,
        right: TeamRight,
        victims: Iterable[Victim],
        gone: Iterable[Victim] = (),
    ) -> list[Victim]:
        """Victims that this claim may preempt if guarantees cover nothing of the ones in `gone`."""
        for team, extras in (extra_charges := self._extras_in_teams()):
            team.reserve(-extras)
        ahead = ahead_by_job(right.balance, self.snapshot.allocations, gone)
        within = right.balance.borrowing_beside(right.team, right.scarce)
        stoppable = []
        for victim in victims:
            if within[victim.allocations[0].team]:
                job, before = victim.charge_of_return(right.balance), ahead[victim.job.key]
                lower = self._is_lower(victim, preemptor) and right.preempts_lower(job, before)
                if lower or right.reclaims(job, before):
                    victim.is_outranked = lower
                    stoppable.append(victim)
        for team, extras in extra_charges:
            team.reserve(extras)
        return stoppable

    def _extras_in_teams(self) -> list[tuple[TeamCharge, int]]:
        """What one extra of a role counts, and how many: they go before any job is preempted."""
        roles = ((role.quota_request.team, role.extras) for role in self.reclaimable.allocations)
        return [(team, extras) for team, extras in roles if team and extras]

    def _is_lower(self, victim: Victim, preemptor: Preemptor) -> bool:
        """Whether a candidate may be preempted because of its lower priority."""
        may = self.snapshot.limits.preempt or self._stands(victim)
        return may and victim.job.priority < preemptor.priority

    def _stands(self, victim: Victim) -> bool:
        return victim.job.key in self.standing_still

    def _evict(self, *chosen: Victim) -> None:
        for victim in chosen:
            for allocation in victim.allocations:
                extras = allocation in self._resizable
                while allocation.placements:
                    extra = extras and allocation.size > allocation.min_replicas
                    placement = self.reclaimable.evict(allocation) if extra else allocation.evict()
                    victim.evicted.append((allocation, placement))
                self.reclaimable.queue.requeue(allocation)

    def _restore(self, *chosen: Victim) -> None:
        for victim in reversed(chosen):
            while victim.evicted:
                allocation, placement = victim.evicted.pop()
                extras = allocation in self._resizable
                if extras and allocation.size >= allocation.min_replicas:
                    self.reclaimable.restore(allocation, placement)
                else:
                    allocation.restore(placement)
            for allocation in self._resizable.intersection(victim.allocations):
                self.reclaimable.queue.requeue(allocation)

    def _suspend(self, chosen: Sequence[Victim], preemptor: Preemptor) -> None:
        gone = set(chosen)
        if self.snapshot.teams:
            self.snapshot.teams.note_fall()
        self._victims = [victim for victim in self._victims if victim not in gone]
        for victim in sorted(chosen, key=lambda victim: victim.allocations[0].queue_rank):
            outranked = preemptor.scope.right is None or victim.is_outranked
            preempted = reasons.preempted if outranked else reasons.guarantee_reclaimed
            still = self._stands(victim)
            why = why_returns(victim.job) if still else preempted(preemptor.reason)
            self.results.suspended[victim.job.key] = why
            self.results.preempted[victim.job.key] = victim.evicted
            self.results.wait_reasons.pop(victim.job.key, None)
            for priority, freed in self._freed.items():
                if victim.job.priority < priority:
                    victim.release_in(freed, -1)


def _without_needed(victims: Sequence[Victim], preemptor: Preemptor) -> list[Victim]:
    """The victims without those that the claim's pods must run beside; [] if there are none."""
    rules = [request.pod_class.constraints for request in preemptor.requests]
    affinities = [rule.affinity for rule in rules if rule and rule.affinity]
    needed = frozenset(count for affinity in affinities for count in affinity.counts)
    if not needed:
        return []
    carried = [
        (victim, (role.pod_class.constraints for role in victim.allocations)) for victim in victims
    ]
    return [
        victim
        for victim, counted in carried
        if all(rule is None or needed.isdisjoint(rule.carried) for rule in counted)
    ]
