"""Starts and growth of ungated pods are deferred if they could take capacity reserved for others.

kube-scheduler binds an ungated pod to any node that fits. It does not know of claims, whose pods do
not exist yet, nor of the nodes that gated pods are about to be assigned; and of several shapes,
small pods may take the nodes that a large one needs. Starts take precedence over growth. Gated
starts go before ungated ones, until one of these has waited `queue_patience`: then gated ones
behind it wait until it has its nodes.

Nor do jobs yield to a gang while ungated pods ahead of it could take the capacity that they free.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import chain

from edl import reasons
from edl.model import JobKey, Reason
from edl.planner.packing.pod_class import PodClass
from edl.planner.pass_results import PassResults, PipelinedPods, Start
from edl.planner.passes.admission.precedence import Precedence
from edl.planner.passes.displacement import Displacement, JobsAhead, UnboundPods
from edl.planner.passes.quiet_period import is_on_its_way
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.restarts.job_restart import JobRestart, planned_restarts
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.snapshot.unbound_pods import (
    growing_ungated,
    late_minimum_pods,
    pending_gated_pods,
    pending_ungated_pods,
)


@dataclass(slots=True)
class PlacementOrder:
    """Checks the plan's starts and growth in order, once every replica has its placement."""

    snapshot: Snapshot
    results: PassResults
    _displacement: Displacement = field(init=False)
    _ahead: Counter[PodClass] = field(default_factory=Counter)
    """Ungated pods, by class, that kube-scheduler has yet to bind."""
    _unbound: UnboundPods = field(init=False)
    """The same pods, which it counts, compared with each other."""
    _victims: list[RoleAllocation] = field(default_factory=list)
    """Roles whose jobs are stopped for claims that have yet to be checked, or run on after all."""
    _gated: Counter[PodClass] = field(default_factory=Counter)
    """Gated pods on idle capacity that are not bound, by class."""
    _jobs_ahead: JobsAhead = field(init=False)
    _deferred: list[PipelinedPods] = field(default_factory=list)
    """Deferred starts, with the capacity that stays reserved for them."""
    _left_out: set[RoleAllocation] = field(default_factory=set)
    """The roles of deferred starts."""
    _restarts: list[JobRestart] = field(default_factory=list)
    """Jobs that the plan stops to resize, whose nodes other pods could take meanwhile."""
    _gated_starts: defaultdict[PodClass, list[Start]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """Gated starts by the classes of their pods, in order."""

    def __post_init__(self) -> None:
        self._displacement = Displacement(self.snapshot)
        self._jobs_ahead = JobsAhead(self._displacement)

    def without_waiting(self, unserved: Sequence[RoleAllocation]) -> list[RoleAllocation]:
        """Roles without those whose growth late pods defer: no donor yields to these."""
        late = late_minimum_pods(self.snapshot)
        if not late:
            return [*unserved]
        gated = pending_gated_pods(self.snapshot)
        precedence = Precedence(self.snapshot, [], gated + late, self._displacement.cost)
        self._jobs_ahead.add_roles(self._unsettled(late))
        left: list[RoleAllocation] = []
        for allocation in unserved:
            pods = {allocation.pod_class: 1}
            if allocation.role.template.gated or not precedence.hinders(pods, {}):
                left.append(allocation)
            else:
                allocation.hold.defer(self._jobs_ahead.why_behind(pods))
        return left

    def run(self) -> None:
        """Defer the starts, then the growth, that could take what is reserved for others."""
        self._restarts = planned_restarts(self.snapshot)
        growing = growing_ungated(self.snapshot)
        starts = self.results.starts
        ungated = [start for start in starts if not start.is_gated]
        if not self._may_defer(creates=bool(growing or ungated)):
            return
        coming = chain(*(start.pods for start in ungated), (role.pod_class for role in growing))
        self._unbound = UnboundPods(self.snapshot, self._ahead, coming)
        begun = (
            role for role in self.snapshot.allocations if role.starts and role.role.template.gated
        )
        self._jobs_ahead.add_roles(chain(self._unsettled(self._ahead + self._gated), begun))
        for start in starts if ungated else ():
            for pod_class in start.pods if start.is_gated else ():
                self._gated_starts[pod_class].append(start)
        claims, preempts = self.results.pipelined, self.snapshot.limits.preempt
        under_way = claims if claims and is_on_its_way(self.snapshot, self.results) else []
        # Other owners' pods that come too late claim again: only with preemption a job loses work.
        self._start(ungated, claims if preempts else [one for one in under_way if one.key])
        self._defer_restarts()
        self._grow(growing, under_way)

    def _may_defer(self, *, creates: bool) -> bool:
        """Whether an ungated pod is, or may soon be, without a node: reads the unbound pods.

        `creates`: whether the plan creates ungated pods.
        """
        clears = any(claim.clears for claim in self.results.pipelined)
        if not (creates or clears or self._restarts):
            return False
        evicted = chain.from_iterable(self.results.preempted.values())
        self._victims = [*dict.fromkeys(role for role, _ in evicted)]
        unsettled = [*self.snapshot.unsettled, *self._victims]
        self._ahead = pending_ungated_pods(self.snapshot, unsettled)
        self._gated = pending_gated_pods(self.snapshot)
        return bool(creates or self._ahead or (self._restarts and self.results.waiting))

    def _start(self, starts: Sequence[Start], claims: Sequence[PipelinedPods]) -> None:
        """Check starts and claims in the order in which they were served.

        Later starts leave the capacity of a deferred one to it, as that of a claim.
        """
        forced = [restart for restart in self._restarts if not restart.may_wait]
        self._jobs_ahead.add_roles(chain.from_iterable(restart.gated for restart in forced))
        precedence = self._precedence(claims, self._gated, forced)
        unchecked = deque(enumerate(claims))
        for start in starts:
            while unchecked and unchecked[0][1].admitted_before <= start.number:
                self._claim(precedence, *unchecked.popleft())
            self._start_or_defer(precedence, start)
        for index, claim in unchecked:
            self._claim(precedence, index, claim)
        self._leave(self.results.suspended)
        self.snapshot.unsettled += self._victims
        self._queue_deferred()

    def _start_or_defer(self, precedence: Precedence, start: Start) -> None:
        """Defer a start if it hinders others; if it is late, gated ones behind it first."""
        pods = start.pods
        displaced = [*precedence.displaced(pods, self._ahead)]
        if behind := self._gated_behind(precedence, start, displaced):
            why = reasons.placed_after([start.key])
            precedence.reserved += [self._requeue(later, why) for later in behind]
            displaced = [*precedence.displaced(pods, self._ahead)]
        hinders = displaced or precedence.takes_any_before(start.number, pods, self._ahead)
        if hinders or not start.within_quota or (self._ahead and self._unbound.collide(pods)):
            precedence.reserved.append(self._requeue(start, self._jobs_ahead.why_behind(pods)))
        else:
            self._unbound.add(pods)
        for served in (start, *behind):
            self._jobs_ahead.add(served.key, served.pods)

    def _precedence(
        self,
        reserved: Iterable[PipelinedPods],
        gated: Counter[PodClass],
        restarts: Sequence[JobRestart],
    ) -> Precedence:
        """Checks with these gated pods, and those of jobs that restart."""
        gated = sum((restart.pods for restart in restarts), gated)
        leaving = frozenset(chain.from_iterable(restart.gated for restart in restarts))
        cost, kept_harm = self._displacement.cost, self._unbound.kept_harm
        return Precedence(self.snapshot, [*reserved], gated, cost, kept_harm, leaving)

    def _defer_restarts(self) -> None:
        """Defer restarts for growth whose nodes pods ahead could take while the job is stopped."""
        may_wait = [restart for restart in self._restarts if restart.may_wait]
        ahead = self._ahead + self.results.waiting
        if not (may_wait and ahead):
            return
        precedence = self._precedence([], self._gated, self._restarts)
        displaced = frozenset(precedence.displaced(ahead, {}))
        for restart in may_wait:
            if not displaced.isdisjoint(restart.pods):
                for allocation in restart.resized:
                    defer_growth(allocation, self._jobs_ahead.why_behind([allocation.pod_class]))
                self._restarts.remove(restart)

    def _gated_behind(
        self, precedence: Precedence, start: Start, displaced: Sequence[PodClass]
    ) -> list[Start]:
        """Gated starts of these classes, behind one that has waited for long; left out.

        Else gated starts that keep coming would keep it from starting for ever.
        """
        patience = self.snapshot.limits.queue_patience
        contested = self._gated_starts and displaced
        if not (contested and self.snapshot.clock.waited_or_recheck(start.job, patience)):
            return []
        behind = dict[JobKey, Start]()
        for waiting in map(self._gated_starts.__getitem__, displaced):
            while waiting and waiting[-1].number > start.number:
                later = waiting.pop()
                if later.key in self.results.admitted:
                    behind.setdefault(later.key, later)
        for later in behind.values():
            precedence.leave_out(later.pods)
            self._jobs_ahead.remove(later.key, later.pods)
        return [*behind.values()]

    def _claim(self, precedence: Precedence, index: int, claim: PipelinedPods) -> None:
        """Defer what jobs would yield to a claim, if pods ahead of it could take that.

        Deferred starts do not count: they may wait for long, for the gangs before them.
        """
        if claim.key is None:
            return
        classes = [request.pod_class for request in claim.requests]
        victims = self.results.victims_of(claim.key) if claim.clears else ()
        ahead = self._ahead - self._late_pods(victims)
        if claim.clears and precedence.takes(index, ahead, {}):
            self.results.requeue(claim.key, self._jobs_ahead.why_behind(classes))
        else:
            self._leave(victims)
        self._jobs_ahead.add(claim.key, classes)

    def _late_pods(self, victims: Container[JobKey]) -> Counter[PodClass]:
        """Pods of these victims that kube-scheduler has yet to bind, if the jobs run on."""
        roles = (role for role in self._victims if role.job.key in victims)
        return pending_ungated_pods(self.snapshot, roles)

    def _leave(self, victims: Container[JobKey]) -> None:
        """Count no pods of victims that are stopped."""
        self._unbound.remove(self._late_pods(victims))
        self._victims = [role for role in self._victims if role.job.key not in victims]

    def _grow(self, growing: Sequence[RoleAllocation], claims: Sequence[PipelinedPods]) -> None:
        if not growing:
            return
        late = late_minimum_pods(self.snapshot)
        restarting = chain.from_iterable(restart.gated for restart in self._restarts)
        self._jobs_ahead.add_roles(chain(self._unsettled(late), restarting))
        reserved = (*claims, *self._deferred)
        precedence = self._precedence(reserved, self._gated + late, self._restarts)
        refused: dict[PodClass, int] = {}
        """Per class, the smallest deferred growth: `_ahead` only grows, so larger ones wait too."""
        for allocation in self._displacement.in_turn(growing, self._unbound):
            if late:
                self._defer_harmful(allocation, precedence)
            pod_class, created = allocation.pod_class, allocation.created
            pods, least = Counter({pod_class: created}), refused.get(pod_class, created + 1)
            waits = created >= least
            if waits or precedence.hinders(pods, self._ahead) or self._unbound.collide(pods):
                refused[pod_class] = min(created, least)
                defer_growth(allocation, self._jobs_ahead.why_behind([pod_class]))
            else:
                self._unbound.add(pods)
                self._jobs_ahead.add_roles([allocation])

    def _defer_harmful(self, allocation: RoleAllocation, precedence: Precedence) -> None:
        """Defer the replicas that could take what late pods need, if others could not."""
        pod_class, created = allocation.pod_class, allocation.created
        harmless = precedence.harmless(pod_class, created, self._ahead)
        if 0 < harmless < created:
            allocation.pipeline_last(created - harmless)
            allocation.hold.defer(self._jobs_ahead.why_behind([pod_class]))
            if not allocation.restarts_to_resize:  # patience is for terminating pods
                allocation.hold.patience = timedelta()

    def _unsettled(self, classes: Container[PodClass]) -> Iterator[RoleAllocation]:
        """Roles with pods of these classes that kube-scheduler has yet to bind."""
        unsettled = (*self.snapshot.unsettled, *self._victims)
        return (role for role in unsettled if role.pod_class in classes)

    def _requeue(self, start: Start, reason: Reason) -> PipelinedPods:
        """Defer a start: the job is queued again, and its capacity stays reserved in this plan.

        Returns the reservation beside its placements, which hold the capacity already. It keeps no
        quota that only a deferred claim would have released.
        """
        if not start.within_quota:
            start.release_quota()
        del self.results.admitted[start.key]
        reservation = start.reservation
        self._deferred.append(reservation)
        self._left_out.update(start.allocations)
        self.results.enqueue(start.key, reason)
        return reservation._replace(nodes=())

    def _queue_deferred(self) -> None:
        if not self._left_out:
            return
        self.snapshot.allocations = [
            allocation
            for allocation in self.snapshot.allocations
            if allocation not in self._left_out
        ]
        self.snapshot.clock.rechecks.append(self.snapshot.limits.pending_limit)
        self.results.queue.sort(key=self.snapshot.queue_ranks.__getitem__)


def defer_growth(allocation: RoleAllocation, reason: Reason = reasons.PLACEMENT_ORDER) -> None:
    """Turn its growth into pipelined replicas, until jobs with precedence have their nodes."""
    allocation.hold.defer(reason)
    allocation.pipeline_last(allocation.growth)
