"""Serves claims to capacity: started roles first, then other owners' pods and queued gangs."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from edl.job_state import phases
from edl.job_state.last_changes import stopped_to_grow
from edl.job_state.lost_pods import has_lost_any
from edl.model import Demand, JobKey, TrainingJob
from edl.planner.gangs.gang import Gang, gang_to_start, is_restarting
from edl.planner.pass_results import PassResults
from edl.planner.passes.admission.claim_order import Claim, claim_order, priority_of
from edl.planner.passes.admission.claim_sources import ClaimSources
from edl.planner.passes.admission.gang_claims import GangClaims
from edl.planner.passes.admission.lost_domains import leave_lost_domains
from edl.planner.passes.admission.pod_claims import (
    place_demand,
    place_minimum,
    place_replacements,
    reserve_replacements,
)
from edl.planner.passes.admission.raised_minimums import (
    claimed,
    hold_unreachable_minimums,
    serve_raise,
)
from edl.planner.passes.admission.team_claims import in_team_order
from edl.planner.passes.node_assignment import assign_lost_pods, assign_pending_pods
from edl.planner.passes.restarting_gangs import start_again
from edl.planner.passes.suspensions import drop_suspended, release_suspended
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.existing_placements import is_lost
from edl.planner.snapshot.extras.reclaimable import minimum_priority, reclaim_priority_of
from edl.planner.snapshot.role_allocation import RoleAllocation, by_job
from edl.planner.teams.team_charge import TeamCharge
from edl.planner.teams.team_guarantees import NO_TEAM


@dataclass(slots=True)
class AdmissionQueue:
    """Serves the claims of one plan in order; idle capacity only shrinks in the process."""

    snapshot: Snapshot
    results: PassResults
    _sources: ClaimSources = field(init=False)
    _gangs: GangClaims = field(init=False)

    def __post_init__(self) -> None:
        self._sources = ClaimSources(self.snapshot, self.results)
        self._gangs = GangClaims(self._sources)

    @property
    def expects_shrinks(self) -> bool:
        """Whether running jobs will soon scale down for a queued job (`Policy.reclaim_delay`)."""
        return self._gangs.expects_shrinks

    def run(self, until: JobKey | None = None) -> None:
        """Serve all claims, or those up to the one of job `until`."""
        snapshot = self.snapshot
        leave_lost_domains(self._sources)
        gangs = [
            gang_to_start(snapshot, job, returns=is_restarting(snapshot, job))
            for job in self._startable()
        ]
        halves = [
            gang
            for gang in gangs
            if gang.partial and not (self._gangs.complete(gang) or self._gangs.take_back(gang))
        ]
        release_suspended(snapshot, self.results.suspended)
        outranked = self._outranked(gangs)
        later = frozenset(chain.from_iterable(outranked))
        assign_pending_pods(snapshot, later)
        for roles in by_job(snapshot.unsettled):
            if roles[0] not in later:
                place_minimum(self._sources, roles)
        for gang in halves:
            if gang.job.key not in self.results.suspended:
                self._gangs.reserve(gang)
            if gang.job.key == until:
                return
        hold_unreachable_minimums(snapshot)
        queued = self._queued(gangs)
        place_replacements(self._sources, self._gangs.nodes)
        raised = self._raised(beside=bool(queued))
        claims: list[Claim] = [*snapshot.state.demands, *queued, *raised]
        self._serve_in_order(claims, outranked, until)
        self._gangs.nodes.share_turns()
        drop_suspended(snapshot, self.results.suspended)
        reserve_replacements(self._sources)
        self._gangs.nodes.reserve()

    def _raised(self, *, beside: bool) -> Iterator[RoleAllocation]:
        """Started roles below their minimum; also below a manual size, if gangs wait beside it."""
        for allocation in self.snapshot.allocations:
            manual = beside and allocation.manual and claimed(allocation)
            below = manual or allocation.size < allocation.role.spec.min
            if below and allocation.resizable and not allocation.starts:
                yield allocation

    def _queued(self, gangs: Sequence[Gang]) -> list[Gang]:
        """The whole gangs, without those that restart at once."""
        whole = [gang for gang in gangs if not gang.partial]
        again = [gang for gang in whole if gang.is_restarting]
        most = max((gang.job.priority for gang in whole if not gang.is_restarting), default=None)
        anew = {gang.job.key for gang in again if _gives_way(gang, most)}
        restarted = start_again(self._gangs, again, anew)
        return [gang for gang in whole if gang.job.key not in restarted]

    def _serve_in_order(
        self, claims: Iterable[Claim], outranked: deque[list[RoleAllocation]], until: JobKey | None
    ) -> None:
        teams = self.snapshot.teams
        ordered = in_team_order(teams, claims, self._charge) if teams else None
        for claim in ordered or sorted(claims, key=claim_order):
            while outranked and outranked[0][0].job.priority >= priority_of(claim):
                self._place_lost(outranked)
            self._serve(claim)
            if isinstance(claim, Gang) and claim.job.key == until:
                return
        while outranked:
            self._place_lost(outranked)

    def _outranked(self, gangs: Iterable[Gang]) -> deque[list[RoleAllocation]]:
        """Roles of started jobs with lost pods that some gang of a higher priority waits beside.

        The Job controller is in its back-off: their room goes by priority, the highest first. With
        teams, not where a guarantee covers them, which other teams may not take at any priority.
        """
        highest = max((gang.job.priority for gang in gangs), default=None)
        if highest is None:
            return deque()
        return deque(
            roles
            for roles in by_job(self.snapshot.unsettled)
            if roles[0].job.priority < highest and any(map(self._yields_lost_pods, roles))
        )

    def _yields_lost_pods(self, allocation: RoleAllocation) -> bool:
        """Whether the room of its lost pods may go to a higher priority."""
        if not (has_lost_any(allocation.role) and any(map(is_lost, allocation.unscheduled))):
            return False
        charge, priority = allocation.quota_request.team, minimum_priority(allocation.job.priority)
        return not charge or self._sources.charge(priority, charge).covered_by(0) == NO_TEAM

    def _place_lost(self, outranked: deque[list[RoleAllocation]]) -> None:
        """Room for the first job of them, unless a claim has taken it off its nodes."""
        roles = outranked.popleft()
        for allocation in roles:
            assign_lost_pods(self.snapshot, allocation)
        place_minimum(self._sources, roles)

    def _serve(self, claim: Claim) -> None:
        if isinstance(claim, Demand):
            place_demand(self._sources, claim)
        elif isinstance(claim, RoleAllocation):
            self._sources.forget_preemption()
            if claim.job.key not in self.results.suspended:
                serve_raise(self._sources, self._gangs.heads, self._gangs.nodes, claim)
        else:
            again = claim.is_restarting
            self._gangs.serve(gang_to_start(self.snapshot, claim.job) if again else claim)

    def _charge(self, claim: Claim) -> TeamCharge:
        """What the whole claim counts in its team; for other owners' pods, what one pod does."""
        if isinstance(claim, Demand):
            charge = self.snapshot.demand_charge(claim)
            return self._sources.charge(minimum_priority(claim.priority), charge)
        request = claim.quota_request
        if isinstance(claim, RoleAllocation):
            lacks = [(claim.role, claimed(claim))]
            request = self.snapshot.quotas.request_of(claim.job, lacks)
        if (request_charge := request.team) is None:
            raise ValueError(f"{claim.job.key}: no team")
        if not any(
            request_charge.balance.guaranteed[team]
            for team in request_charge.balance.paths[request_charge.team]
        ):
            return request_charge
        if isinstance(claim, RoleAllocation):
            return self._sources.charge(minimum_priority(claim.job.priority), request_charge)
        return self._sources.charge(reclaim_priority_of(self.snapshot, claim.job), request_charge)

    def _startable(self) -> Iterator[TrainingJob]:
        for job in self.snapshot.jobs:
            if any(role.status.suspended for role in job.live):
                if unready := phases.unready(job):
                    self.results.let_wait(job.key, unready)
                else:
                    yield job


def _gives_way(gang: Gang, waiting: int | None) -> bool:
    """Whether a job that restarts to grow gives way to waiting gangs, of up to this priority."""
    beside = waiting is not None and waiting >= gang.job.priority
    return beside and any(map(stopped_to_grow, gang.roles))
