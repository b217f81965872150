"""Starts and growth of ungated pods are deferred if they could take capacity reserved for others.

kube-scheduler binds an ungated pod to any node that fits. It does not know of claims, whose pods do
not exist yet, nor of the nodes that gated pods are about to be assigned; and of several shapes,
small pods may take the nodes that a large one needs. Starts take precedence over growth. Gated
starts go before ungated ones, until one of these has waited `queue_patience`: then gated ones
behind it wait until it has its nodes.

Nor do jobs yield to a gang while ungated pods ahead of it could take the capacity that they free.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import chain
from typing import Final

from edl import reasons
from edl.feasibility.horizon import Horizon
from edl.model import JobKey, Reason
from edl.planner.packing.pod_class import PodClass
from edl.planner.pass_results import PassResults, PipelinedPods, Start
from edl.planner.passes.admission.precedence import Precedence, max_displaced
from edl.planner.passes.quiet_period import is_on_its_way
from edl.planner.snapshot import last_resizes
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.snapshot.unbound_pods import (
    growing_ungated,
    late_minimum_pods,
    pending_gated_pods,
    pending_ungated_pods,
)

_NAMED: Final = 3
"""The most jobs that a reason to wait names."""


@dataclass(slots=True)
class PlacementOrder:
    """Checks the plan's starts and growth in order, once every replica has its placement."""

    snapshot: Snapshot
    results: PassResults
    _ahead: Counter[PodClass] = field(default_factory=Counter)
    """Ungated pods, by class, that kube-scheduler has yet to bind."""
    _first: defaultdict[PodClass, dict[JobKey, None]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    """By class, jobs with pods that come first and have no nodes yet, gated or not, in order.

    One more of each class than a reason names: there may be thousands.
    """
    _capacity: dict[PodClass, int] = field(default_factory=dict)
    _costs: dict[tuple[PodClass, PodClass], int] = field(default_factory=dict)
    _reasons: dict[frozenset[PodClass], Reason] = field(default_factory=dict)
    """By classes that wait, the reason, until other jobs come first (`_first`)."""
    _deferred: list[PipelinedPods] = field(default_factory=list)
    """Deferred starts, with the capacity that stays reserved for them."""
    _left_out: set[RoleAllocation] = field(default_factory=set)
    """The roles of deferred starts."""
    _gated_starts: defaultdict[PodClass, list[Start]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """Gated starts by the classes of their pods, in order."""

    def without_waiting(self, stuck: Sequence[RoleAllocation]) -> list[RoleAllocation]:
        """Roles without those whose growth late pods defer: no donor yields to these."""
        late = late_minimum_pods(self.snapshot)
        if not late:
            return [*stuck]
        kept = Precedence(self.snapshot, [], pending_gated_pods(self.snapshot) + late, self._cost)
        jobs = (one for one in self.snapshot.unsettled if one.pod_class in late)
        self._come_first((one.pod_class, one.job.key) for one in jobs)
        left: list[RoleAllocation] = []
        for one in stuck:
            if one.role.template.gated or not kept.hinders({one.pod_class: 1}, {}):
                left.append(one)
            else:
                one.hold.defer(self._why([one.pod_class]))
        return left

    def run(self) -> None:
        growing = growing_ungated(self.snapshot)
        claims = self.results.pipelined
        starts = self.results.starts
        ungated = [one for one in starts if not one.is_gated]
        if not (growing or ungated or any(claim.clears for claim in claims)):
            return
        self._ahead, gated = pending_ungated_pods(self.snapshot), pending_gated_pods(self.snapshot)
        if not (growing or ungated or self._ahead):
            return
        coming = self._ahead + gated
        waiting = (one for one in self.snapshot.unsettled if one.pod_class in coming)
        begun = (one for one in self.snapshot.allocations if one.starts and one.role.template.gated)
        self._come_first((one.pod_class, one.job.key) for one in chain(waiting, begun))
        under_way = claims if claims and is_on_its_way(self.snapshot, self.results) else []
        # Other owners' pods that come too late claim again: only with preemption a job loses work.
        all_claims = claims if self.snapshot.limits.preempt else under_way
        waited_for = [one for one in all_claims if one.key or self.snapshot.limits.preempt]
        for start in starts if ungated else ():
            for pod_class in start.pods if start.is_gated else ():
                self._gated_starts[pod_class].append(start)
        self._start(ungated, gated, waited_for)
        self._grow(growing, gated, under_way)

    def _start(
        self, starts: Sequence[Start], gated: Counter[PodClass], claims: Sequence[PipelinedPods]
    ) -> None:
        """Check starts and claims in the order in which they were served.

        Later starts leave the capacity of a deferred one to it, as that of a claim.
        """
        first, left = [*claims], deque(enumerate(claims))
        kept = Precedence(self.snapshot, first, gated, self._cost)
        for start in starts:
            while left and left[0][1].admitted_before <= start.number:
                self._claim(kept, *left.popleft())
            number, pods = start.number, start.pods
            displaced = [*kept.displaced(pods, self._ahead)]
            if behind := self._gated_behind(kept, start, displaced):
                first += [self._defer(one, reasons.placed_after([start.key])) for one in behind]
                displaced = [*kept.displaced(pods, self._ahead)]
            hinders = displaced or kept.takes_claimed(number, pods, self._ahead)
            if hinders or (self._ahead and self._collides(pods)):
                first.append(self._defer(start, self._why(pods)))
            else:
                self._ahead += pods
            for one in (start, *behind):
                self._come_first((pod_class, one.key) for pod_class in one.pods)
        while left:
            self._claim(kept, *left.popleft())
        self._queue_deferred()

    def _gated_behind(
        self, kept: Precedence, start: Start, displaced: Sequence[PodClass]
    ) -> list[Start]:
        """Gated starts of these classes, behind one that has waited for long; left out.

        Else gated starts that keep coming would keep it from starting for ever.
        """
        patience = self.snapshot.limits.queue_patience
        contested = self._gated_starts and displaced
        if not (contested and self.snapshot.clock.waited_or_recheck(start.job, patience)):
            return []
        found: dict[JobKey, Start] = {}
        for waiting in map(self._gated_starts.__getitem__, displaced):
            while waiting and waiting[-1].number > start.number:
                later = waiting.pop()
                if later.key in self.results.admitted:
                    found.setdefault(later.key, later)
        for later in found.values():
            kept.leave_out(later.pods)
            for pod_class in later.pods:
                self._first[pod_class].pop(later.key, None)
        self._reasons.clear()
        return [*found.values()]

    def _claim(self, kept: Precedence, index: int, claim: PipelinedPods) -> None:
        """Defer what jobs would yield to a claim, if pods ahead of it could take that.

        Deferred starts do not count: they may wait for long, for the gangs before them.
        """
        if claim.key is None:
            return
        classes = [request.pod_class for request in claim.requests]
        if claim.clears and kept.takes(index, self._ahead, {}):
            self.results.defer(claim.key, self._why(classes))
        self._come_first((pod_class, claim.key) for pod_class in classes)

    def _grow(
        self,
        growing: Sequence[RoleAllocation],
        gated: Counter[PodClass],
        claims: Sequence[PipelinedPods],
    ) -> None:
        if not growing:
            return
        late = late_minimum_pods(self.snapshot)
        waiting = (one for one in self.snapshot.unsettled if one.pod_class in late)
        self._come_first((one.pod_class, one.job.key) for one in waiting)
        promises = [*claims, *self._deferred]
        kept = Precedence(self.snapshot, promises, gated + late, self._cost)
        refused: dict[PodClass, int] = {}
        """Per class, the smallest deferred growth: `_ahead` only grows, so larger ones wait too."""
        for one in self._in_turn(growing):
            part = kept.harmless(one.pod_class, one.created, self._ahead) if late else 0
            if 0 < part < one.created:
                one.defer(one.created - part)
                one.hold.defer(self._why([one.pod_class]))
                if not one.restarts_to_resize:  # patience is for terminating pods
                    one.hold.patience = timedelta()
            pods = Counter({one.pod_class: one.created})
            waits = one.created >= refused.get(one.pod_class, one.created + 1)
            if waits or kept.hinders(pods, self._ahead) or self._collides(pods):
                refused[one.pod_class] = min(one.created, refused.get(one.pod_class, one.created))
                defer_growth(one, self._why([one.pod_class]))
            else:
                self._ahead += pods
                self._come_first([(one.pod_class, one.job.key)])

    def _in_turn(self, growing: Sequence[RoleAllocation]) -> list[RoleAllocation]:
        """The order of growth: first roles whose pods may not fit beside all others.

        Among these the least satisfied comes first, as rebalancing would give it replicas in the
        next plan. Roles that have just donated a replica come last, after their recipients.
        """
        policy, together = self.snapshot.policy, self._ahead.copy()
        for one in growing:
            together[one.pod_class] += one.created
        scarce = {
            pod_class for pod_class in together if self._may_stay_pending(pod_class, together)
        }

        def turn(allocation: RoleAllocation) -> tuple[bool, bool, float, float, int]:
            gave = last_resizes.gave_replica(policy.rebalance_code, allocation.role)
            fits = allocation.pod_class not in scarce
            share = policy.satisfaction(allocation, allocation.allocated - allocation.growth)
            return gave, fits, share, -allocation.cluster_fraction, allocation.rank

        return sorted(growing, key=turn)

    def _come_first(self, jobs: Iterable[tuple[PodClass, JobKey]]) -> None:
        for pod_class, key in jobs:
            found = self._first[pod_class]
            if len(found) <= _NAMED:
                found[key] = None
                self._reasons.clear()

    def _why(self, waiting: Iterable[PodClass]) -> Reason:
        """The reason to wait, with jobs whose pods may use the same nodes and come first."""
        classes = frozenset(waiting)
        if classes not in self._reasons:
            found: dict[JobKey, None] = {}
            for other, jobs in self._first.items():
                if any(self._cost(other, mine) for mine in classes):
                    found |= jobs
            several = len(found) > _NAMED
            self._reasons[classes] = reasons.placed_after([*found][:_NAMED], others=several)
        return self._reasons[classes]

    def _collides(self, pods: Counter[PodClass]) -> bool:
        """Whether these pods, or pods ahead of them, may stay pending if all are created."""
        after = self._ahead + pods
        met = (
            pod_class for pod_class in after if any(self._cost(pod_class, other) for other in pods)
        )
        return any(self._may_stay_pending(pod_class, after) for pod_class in met)

    def _may_stay_pending(self, pod_class: PodClass, coming: Counter[PodClass]) -> bool:
        others = ((other, pods) for other, pods in coming.items() if other is not pod_class)
        harm = sum(pods * self._cost(pod_class, other) for other, pods in others)
        return harm > 0 and self._room(pod_class) - harm < coming[pod_class]

    def _room(self, pod_class: PodClass) -> int:
        """How many pods of a class fit if no other pods are created."""
        if pod_class not in self._capacity:
            room = pod_class.pods_by_capacity(
                self.snapshot.capacity.observed_idle, Horizon.OBSERVED
            )
            self._capacity[pod_class] = int(room.sum())
        return self._capacity[pod_class]

    def _cost(self, pod_class: PodClass, other: PodClass) -> int:
        """The most pods of a class that one pod of another class may displace."""
        pair = (pod_class, other)
        if pair not in self._costs:
            meet = pod_class is other or bool((pod_class.eligible & other.eligible).any())
            self._costs[pair] = max_displaced(pod_class, other) if meet else 0
        return self._costs[pair]

    def _defer(self, start: Start, reason: Reason) -> PipelinedPods:
        """Defer a start: the job is queued again, and its capacity stays reserved in this plan.

        Returns the reservation beside its placements, which hold the capacity already.
        """
        del self.results.admitted[start.key]
        found = start.reservation
        self._deferred.append(found)
        self._left_out.update(start.allocations)
        self.results.enqueue(start.key, reason)
        return found._replace(nodes=())

    def _queue_deferred(self) -> None:
        if not self._left_out:
            return
        self.snapshot.allocations = [
            one for one in self.snapshot.allocations if one not in self._left_out
        ]
        self.snapshot.clock.rechecks.append(self.snapshot.limits.pending_limit)
        self.results.queue.sort(key=self.snapshot.queue_ranks.__getitem__)


def defer_growth(allocation: RoleAllocation, reason: Reason = reasons.PLACEMENT_ORDER) -> None:
    """Turn its growth into pipelined replicas, until jobs with precedence have their nodes."""
    allocation.hold.defer(reason)
    allocation.defer(allocation.growth)
