"""Two readers: cluster-wide informers if the user's rights allow it, or else one namespace."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from threading import Thread
from typing import Any, Final, Generic, TypeAlias, TypeVar

import msgspec

from edl.errors import Forbidden, NotFound
from edl.forecast.estimate import Estimate
from edl.forecast.forecast import forecast
from edl.kube.cache.informer import Informer
from edl.kube.cache.store import Store
from edl.kube.cache.team_source import TeamSource
from edl.kube.cache.watched_kinds import RULES, SURROUNDINGS, Stores
from edl.kube.cluster import RESOURCES, Cluster, ListOptions
from edl.kube.state.incremental_state import IncrementalState
from edl.model import ClusterState, JobKey, TrainingJob
from edl.planner.decide import decide
from edl.planner.plan import Plan
from edl.visibility import queue_order
from edl.visibility.team_figures import TeamFigures, team_figures
from kubectl_edl.cli.context import CliContext, ClusterConnection
from kubectl_edl.client.cluster_view import read_survey
from kubectl_edl.client.prefetched_lists import jobs_of
from kubectl_edl.client.reconciler_settings import EffectiveSettings, deciding, unattended
from kubectl_edl.queue.view import QueuedJob
from kubectl_edl.queue.waiting_jobs import in_plan, own_queue

_HINT: Final = "hint: {} need the whole cluster, so this is the namespace alone: {}"
_PATIENCE: Final = 1.0
"""Time limit of one forecast in seconds; starts not found by then are unknown."""
_FRESH: Final = 20.0
_Value = TypeVar("_Value")


class DashboardSnapshot(msgspec.Struct, frozen=True):
    """`jobs` and `waiting` are those of the shown namespace; `state` is the whole cluster.

    `state` and `deciding` are None without rights to read the cluster; then there is no what-if.
    """

    at: datetime
    jobs: tuple[TrainingJob, ...]
    waiting: tuple[QueuedJob, ...] = ()
    state: ClusterState | None = None
    teams: tuple[TeamFigures, ...] = ()
    """Teams of the whole cluster."""
    deciding: EffectiveSettings | None = None
    hints: tuple[str, ...] = ()


class Recent(Generic[_Value]):
    """A value that is kept for `_FRESH` seconds. `monotonic` returns seconds. For one thread."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._kept: tuple[float, object, _Value] | None = None

    def of(self, key: object, compute: Callable[[], _Value]) -> _Value:
        """The value, computed if none is kept, if it is too old, or if it has another key."""
        now = self._monotonic()
        if self._kept is None or self._kept[1] != key or now >= self._kept[0]:
            self._kept = now + _FRESH, key, compute()
        return self._kept[2]


def _missing(cluster: Cluster) -> dict[str, Forbidden]:
    """The errors of kinds that the user may not list, found by requesting the first page."""

    def asked(selection: ListOptions) -> tuple[str, Forbidden] | None:
        try:
            next(iter(cluster.pages(selection)), None)
        except Forbidden as error:
            return selection.kind, error
        except NotFound:
            if not RESOURCES[selection.kind].optional:
                raise
        return None

    selections = [
        selection for selection, _ in _followed(Stores(system_namespace=cluster.system_namespace))
    ]
    with ThreadPoolExecutor(len(selections)) as pool:
        return dict(refusal for refusal in pool.map(asked, selections) if refusal)


def _followed(stores: Stores) -> list[tuple[ListOptions, Store[Any]]]:
    """Stores without the dependents of jobs, which only the reconciler's writes need."""
    return [pair for pair in stores if pair[0].kind not in SURROUNDINGS]


class ClusterWideReader:
    """Reads as the reconciler does: informers, incremental state, one decision.

    `start` signals possible changes; `read` is None until every kind has been listed, and raises
    ClusterError.
    """

    def __init__(
        self,
        cli: CliContext,
        connection: ClusterConnection,
        monotonic: Callable[[], float],
        hints: Sequence[str],
    ) -> None:
        self._cli = cli
        self._connection = connection
        self._monotonic = monotonic
        self._estimates = Recent[Mapping[JobKey, Estimate]](monotonic)
        self._hints = tuple(hints)
        self._informers: list[Informer[Any]] = []
        self._ignored: tuple[str, ...] = ()
        self._changed: Callable[[], None] = lambda: None
        self._stores = Stores()
        self._incremental = IncrementalState(self._stores)

    def start(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._watch_all()

    def _watch_all(self) -> None:
        cluster = self._connection.cluster
        self._stores = Stores(self._changed, cluster.system_namespace, self._ignored)
        self._incremental = IncrementalState(
            self._stores, TeamSource(self._stores.teams, cluster).teams
        )
        self._informers = [Informer(cluster, *pair) for pair in _followed(self._stores)]
        for informer in self._informers:
            informer.start()

    def read(self) -> DashboardSnapshot | None:
        if not self._synced():
            return None
        now = self._cli.now()
        by = deciding(self._connection, now)
        if by.source == "reconciler" and by.settings.ignored_namespaces != self._ignored:
            self.stop()
            self._ignored = by.settings.ignored_namespaces
            self._watch_all()
            return None
        state = self._incremental.state(now)
        plan = decide(state, by.settings.policy_to_apply(), by.settings.limits)
        waiting = in_plan(state, plan, by.stalled)
        keys = [entry.job.key for entry in waiting]
        starts = self._starts(state, by, keys, plan) if keys else {}
        namespace = self._connection.namespace
        return DashboardSnapshot(
            at=now,
            jobs=tuple(job for job in state.jobs if namespace in ("", job.key.namespace)),
            waiting=tuple(
                replace(entry, estimate=starts.get(entry.job.key))
                for entry in waiting
                if namespace in ("", entry.job.key.namespace)
            ),
            state=state,
            teams=team_figures(state, (entry.job for entry in queue_order.waiting(state, plan))),
            deciding=by,
            hints=(*by.hints, *self._hints),
        )

    def stop(self) -> None:
        for informer in self._informers:
            informer.stop()

    def _starts(
        self, state: ClusterState, by: EffectiveSettings, keys: list[JobKey], plan: Plan
    ) -> Mapping[JobKey, Estimate]:
        if by.stalled:
            return dict.fromkeys(keys, unattended(by))

        def compute() -> Mapping[JobKey, Estimate]:
            late = self._monotonic() + _PATIENCE
            return forecast(state, by.settings, keys, lambda: self._monotonic() > late, plan).starts

        return self._estimates.of(keys, compute)

    def _synced(self) -> bool:
        """Whether all readable kinds are synced; quota kinds may be unreadable and never sync."""
        pairs = _followed(self._stores)
        return all(store.synced for selection, store in pairs if selection.kind not in RULES)


class NamespaceReader:
    """Reads the Jobs and pods of one namespace, and lists them again after each change.

    `error`: what keeps the user from reading the whole cluster.
    """

    def __init__(self, cli: CliContext, connection: ClusterConnection, error: Forbidden) -> None:
        self._cli = cli
        self._connection = connection
        self._error = error
        self._stopped = False

    def start(self, changed: Callable[[], None]) -> None:
        connection = self._connection
        selection = jobs_of(connection)
        changes = self._cli.changes(connection.cluster, selection)

        def follow() -> None:
            for _ in changes:
                if self._stopped:
                    return
                changed()

        Thread(target=follow, name="changes", daemon=True).start()

    def read(self) -> DashboardSnapshot | None:
        now = self._cli.now()
        survey = read_survey(self._connection, now)
        waiting, published, hints = own_queue(self._connection, survey, now)
        lacking = "nodes and what-if" if published else "nodes, places in the queue and what-if"
        hints = (*hints, *([published.hint] if published else ()))
        hints = (*hints, _HINT.format(lacking, self._error))
        return DashboardSnapshot(now, survey.jobs, waiting, hints=hints)

    def stop(self) -> None:
        self._stopped = True


ClusterReader: TypeAlias = ClusterWideReader | NamespaceReader


def choose_reader(
    cli: CliContext, connection: ClusterConnection, monotonic: Callable[[], float]
) -> ClusterReader:
    """The most complete reader that the user's rights allow. Raises ClusterError if none."""
    missing = _missing(connection.cluster)
    needed = {kind: error for kind, error in missing.items() if kind not in RULES}
    if not needed:
        hints = [
            f"hint: what a {kind} adds or forbids is unknown: {missing[kind]}" for kind in missing
        ]
        return ClusterWideReader(cli, connection, monotonic, sorted(hints))
    error = needed[min(needed)]
    # Raises Forbidden if the user may not read the namespace either.
    read_survey(connection, cli.now())
    return NamespaceReader(cli, connection, error)
