"""What claims may take from running jobs in one plan: extra replicas, and whole gangs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from edl import reasons
from edl.feasibility.horizon import FUTURE_IDLE, Horizon
from edl.job_state.lost_pods import longest_wait, stands_still
from edl.model import Demand, JobKey, Reason, TrainingJob
from edl.planner.gangs import topology_placement
from edl.planner.gangs.empty_cluster import EmptyCluster
from edl.planner.gangs.gang import Gang
from edl.planner.gangs.topology_placement import AttainedCapacity
from edl.planner.packing.pod_class import PodSetRequest
from edl.planner.pass_results import PassResults, record_eviction
from edl.planner.passes.preemption.preemption import Preemption, Preemptor
from edl.planner.passes.suspensions import drop_suspended
from edl.planner.reclaiming.capacity_claim import reserve_capacity
from edl.planner.reclaiming.gang_reservation import GangReservation, reservation_of
from edl.planner.reclaiming.reservation import Reservation
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.existing_placements import is_lost
from edl.planner.snapshot.extras.reclaimable import Reclaimable, reclaim_order, reclaim_priority_of
from edl.planner.snapshot.extras.team_extras import TeamExtras
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.reclaim_priority import ALL_IN_REACH, ReclaimPriority, ReclaimScope
from edl.planner.teams.team_charge import TeamCharge
from edl.planner.teams.team_guarantees import NO_TEAM


@dataclass(slots=True)
class ClaimSources:
    """Shared by all claims of a plan, and built on first use, which most plans do not need."""

    snapshot: Snapshot
    results: PassResults
    without_jobs: EmptyCluster = field(init=False)
    _reclaimable: Reclaimable | None = None
    _team_extras: TeamExtras | None = None
    _preempting: Preemption | None = None
    standing_still: frozenset[JobKey] = field(init=False)
    """Gangs that wait for lost pods beyond the gang limit: they yield to any higher priority."""

    def __post_init__(self) -> None:
        self.without_jobs = EmptyCluster(self.snapshot)
        limit = self.snapshot.limits.gang_limit
        lacking = {
            allocation.job.key: allocation.job
            for allocation in self.snapshot.unsettled
            if any(map(is_lost, allocation.unscheduled))
        }
        self.standing_still = frozenset(
            key
            for key, job in lacking.items()
            if stands_still(job) and longest_wait(job) > limit and not job.has_succeeded_pods
        )

    @property
    def reclaimable(self) -> Reclaimable:
        """Extras of running jobs."""
        if self._reclaimable is None:
            movable = [
                role for role in self.snapshot.allocations if role.resizable and not role.starts
            ]
            self._reclaimable = Reclaimable(
                self.snapshot, movable, reclaim_order(self.snapshot), self._extras
            )
        return self._reclaimable

    @property
    def _extras(self) -> TeamExtras | None:
        snapshot = self.snapshot
        if self._team_extras is None and snapshot.teams:
            self._team_extras = TeamExtras(snapshot.teams, snapshot.allocations)
        return self._team_extras

    def full_scope(self, gang: Gang, scope: ReclaimScope | None = None) -> ReclaimScope:
        """The scope of a gang's claim, in which its own priority counts even in `reclaim_delay`."""
        scope, usual = scope or self.scope_of(gang), ReclaimPriority(gang.job.priority)
        return scope._replace(priority=max(scope.priority, usual))

    def attained(self, gang: Gang, scope: ReclaimScope | None = None) -> AttainedCapacity:
        """What a gang that cannot be reserved whole may get of idle nodes and extras.

        All extras in `full_scope` count, unless rules between pods exclude some, or guarantees keep
        some from the first such gang of a plan: then those that a claim of a part of it would get.
        """
        snapshot, scope = self.snapshot, self.full_scope(gang, scope)
        room, near = capacity = self.within_reach(gang, scope)
        keeps = self._extras is not None and self._extras.keeps_any_from(gang.job.key, scope)
        if near is None or not (near[1] == gang.pods or keeps):
            return capacity
        reservation = reservation_of(snapshot, near[0])
        reserve_capacity(reservation, self.reclaimable, scope, whole=False)
        room = snapshot.capacity.future_idle.copy()
        for request, nodes in zip(reservation.requests, reservation.nodes, strict=True):
            request.pod_class.release_in(room, nodes)
        reservation.discard(self.reclaimable)
        near = topology_placement.closest_fit(snapshot, gang, room, FUTURE_IDLE)
        return AttainedCapacity(room, near)

    def within_reach(self, gang: Gang, scope: ReclaimScope | None = None) -> AttainedCapacity:
        """What idle nodes have for a gang, and all extras in `full_scope`."""
        scope = self.full_scope(gang, scope)
        gathered = GangReservation(self.snapshot, self.reclaimable, gang, scope).gathered()
        room = self.reclaimable.capacity.with_idle(scope) if gathered is None else gathered
        near = topology_placement.closest_fit(self.snapshot, gang, room, FUTURE_IDLE)
        return AttainedCapacity(room, near)

    def keeping_teams(self, scope: ReclaimScope) -> Sequence[int]:
        """Teams whose guarantee keeps some of the extras in a scope from yielding."""
        return self._extras.keeping_teams(scope) if self._extras else ()

    def reserve(self, gang: Gang, scope: ReclaimScope) -> Reservation | None:
        """Reserve future idle capacity for a whole gang; see `GangReservation.run`."""
        return GangReservation(self.snapshot, self.reclaimable, gang, scope).run()

    def claim(self, gang: Gang, scope: ReclaimScope) -> Reservation | None:
        """`reserve`, else by preemption if allowed; None, and no change, if that fails."""
        if gang.partial and (reservation := self._reserve_own(gang)):
            return reservation
        to_start = reasons.room_for_minimum if gang.partial else reasons.room_for_job
        reason = to_start(gang.job.key)
        reservation = self.reserve(gang, scope) or self._preempt_for(gang, scope, reason)
        if reservation:
            self.record_evicted(reservation.evicted, reason)
        return reservation

    def _preempt_for(self, gang: Gang, scope: ReclaimScope, reason: Reason) -> Reservation | None:
        # A gang whose last start failed might preempt jobs for nothing, again and again.
        if gang.failed_before or not self.may_preempt(gang.job, scope):
            return None
        snapshot = self.snapshot
        room = (
            snapshot.capacity_without_training_jobs
            if gang.job.topology.required
            else snapshot.capacity.future_idle
        )
        candidates = topology_placement.restricted_to_domains(snapshot, gang, room, Horizon.EMPTY)
        preemptors = (
            Preemptor(candidate.requests, scope, reason, gang.quota_request)
            for candidate in candidates
        )
        return next(filter(None, map(self.preemption.run, preemptors)), None)

    def _reserve_own(self, gang: Gang) -> Reservation | None:
        """Reserve for the rest of a partial start from extras of the job's own started roles.

        Only those of roles that restart to resize: the job restarted for a size that did not fit.
        """
        restarting = [
            role
            for role in self.reclaimable.allocations
            if role.job.key == gang.job.key and role.restarts_to_resize
        ]
        reservation = reservation_of(self.snapshot, gang)
        reclaimable = Reclaimable(self.snapshot, restarting, reclaim_order(self.snapshot))
        if not reserve_capacity(reservation, reclaimable, ALL_IN_REACH, whole=True):
            return None
        self.forget_reclaimable()  # its entries of these roles are outdated
        record_eviction(reservation.evicted, reasons.room_for_minimum(gang.job.key))
        return reservation

    def reclaim_live(self, reservation: Reservation, scope: ReclaimScope) -> bool:
        """Complete a reservation from extras of roles that resize without a restart, or discard it.

        Only if others would yield before them are those set aside, which costs a look at each role.
        """
        reclaimable = self.reclaimable
        if not reserve_capacity(reservation, reclaimable, scope, whole=True):
            return False
        if not any(role.restarts_to_resize for role in reservation.evicted):
            return True
        reservation.discard(reclaimable)
        live = [role for role in reclaimable.allocations if not role.restarts_to_resize]
        others = Reclaimable(self.snapshot, live, reclaim_order(self.snapshot), self._extras)
        self.forget_reclaimable()  # its entries of these roles are outdated
        return reserve_capacity(reservation, others, scope, whole=True)

    def forget_reclaimable(self) -> None:
        """Rebuild `reclaimable` on next use, after roles changed in another way than by a claim."""
        self._reclaimable = self._team_extras = None

    @property
    def preemption(self) -> Preemption:
        if self._preempting is None:
            self._preempting = Preemption(
                self.snapshot, self.results, self.reclaimable, self.standing_still
            )
        return self._preempting

    def may_preempt(self, claimant: TrainingJob | Demand, scope: ReclaimScope) -> bool:
        """Whether a claim may stop whole jobs; never with `preemptionPolicy: Never`."""
        may = self.snapshot.limits.preempt or scope.reclaims_jobs or bool(self.standing_still)
        return may and claimant.preempts

    def forget_preemption(self) -> None:
        """Remove preempted jobs from the plan; the next preemption reads the others anew."""
        if self._preempting is not None:
            self._preempting = None
            drop_suspended(self.snapshot, self.results.suspended)

    def record_evicted(self, evicted: Iterable[RoleAllocation], reason: Reason) -> None:
        """Record the roles that yield to a claim, and that usage of teams has fallen."""
        roles = list(evicted)
        record_eviction(roles, reason)
        if self.snapshot.teams and roles:
            self.snapshot.teams.note_fall()

    def scope_of(self, gang: Gang, requests: Sequence[PodSetRequest] | None = None) -> ReclaimScope:
        """The scope of a gang's claim, for the resources that these requests lack (None: all)."""
        priority = reclaim_priority_of(self.snapshot, gang.job)
        requests = gang.requests if requests is None else requests
        return self.scope(priority, gang.quota_request.team, requests)

    def scope(
        self,
        priority: ReclaimPriority,
        charge: TeamCharge | None,
        requests: Sequence[PodSetRequest],
        pods: int = 1,
    ) -> ReclaimScope:
        """`Snapshot.reclaim_scope` of a claim."""
        claimed = self.charge(priority, charge) if charge else None
        return self.snapshot.reclaim_scope(priority, claimed, requests, pods)

    def is_covered(self, gang: Gang) -> bool:
        """Whether a guarantee covers a gang's claim."""
        right = self.scope_of(gang, ()).right
        return right is not None and right.covered_by != NO_TEAM

    def charge(self, priority: ReclaimPriority, charge: TeamCharge) -> TeamCharge:
        """The charge of a claim: a guarantee covers it before extras that yield to it."""
        return self._extras.with_yielding(charge, priority) if self._extras else charge
