"""When to look again: after a change in the cluster, or after a while."""

import time
from collections.abc import Iterator
from threading import Event, Thread
from typing import Final

from edl.errors import ClusterError, Forbidden
from edl.kube.cluster import Cluster, Selection

_PATIENCE: Final = 5.0
"""Seconds without a change after which ages are worth printing again."""
_GATHER: Final = 0.2
"""Seconds in which several changes count as one: a resize touches many objects."""
_AGAIN: Final = 2.0


def wakes(cluster: Cluster, selection: Selection) -> Iterator[None]:
    """Endless. Without the right to watch, every 5 s."""
    changed = Event()
    Thread(target=_watch, args=(cluster, selection, changed), daemon=True).start()
    while True:
        changed.wait(_PATIENCE)
        time.sleep(_GATHER)
        changed.clear()
        yield


def _watch(cluster: Cluster, selection: Selection, changed: Event) -> None:
    while True:
        try:
            version = cluster.list(selection).version
            changed.set()
            for event in cluster.watch(selection, version):
                if event.type != "BOOKMARK":
                    changed.set()
        except Forbidden:
            return
        except ClusterError:  # a restart, a version that is too old: start over
            time.sleep(_AGAIN)
