"""Publishes the queue to users of a namespace: the leader keeps a ConfigMap `edl-queue` in each."""

import logging
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from edl.errors import ClusterError, Conflict, Forbidden, Invalid, NotFound, Unreachable
from edl.kube.cluster import Cluster, ListOptions
from edl.kube.decode.config_maps import ConfigMapFacts, config_map
from edl.kube.problem_log import ProblemLog
from edl.kube.writer.single_writes import perform
from edl.model import TrainingJob
from edl.visibility.namespace_queue import CONFIG_MAP, KEY, NamespaceQueue, parse
from edl.visibility.queue_documents import documents
from edl.visibility.queue_order import waiting
from edl.visibility.queue_writes import PublishedQueue, never_in, queue_writes
from edl.writes import Create, Write
from reconciler.controller import FOLLOWING
from reconciler.leader_only_cluster import NotLeading
from reconciler.metrics.state_metrics import LastDecision
from reconciler.publication.queue_insights import QueueInsights

_log: Final = logging.getLogger(__name__)

PERIOD: Final = 10.0
"""Seconds between two turns: no ConfigMap is written more often."""
MAX_WRITES: Final = 50
"""Writes per run; the documents that were written longest ago come first."""
RELIST: Final = 300.0
"""Seconds until the ConfigMaps are listed again: other clients may have changed them."""
AFTER_REFUSAL: Final = 120.0
"""Seconds until a namespace is tried again after a refusal, such as by a quota, or a write without
an answer. Until then its document stays, and confirmations are about the others."""
MAX_ERRORS: Final = 5
"""Namespaces per run in which a write may fail with an error of the API server, or get no answer.
A ConfigMap that users made too large for etcd fails every time, and an admission webhook of a
namespace may hang; more errors mean that the API server is unavailable."""
_EVERY: Final = ListOptions("ConfigMap", name=CONFIG_MAP)


class _Skip(NamedTuple):
    """Until when a namespace is skipped; if its last write was unanswered, its document stays."""

    until: float
    unanswered: bool


class QueuePublisher:
    """Writes only what differs.

    `confirm` is called with the time of the state that is published.
    """

    def __init__(
        self,
        cluster: Cluster,
        decided: Callable[[], LastDecision | None],
        insights: QueueInsights,
        confirm: Callable[[datetime], None],
        monotonic: Callable[[], float],
    ) -> None:
        self._cluster = cluster
        self._never_in = never_in(cluster.system_namespace)
        self._decided = decided
        self._insights = insights
        self._confirm = confirm
        self._monotonic = monotonic
        self._published: dict[str, PublishedQueue] | None = None
        self._foreign: frozenset[str] = frozenset()
        """Namespaces that have a ConfigMap of this name which is not ours."""
        self._listed = 0.0
        self._skipped: dict[str, _Skip] = {}
        self._errors = 0
        self._problems = ProblemLog(_log)

    def lead(self) -> float:
        """Writes what is due; returns the seconds until the next run."""
        if (decided := self._decided()) is None:
            return FOLLOWING
        try:
            self._publish(decided)
        except NotLeading:
            raise
        except ClusterError as error:
            self._problems.report("cannot publish the queue: %s", error)
            self._published = None
        return PERIOD

    def follow(self) -> None:
        self._published = None
        self._skipped.clear()

    def _publish(self, decided: LastDecision) -> None:
        """Publishes one decision. Raises ClusterError."""
        published = self._read_published()
        queue = waiting(decided.state, decided.plan)
        insights = self._insights.refreshed(decided, queue)
        wanted = documents(decided.state, decided.plan, insights)
        allowed = self._allowed(wanted, decided.state.jobs)
        stay = {name for name, skip in self._skipped.items() if skip.unanswered}
        due = queue_writes({name: published[name] for name in published.keys() - stay}, allowed)
        self._errors = 0
        done = [write for write in due[:MAX_WRITES] if self._write(write, wanted)]
        # If only creations failed, no published document that could be written is out of date.
        if all(isinstance(write, Create) for write in due if write not in done):
            self._confirm(decided.state.observed_at)
        self._problems.clear()

    def _read_published(self) -> dict[str, PublishedQueue]:
        now = self._monotonic()
        if self._published is None or now >= self._listed + RELIST:
            listed = map(config_map, self._cluster.list(_EVERY).items)
            maps = [one for one in listed if one.name.namespace not in self._never_in]
            self._foreign = frozenset(one.name.namespace for one in maps if not one.managed)
            self._published = {one.name.namespace: _read(one) for one in maps if one.managed}
            self._listed = now
        return self._published

    def _allowed(
        self, wanted: Mapping[str, NamespaceQueue], jobs: Iterable[TrainingJob]
    ) -> dict[str, NamespaceQueue]:
        now = self._monotonic()
        self._skipped = {name: skip for name, skip in self._skipped.items() if skip.until > now}
        deleted = {job.key.namespace for job in jobs if job.namespace_terminating}
        left = self._foreign | self._skipped.keys() | self._never_in | deleted
        return {name: queue for name, queue in wanted.items() if name not in left}

    def _write(self, write: Write, wanted: Mapping[str, NamespaceQueue]) -> bool:
        """Whether the write is done. Raises ClusterError if nothing can be written now."""
        namespace = write.target.namespace
        published = self._published
        assert published is not None  # noqa: S101 - it was listed in this run
        published.pop(namespace, None)
        try:
            body = perform(self._cluster, write)
        except (Conflict, NotFound):
            self._listed = float("-inf")  # another client was faster: list again
            return False
        except (Forbidden, Invalid, Unreachable) as error:
            unanswered = isinstance(error, Unreachable)
            self._errors += unanswered
            if self._errors > MAX_ERRORS:
                raise
            _log.debug("cannot publish the queue of %s: %s", namespace, error)
            self._skipped[namespace] = _Skip(self._monotonic() + AFTER_REFUSAL, unanswered)
            self._listed = float("-inf")
            return False
        if body is not None:
            version = str(body["metadata"]["resourceVersion"])
            published[namespace] = PublishedQueue(version, wanted[namespace])
        return True


def _read(facts: ConfigMapFacts) -> PublishedQueue:
    try:
        return PublishedQueue(facts.version, parse(facts.data.get(KEY, "")))
    except ValueError:
        return PublishedQueue(facts.version, None)
