"""The cluster state, updated incrementally: only what an event affects is recomputed.

The result is that of an index that is made anew, but is computed from the changes since the last
call.
"""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime

from edl.errors import Forbidden
from edl.kube.cache.team_source import TeamSource
from edl.kube.cache.watched_kinds import Stores, read_once
from edl.kube.cluster import Cluster, Delta, server_time
from edl.kube.decode.namespace_quotas import QuotaFacts
from edl.kube.decode.object_facts import NamespaceFacts
from edl.kube.state.jobs.training_job_inputs import ClusterScope
from edl.kube.state.observe import ClusterChanges, ClusterIndex, FewFacts
from edl.model import ClusterState, Teams


class IncrementalState:
    """Used by one thread while others fill the stores.

    Unchanged nodes and training jobs are the same objects as before.
    """

    def __init__(self, stores: Stores, teams: Callable[[], Teams] = Teams) -> None:
        """`teams` returns the teams of the last valid teams document."""
        self._stores = stores
        self._teams = teams
        self._index: ClusterIndex | None = None
        self._classes_read = False
        """Whether RuntimeClasses have been listed, so that a missing one is known to be missing."""

    def state(self, now: datetime) -> ClusterState:
        """The state of the stores' current contents."""
        stores, index = self._stores, self._index or ClusterIndex()
        whole, self._index = self._index is None, None
        self._apply(index, whole=whole)
        pools = stores.pools.values()
        seen = FewFacts(self._teams(), stores.autoscaled, stores.takes_requests, pools)
        state = index.state(now, seen, stores.pods.last_read)
        self._index = index  # an error leaves None: the next call rebuilds the index
        return state

    def _apply(self, index: ClusterIndex, *, whole: bool) -> None:
        stores = self._stores
        devices_read = stores.devices_read  # before the changes: then these are complete
        namespaces = stores.namespaces.take_changes(whole=whole)
        quotas = stores.quotas.take_changes(whole=whole)
        index.apply(
            ClusterChanges(
                nodes=stores.nodes.take_changes(whole=whole),
                pods=stores.pods.take_changes(whole=whole),
                jobs=stores.jobs.take_changes(whole=whole),
                requests=stores.requests.take_changes(whole=whole),
                claims=stores.claims.take_changes(whole=whole),
                claims_read=stores.claims.synced,
                owned_objects=[
                    ref
                    for store in stores.owned_objects.values()
                    for ref in store.take_changes(whole=whole)
                ],
                namespaces=namespaces,
                quotas=quotas,
                devices=stores.take_device_changes(whole=whole),
                devices_read=devices_read,
                scope=self._scope(namespaces, quotas, whole=whole),
            )
        )

    def _scope(
        self,
        namespaces: Sequence[Delta[NamespaceFacts]],
        quotas: Sequence[Delta[QuotaFacts]],
        *,
        whole: bool,
    ) -> ClusterScope | None:
        """The cluster-wide facts; None if they have not changed, whatever quotas' usage."""
        stores = self._stores
        few = (stores.priorities, stores.ranges, stores.runtimes)
        changes = [namespaces, *(store.take_changes(whole=whole) for store in few)]
        before, self._classes_read = self._classes_read, stores.runtimes.synced
        rules = any(map(_changes_rule, quotas))
        if not (any(changes) or rules or before != self._classes_read):
            return None
        return ClusterScope.of(
            stores.namespaces.values(),
            stores.priorities.values(),
            stores.quotas.values(),
            stores.ranges.values(),
            stores.runtimes_read,
        )


def read_state(
    cluster: Cluster,
    now: datetime,
    missed: Callable[[str, Forbidden], None] = lambda _kind, _error: None,
    ignored: Collection[str] = (),
) -> ClusterState:
    """The state by a list of each kind; `missed` and `ignored` as for `read_once`.

    `now`: by this machine's clock. The answers tell how far the API server's is ahead.
    """
    stores = read_once(cluster, missed, ignored)
    incremental = IncrementalState(stores, TeamSource(stores.teams, cluster).teams)
    return incremental.state(server_time(cluster, now))


def _changes_rule(quota: Delta[QuotaFacts]) -> bool:
    return not (quota.before and quota.after and quota.before.rule == quota.after.rule)
