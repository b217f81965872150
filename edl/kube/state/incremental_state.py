"""The state of the cluster, kept: after an event, only what it touches is made again.

`observe` says what a state is; a census says the same, from what differs since the last time.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

from edl.kube.cache.watched_kinds import Stores
from edl.kube.cluster import Delta
from edl.kube.decode.object_facts import PodFacts
from edl.kube.dra.device_index import DeviceIndex
from edl.kube.state.affinity_index import AffinityCache, AntiAffinityIndex, met
from edl.kube.state.clock_skew import set_right
from edl.kube.state.job_index import JobIndex
from edl.kube.state.node_usage import NodeUsageIndex
from edl.kube.state.observe import ClusterScope, orphans
from edl.kube.state.quota_usage import budgets
from edl.kube.state.team_usage import NamespaceTeams, TeamUsageIndex
from edl.model import ClusterState, Node, Quota, Teams, TrainingJob


class IncrementalState:
    """Read by one thread, while others feed the stores.

    Nodes and training jobs about which nothing differs are the same objects as before. Another
    fact of a pod goes where pods do (`NodeUsageIndex` by node, `JobIndex` by job), one that
    counts for many into `ClusterScope`.
    """

    def __init__(self, stores: Stores, teams: Callable[[], Teams] = Teams) -> None:
        """`teams`: those of the last document that could be read."""
        self._stores = stores
        self._teams = teams
        self._namespace_teams = NamespaceTeams()
        self._loads = NodeUsageIndex()
        self._members = JobIndex()
        self._repelling = AntiAffinityIndex()
        self._held = TeamUsageIndex()
        self._known = AffinityCache()
        self._devices: DeviceIndex | None = None
        self._begun = False
        self._classes_read = False
        """Whether RuntimeClasses had been listed: that there are none is known since."""

    def state(self, now: datetime) -> ClusterState:
        """As `observe` of the stores' snapshot."""
        whole, self._begun = not self._begun, False
        if whole:
            # What was begun and raised is half done: only all of it is right again.
            self._loads, self._members, self._repelling = (
                NodeUsageIndex(),
                JobIndex(),
                AntiAffinityIndex(),
            )
            self._held = TeamUsageIndex()
            self._devices = None
        self._take(whole=whole)
        self._members.renew()
        self._begun = True
        jobs, teams = set_right(self._members.jobs(), now), self._teams()
        by_namespace = self._namespace_teams.of(teams, self._stores.namespaces.values())
        view = self._devices.view if self._devices else None
        state = ClusterState(
            observed_at=now,
            nodes=self._loads.values(),
            jobs=jobs,
            demands=self._members.demands(by_namespace),
            bare_jobs=self._members.bare(),
            quotas=self._budgets(jobs),
            teams=teams,
            namespace_teams=by_namespace or {},
            team_usage=self._held.by_team(by_namespace, self._members.uids, view),
            autoscaled=self._stores.autoscaled,
            takes_requests=self._stores.takes_requests,
            pooled=self._stores.pooled,
            orphans=orphans(self._members.unowned(), self._members.unowned_requests()),
        )
        return met(state, self._repelling, self._stores.pods.values, self._known)

    def _budgets(self, jobs: Sequence[TrainingJob]) -> tuple[Quota, ...]:
        quotas, namespaces = self._stores.quotas.values(), self._stores.namespaces.values()
        return budgets(quotas, namespaces, jobs, self._members.alone())

    def _take(self, *, whole: bool) -> None:
        stores, loads, members = self._stores, self._loads, self._members
        few = (
            *(stores.namespaces, stores.priorities),
            *(stores.quotas, stores.ranges, stores.runtimes),
        )
        news = [store.news(whole=whole) for store in few]
        before, self._classes_read = self._classes_read, stores.runtimes.synced
        if any(news) or before != self._classes_read:
            members.wide(_wide(stores))
        nodes = stores.nodes.news(whole=whole)
        for node in nodes:
            loads.node(node)
        for job in stores.jobs.news(whole=whole):
            members.job(job)
        pods = stores.pods.news(whole=whole)
        for pod in pods:
            loads.pod(pod)
            members.pod(pod)
            self._repelling.pod(pod)
            self._held.change(pod)
        for request in stores.requests.news(whole=whole):
            members.request(request)
        self._take_devices(nodes, pods)
        members.claims(stores.claims.news(whole=whole), read=stores.claims.synced)
        for store in stores.tags.values():
            for tag in store.news(whole=whole):
                members.tag(tag)

    def _take_devices(self, nodes: Sequence[Delta[Node]], pods: Sequence[Delta[PodFacts]]) -> None:
        """Followed from when all kinds of devices were listed, as long as they are served."""
        stores = self._stores
        if not stores.devices_read:
            if self._devices:
                self._devices = None
                self._loads.devices(None)
                self._members.devices(None, None)
            return
        whole = self._devices is None
        found = self._devices = self._devices or DeviceIndex()
        for node in stores.nodes.changes() if whole else nodes:
            found.node(node)
        for pod in stores.pods.changes() if whole else pods:
            found.pod(pod)
        changed = found.take(stores.device_news(whole=whole))
        if changed is None or changed:
            self._members.devices(found.view, changed)
        self._loads.devices(found.inventory)


def _wide(stores: Stores) -> ClusterScope:
    return ClusterScope.of(
        stores.namespaces.values(),
        stores.priorities.values(),
        stores.quotas.values(),
        stores.ranges.values(),
        stores.runtimes_read,
    )
