"""Connects the parts of a reconciler (informers, election, loop, probes), from start to stop."""

import gc
import logging
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from threading import Event, Thread
from typing import Final, Protocol

import msgspec

from edl.kube.cache.team_source import TeamSource
from edl.kube.cache.watched_kinds import Stores, informers
from edl.kube.cluster import Cluster
from edl.kube.state.incremental_state import IncrementalState
from edl.kube.writer.event_recorder import EventRecorder
from edl.kube.writer.executor import ClusterWriter, Concurrency
from edl.model import ClusterState, JobKey
from edl.planner.plan import Plan
from edl.steps.namespace_redaction import without_foreign_names
from edl.steps.plan_steps import Steps, steps
from edl.steps.unchanged_jobs import UnchangedJobs
from reconciler.autoscaler_events import AutoscalerEvents
from reconciler.controller import FOLLOWING, RESYNC, Controller, DecisionPipeline
from reconciler.debug_plan import last_plan
from reconciler.leader_election import AlwaysLeader, Clocks, LeaderElector, LeaderState
from reconciler.leader_only_cluster import LeaderOnlyCluster, NotLeading
from reconciler.memory.unneeded_nodes_record import UnneededNodesRecord
from reconciler.metrics.counters import Metrics
from reconciler.metrics.decision_log import DecisionLog
from reconciler.probes import Health, Page, Pages, pages, serve
from reconciler.trigger import DebouncedTrigger

_log: Final = logging.getLogger(__name__)
_PATIENCE: Final = 1.0
"""Seconds that a round waits for a job's writes; others' decisions do not wait for them longer."""
_HANGS_AFTER: Final = 60.0
"""Seconds of one round after which this process lets another one lead."""
_SLOWER: Final = 3
"""A round that takes longer than the last decision by this factor hangs: on a large cluster every
decision may be slow, and another process would be no faster."""
_DEAD_AFTER: Final = 600.0
"""Seconds of one round after which liveness fails: longer than a hanging API server can cause."""
_UNANSWERED: Final = 3600.0
"""Seconds without an answer about any kind after which liveness fails: certificates of the API
server may have been replaced, and only a new process reads their files again. So it does after as
long of one job's writes: each request has a time limit, but name resolution, say, has none."""
_TASK_ENDS: Final = 2.0
"""Seconds that `stop` waits for each background task."""
_YOUNG: Final = 100_000
"""Allocations between two garbage collections of young objects; Python's own number is 700."""
_OLDER: Final = 1_000
"""Collections of young objects between two of middle-aged ones; the loop itself begins these."""


class ProbeAddress(msgspec.Struct, frozen=True):
    """Where the probe server listens.

    Port 0 takes a free port; `debug` also serves the last plan.
    """

    host: str
    port: int
    debug: bool = False


class LeaderTask(Protocol):
    """What a leader does beside its decisions, in a thread of its own."""

    def lead(self) -> float:
        """Runs once; returns the seconds until the next run. May raise NotLeading."""
        ...

    def follow(self) -> None:
        """Runs instead while another process leads: forgets what that process may change."""
        ...


def run_periodically(task: LeaderTask, leadership: LeaderState, stopping: Event) -> None:
    """Runs the task until `stopping`; an error in one run is logged, and the next one follows."""
    pause = 0.0
    while not stopping.wait(pause):
        try:
            pause = _run_once(task, leadership)
        except Exception:  # noqa: BLE001 - no other check notices a dead thread
            _log.exception("background task failed, retrying")
            pause = RESYNC


def _run_once(task: LeaderTask, leadership: LeaderState) -> float:
    if leadership.leading:
        with suppress(NotLeading):
            return task.lead()
    task.follow()
    return FOLLOWING


def tune_garbage_collector() -> None:
    """Excludes long-lived objects from collection, and collects less often during a decision.

    A decision creates many objects, few of them in cycles: `Controller` collects these afterwards.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _OLDER)


class Manager:
    """A reconciler on one cluster. Without `elector` it always leads.

    `ignored`: namespaces in which it manages nothing.
    """

    def __init__(
        self,
        cluster: Cluster,
        decide: Callable[[ClusterState], Plan],
        clocks: Clocks,
        elector: LeaderElector | None = None,
        ignored: Collection[str] = (),
    ) -> None:
        self.metrics = Metrics()
        self._trigger = DebouncedTrigger()
        self._clocks = clocks = clocks.of_server(cluster)
        self._elector = elector
        self._leadership = elector or AlwaysLeader()
        self._stores = Stores(self._trigger.ring, cluster.system_namespace, ignored)
        self.team_source = TeamSource(self._stores.teams, cluster)
        self._informers = informers(cluster, self._stores, self._watched, self._received)
        self._received_at: dict[str, float] = {}
        for selection, _ in self._stores:
            self._received(selection.kind)
            age = self.metrics.api.event_age.labels(selection.kind)
            age.set_function(partial(self._seconds_since_event, selection.kind))
        leader_only = self.leader_only(cluster)
        self._recorder = EventRecorder(leader_only, clocks.now)
        concurrency = Concurrency(patience=_PATIENCE, ended=self._trigger.ring)
        self._writer = ClusterWriter(
            leader_only, self._stores, self._recorder.record, concurrency=concurrency
        )
        autoscaler = AutoscalerEvents(cluster, self._trigger.ring)
        pipeline = self._pipeline(decide, autoscaler)
        decisions = DecisionLog(self.metrics, clocks.monotonic, self._recorder.record)
        self._controller = Controller(pipeline, self._writer.act, decisions, clocks)
        self._stopping = Event()
        self._threads = [
            Thread(target=self._run_controller, name="loop", daemon=True),
            Thread(target=self._run_elector, name="elector", daemon=True),
        ]
        self._tasks: list[Thread] = []
        self.add_background_task("autoscaler", autoscaler)

    def _pipeline(
        self, decide: Callable[[ClusterState], Plan], autoscaler: AutoscalerEvents
    ) -> DecisionPipeline:
        return DecisionPipeline(
            IncrementalState(self._stores, self.team_source.teams).state,
            decide,
            partial(_steps, unchanged=UnchangedJobs()),
            self.team_source.forget,
            (autoscaler, UnneededNodesRecord(self._leadership)),
        )

    def leader_only(self, cluster: Cluster) -> LeaderOnlyCluster:
        """A client of `cluster` that refuses writes while this process does not lead."""
        return LeaderOnlyCluster(cluster, self._leadership, self.metrics.api.wrote)

    def add_background_task(self, name: str, task: LeaderTask) -> None:
        """Adds a thread that runs the task until `stop`; to be called before `start`."""
        args = (task, self._leadership, self._stopping)
        self._tasks.append(Thread(target=run_periodically, args=args, name=name, daemon=True))

    def start(self, address: ProbeAddress) -> int:
        """Starts everything; returns the port that is served. Raises OSError if it is taken."""
        self._server = serve(address.host, address.port, self._pages(debug=address.debug))
        for informer in self._informers:
            informer.start()
        for thread in (*self._threads, *self._tasks):
            thread.start()
        return self._server.server_port

    def stop(self) -> None:
        """Waits for decisions' writes that have begun, then releases the leadership.

        A background task may be longer at a request than a pod may take to end. Its writes have
        preconditions, and begin only while this process leads.
        """
        self._trigger.stop()
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        for task in self._tasks:
            task.join(_TASK_ENDS)
        self._writer.close()
        self._recorder.close()
        if self._elector:
            self._elector.release()
        for informer in self._informers:
            informer.stop()
        self._server.shutdown()
        self._server.server_close()

    def _run_controller(self) -> None:
        if self._wait_synced():
            tune_garbage_collector()
            _log.info("caches synced", extra={"fields": {"pods": len(self._stores.pods)}})
            self._controller.run(self._trigger, self._leadership)

    def _run_elector(self) -> None:
        """Campaigns once the caches are synced: a process without a state must not lead."""
        if self._elector and self._wait_synced():
            self._elector.run(self._stopping, self._trigger.ring, self._progresses)

    def _wait_synced(self) -> bool:
        while not self._stores.synced:
            if self._stopping.wait(0.05):
                return False
        return True

    def _watched(self, kind: str) -> None:
        self.metrics.api.watches.labels(kind).inc()

    def _received(self, kind: str) -> None:
        self._received_at[kind] = self._clocks.monotonic()

    def _seconds_since_event(self, kind: str) -> float:
        """Seconds since the API server sent anything about a kind, or since the start."""
        return self._clocks.monotonic() - self._received_at[kind]

    def _pages(self, *, debug: bool) -> Pages:
        served = pages(Health(self._alive, self._unready, self._role), self.metrics.registry)
        return {**served, "/debug/plan": self._last_plan} if debug else served

    def _last_plan(self) -> Page:
        return Page(last_plan(self.metrics.latest.decided), content_type="application/json")

    def _unready(self) -> str:
        if self._stopping.is_set():
            return "shutting down"
        unread = ", ".join(selection.kind for selection, store in self._stores if not store.synced)
        return f"waiting for caches: {unread}" if unread else ""

    def _role(self) -> str:
        return "leader" if self._leadership.leading else "standby"

    def _progresses(self) -> bool:
        slow = _SLOWER * self._controller.decision_seconds
        return self._has_progressed_within(min(max(_HANGS_AFTER, slow), _DEAD_AFTER))

    def _alive(self) -> bool:
        if not self._stores.synced:
            return True
        age = min(map(self._seconds_since_event, self._received_at))
        waited = max(age, self._writer.longest())
        return waited < _UNANSWERED and self._has_progressed_within(_DEAD_AFTER)

    def _has_progressed_within(self, seconds: float) -> bool:
        """Whether the current round is younger than `seconds`."""
        return self._clocks.monotonic() - self._controller.beat < seconds


def _steps(
    plan: Plan, state: ClusterState, backs_off: Callable[[JobKey], bool], unchanged: UnchangedJobs
) -> Steps:
    return steps(without_foreign_names(plan, state), state, unchanged, backs_off)
