"""Who gets room first: what is started already, then others' pods and the queue, by priority."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from edl import phases, reasons
from edl.feasibility.gpu_shares import Horizon
from edl.model import Demand, Reason, TrainingJob
from edl.planner.packing.node_capacity import Ints
from edl.planner.packing.pod_class import PodSetRequest, reserve_pods
from edl.planner.passes.admission import topology_placement
from edl.planner.passes.admission.claim_order import Claim, claim_order, in_team_order
from edl.planner.passes.admission.empty_cluster import fits_without_training_jobs
from edl.planner.passes.admission.gang import (
    Gang,
    GangSignature,
    admit_roles,
    delays,
    gang_to_start,
    has_previous_pods,
    is_restarting,
)
from edl.planner.passes.admission.node_requests import NodeRequests
from edl.planner.passes.admission.raised_minimums import below_minimum, raise_to_minimum
from edl.planner.passes.admission.room_claims import reserve_for_gang
from edl.planner.passes.displacement import Displacement, moved_allocations
from edl.planner.passes.fit_errors import gang_fit_error
from edl.planner.passes.node_assignment import assign_pending_pods
from edl.planner.passes.preemption import Preemption, Preemptor
from edl.planner.passes.reclaim import Reservation, reserve_capacity
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.colocation import place_on_one_node
from edl.planner.snapshot.decisions import Decisions, record_eviction
from edl.planner.snapshot.quota_balance import QuotaLine
from edl.planner.snapshot.reclaimable import Reclaimable, reclaim_order, reclaim_priority_of
from edl.planner.snapshot.restart_backoff import gang_backoff_until, gang_failure
from edl.planner.snapshot.role_allocation import NO_NODE, Placement, RoleAllocation
from edl.planner.teams.reclaim_priority import (
    ALL_IN_REACH,
    NONE_IN_REACH,
    Margin,
    ReclaimPriority,
    ReclaimScope,
)
from edl.planner.teams.team_balance import TeamCharge

_Question: TypeAlias = tuple[GangSignature, ReclaimPriority, tuple[int, int] | None]
"""What a gang asks for, and what it may take of others for it."""


@dataclass(slots=True)
class AdmissionQueue:
    """Serves the claims of one plan in their order, so that room only gets less meanwhile."""

    snapshot: Snapshot
    decisions: Decisions
    _reclaimable: Reclaimable | None = None
    _preempting: Preemption | None = None
    expects_shrinks: bool = False
    """A job waits for which running jobs will shrink in a moment (`Policy.reclaim_delay`)."""
    _heads: list[Gang] = field(default_factory=list)
    """Gangs that have waited so long that no gang behind starts first if it could delay them."""
    _refused: dict[_Question, Reason] = field(default_factory=dict)
    """What did not fit at a level, and why: asking for the same again would find no more room."""
    _fits_without_jobs: dict[GangSignature, bool] = field(default_factory=dict)
    """Whether it would fit in a cluster without training jobs."""
    _nodes: NodeRequests = field(init=False)

    def __post_init__(self) -> None:
        self._nodes = NodeRequests(self.snapshot, self.decisions)

    @property
    def reclaimable(self) -> Reclaimable:
        """What claims may take: most plans never look."""
        if self._reclaimable is None:
            movable = [
                found for found in self.snapshot.allocations if found.resizable and not found.starts
            ]
            self._reclaimable = Reclaimable(self.snapshot, movable, reclaim_order(self.snapshot))
        return self._reclaimable

    def run(self) -> None:
        snapshot = self.snapshot
        gangs = [
            gang_to_start(snapshot, job, returns=is_restarting(snapshot, job))
            for job in self._startable()
        ]
        halves = [found for found in gangs if found.partial and not self._complete(found)]
        assign_pending_pods(self.snapshot)
        for allocation in self.snapshot.unsettled:
            if allocation.placements:
                self._minimum(allocation)
        for found in halves:
            self._await_rest(found)
        whole = [
            found
            for found in gangs
            if not (found.partial or (found.is_restarting and self._return(found)))
        ]
        claims: list[Claim] = [
            *self.snapshot.demands,
            *whole,
            *below_minimum(self.snapshot),
        ]
        teams = snapshot.teams
        ordered = in_team_order(teams, claims, self._charge) if teams else None
        for claim in ordered or sorted(claims, key=claim_order):
            self._serve(claim)
        self._leave()
        self._nodes.reserve()

    def _serve(self, claim: Claim) -> None:
        if isinstance(claim, Demand):
            self._demand(claim)
        elif isinstance(claim, RoleAllocation):
            self._leave()
            if claim.job.key not in self.decisions.suspended:
                raise_to_minimum(self.snapshot, self.reclaimable, claim)
        else:
            again = claim.is_restarting
            self._gang(gang_to_start(self.snapshot, claim.job) if again else claim)

    def _charge(self, claim: Claim) -> TeamCharge:
        """What it counts in its team as a whole."""
        if isinstance(claim, Demand):
            return self.snapshot.demand_charge(claim, claim.count)
        request = claim.quota_request
        if isinstance(claim, RoleAllocation):
            lacks = max(claim.role.spec.min - claim.size, 0)
            request = self.snapshot.quotas.request_of(claim.job, [(claim.role, lacks)])
        if request is None or request.team is None:
            raise ValueError(f"{claim.job.key}: no team")
        return request.team

    def _startable(self) -> Iterator[TrainingJob]:
        for job in self.snapshot.jobs:
            if any(role.status.suspended for role in job.live):
                if unready := phases.unready(job):
                    self.decisions.hold(job.key, unready)
                else:
                    yield job

    def _minimum(self, allocation: RoleAllocation) -> None:
        """A started role without a node for its minimum takes extras, its own among them."""
        lacking = [
            position
            for position, _, _ in allocation.unscheduled
            if position < allocation.min_replicas
            and allocation.placements[position].node == NO_NODE
        ]
        if not lacking:
            return
        job = allocation.job
        reservation = Reservation(
            self.snapshot.capacity, [PodSetRequest(allocation.pod_class, len(lacking))]
        )
        reason = reasons.room_for_minimum(job.key)
        charge = allocation.quota_request.team if allocation.quota_request else None
        priority = ReclaimPriority(job.priority, Margin.NEARLY_DONE)
        scope = self.snapshot.reclaim_scope(priority, charge, 0)
        reserve_capacity(reservation, self.reclaimable, scope, whole=False)
        self._evicted(reservation.evicted, reason)
        rest = PodSetRequest(allocation.pod_class, len(lacking) - len(reservation.nodes[0]))
        nodes = reservation.nodes[0] + self._preempt(
            Preemptor((rest,), job.priority, scope, reason)
        )
        for position, node in zip(lacking, nodes, strict=False):
            allocation.assign(position, Placement(node, holds_idle=False, is_new=False))
        self._leave()
        self.decisions.hold(job.key, reasons.minimum_pending(job.key))

    def _complete(self, found: Gang) -> bool:
        """A half-done start comes before pods of which only kube-scheduler knows where they go."""
        placed = topology_placement.place_gang(self.snapshot, found) if _allowed(found) else None
        if placed is not None:
            self._admit(*placed, reasons.completed([role.name for role in found.roles]))
        return placed is not None

    def _await_rest(self, found: Gang) -> None:
        self._reserve(found)
        if self.snapshot.has_passed(found.job.started_at, self.snapshot.limits.gang_limit):
            self.decisions.suspended[found.job.key] = gang_failure(self.snapshot, found.job)

    def _return(self, found: Gang) -> bool:
        """A restart comes before the queue: the job ran, and its room is free for this.

        False where that room is gone; then it queues for its minimum like everybody else.
        """
        key = found.job.key
        if not has_previous_pods(self.snapshot, found):
            again = (
                topology_placement.place_on_previous_nodes(self.snapshot, found)
                if _allowed(found)
                else None
            )
            placed = again or self._placed(found)
            if placed is not None:
                self._admit(*placed, found.reason)
            return placed is not None
        reservation = reserve_for_gang(self.snapshot, self.reclaimable, found, NONE_IN_REACH)
        if reservation:
            self.decisions.pipeline(reservation.requests, reservation.nodes)
            self.decisions.hold(key, reasons.PREVIOUS_PODS)
        return reservation is not None

    def _demand(self, demand: Demand) -> None:
        pod_class = self.snapshot.pod_class_state(demand.shape).pod_class
        nodes = reserve_pods(
            self.snapshot.capacity, PodSetRequest(pod_class, demand.count), now=True
        )
        if len(nodes) < demand.count:
            reservation = Reservation(
                self.snapshot.capacity, [PodSetRequest(pod_class, demand.count - len(nodes))]
            )
            reason = reasons.room_for_demand(demand)
            priority = ReclaimPriority(demand.priority, Margin.NEARLY_DONE)
            teams = self.snapshot.teams
            charge = self.snapshot.demand_charge(demand, demand.count) if teams else None
            scope = self.snapshot.reclaim_scope(priority, charge)
            moves = Displacement(self.snapshot, self.reclaimable, reservation, scope, reason).run()
            self.decisions.moves += moves
            reserve_capacity(reservation, self.reclaimable, scope, whole=False)
            self._evicted([*reservation.evicted, *moved_allocations(moves)], reason)
            nodes += reservation.nodes[0]
            rest = PodSetRequest(pod_class, demand.count - len(nodes))
            nodes += self._preempt(Preemptor((rest,), demand.priority, scope, reason))
        if self.snapshot.teams:
            self.snapshot.demand_charge(demand, 1).reserve(len(nodes))
        if nodes:
            self.decisions.pipeline([PodSetRequest(pod_class, len(nodes))], [nodes])

    def _gang(self, found: Gang) -> None:
        key = found.job.key
        self._nodes.hold(found)
        if head := next((one for one in self._heads if self._waits_for(found, one)), None):
            self.decisions.enqueue(key, reasons.goes_first(head.job.key))
        elif until := gang_backoff_until(self.snapshot, found.job):
            self.decisions.enqueue(key, reasons.GANG_AGAIN_LATER, until)
        elif found.quota_request and found.quota_request.head:
            self.decisions.enqueue(key, reasons.goes_first(found.quota_request.head))
        elif not found.job.provisioning.pods and (
            refused := self._refused.get(_question(found, self._scope(found)))
        ):
            self._pass_over(found, refused)
        else:
            self._start(found)

    def _start(self, found: Gang) -> None:
        """Where its provisional pods hold room, it comes in their place."""
        self._nodes.free(found)
        if self._nodes.is_patient(found):
            self._pass_over(found, reasons.PLACED_FIRST)
        elif (
            not has_previous_pods(self.snapshot, found)
            and (placed := self._placed(found)) is not None
        ):
            self._admit(*placed, found.reason)
            return
        elif self._reserve(found):
            return
        self._nodes.free(found, -1)

    def _waits_for(self, found: Gang, head: Gang) -> bool:
        """Not within its guarantee for a gang of another team that would borrow."""
        mine = found.quota_request.team if found.quota_request else None
        theirs = head.quota_request.team if head.quota_request else None
        if mine and theirs and mine.team != theirs.team and mine.is_covered():
            return theirs.is_covered() and delays(found, head)
        return delays(found, head)

    def _placed(self, found: Gang) -> tuple[Gang, topology_placement.NodesByRequest] | None:
        if not _allowed(found):
            return None
        if there := self._nodes.place(found):
            return there
        together = self.snapshot.policy.colocate and not found.job.topology
        at_one = place_on_one_node(self.snapshot, found.requests) if together else None
        return (found, at_one) if at_one else topology_placement.place_gang(self.snapshot, found)

    def _reserve(self, found: Gang) -> bool:
        """Future idle capacity for all pods, or none; they start when it is idle."""
        job, scope = found.job, self._scope(found)
        if found.quota_request and (
            quota := self.reclaimable.exceeded_quota(found.quota_request, scope)
        ):
            self._nodes.drop(found)
            self._above_budget(found, quota, found.quota_request.amount(quota))
            return False
        suspended = len(self.decisions.suspended)
        if reservation := self._claim(found, scope):
            self.decisions.pipeline(reservation.requests, reservation.nodes)
            victims = [*self.decisions.suspended][suspended:]
            donors = {one.job.key for one in reservation.evicted}.union(victims) - {job.key}
            reason = reasons.leaving(found.pods, donors)
            self.decisions.enqueue(
                job.key,
                reasons.PREVIOUS_PODS if has_previous_pods(self.snapshot, found) else reason,
            )
            self._nodes.keep_held(found)
            return True
        reason = gang_fit_error(self.snapshot, found, self._reach(found))
        self._refused[_question(found, scope)] = reason
        less = scope.priority < ReclaimPriority(job.priority)
        self.expects_shrinks = self.expects_shrinks or less
        self._pass_over(found, reason)
        return False

    def _reach(self, found: Gang) -> Ints:
        """The room on `soon`, with what extras hold that yield to a gang now."""
        scope, usual = self._scope(found), ReclaimPriority(found.job.priority)
        most = scope._replace(priority=max(scope.priority, usual))
        return self.reclaimable.capacity.with_idle(most)

    def _scope(self, found: Gang) -> ReclaimScope:
        priority = reclaim_priority_of(self.snapshot, found.job)
        charge = found.quota_request.team if found.quota_request else None
        return self.snapshot.reclaim_scope(priority, charge)

    def _evicted(self, evicted: Iterable[RoleAllocation], reason: Reason) -> None:
        """Replicas that yield to a claim: their teams hold less than before."""
        found = list(evicted)
        record_eviction(found, reason)
        if self.snapshot.teams and found:
            self.snapshot.teams.changes += 1

    def _claim(self, found: Gang, scope: ReclaimScope) -> Reservation | None:
        """Room for all its pods, of extras, then of whole gangs; None, and no change."""
        if found.partial and (reservation := self._claim_of_own(found)):
            return reservation
        job = found.job
        to_start = reasons.room_for_minimum if found.partial else reasons.room_for_job
        reason = to_start(job.key)
        if reservation := reserve_for_gang(self.snapshot, self.reclaimable, found, scope):
            self._evicted(reservation.evicted, reason)
            return reservation
        # Who came to nothing before would suspend them in vain, and again.
        by_priority = self.snapshot.limits.preempt
        if found.failed_before or not (by_priority or scope.reclaims_jobs):
            return None
        room = (
            self.snapshot.capacity_without_training_jobs()
            if job.topology.required
            else self.snapshot.capacity.future_idle
        )
        for kept in topology_placement.restricted_to_domains(
            self.snapshot, found, room, Horizon.EMPTY
        ):
            preemptor = Preemptor(kept.requests, job.priority, scope, reason, by_priority)
            if reservation := self._preemption.run(preemptor, found.quota_request):
                self._evicted(reservation.evicted, reason)
                return reservation
        return None

    def _claim_of_own(self, found: Gang) -> Reservation | None:
        """The rest of a start takes first what its own job has restarted for: that was in vain."""
        own = [
            one
            for one in self.reclaimable.allocations
            if one.job.key == found.job.key and one.restarts_to_resize
        ]
        reservation = Reservation(
            self.snapshot.capacity, list(found.requests), quota_request=found.quota_request
        )
        if not reserve_capacity(
            reservation,
            Reclaimable(self.snapshot, own, reclaim_order(self.snapshot)),
            ALL_IN_REACH,
            whole=True,
        ):
            return None
        self._reclaimable = None  # it knows these roles as they were
        record_eviction(reservation.evicted, reasons.room_for_minimum(found.job.key))
        return reservation

    def _preempt(self, preemptor: Preemptor) -> list[int]:
        """Nodes for as many pods as gangs of a lower priority can make room for."""
        may = self.snapshot.limits.preempt or preemptor.scope.reclaims_jobs
        if not (may and preemptor.requests[0].pods):
            return []
        preemptor = preemptor._replace(by_priority=self.snapshot.limits.preempt)
        return self._preemption.as_many_as_possible(preemptor)

    @property
    def _preemption(self) -> Preemption:
        if self._preempting is None:
            self._preempting = Preemption(self.snapshot, self.decisions, self.reclaimable)
        return self._preempting

    def _leave(self) -> None:
        """Jobs that were suspended leave the plan; what the others hold is read anew."""
        if self._preempting is not None:
            self._preempting.drop_suspended()
            self._preempting = None

    def _pass_over(self, found: Gang, reason: Reason) -> None:
        """Held for want of room; a gang that has waited long is passed no more (backfill)."""
        reason, until = self._nodes.ask(found, reason, partial(self._reach, found))
        self.decisions.enqueue(found.job.key, reason, until)
        patience = self.snapshot.limits.queue_patience
        # Time makes no head of what fits nowhere: no plan is looked at again for it.
        if self._fits_alone(found) and self.snapshot.has_passed(found.job.queued_at, patience):
            self._heads.append(found)

    def _fits_alone(self, found: Gang) -> bool:
        if found.signature not in self._fits_without_jobs:
            self._fits_without_jobs[found.signature] = fits_without_training_jobs(
                self.snapshot, found
            )
        return self._fits_without_jobs[found.signature]

    def _above_budget(self, found: Gang, quota: QuotaLine, needs: int) -> None:
        """Others pass it, but nobody who counts in the same budget for ever."""
        key = found.job.key
        self.decisions.enqueue(key, reasons.in_budget(quota.spec, needs, quota.used))
        # What others hold is not ours to wait for.
        may = needs <= quota.spec.hard - quota.spec.others
        if may and self.snapshot.has_passed(
            found.job.queued_at, self.snapshot.limits.queue_patience
        ):
            quota.head = quota.head or key

    def _admit(self, found: Gang, placed: list[list[int]], reason: Reason) -> None:
        if found.quota_request:
            found.quota_request.reserve(now=True)
        allocations = admit_roles(self.snapshot, found, placed)
        self.snapshot.allocations.extend(allocations)
        self.decisions.admitted[found.job.key] = (reason, allocations)


def _allowed(found: Gang) -> bool:
    """By the budgets of its namespace, now."""
    return found.quota_request is None or found.quota_request.allows(now=True)


def _question(found: Gang, scope: ReclaimScope) -> _Question:
    right = scope.right
    return found.signature, scope.priority, right and (right.team, right.covered_by)
