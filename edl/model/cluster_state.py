"""Everything that one decision is made from."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from edl.contract import DEFAULT_SCHEDULER
from edl.contract.pod_limits import PodCount
from edl.model.jobs import TrainingJob
from edl.model.nodes import Node, NodePoolHeadroom, Shape
from edl.model.object_refs import ObjectRef
from edl.model.pod_constraints import ForeignPods
from edl.model.quotas import Quota
from edl.model.teams import DEFAULT_TEAM, Teams
from edl.quantities import Resources


class Demand(msgspec.Struct, frozen=True):
    """`count` pending pods of other owners with the same shape, priority and preemption policy."""

    shape: Shape
    priority: int
    count: int
    example: str
    """`namespace/name` of one of them, for the reason that users read."""
    team: str = ""
    """The team of their namespaces; empty where no teams are configured."""
    elsewhere: tuple[str, ...] = ()
    """The first pod of each other namespace, likewise."""
    preempts: bool = True
    """Whether whole training jobs may be stopped for it: its `preemptionPolicy` is not Never."""
    scheduler: str = DEFAULT_SCHEDULER
    excess: PodCount | None = None
    """A kind of which they have more than plans follow; no capacity is left to such pods."""


class ClusterState(msgspec.Struct, frozen=True):
    """Everything that one decision is made from."""

    observed_at: datetime
    nodes: tuple[Node, ...]
    jobs: tuple[TrainingJob, ...]
    demands: tuple[Demand, ...] = ()
    unplanned_jobs: tuple[TrainingJob, ...] = ()
    """Training jobs that no plan changes: of bare pods, or of Jobs that are being deleted."""
    quotas: tuple[Quota, ...] = ()
    """One for each namespace, source and resource, in any order."""
    foreign_pods: tuple[ForeignPods, ...] = ()
    """Pods of other owners that affinity and spread rules of `jobs` and `demands` may select."""
    autoscaled: bool = False
    """Whether the API server serves the resources of a node autoscaler."""
    takes_requests: bool = False
    """Whether the API server serves ProvisioningRequests."""
    node_pools: tuple[NodePoolHeadroom, ...] = ()
    """Karpenter's NodePools, sorted; if there are any, it removes only nodes that belong to one."""
    unneeded_since: tuple[tuple[str, datetime | None], ...] = ()
    """(node, time since which each plan has listed it in `Plan.unneeded`), where that is known;
    None: it counts as unneeded only now, however long plans have listed it."""
    orphans: tuple[tuple[ObjectRef, str], ...] = ()
    """Provisional pods and ProvisioningRequests of ours of no training job that is known, with
    their uids; sorted."""
    teams: Teams = Teams()
    namespace_teams: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Team names by namespace; a namespace without an entry belongs to the team `default`."""
    team_usage: Mapping[str, Resources] = msgspec.field(default_factory=dict)
    """By team, what bound pods hold in its namespaces besides those of `jobs`' Jobs, until they
    terminate; kept where teams are configured."""

    @property
    def bare_jobs(self) -> tuple[TrainingJob, ...]:
        """The training jobs made of bare pods."""
        return tuple(job for job in self.unplanned_jobs if job.pods)

    @property
    def deleted_jobs(self) -> tuple[TrainingJob, ...]:
        """The training jobs all of whose Jobs are being deleted, with the pods that they have."""
        return tuple(job for job in self.unplanned_jobs if not job.pods)

    def team_of(self, namespace: str) -> str:
        """The team of a namespace; empty where no teams are configured."""
        return self.namespace_teams.get(namespace, DEFAULT_TEAM) if self.teams else ""
