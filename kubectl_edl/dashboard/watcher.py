"""Reads the cluster after each change, once for all connections, and publishes the page."""

import logging
from collections.abc import Callable
from threading import Event, Thread
from typing import Final

import msgspec

from edl.errors import EdlError
from edl.kube.problem_log import ProblemLog
from edl.model import ClusterState
from edl.writes import Json
from kubectl_edl.dashboard.cluster_reader import ClusterReader, DashboardSnapshot, Recent
from kubectl_edl.dashboard.page_broadcast import PageBroadcast
from kubectl_edl.dashboard.page_state import page, recorded, sample
from kubectl_edl.top.cluster_costs import ClusterCosts, hours_so_far, node_costs
from kubectl_edl.top.options import NO_PRICES, CostOptions
from kubectl_edl.top.resource_hours import Hours

_log: Final = logging.getLogger(__name__)

_GATHER: Final = 0.3
"""Seconds in which several changes count as one: a resize changes many objects."""
_REST: Final = 4
"""Rest after a read, as a multiple of its duration, so that a large cluster takes no whole core."""
_PATIENCE: Final = 5.0
"""Seconds after which the page is refreshed without a change, because ages and estimates change."""


class DashboardWatcher:
    def __init__(
        self,
        reader: ClusterReader,
        broadcast: PageBroadcast,
        monotonic: Callable[[], float],
        asked: CostOptions = NO_PRICES,
    ) -> None:
        self._reader = reader
        self._broadcast = broadcast
        self._monotonic = monotonic
        self._asked = asked
        self._hours = Recent[tuple[Hours, ...]](monotonic)
        self._samples: tuple[Json, ...] = ()
        self._changed = Event()
        self._stopped = Event()
        self._snapshot: DashboardSnapshot | None = None
        self._page: Json = {}
        self._problems = ProblemLog(_log)

    @property
    def snapshot(self) -> DashboardSnapshot | None:
        """The newest state; None until the cluster has been read once."""
        return self._snapshot

    def start(self) -> None:
        self._reader.start(self._changed.set)
        Thread(target=self._run, name="live", daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()
        self._changed.set()
        self._reader.stop()
        self._broadcast.close()

    def _run(self) -> None:
        while not self._stopped.is_set():
            begun = self._monotonic()
            self.publish_once()
            took = self._monotonic() - begun
            self._stopped.wait(max(_GATHER, _REST * took))
            self._changed.wait(_PATIENCE if self._snapshot else _GATHER)
            self._changed.clear()

    def publish_once(self) -> None:
        """Read and publish once. An error is shown next to the last good state."""
        trouble = ""
        try:
            if snapshot := self._reader.read():
                self._page, self._snapshot = self._drawn(snapshot), snapshot
            self._problems.clear()
        except EdlError as error:
            trouble = str(error)
        except Exception as error:  # noqa: BLE001 - a dead watcher would show an old state forever
            trouble = f"unexpected {type(error).__name__}: {error}"
            self._problems.report("reading the cluster failed, retrying: %s", error, bug=error)
        if self._page or trouble:
            self._broadcast.show(msgspec.json.encode(self._page | {"trouble": trouble}))

    def _drawn(self, snapshot: DashboardSnapshot) -> Json:
        self._samples = recorded(self._samples, sample(snapshot))
        return page(snapshot, self._samples, self._asked, self.costs)

    def costs(self, state: ClusterState, asked: CostOptions) -> ClusterCosts:
        """Costs of the nodes now, with recent resource-hours."""
        hours = self._hours.of((), lambda: hours_so_far(state, asked))
        return ClusterCosts(node_costs(state, asked.prices), hours)
