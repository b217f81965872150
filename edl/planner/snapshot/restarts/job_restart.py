"""A restart of one training job for new sizes, and the places that all of its pods need for it.

A restart stops all pods of a training job and places them anew. Two kinds of replicas have no place
then: stranded ones, on a node that would not take their pods again (it is cordoned, tainted, not
ready, no longer selected, or overcommitted), and those that a role lacks of a minimum that its user
has raised. Without places for all of them the job would stop, and wait for capacity.

So it restarts only if each has a place, or if the minimums have and the other stranded replicas are
given up. Until then the job grows by nothing less than all of them, and keeps what it would need.
Nor is it stopped if a quota has become too small for its minimums, which removes no pods that run.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import starmap

from edl import reasons
from edl.feasibility.horizon import IDLE
from edl.model import Reason, TrainingJob
from edl.model.causes.scarcity import Lack, ResourceNeed, Scarce, Shortage
from edl.planner.packing.node_capacity import NO_NODE
from edl.planner.packing.pack_order import pack_in_best_order
from edl.planner.packing.pod_class import PodClass, PodSetRequest
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.quota_balance import QuotaLine
from edl.planner.snapshot.restarts.restraints import Restraints
from edl.planner.snapshot.restarts.stranded_replicas import StrandedSearch
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.spec.allowed_sizes import most_replicas, with_work


def _is_patient(allocation: RoleAllocation, size: int) -> bool:
    """Whether a role of this size may wait for growth of others."""
    return size >= allocation.role.spec.min and allocation.hold.patience > timedelta()


def staying(allocation: RoleAllocation) -> int:
    """How many replicas of a role are not stranded."""
    return sum(not placement.stranded for placement in allocation.placements)


def lacking(allocation: RoleAllocation) -> int:
    """How many replicas a started role lacks of its minimum, or of its remaining work items."""
    return 0 if allocation.starts else max(_least(allocation) - allocation.size, 0)


def _least(allocation: RoleAllocation) -> int:
    return with_work(allocation.role, allocation.role.spec.min)


@dataclass(slots=True, eq=False)
class JobRestart:
    """The restart of one job, shared by its roles that resize by it; mutable within a decision."""

    snapshot: Snapshot
    roles: Sequence[RoleAllocation]
    """All started roles of the job, the hardest to place first."""
    lacks_places: bool = False
    """Not all replicas come back where they are; False again once each has a place."""
    least: dict[RoleAllocation, int] = field(default_factory=dict)
    """By role, the smallest size at which it may come back."""
    keeps_size: bool = False
    """No claim takes extras of the job, nor is it scaled down for its user."""
    over: tuple[QuotaLine, int] | None = None
    """A quota in which its smallest sizes exceed what is left, and what they count there."""
    awaited: bool = False
    """A raised minimum waits until there are places for all that it lacks."""

    @property
    def job(self) -> TrainingJob:
        return self.roles[0].job

    @property
    def resized(self) -> list[RoleAllocation]:
        """The roles to which the plan gives another size."""
        roles = (role for role in self.roles if role.restarts_to_resize)
        return [role for role in roles if role.planned_size != role.role.status.size]

    @property
    def gated(self) -> list[RoleAllocation]:
        """All roles whose pods come back to nodes of the plan, once the last pod has ended."""
        return [role for role in self.roles if role.role.template.gated]

    @property
    def pods(self) -> Counter[PodClass]:
        """The gated pods that come back, by class."""
        pods: Counter[PodClass] = Counter()
        for role in self.gated:
            pods[role.pod_class] += sum(place.node != NO_NODE for place in role.placements)
        return +pods

    @property
    def may_wait(self) -> bool:
        """Whether the job restarts for growth alone, which nothing needs now."""
        return all(role.growth > 0 and not role.reason for role in self.resized)

    @property
    def waits(self) -> bool:
        """Whether all roles keep their sizes while one awaits its growth: each restart is of all.

        Not if the job restarts anyway, for a minimum or to scale down, or if one of them has waited
        for long enough: otherwise they might keep each other waiting in turn.
        """
        if not any(role.pipelined for role in self.roles):  # fast path: asked for each role
            return False
        roles = [role for role in self.roles if role.restarts_to_resize and role.changed]
        if not any(role.awaits_all_growth for role in roles):
            return False
        below = any(role.allocated < role.role.spec.min for role in roles)
        ready = (role for role in roles if not role.awaits_all_growth)
        sizes = ((role, role.role.status.size) for role in ready)
        return all(
            role.allocated == size or (role.allocated > size and (below or _is_patient(role, size)))
            for role, size in sizes
        )

    @property
    def has_rules(self) -> bool:
        """Whether rules between pods may keep its pods from starting again."""
        return any(role.pod_class.constraints for role in self.roles)

    def deny_growth(self, why: Reason) -> None:
        """Deny growth to all roles that restart the job."""
        for allocation in self.roles:
            if allocation.restarts_to_resize:
                allocation.hold.deny_as_well(why)

    def keep_what_it_needs(self, extras: dict[QuotaLine, int], restraints: Restraints) -> None:
        """Keep extras of the job from yielding if its minimums would have no places without them.

        Stranded replicas come last, so that they yield first and none counts as the minimum if
        others suffice; or first, if minimums may move and idle capacity has places for them, which
        another claim may still take. `extras`: what extras of all jobs use of exceeded quotas that
        take it back.
        """
        key, strict = self.job.key, restraints.strict
        no_growth = key in restraints.no_growth or (strict and self.has_rules)
        held = no_growth or key in restraints.keep_size
        self.least = {role: self._least_size(role) for role in self.roles}
        self.over = self._exceeded_quota(extras)
        short = (staying(role) < max(role.size, self.least[role]) for role in self.roles)
        self.lacks_places = held or bool(self.over) or any(short)
        if not self.lacks_places:
            return
        _put_last(self.roles, stranded=True)
        lacks = bool(self.over) or any(map(_moves, self.roles, self.least.values()))
        moves = lacks and not (held or strict) and self._fits_elsewhere()
        if moves:
            _put_last(self.roles, stranded=False)
        self.keeps_size = (lacks or held) and not moves
        for allocation in self.roles if self.keeps_size else ():
            if allocation.restarts_to_resize:
                for quota in extras:
                    extras[quota] -= _extras_in(quota, [allocation])
                allocation.min_replicas = max(allocation.min_replicas, allocation.size)
                allocation.max_replicas = max(allocation.max_replicas, allocation.size)
        if no_growth:
            self._forbid_by_rules()

    def _forbid_by_rules(self) -> None:
        """Deny growth, as rules between pods would not let its pods start again."""
        sizes = ((role.role.name, role.size, role.pod_class.shape.requests) for role in self.roles)
        needs = tuple(starmap(ResourceNeed, sizes))
        self.deny_growth(reasons.gang(Shortage(needs, 0, Lack(Scarce.RULES))))

    def _least_size(self, allocation: RoleAllocation) -> int:
        least = max(allocation.min_replicas, _least(allocation))
        return least if allocation.restarts_to_resize else max(least, allocation.size)

    def _fits_elsewhere(self) -> bool:
        """Whether idle capacity has places for all stranded replicas of the smallest sizes."""
        if any(map(lacking, self.roles)) or self.over:
            return False
        requests = [
            PodSetRequest(role.pod_class, min(role.size - staying(role), self.least[role]))
            for role in self.roles
        ]
        placed = pack_in_best_order(self.snapshot.capacity.idle, requests, IDLE)
        return placed == [request.pods for request in requests]

    def _exceeded_quota(self, extras: Mapping[QuotaLine, int]) -> tuple[QuotaLine, int] | None:
        """A quota that its smallest sizes exceed without what it uses now, and what they count."""
        if all(role.quota_request.within_quota() for role in self.roles):
            return None
        request_of = self.snapshot.quotas.request_of
        least = request_of(self.job, [(role.role, self.least[role]) for role in self.roles])
        uses = request_of(self.job, [(role.role, role.size) for role in self.roles])
        for quota, cost in least.amounts:
            others = extras[quota] - _extras_in(quota, self.roles) if quota in extras else 0
            if cost > quota.future_remaining + uses.amount(quota) + others:
                return quota, cost
        return None

    def keeps_above_limits(self, allocation: RoleAllocation) -> bool:
        """Whether a role keeps more replicas than its max or its manual size."""
        above = allocation.planned_size > most_replicas(allocation.role)
        return self.keeps_size and allocation.resizable and above

    def least_to_place(self, allocation: RoleAllocation) -> int:
        """How many of its replicas are the minimum, of which each needs a node.

        One that keeps its size has none in its minimum beyond the smallest size.
        """
        least = self.least.get(allocation, allocation.size) if self.keeps_size else allocation.size
        return min(allocation.min_replicas, least)


def _placing_order(allocation: RoleAllocation) -> tuple[bool, float]:
    return allocation.pod_class.follows_others, -allocation.cluster_fraction


def _put_last(roles: Iterable[RoleAllocation], *, stranded: bool) -> None:
    """Put the stranded replicas last, or the others."""
    for role in roles:
        if role.restarts_to_resize and not role.unscheduled:
            role.placements.sort(key=lambda placement: placement.stranded is stranded)


def _moves(role: RoleAllocation, least: int) -> bool:
    """Whether some of the first `least` replicas need other places than they have."""
    return role.size < least or any(placement.stranded for placement in role.placements[:least])


def _extras_in(quota: QuotaLine, roles: Iterable[RoleAllocation]) -> int:
    """What extras of these roles use of a quota."""
    return sum(role.extras * role.quota_request.amount(quota) for role in roles)


def set_restarts(
    snapshot: Snapshot,
    started: Iterable[Sequence[RoleAllocation]],
    restraints: Restraints,
) -> None:
    """Set what restarts of jobs need; call it once capacity is complete.

    `started`: the started roles of each job.
    """
    search = StrandedSearch(snapshot)
    extras = {
        quota: _extras_in(quota, snapshot.allocations)
        for quota in snapshot.quotas.lines.values()
        if quota.spec.takes_back and quota.future_remaining < 0
    }
    for roles in started:
        if not any(role.restarts_to_resize and role.resizable for role in roles):
            continue
        restart = JobRestart(snapshot, sorted(roles, key=_placing_order))
        for allocation in roles:
            allocation.restart = restart if allocation.restarts_to_resize else None
        search.mark(roles)
        restart.keep_what_it_needs(extras, restraints)


def planned_restarts(snapshot: Snapshot) -> list[JobRestart]:
    """The restarts of the plan, in the order of their jobs."""
    restarts = dict.fromkeys(role.restart for role in snapshot.allocations if role.changed)
    return [restart for restart in restarts if restart and restart.resized]
