"""The working state of one decision: node capacity, placements of roles, and the time."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import inf
from typing import TypeAlias

import numpy as np

from edl.feasibility.eligibility import Eligibility
from edl.model import (
    ClusterState,
    Demand,
    JobKey,
    ProvisionalPod,
    Shape,
    TrainingJob,
)
from edl.planner.decision_limits import Autoscaler, Limits, Provisioner
from edl.planner.packing.domain_capacity import NodeDomains
from edl.planner.packing.node_capacity import Ints, NodeCapacity
from edl.planner.packing.pod_class import PodClass, PodSetRequest, lacking_resources
from edl.planner.policies import Policy
from edl.planner.snapshot.existing_placements import PlacementByNode, PodClassState
from edl.planner.snapshot.last_resizes import JobReference
from edl.planner.snapshot.least_demand import least_demand
from edl.planner.snapshot.quota_balance import QuotaUsage
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.reclaim_priority import ReclaimPriority, ReclaimScope, TeamRight
from edl.planner.teams.team_balance import TeamBalance, TeamCharge


@dataclass(slots=True)
class Snapshot:
    """Mutable within one decision. `jobs` are those that it plans, in their total order."""

    state: ClusterState
    """The cluster's state that it was built from."""
    policy: Policy
    limits: Limits
    capacity: NodeCapacity
    eligibility: Eligibility
    observed_at: datetime = field(init=False)
    all_jobs: list[TrainingJob] = field(init=False)
    """Every training job, in the total order."""
    demands: list[Demand] = field(init=False)
    teams: TeamBalance | None = None
    """None where no teams are configured."""
    quotas: QuotaUsage = field(init=False)
    domains: NodeDomains = field(init=False)
    placements: PlacementByNode = field(init=False)
    jobs: list[TrainingJob] = field(default_factory=list)
    allocations: list[RoleAllocation] = field(default_factory=list)
    unsettled: list[RoleAllocation] = field(default_factory=list)
    """Roles not in steady state: pods missing, surplus or paused, or on a draining node."""
    pod_classes: dict[Shape, PodClassState] = field(default_factory=dict)
    growth_limit: float = inf
    """While replicas move for equal shares, only roles less satisfied than every giver grow.

    Others would have to give next; and the scheduler might put their pods where the giver's were.
    """
    any_nearly_done: bool = False
    """Whether any running role is nearly finished."""
    rechecks: list[timedelta] = field(default_factory=list)
    """How long until time alone may change the plan."""
    resource_totals: list[int] = field(init=False)
    """Capacity of all schedulable nodes together, by resource."""
    cluster_fractions: dict[PodClass, float] = field(default_factory=dict)
    _without_training_jobs: Ints | None = None
    _jobs: dict[JobKey, TrainingJob] = field(default_factory=dict)
    _jobs_by_uid: dict[str, TrainingJob] = field(default_factory=dict)
    _queue_ranks: dict[JobKey, int] = field(default_factory=dict)
    _known: dict[int, PodClassState] = field(default_factory=dict)
    """`pod_classes` by the identity of their shapes."""

    def __post_init__(self) -> None:
        self.observed_at, self.demands = self.state.observed_at, list(self.state.demands)
        self.all_jobs = sorted(self.state.jobs, key=queue_order)
        self.domains = NodeDomains(self.capacity, self.eligibility)
        self.placements = PlacementByNode(self.capacity.index)
        self.resource_totals = (
            self.capacity.allocatable[:, self.capacity.schedulable].sum(axis=1).tolist()
        )
        if self.state.teams:
            totals = dict(zip(self.capacity.resources, self.resource_totals, strict=True))
            most = self.capacity.allocatable.max(axis=1, initial=0).tolist()
            largest = dict(zip(self.capacity.resources, most, strict=True))
            asked = least_demand(self.state, totals, largest)
            self.teams = TeamBalance(self.state.teams, self.state.team_usage, totals, asked)
        self.quotas = QuotaUsage(self.state, self.teams)

    @property
    def autoscaled(self) -> bool:
        """Whether something adds nodes for pods that find none."""
        told = self.limits.autoscaler
        return told is Autoscaler.PRESENT or (told is Autoscaler.DETECT and self.state.autoscaled)

    @property
    def takes_requests(self) -> bool:
        """Whether nodes may be asked for as `Limits.provisioner` says."""
        wanted = self.limits.asks.provisioner is Provisioner.REQUEST
        return self.autoscaled and (self.state.takes_requests or not wanted)

    def free_provisional(self, pods: Iterable[ProvisionalPod], sign: int = 1) -> None:
        """The room that provisional pods hold is there for their training job; -1: no more."""
        for pod in pods:
            if (node := self.capacity.index.get(pod.node)) is not None:
                self.capacity.add(node, self.capacity.amounts(pod.requests), sign)

    def pod_class_state(self, shape: Shape) -> PodClassState:
        known = self._known.get(id(shape))
        if known is not None and known.pod_class.shape is shape:
            return known
        found = self.pod_classes.get(shape)
        if found is None:
            found = PodClassState(
                PodClass(self.capacity, shape, self.eligibility.mask(shape)), self.placements
            )
            self.pod_classes[shape] = found
        if found.pod_class.shape is shape:
            self._known[id(shape)] = found
        return found

    def satisfaction(self, allocation: RoleAllocation, more: int = 0) -> float:
        """How satisfied the policy finds this role, with `more` replicas."""
        return self.policy.satisfaction(allocation, len(allocation.placements) + more)

    def cluster_fraction(self, pod_class: PodClass) -> float:
        """The part of the schedulable nodes' room that one pod takes, averaged over resources."""
        found = self.cluster_fractions.get(pod_class)
        if found is None:
            parts = (
                (amount, self.resource_totals[resource]) for resource, amount in pod_class.amounts
            )
            found = sum(amount / total for amount, total in parts if total) / len(
                self.resource_totals
            )
            self.cluster_fractions[pod_class] = found
        return found

    def demand_charge(self, demand: Demand, pods: int) -> TeamCharge:
        """What `pods` of these pods count in their team. Only where teams are configured."""
        if self.teams is None:
            raise ValueError("no teams are configured")
        amounts = (demand.shape.requests * pods).items
        return self.teams.charge(self.teams.number(demand.team), amounts)

    def reclaim_scope(
        self,
        priority: ReclaimPriority,
        charge: TeamCharge | None,
        requests: Sequence[PodSetRequest] = (),
        pods: int = 1,
    ) -> ReclaimScope:
        """The replicas that `pods` pods with this charge may take.

        `requests`: what room is looked for. `pods` is 0 where they count already.
        """
        if charge is None:
            return ReclaimScope(priority)
        names, covered = self.capacity.resources, charge.covered_by(pods)
        lacking = {names[row] for row in lacking_resources(self.capacity.future_idle, requests)}
        scarce = charge.places(lacking)
        return ReclaimScope(priority, TeamRight(charge.balance, charge.team, covered, scarce))

    def has_passed(self, since: datetime | None, wait: timedelta) -> bool:
        """Whether `wait` is over. If it is not, the plan is looked at again when it is."""
        if since is None:
            return False
        left = wait - (self.observed_at - since)
        if left <= timedelta():
            return True
        self.rechecks.append(left)
        return False

    def queue_rank(self, key: JobKey) -> int:
        """A job's place in the total order."""
        if not self._queue_ranks:
            self._queue_ranks = {job.key: place for place, job in enumerate(self.all_jobs)}
        return self._queue_ranks[key]

    def job(self, named: JobReference) -> TrainingJob | None:
        if isinstance(named, str):
            if not self._jobs_by_uid:
                self._jobs_by_uid = {role.uid: job for job in self.all_jobs for role in job.roles}
            return self._jobs_by_uid.get(named)
        if not self._jobs:
            self._jobs = {job.key: job for job in self.all_jobs}
        return self._jobs.get(named)

    def capacity_without_training_jobs(self) -> Ints:
        """The room if none of our training jobs ran; int64[resources, nodes]."""
        if self._without_training_jobs is None:
            self._without_training_jobs = self.capacity.observed_idle + self._held()
        return self._without_training_jobs

    def _held(self) -> Ints:
        """What the pods of our training jobs hold; int64[resources, nodes]."""
        nodes: defaultdict[PodClass, list[int]] = defaultdict(list)
        for job in self.all_jobs:
            for role, home in zip(job.roles, job.homes, strict=True):
                names = home or (pod.node for pod in role.status.pods if pod.node and not pod.ended)
                found = nodes[self.pod_class_state(role.template.shape).pod_class]
                found.extend(self.placements[name].node for name in names)
        return self._summed(nodes)

    def release_leaving(self) -> None:
        """Pods that are on their way out free their room soon."""
        leaving = {
            nodes.pod_class: nodes.leaving for nodes in self.pod_classes.values() if nodes.leaving
        }
        if leaving:
            self.capacity.future_idle += self._summed(leaving)
            self.domains.forget_rankings()
        self.capacity.sum_idle()
        for pod_class, nodes in leaving.items():
            pod_class.count_leaving(nodes)

    def _summed(self, nodes: Mapping[PodClass, Sequence[int]]) -> Ints:
        """What pods of these shapes take on these nodes; int64[resources, nodes]."""
        room = np.zeros_like(self.capacity.observed_idle)
        for pod_class, found in nodes.items():
            there = np.array(found, dtype=np.int64)
            counts = np.bincount(there[there >= 0], minlength=len(self.capacity.index))
            for resource, amount in pod_class.amounts:
                room[resource] += counts * amount
        return room


QueueOrder: TypeAlias = tuple[int, datetime, JobKey]


def queue_order(job: TrainingJob) -> QueueOrder:
    """The total order: priority, then first come first served."""
    return (-job.priority, job.queued_at, job.key)
