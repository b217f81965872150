"""Claims of gangs: each starts on idle capacity, reserves future idle capacity, or waits."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from edl import reasons
from edl.feasibility.horizon import FUTURE_IDLE, IDLE
from edl.model import JobKey, Reason
from edl.model.causes.scarcity import Shortage
from edl.planner.fit_errors.fit_error import gang_fit_error
from edl.planner.gangs import topology_placement
from edl.planner.gangs.gang import Gang, admit_roles, has_previous_pods, holds_nodes, why_unreserved
from edl.planner.gangs.topology_placement import AttainedCapacity, NodesByRequest
from edl.planner.packing.pack_order import reserve_nodes_in_some_order
from edl.planner.pass_results import PassResults
from edl.planner.passes.admission.claim_sources import ClaimSources
from edl.planner.passes.admission.node_requests import NodeRequests
from edl.planner.passes.admission.queue_heads import QueueHeads
from edl.planner.passes.admission.refused_gangs import RefusedGangs
from edl.planner.plan import is_never
from edl.planner.reclaiming.reservation import Reservation
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.colocation import place_on_one_node
from edl.planner.snapshot.quota_balance import NOT_COUNTED, QuotaLine
from edl.planner.snapshot.restart_backoff import gang_backoff, with_failed_starts
from edl.planner.teams.reclaim_priority import NONE_IN_REACH, ReclaimPriority


@dataclass(slots=True)
class GangClaims:
    """Serves gangs in order; a gang equal to one that did not fit is refused without a search."""

    sources: ClaimSources
    expects_shrinks: bool = False
    """Running jobs will soon scale down for a queued job (`Policy.reclaim_delay`)."""
    snapshot: Snapshot = field(init=False)
    results: PassResults = field(init=False)
    heads: QueueHeads = field(init=False)
    nodes: NodeRequests = field(init=False)
    _refused: RefusedGangs = field(init=False)

    def __post_init__(self) -> None:
        self.snapshot, self.results = self.sources.snapshot, self.sources.results
        self.nodes = NodeRequests(self.snapshot, self.results)
        self.heads, self._refused = QueueHeads(self.sources), RefusedGangs(self.sources)

    def complete(self, gang: Gang) -> bool:
        """Start the remaining roles of a partial start on idle capacity; False if they do not fit.

        This precedes the placement of ungated pods, whose nodes only kube-scheduler knows.
        """
        may = gang.quota_request.allows(IDLE) and not has_previous_pods(self.snapshot, gang)
        placed = topology_placement.place_gang(self.snapshot, gang) if may else None
        if placed is not None:
            self.admit(*placed, reasons.completed([role.name for role in gang.roles]))
        return placed is not None

    def take_back(self, gang: Gang) -> bool:
        """Suspend a partial start that was not completed within the gang limit; whether it was.

        A Job that was created again waits since then, beside the roles that run.
        """
        times = (gang.job.started_at, *(role.status.suspended_at for role in gang.roles))
        since = max(filter(None, times), default=None)
        late = self.snapshot.clock.elapsed_or_recheck(since, self.snapshot.limits.gang_limit)
        if why_unreserved(self.snapshot, gang) != reasons.PODS_STUCK:
            late = late and not has_previous_pods(self.snapshot, gang)
        if not late or gang.job.keeps_running:
            return False
        why = with_failed_starts(self.snapshot, gang.job, reasons.GANG_UNSCHEDULABLE_COMPLETION)
        self.results.suspended[gang.job.key] = why
        return True

    def serve(self, gang: Gang) -> None:
        """Start a gang, reserve what it needs, or enqueue it with the reason why it waits."""
        key, reserved_for = gang.job.key, gang.quota_request.head
        if unreserved := why_unreserved(self.snapshot, gang):  # it becomes no head
            self.results.enqueue(key, unreserved)
            return
        self.nodes.keep(gang)
        head = self.heads.delayed_by(gang)
        if head and self._may_ever_start(gang):
            self._serve_behind(head, gang)
            return
        if backoff := gang_backoff(self.snapshot, gang.job):
            self.results.enqueue(key, *backoff)
            return
        if reserved_for and self._may_ever_start(gang):
            self.results.enqueue(key, reasons.goes_first(reserved_for))
            return
        requests = gang.job.provisioning.has_requests
        refused = None if requests else self._refused.reason_of_equal(gang)
        if refused:
            self._pass_over(gang, refused)
            return
        patient = self.nodes.is_patient(gang)
        self._start(gang, partial(self.reserve, patient=patient), waits=patient)

    def _serve_behind(self, head: Gang, gang: Gang) -> None:
        """Enqueue a gang that would delay a head, unless it starts on what jobs just yielded."""
        if self._waited_long(gang):
            self.heads.add_behind(gang)
        if self.heads.yielded_before(gang, head) and self._start_on_yielded(gang):
            return
        self.results.enqueue(gang.job.key, reasons.goes_first(head.job.key))

    def _start(self, gang: Gang, reserve: Callable[[Gang], bool], *, waits: bool = False) -> bool:
        """Start a gang, unless it waits, or reserve; whether that was possible.

        It may use the capacity that its provisional pods hold.
        """
        self.nodes.provisioner.release_bound(gang)
        waits = waits or has_previous_pods(self.snapshot, gang)
        if not waits and (placed := self.placed(gang)):
            self.admit(*placed, gang.reason)
        elif not reserve(gang):
            self.nodes.provisioner.restore_bound(gang)
            return False
        return True

    def _start_on_yielded(self, gang: Gang) -> bool:
        """Start a gang, or reserve what becomes idle soon; no further job yields to it.

        False if it fits neither.
        """
        held_back = gang.quota_request.head or gang_backoff(self.snapshot, gang.job)
        return not held_back and self._start(gang, self._reserve_idle)

    def placed(self, gang: Gang) -> tuple[Gang, NodesByRequest] | None:
        """Reserve idle capacity for a gang. None, and no change, if it does not fit."""
        if self.nodes.lacks_quota(gang):
            return None
        if there := self.nodes.provisioner.place(gang):
            return there
        together = self.snapshot.policy.colocate and not gang.job.topology
        at_one = place_on_one_node(self.snapshot, gang.requests) if together else None
        return (gang, at_one) if at_one else topology_placement.place_gang(self.snapshot, gang)

    def reserve(self, gang: Gang, *, patient: bool = False) -> bool:
        """Reserve future idle capacity for all pods, which start once it is idle; else pass over.

        `patient`: if its quotas admit it, the gang is passed over while nodes for extras are due.
        """
        scope, request = self.sources.scope_of(gang), gang.quota_request
        never = request.never_allowed_by
        quota = never or self.sources.reclaimable.quotas.exceeded(request, scope)
        if quota and (never or not (scope.reclaims_jobs and quota.spec.spans_namespaces)):
            self._exceeds_quota(gang, quota)
            return False
        if patient:
            self._pass_over(gang, reasons.PLACEMENT_ORDER)
            return False
        if holds_nodes(self.snapshot, gang):
            if not (reserved := self._reserve_idle(gang)):
                self.results.enqueue(gang.job.key, reasons.PODS_TERMINATING)
                self._add_head(gang)
            return reserved
        suspended = len(self.results.suspended)
        if reservation := self.sources.claim(gang, scope):
            self._pipeline(gang, reservation, [*self.results.suspended][suspended:])
            return True
        if quota:
            self._exceeds_quota(gang, quota)
            return False
        reason = gang_fit_error(self.snapshot, gang, partial(self.sources.attained, gang, scope))
        self._refused.add(gang, scope, reason)
        self.expects_shrinks |= scope.priority < ReclaimPriority(gang.job.priority)
        self._pass_over(gang, reason)
        return False

    def _reserve_idle(self, gang: Gang) -> bool:
        """Reserve what becomes idle soon for a gang; no job yields to it."""
        if reservation := self.sources.reserve(gang, NONE_IN_REACH):
            self._pipeline(gang, reservation)
        return reservation is not None

    def _add_head(self, gang: Gang) -> None:
        # One that fits nowhere never becomes a head, and needs no recheck by time.
        if self.sources.without_jobs.fits(gang) and self._waited_long(gang):
            self.heads.add(gang)

    def _pipeline(
        self, gang: Gang, reservation: Reservation, victims: Iterable[JobKey] = ()
    ) -> None:
        """Keep the capacity that is reserved for a gang, which waits until it is idle."""
        key, evicted = gang.job.key, reservation.evicted
        donors = {role.job.key for role in evicted}.union(victims) - {key}
        if not (evicted or donors) and self._start_there(gang, reservation):
            return
        placed = (reservation.requests, reservation.nodes)
        self.results.pipeline(*placed, key, clears=bool(donors), evicted=evicted)
        self.results.claimed_quota[key] = reservation.quota_request
        previous = has_previous_pods(self.snapshot, gang)
        reason = reasons.PODS_TERMINATING if previous else reasons.leaving(gang.pods, donors)
        self.results.enqueue(key, reason)
        self.nodes.keep_provisioned(gang)

    def _start_there(self, gang: Gang, reservation: Reservation) -> bool:
        """Start a gang on the nodes reserved for it, if these are idle already.

        A claim may find nodes that a search of idle capacity alone has missed.
        """
        nodes, quota_request = reservation.nodes, reservation.quota_request
        candidate = topology_placement.kept_at(self.snapshot, gang, nodes)
        if candidate is None or has_previous_pods(self.snapshot, gang):
            return False
        quota_request.release(FUTURE_IDLE)
        pairs = [*zip(reservation.requests, nodes, strict=True)]
        for request, there in pairs:
            request.pod_class.future_idle.unreserve_pods(there)
        if not self.nodes.lacks_quota(gang) and reserve_nodes_in_some_order(
            candidate.requests, nodes
        ):
            self.admit(candidate, nodes, gang.reason)
            return True
        for request, there in pairs:
            for node in there:
                request.pod_class.future_idle.reserve(node)
        quota_request.reserve(FUTURE_IDLE)
        return False

    def _pass_over(self, gang: Gang, reason: Reason) -> None:
        """Enqueue a gang that does not fit; others may start before it (backfill).

        After `queue_patience` it becomes a head, which later gangs may not delay.
        """
        self._enqueue(gang, self.nodes.request(gang, reason, partial(self.sources.attained, gang)))
        self._add_head(gang)

    def _enqueue(self, gang: Gang, reason: Reason) -> None:
        if gang.quota_request is not NOT_COUNTED and gang.job.key in self.results.requests:
            self._refused.clear()  # requested pods count in quotas, so others' reasons may change
        self.results.enqueue(gang.job.key, reason)

    def _waited_long(self, gang: Gang) -> bool:
        return self.snapshot.clock.waited_or_recheck(gang.job, self.snapshot.limits.queue_patience)

    def _may_ever_start(self, gang: Gang) -> bool:
        """Whether its quotas ever admit it, and it fits nodes without jobs or that may be added."""
        fits = self.sources.without_jobs.has_capacity_for(gang) or self.nodes.may_request(gang)
        return fits and gang.quota_request.never_allowed_by is None

    def _exceeds_quota(self, gang: Gang, quota: QuotaLine) -> None:
        """Enqueue a gang that exceeds a quota; after `queue_patience` the quota is reserved for it.

        Until then, other jobs that count in the same quota may start before it. A gang that would
        never fit any nodes has no place in the queue, whatever its quotas.
        """
        key, request = gang.job.key, gang.quota_request
        reason = reasons.insufficient_quota(quota.spec, request.amount(quota), quota.used)
        if quota.spec.lendable and self.nodes.may_request_all(gang):
            waits = self.nodes.request_all(gang, reason)
            if waits is reason:
                waits = self._lacks_more(gang, reason, self.sources.within_reach) or reason
            self._enqueue(gang, waits)
            return
        self.nodes.drop(gang)
        fits = self.sources.without_jobs.fits(gang) or self.nodes.may_request(gang)
        if quota.spec.lendable:
            reason = self._lacks_more(gang, reason, self.sources.attained) or reason
        elif not fits:
            error = gang_fit_error(self.snapshot, gang, partial(self.sources.attained, gang))
            reason = error if is_never(error) else reason
        self.results.enqueue(key, reason)
        # Usage by other workloads may never fall, so the quota is not reserved because of it.
        if fits and request.fits_beside_others and self._waited_long(gang):
            quota.head = quota.head or key

    def _lacks_more(
        self, gang: Gang, reason: Reason, attained: Callable[[Gang], AttainedCapacity]
    ) -> Reason | None:
        """Why a gang does not fit even with what teams keep; None if that alone refuses it.

        Extras that yield once it has waited `reclaim_delay` count as its room.
        """
        charge, idle = gang.quota_request.team, self.snapshot.capacity.future_idle
        near = topology_placement.closest_fit(self.snapshot, gang, idle, FUTURE_IDLE)
        if near and near[1] == gang.pods and not is_never(reason):  # extras may yield to it
            return None
        error = gang_fit_error(self.snapshot, gang, partial(attained, gang))
        if is_never(error) and self.nodes.may_request(gang):
            return None
        fits = isinstance(error.about, Shortage) and error.about.fitting == gang.pods
        scope, quotas = self.sources.full_scope(gang), self.sources.reclaimable.quotas
        return None if fits and charge and quotas.unlent(charge, scope) else error

    def admit(self, gang: Gang, placed: list[list[int]], reason: Reason) -> None:
        """Start a gang on nodes whose capacity is reserved."""
        gang.quota_request.reserve(IDLE)
        allocations = admit_roles(self.snapshot, gang, placed)
        self.snapshot.allocations.extend(allocations)
        self.results.admitted[gang.job.key] = (reason, allocations)
