"""Signals when to read the cluster again: after a change, or after an interval."""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Final

from edl.kube.cache import informer
from edl.kube.cache.store import Store
from edl.kube.cluster import ListOptions, PluginCluster, RawList
from edl.kube.cluster_decorator import PluginClusterDecorator
from kubectl_edl.cli.terminal import Attention

_PATIENCE: Final = 5.0
"""Seconds after which output is refreshed without a change, because ages grow."""
_GATHER: Final = 0.2
"""Seconds in which several changes count as one: a resize changes many objects."""


class WatchedLists(PluginClusterDecorator):
    """A cluster whose lists of some selections come from watches; each event calls `changed`.

    An informer lists each selection once and then watches it; it resumes a closed watch, and backs
    off while the API server is unreachable. All other requests go to the API server directly.
    """

    def __init__(
        self, cluster: PluginCluster, selections: Sequence[ListOptions], changed: Callable[[], None]
    ) -> None:
        super().__init__(cluster)
        self._stores = {selection: Store(bytes, changed) for selection in selections}
        self._informers = [
            informer.Informer(cluster, selection, store)
            for selection, store in self._stores.items()
        ]
        for watcher in self._informers:
            watcher.start()

    def list(self, selection: ListOptions) -> RawList:
        """The watched list; until it is synced, a request that may raise ClusterError."""
        store = self._stores.get(selection)
        if store is None or not store.synced:
            return super().list(selection)
        return RawList(tuple(store.values()), "")

    def stop(self) -> None:
        for watcher in self._informers:
            watcher.stop()


def watched(
    attention: Attention, cluster: PluginCluster, selections: Sequence[ListOptions]
) -> PluginCluster:
    """The cluster as WatchedLists; a change wakes `attention`."""
    return WatchedLists(cluster, selections, attention.wake)


def wakes(
    cluster: PluginCluster,
    selection: ListOptions,
    attention: Attention,
    deadlines: Sequence[timedelta] = (),
) -> Iterator[None]:
    """Yield after each change until `attention` has ended; every 5 s without the right to watch.

    Also yields when one of the `deadlines`, counted from now, has passed.
    """
    lists: WatchedLists | None = cluster if isinstance(cluster, WatchedLists) else None
    if lists is None:
        # The code that reads the cluster after each change reports an unreachable API server.
        logging.getLogger(informer.__name__).addHandler(logging.NullHandler())
        lists = WatchedLists(cluster, [selection], attention.wake)
    return _wakes(lists, attention, deadlines, time.monotonic())


def _wakes(
    lists: WatchedLists, attention: Attention, deadlines: Sequence[timedelta], begun: float
) -> Iterator[None]:
    try:
        while True:
            at_once = attention.wait(patience(deadlines, time.monotonic() - begun))
            if not at_once and not attention.ended:
                time.sleep(_GATHER)
            attention.forget()
            if attention.ended:
                return
            yield
    finally:
        lists.stop()


def patience(deadlines: Sequence[timedelta], since: float) -> float:
    """Seconds to wait for a change, `since` seconds after the start of the deadlines."""
    left = [deadline.total_seconds() - since for deadline in deadlines]
    return min([_PATIENCE, *(seconds for seconds in left if seconds > 0)])
