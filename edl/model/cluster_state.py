"""Everything that one decision is made from."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from edl.model.jobs import TrainingJob
from edl.model.nodes import Node, Shape
from edl.model.object_refs import ObjectRef
from edl.model.pod_constraints import ForeignPods
from edl.model.quotas import Quota
from edl.model.teams import DEFAULT_TEAM, Teams
from edl.quantities import Resources


class Demand(msgspec.Struct, frozen=True):
    """`count` pending pods of other owners, of one shape and priority, that ask for room."""

    shape: Shape
    priority: int
    count: int
    example: str
    """`namespace/name` of one of them, for the reason that users read."""
    team: str = ""
    """Theirs, where teams are configured."""


class ClusterState(msgspec.Struct, frozen=True):
    """Everything that one decision is made from."""

    observed_at: datetime
    nodes: tuple[Node, ...]
    jobs: tuple[TrainingJob, ...]
    demands: tuple[Demand, ...] = ()
    bare_jobs: tuple[TrainingJob, ...] = ()
    """Training jobs of bare pods: the plan leaves them alone."""
    quotas: tuple[Quota, ...] = ()
    """One for each namespace, source and resource, in any order."""
    foreign_pods: tuple[ForeignPods, ...] = ()
    """Pods of other owners that rules of `jobs` and `demands` may count, in any order."""
    autoscaled: bool = False
    """Whether the API server serves what an autoscaler of nodes brings along."""
    takes_requests: bool = False
    """Whether the API server serves ProvisioningRequests."""
    pooled: bool = False
    """Whether there are NodePools: Karpenter then removes the nodes of these, and no others."""
    unneeded_since: tuple[tuple[str, datetime], ...] = ()
    """(node, when a plan first found it in `Plan.unneeded`), as far as that is remembered."""
    orphans: tuple[tuple[ObjectRef, str], ...] = ()
    """Provisional pods and ProvisioningRequests of ours of no training job that is known, with
    their uids; sorted."""
    teams: Teams = Teams()
    namespace_teams: Mapping[str, str] = msgspec.field(default_factory=dict)
    """The team of each namespace, by name; of those that are not named it is `default`."""
    team_usage: Mapping[str, Resources] = msgspec.field(default_factory=dict)
    """By team, what bound pods hold in its namespaces besides those of `jobs`' Jobs, until they
    terminate; kept where teams are configured."""

    def team_of(self, namespace: str) -> str:
        """The team of a namespace; empty where no teams are configured."""
        return self.namespace_teams.get(namespace, DEFAULT_TEAM) if self.teams else ""
