"""Builds one `ClusterState` from decoded facts, without I/O.

`ClusterIndex` takes changes one by one; `observe` takes the facts of a few kinds at once.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

import msgspec

from edl.kube.cluster import Delta, ObjectKey
from edl.kube.decode.job_facts import JobFacts
from edl.kube.decode.namespace_quotas import LimitRangeFacts, QuotaFacts
from edl.kube.decode.object_facts import (
    NamespaceFacts,
    OwnedObjectRef,
    PodFacts,
    PriorityClassFacts,
)
from edl.kube.dra.claim_resolution import DeviceView
from edl.kube.dra.device_index import DeviceChanges, DeviceIndex
from edl.kube.provisioning.node_pool_facts import NodePoolFacts
from edl.kube.provisioning.request_facts import CapacityRequestFacts
from edl.kube.state.affinity_index import AffinityIndex
from edl.kube.state.clock_skew import OwnTimes
from edl.kube.state.jobs.job_index import JobIndex
from edl.kube.state.jobs.training_job_inputs import ClusterScope
from edl.kube.state.node_pool_usage import NodePoolUsage
from edl.kube.state.node_usage import NodeUsageIndex
from edl.kube.state.quota_usage import QuotaIndex
from edl.kube.state.team_usage import NamespaceTeams, TeamUsageIndex
from edl.model import ClusterState, Node, ObjectRef, Teams


class ClusterFacts(msgspec.Struct, frozen=True):
    """What a user reads of training jobs, in any order; other kinds count as absent."""

    pods: Sequence[PodFacts] = ()
    jobs: Sequence[JobFacts] = ()
    priorities: Sequence[PriorityClassFacts] = ()
    namespaces: Sequence[NamespaceFacts] = ()
    quotas: Sequence[QuotaFacts] = ()
    ranges: Sequence[LimitRangeFacts] = ()


class FewFacts(msgspec.Struct, frozen=True):
    """Facts that are read anew for each state."""

    teams: Teams = Teams()
    """The teams of the last valid document; empty if none are configured."""
    autoscaled: bool = False
    """Whether the API server serves kinds of a node autoscaler."""
    takes_requests: bool = False
    """Whether it serves ProvisioningRequests, and they may be read."""
    node_pools: Sequence[NodePoolFacts] = ()
    """Karpenter's NodePools: it removes the nodes of these, and no others."""


class ClusterChanges(msgspec.Struct, frozen=True):
    """The changes since the last call."""

    nodes: Sequence[Delta[Node]] = ()
    pods: Sequence[Delta[PodFacts]] = ()
    jobs: Sequence[Delta[JobFacts]] = ()
    requests: Sequence[Delta[CapacityRequestFacts]] = ()
    claims: Sequence[Delta[ObjectKey]] = ()
    claims_read: bool = False
    """Whether PersistentVolumeClaims have been listed: a missing one is known to be missing."""
    owned_objects: Sequence[Delta[OwnedObjectRef]] = ()
    namespaces: Sequence[Delta[NamespaceFacts]] = ()
    quotas: Sequence[Delta[QuotaFacts]] = ()
    devices: DeviceChanges = DeviceChanges()
    devices_read: bool = False
    """Whether devices of dynamic resource allocation are served and have been read."""
    scope: ClusterScope | None = None
    """Cluster-wide facts; None if unchanged."""


class ClusterIndex:
    """The indexes from which a state is built; each pod counts by node, by job and by team."""

    def __init__(self) -> None:
        self._nodes = NodeUsageIndex()
        self._pools = NodePoolUsage()
        self._jobs = JobIndex()
        self._times = OwnTimes()
        self._affinities = AffinityIndex()
        self._usage = TeamUsageIndex()
        self._namespace_teams = NamespaceTeams()
        self._quotas = QuotaIndex()
        self._devices = DeviceIndex()
        self._devices_read = False

    def apply(self, changes: ClusterChanges) -> None:
        if changes.scope:
            self._jobs.set_scope(changes.scope)
        for node in changes.nodes:
            self._nodes.apply_node(node)
            self._pools.apply_node(node)
            self._devices.apply_node(node)
        for job in changes.jobs:
            self._jobs.apply_job(job)
            self._usage.apply_job(job)
        for namespace in changes.namespaces:
            self._namespace_teams.apply_namespace(namespace)
            self._quotas.apply_namespace(namespace)
        for quota in changes.quotas:
            self._quotas.apply_quota(quota)
        for change in changes.pods:
            self._jobs.apply_pod(change)
            self._affinities.apply_pod(change)
            self._devices.apply_pod(change)
            for pod, sign in change.signed():
                self._count(pod, sign)
        for request in changes.requests:
            self._jobs.apply_request(request)
        self._jobs.apply_claims(changes.claims, read=changes.claims_read)
        for owned in changes.owned_objects:
            self._jobs.apply_owned_object(owned)
        self._apply_devices(changes.devices, read=changes.devices_read)

    def _count(self, pod: PodFacts, sign: int) -> None:
        """Adds a pod to the sums of which it is a part, or subtracts it if `sign` is -1."""
        if pod.bare:
            self._quotas.count_bare_pod(pod, sign)
        if pod.holds_room:
            self._nodes.count_pod(pod, sign)
            if pod.shape.constraints:
                self._affinities.rules.count_pod(pod, sign)
            self._usage.count_pod(pod, sign)

    def _apply_devices(self, changes: DeviceChanges, *, read: bool) -> None:
        before, self._devices_read = self._devices_read, read
        changed = self._devices.apply(changes)
        if read != before:
            self._jobs.set_devices(self._view, None)
        elif read and (changed is None or changed):
            self._jobs.set_devices(self._view, changed)
        self._nodes.set_devices(self._devices.inventory if read else None)

    @property
    def _view(self) -> DeviceView | None:
        """None while devices are not read."""
        return self._devices.view if self._devices_read else None

    def state(
        self, now: datetime, seen: FewFacts, pods: Callable[[], Iterable[Delta[PodFacts]]]
    ) -> ClusterState:
        """The state. `pods`: all pods as additions, if needed."""
        teams = self._namespace_teams.of(seen.teams)
        self._jobs.pending.set_teams(teams)
        changes = self._jobs.renew()
        for change in changes:
            self._times.apply_job(change)
            self._quotas.apply_job(change)
        self._affinities.apply_jobs(changes, self._jobs.jobs, self._jobs.pending.values())
        self._jobs.pending.set_repelling(self._affinities.rules.repelling)
        demands = self._jobs.pending.values()
        self._affinities.rules.set_demands(demands)
        return ClusterState(
            observed_at=now,
            nodes=self._nodes.values(),
            jobs=self._times.corrected(self._affinities.jobs(), now),
            demands=demands,
            unplanned_jobs=self._jobs.unplanned_jobs(),
            quotas=self._quotas.values(),
            teams=seen.teams,
            namespace_teams=teams or {},
            team_usage=self._usage.by_team(teams, self._jobs.owners, self._view),
            autoscaled=seen.autoscaled,
            takes_requests=seen.takes_requests,
            node_pools=self._pools.headroom(seen.node_pools),
            orphans=_orphans(self._jobs.unowned_pods(), self._jobs.unowned_requests()),
            foreign_pods=self._affinities.foreign_pods(pods, self._jobs.pods_of),
        )


def observe(facts: ClusterFacts, now: datetime) -> ClusterState:
    pods = [Delta(ObjectKey(pod.namespace, pod.name), None, pod) for pod in facts.pods]
    index = ClusterIndex()
    index.apply(
        ClusterChanges(
            pods=pods,
            jobs=[Delta(ObjectKey(job.key.namespace, job.name), None, job) for job in facts.jobs],
            namespaces=[Delta(ObjectKey("", one.name), None, one) for one in facts.namespaces],
            quotas=[
                Delta(ObjectKey(quota.namespace, quota.rule.name), None, quota)
                for quota in facts.quotas
            ],
            scope=ClusterScope.of(facts.namespaces, facts.priorities, facts.quotas, facts.ranges),
        )
    )
    return index.state(now, FewFacts(), lambda: pods)


def _orphans(
    pods: Iterable[PodFacts], requests: Iterable[CapacityRequestFacts]
) -> tuple[tuple[ObjectRef, str], ...]:
    """(object, uid) of our provisional pods and requests that no training job owns."""
    orphans = [
        (ObjectRef("Pod", pod.namespace, pod.name), pod.provisional.uid)
        for pod in pods
        if pod.provisional and not pod.leaving
    ]
    orphans += [
        (ObjectRef("ProvisioningRequest", facts.namespace, facts.name), facts.request.uid)
        for facts in requests
        if facts.request
    ]
    return tuple(sorted(orphans))
