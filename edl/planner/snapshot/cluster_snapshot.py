"""The working state of one decision: node capacity, role allocations, quotas and the time."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, cached_property, partial
from itertools import chain
from math import inf

from edl.feasibility.eligibility import Eligibility, Ints
from edl.job_state.last_changes import JobReference, latest_yields
from edl.model import (
    ClusterState,
    Demand,
    JobKey,
    Node,
    Pod,
    ProvisionalPod,
    Role,
    Shape,
    TrainingJob,
)
from edl.model.jobs import queue_order
from edl.planner.decision_limits import Limits, Provisioner
from edl.planner.packing.domain_capacity import NodeDomains
from edl.planner.packing.missing_pods import lacking_resources
from edl.planner.packing.node_capacity import NO_NODE, NodeCapacity, ResourceAmounts
from edl.planner.packing.placement import Placement, release_in
from edl.planner.packing.pod_class import PodClass, PodSetRequest
from edl.planner.policies import Policy
from edl.planner.snapshot.decision_clock import DecisionClock
from edl.planner.snapshot.least_demand import least_demand
from edl.planner.snapshot.quota_balance import QuotaUsage
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.snapshot.role_labels import RoleLabels
from edl.planner.teams.reclaim_priority import ReclaimPriority, ReclaimScope, TeamRight
from edl.planner.teams.team_balance import TeamBalance
from edl.planner.teams.team_charge import TeamCharge


@dataclass(slots=True)
class MovingReplicas:
    """What growth waits for while replicas move for equal shares."""

    donor_satisfactions: dict[int, float] = field(default_factory=dict)
    """By team, the lowest satisfaction of roles that just donated a replica to it. Only roles below
    it grow, and those of teams with at most the team's share: they are served first.

    A more satisfied role would have to donate next, and kube-scheduler might bind its new pod to
    capacity that was freed for the recipient.
    """
    recipient: JobKey | None = None
    """The job for which the last donor counted here donated; None if it is gone."""
    until: datetime | None = None
    """The end of that donor's cooldown; None if unknown."""
    recipients: dict[JobKey, int] = field(default_factory=dict)
    """The teams of jobs for which other teams donated replicas. Until these jobs have grown, no
    started job of a team with a larger share grows: its pods could take the donors' places."""
    deleted_by_name: set[RoleAllocation] = field(default_factory=set)
    """Roles with evicted replicas whose nodes a claim needs: their pods are deleted by name."""

    def lowest_donor(self, team: int) -> float:
        """The lowest satisfaction of donors to this team; infinite if there are none."""
        return self.donor_satisfactions.get(team, inf)


@dataclass
class Snapshot:
    """Mutable within one decision. `jobs` are the jobs to plan, in the total order."""

    state: ClusterState
    """The cluster state from which the snapshot was built."""
    policy: Policy
    limits: Limits
    capacity: NodeCapacity
    eligibility: Eligibility
    clock: DecisionClock = field(init=False)
    quotas: QuotaUsage = field(init=False)
    domains: NodeDomains = field(init=False)
    jobs: list[TrainingJob] = field(default_factory=list)
    allocations: list[RoleAllocation] = field(default_factory=list)
    unsettled: list[RoleAllocation] = field(default_factory=list)
    """Roles not in steady state: pods missing, surplus or paused, or on a draining node."""
    moves: MovingReplicas = field(default_factory=MovingReplicas)
    any_nearly_done: bool = False
    """Whether any running role keeps its size because its job is nearly finished."""
    _pod_classes: dict[Shape, PodClass] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.clock = DecisionClock(self.state.observed_at)
        self.domains = NodeDomains(self.capacity, self.eligibility)
        teams = None
        if self.state.teams:
            totals = dict(zip(self.capacity.resources, self.capacity.totals, strict=True))
            maximums = self.capacity.allocatable.max(axis=1, initial=0).tolist()
            largest = dict(zip(self.capacity.resources, maximums, strict=True))
            demand = partial(least_demand, self.state, totals, largest)
            teams = TeamBalance(self.state.teams, self.state.team_usage, totals, demand)
        self.quotas = QuotaUsage(self.state, teams)

    @property
    def teams(self) -> TeamBalance | None:
        """The balance of teams; None if no teams are configured."""
        return self.quotas.teams

    @property
    def autoscaled(self) -> bool:
        """Whether an autoscaler adds nodes for unschedulable pods."""
        return self.limits.expects_autoscaler(detected=self.state.autoscaled)

    @property
    def takes_requests(self) -> bool:
        """Whether nodes can be requested in the configured way (`ProvisionerSettings`)."""
        wanted = self.limits.provisioning.provisioner is Provisioner.REQUEST
        return self.autoscaled and (self.state.takes_requests or not wanted)

    def is_nearly_done(self, job: TrainingJob) -> bool:
        """Whether a job is nearly finished, resizable or not."""
        return job.progress is not None and job.progress >= self.limits.nearly_done

    def release_provisional(self, pods: Iterable[ProvisionalPod]) -> None:
        """Release the capacity that provisional pods hold."""
        for node, amounts in self._amounts_of(pods):
            self.capacity.reserve_observed(node, amounts, -1)

    def reserve_provisional(self, pods: Iterable[ProvisionalPod]) -> None:
        """Undo `release_provisional`."""
        for node, amounts in self._amounts_of(pods):
            self.capacity.reserve_observed(node, amounts, 1)

    def _amounts_of(self, pods: Iterable[ProvisionalPod]) -> Iterator[tuple[int, ResourceAmounts]]:
        for pod in pods:
            if (node := self.capacity.index.get(pod.node)) is not None:
                yield node, self.capacity.amounts(pod.requests)

    def pod_class(self, shape: Shape) -> PodClass:
        """The pod class of a shape, on all of its eligible nodes."""
        pod_class = self._pod_classes.get(shape)
        if pod_class is None:
            pod_class = PodClass(self.capacity, shape, self.eligibility.eligible(shape))
            self._pod_classes[shape] = pod_class
        return pod_class

    def satisfaction(self, allocation: RoleAllocation, more: int = 0) -> float:
        """The policy's satisfaction of a role with `more` replicas than it has now."""
        return self.policy.satisfaction(allocation, len(allocation.placements) + more)

    @property
    def any_waits_for_moves(self) -> bool:
        """Whether growth of some role waits until replicas have moved to others."""
        return bool(self.moves.recipients or self.moves.donor_satisfactions)

    def waits_for_moves(self, allocation: RoleAllocation, size: int) -> bool:
        """Whether growth of this role from `size` waits until replicas have moved to others."""
        recipients, of_donors = self.moves.recipients, self.moves.donor_satisfactions
        if recipients and self.teams:
            return allocation.job.key not in recipients and not all(
                self.teams.has_less(allocation.team, team) for team in recipients.values()
            )
        share = self.policy.satisfaction(allocation, size) if of_donors else 0
        return any(
            share >= lowest and not self._goes_first(allocation.team, team)
            for team, lowest in of_donors.items()
        )

    def _goes_first(self, team: int, other: int) -> bool:
        """Whether a team is served before another one, even while replicas move in that one."""
        return self.teams is not None and self.teams.has_less(team, other)

    def demand_charge(self, demand: Demand) -> TeamCharge:
        """What one pod of a demand counts in its team. ValueError without teams."""
        if self.teams is None:
            raise ValueError("no teams are configured")
        return self.teams.charge(self.teams.number(demand.team), demand.shape.counted.items)

    def is_stuck(self, pod: Pod) -> bool:
        """Whether a deleted pod is still there `queue_patience` after its grace period.

        Its kubelet may never end its containers, as when these hang in a system call.
        """
        due_at = pod.deletion.due_at if pod.terminating and not pod.ended else None
        return self.clock.elapsed_or_recheck(due_at, self.limits.queue_patience)

    def reclaim_scope(
        self,
        priority: ReclaimPriority,
        charge: TeamCharge | None,
        requests: Sequence[PodSetRequest] = (),
        pods: int = 1,
    ) -> ReclaimScope:
        """The replicas that a claim for `pods` pods with this charge may take.

        `requests`: the pods that need capacity. `pods` is 0 if the team is already charged.
        """
        if charge is None or self.teams is None:
            return ReclaimScope(priority)
        names, covered = self.capacity.resources, charge.covered_by(pods)
        rows = set(lacking_resources(self.capacity.future_idle, requests))
        lacking, claims = {names[row] for row in rows}, self.capacity.device_claims
        if claims and not rows.isdisjoint(claims.rows):
            lacking.update(name for pods_of, _ in requests for name, _ in pods_of.shape.implied)
        scarce = charge.places(lacking)
        return ReclaimScope(priority, TeamRight(self.teams, charge.team, covered, scarce))

    @cached_property
    def ready_nodes(self) -> frozenset[str]:
        """Names of the nodes whose kubelets are ready; cordoned ones included."""
        return frozenset(node.name for node in self.state.nodes if node.ready)

    @cached_property
    def nodes_by_name(self) -> Mapping[str, Node]:
        return {node.name: node for node in self.state.nodes}

    @cached_property
    def all_jobs(self) -> list[TrainingJob]:
        """Every training job, in the total order."""
        return sorted(self.state.jobs, key=queue_order)

    @cached_property
    def queue_ranks(self) -> Mapping[JobKey, int]:
        """Each job's place in the total order."""
        return {job.key: place for place, job in enumerate(self.all_jobs)}

    @cached_property
    def referenced_jobs(self) -> Mapping[JobReference, TrainingJob]:
        """Every training job, by its key and by the uid of each of its Jobs."""
        by_uid = ((role.uid, job) for job in self.all_jobs for role in job.roles)
        return dict(chain(by_uid, ((job.key, job) for job in self.all_jobs)))

    @cached_property
    def role_labels(self) -> RoleLabels:
        """The labels of the pods of every training job."""
        return RoleLabels(self.state.jobs)

    @cached_property
    def latest_yields(self) -> Mapping[JobReference, datetime]:
        """By claiming job, when others last yielded to it."""
        return latest_yields(role for job in self.state.jobs for role in job.roles)

    @cached_property
    def capacity_without_training_jobs(self) -> Ints:
        """Future idle capacity if no training job ran; int64[resources, nodes]."""
        room = self.capacity.observed_idle + self.capacity.releasing
        placements: defaultdict[PodClass, list[Placement]] = defaultdict(list)
        for job in (*self.all_jobs, *self.state.deleted_jobs):
            for role, home in zip(job.roles, job.nodes_by_role, strict=True):
                pod_class = self.pod_class(role.template.shape)
                if home and not pod_class.claims_devices:
                    placements[pod_class].extend(map(self.on_node, home))
                    continue
                bound = (pod for pod in role.status.pods if pod.node and pod.active)
                placements[pod_class].extend(self.placement_of(job, role, pod) for pod in bound)
        for pod_class, there in placements.items():
            release_in(pod_class, room, there)
        return room

    @cached_property
    def on_node(self) -> Callable[[str], Placement]:
        """The placement of a replica bound to a node; all replicas there share it."""
        index = self.capacity.index
        return cache(
            lambda node: Placement(index.get(node, NO_NODE), holds_idle=False, is_new=False)
        )

    def placement_of(self, job: TrainingJob, role: Role, pod: Pod) -> Placement:
        """The placement of a bound replica, which may be known to hold devices."""
        placement, claims = self.on_node(pod.node), self.capacity.device_claims
        pod_class = self.pod_class(role.template.shape)
        if claims is None or not pod_class.claims_devices:
            return placement
        taken = claims.taken(job.key.namespace, pod, pod_class.amounts)
        usual = pod_class.with_amounts(taken) is pod_class
        return placement if usual else placement._replace(taken=taken)
