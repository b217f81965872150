"""Results of the passes so far, from which the plan is built."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from msgspec.structs import replace

from edl.feasibility.horizon import FUTURE_IDLE
from edl.model import JobKey, Pod, Reason, ResizePolicy, TrainingJob
from edl.model.causes.reason_subjects import Minimum, Other
from edl.planner.packing.node_capacity import NO_NODE
from edl.planner.packing.placement import Placement
from edl.planner.packing.pod_class import PodClass, PodSetRequest
from edl.planner.plan import WaitingJob, is_never
from edl.planner.snapshot.quota_balance import NOT_COUNTED, QuotaRequest
from edl.planner.snapshot.role_allocation import RoleAllocation

_SHOWN_AHEAD = 8


class PipelinedPods(NamedTuple):
    """Capacity that is reserved for a claim until its pods can be bound."""

    requests: Sequence[PodSetRequest]
    nodes: Sequence[Sequence[int]]
    """For each request, the nodes on which its capacity is reserved."""
    admitted_before: int
    """How many jobs had been admitted before."""
    evicted: dict[RoleAllocation, list[Placement]]
    """Replicas that yield to it in this plan, in the order of eviction."""
    sizes: Mapping[RoleAllocation, int] = MappingProxyType({})
    """The sizes of these roles before."""
    key: JobKey | None = None
    """The gang that claims it; None for other owners' pods."""
    clears: bool = False
    """Whether running jobs yield to it in this plan."""


class Start(NamedTuple):
    """A job that this plan starts."""

    number: int
    """How many were admitted before it."""
    key: JobKey
    allocations: Sequence[RoleAllocation]

    @property
    def job(self) -> TrainingJob:
        return self.allocations[0].job

    @property
    def is_gated(self) -> bool:
        """Whether the plan chooses the nodes of all its pods."""
        return all(allocation.role.template.gated for allocation in self.allocations)

    @property
    def pods(self) -> Counter[PodClass]:
        """The pods that are created, by class."""
        created: Counter[PodClass] = Counter()
        for allocation in self.allocations:
            created[allocation.pod_class] += allocation.created
        return +created

    @property
    def within_quota(self) -> bool:
        """Whether its quotas suffice; False if only a deferred claim would have released them."""
        return all(role.quota_request.within_quota() for role in self.allocations)

    def release_quota(self) -> None:
        for role in self.allocations:
            for placement in role.placements:
                role.quota_request.release(placement.quota_horizon)
                role.charge_devices(placement, -1)

    @property
    def reservation(self) -> PipelinedPods:
        """Its capacity, reserved as that of a claim."""
        nodes = [
            [placement.node for placement in role.placements if placement.holds_idle]
            for role in self.allocations
        ]
        requests = [PodSetRequest(role.pod_class, role.created) for role in self.allocations]
        return PipelinedPods(requests, nodes, self.number, {})


class ReplicaMove(NamedTuple):
    """A replica that leaves `node`; `at_once`: its new node has idle capacity already."""

    allocation: RoleAllocation
    node: int
    at_once: bool
    reason: Reason


@dataclass(slots=True)
class PassResults:
    """Mutable within one decision. Mappings by job keep the order in which they were decided."""

    admitted: dict[JobKey, tuple[Reason, list[RoleAllocation]]] = field(default_factory=dict)
    suspended: dict[JobKey, Reason] = field(default_factory=dict)
    preempted: dict[JobKey, Sequence[tuple[RoleAllocation, Placement]]] = field(
        default_factory=dict
    )
    """The replicas of jobs that are suspended for a claim; quotas no longer count them."""
    wait_reasons: dict[JobKey, Reason] = field(default_factory=dict)
    wait_ends: dict[JobKey, datetime] = field(default_factory=dict)
    """When the wait of a job ends, if time alone ends it."""
    queue: list[JobKey] = field(default_factory=list)
    """The keys in `wait_reasons` of queued jobs, in queue order."""
    pipelined: list[PipelinedPods] = field(default_factory=list)
    claimed_quota: dict[JobKey, QuotaRequest] = field(default_factory=dict)
    """What gangs whose capacity is in `pipelined` count in quotas."""
    waiting: Counter[PodClass] = field(default_factory=Counter)
    """Pods of other owners without idle capacity: kube-scheduler binds them once there is some."""
    moves: list[ReplicaMove] = field(default_factory=list)
    """Replicas that leave a node, to free it for pods with few eligible nodes or for removal."""
    leaving: dict[RoleAllocation, Sequence[Pod]] = field(default_factory=dict)
    """Pods to evict whose replacements already have capacity reserved on other nodes."""
    irreplaceable: dict[RoleAllocation, Reason] = field(default_factory=dict)
    """Roles of which a pod of the minimum cannot leave its cordoned node, and why."""
    unneeded: tuple[str, ...] = ()
    """Nodes that only extras use."""

    requests: dict[JobKey, dict[str, int]] = field(default_factory=dict)
    """By job and role, the pods for which nodes are requested."""
    unprovisioned: list[JobKey] = field(default_factory=list)

    @property
    def starts(self) -> list[Start]:
        """The jobs that this plan starts, in the order in which they were admitted."""
        admitted = enumerate(self.admitted.items())
        return [Start(number, key, allocations) for number, (key, (_, allocations)) in admitted]

    def let_wait(self, key: JobKey, reason: Reason, until: datetime | None = None) -> None:
        if key not in self.wait_reasons:
            self.wait_reasons[key] = reason
            if until is not None:
                self.wait_ends[key] = until

    def enqueue(self, key: JobKey, reason: Reason, until: datetime | None = None) -> None:
        self.let_wait(key, reason, until)
        self.queue.append(key)

    def pipeline(
        self,
        requests: Sequence[PodSetRequest],
        placed: Sequence[Sequence[int]],
        key: JobKey | None = None,
        *,
        clears: bool = False,
        evicted: dict[RoleAllocation, list[Placement]] | None = None,
    ) -> None:
        taken = evicted or {}
        sizes = {
            allocation: allocation.allocated + len(placements)
            for allocation, placements in taken.items()
        }
        before = len(self.admitted)
        self.pipelined.append(PipelinedPods(requests, placed, before, taken, sizes, key, clears))

    def requeue(self, key: JobKey, reason: Reason) -> None:
        """Let a gang wait before any job yields to it; the capacity stays reserved in this plan.

        Roles that yield to it keep what they yield to claims before it. Gangs behind it for which
        they yield wait, too, and so do those that count on quota which they would have released.
        """
        place = [claim.key for claim in self.pipelined].index(key)
        waiting, roles = [self.pipelined[place]], set(self.pipelined[place].evicted)
        for claim in self.pipelined[place + 1 :]:
            if claim.key and not roles.isdisjoint(claim.evicted):
                waiting.append(claim)
                roles.update(claim.evicted)
        for claim in reversed(waiting):
            self._give_back(claim, reason)
        for claim in reversed(self.pipelined[place + 1 :]):
            if claim.key and not self.claimed_quota.get(claim.key, NOT_COUNTED).within_quota():
                self.requeue(claim.key, reason)

    def victims_of(self, key: JobKey) -> set[JobKey]:
        """The jobs that are stopped for a gang."""
        return {job for job, why in self.suspended.items() if _is_for(why, key)}

    def _give_back(self, claim: PipelinedPods, reason: Reason) -> None:
        """Let running jobs keep what they would yield to a claim, the last one first.

        Quotas count their replicas again, and no longer the claim.
        """
        for allocation, evicted in claim.evicted.items():
            _cancel_growth_back(allocation)
            _keep(allocation, _kept_replicas(allocation, evicted, claim.sizes[allocation]))
            if allocation.allocated >= allocation.role.status.size:
                allocation.reason, allocation.hold.reason = None, reason
                allocation.changed = False
        claim.evicted.clear()
        if claim.key is not None:
            self._cancel_preemption(claim.key, reason)

    def _cancel_preemption(self, key: JobKey, reason: Reason) -> None:
        """Let a gang wait, and the jobs run on that would have been stopped for it.

        Quotas count the replicas of these, whose roles are no longer planned, instead of the gang.
        """
        victims = self.victims_of(key)
        self.suspended = {job: why for job, why in self.suspended.items() if job not in victims}
        self.claimed_quota.pop(key, NOT_COUNTED).release(FUTURE_IDLE)
        stopped = (self.preempted.get(job, ()) for job in victims)
        for allocation, placement in chain.from_iterable(stopped):
            if placement.counts_in_quota:
                allocation.quota_request.reserve(placement.quota_horizon)
                allocation.charge_devices(placement, 1)
        self.wait_reasons[key] = reason

    def waiting_jobs(self, running: dict[JobKey, WaitingJob]) -> tuple[WaitingJob, ...]:
        """Queued jobs by position, those that never start, then the others by name.

        `running`: further ones among these, which do not grow.
        """
        queued, never, ahead = list[WaitingJob](), list[WaitingJob](), list[JobKey]()
        reasons, until = self.wait_reasons, self.wait_ends.get
        for key in self.queue:
            reason = reasons[key]
            if is_never(reason):
                never.append(WaitingJob(key, reason, until=until(key), never=True))
            else:
                first = tuple(ahead[:_SHOWN_AHEAD])
                queued.append(WaitingJob(key, reason, len(ahead) + 1, first, until(key)))
                ahead.append(key)
        others = reasons.keys() - {*self.queue}
        rest = {key: WaitingJob(key, reasons[key], until=until(key)) for key in others} | running
        return (*queued, *never, *(rest[key] for key in sorted(rest)))


def _cancel_growth_back(allocation: RoleAllocation) -> None:
    """Release what is reserved for a role to grow back to its size once the claim has started."""
    while allocation.pipelined and allocation.placements[-1].is_new:
        allocation.evict()


def _kept_replicas(
    allocation: RoleAllocation, evicted: Sequence[Placement], size: int
) -> list[Placement]:
    """The replicas that a role does not yield, in their order; `size`: its size before.

    Only the last replicas of a live role can leave: so it also keeps all above those.
    """
    replicas = [*reversed(evicted)]
    if allocation.role.spec.resizing is ResizePolicy.LIVE:
        above = max(size - allocation.allocated - len(replicas), 0)
        replicas += [Placement(NO_NODE, holds_idle=False, is_new=False)] * above
    return replicas


def _keep(allocation: RoleAllocation, replicas: Sequence[Placement]) -> None:
    """Add replicas to a role again, and to what quotas count."""
    allocation.placements += replicas
    for placement in replicas:
        if placement.counts_in_quota:
            allocation.quota_request.reserve(placement.quota_horizon)
            allocation.charge_devices(placement, 1)


def record_eviction(allocations: Iterable[RoleAllocation], reason: Reason) -> None:
    """Record why these roles yield replicas; they do not grow again in this plan."""
    for allocation in allocations:
        why = _reason_to_yield(allocation.job.key, reason)
        allocation.reason = allocation.reason or why
        allocation.hold.defer(why)
        allocation.hold.cooling_down = True


def _reason_to_yield(key: JobKey, reason: Reason) -> Reason:
    """Why a role of this job yields to the claim of that reason, which may be its own job's."""
    own_job = reason.about == Minimum(key)
    return replace(reason, about=Minimum(key, own=True)) if own_job else reason


def _is_for(reason: Reason, key: JobKey) -> bool:
    """Whether a role or a job yields to the claim of this job."""
    return isinstance(reason.about, Other | Minimum) and reason.about.job == key
