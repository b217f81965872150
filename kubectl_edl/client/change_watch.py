"""When to look again: after a change in the cluster, or after a while."""

import time
from collections.abc import Iterator
from threading import Thread
from typing import Final

from edl.errors import ClusterError, Forbidden
from edl.kube.cluster import Cluster, ListOptions
from kubectl_edl.cli.interrupts import Attention

_PATIENCE: Final = 5.0
"""Seconds without a change after which ages are worth printing again."""
_GATHER: Final = 0.2
"""Seconds in which several changes count as one: a resize touches many objects."""
_AGAIN: Final = 2.0


def wakes(cluster: Cluster, selection: ListOptions, attention: Attention) -> Iterator[None]:
    """Until its user has seen enough. Without the right to watch, every 5 s."""
    Thread(target=_watch, args=(cluster, selection, attention), daemon=True).start()
    while True:
        at_once = attention.wait(_PATIENCE)
        if not at_once and not attention.ended:
            time.sleep(_GATHER)
        attention.forget()
        if attention.ended:
            return
        yield


def _watch(cluster: Cluster, selection: ListOptions, attention: Attention) -> None:
    while True:
        try:
            version = cluster.list(selection).version
            attention.wake()
            for event in cluster.watch(selection, version):
                if event.type != "BOOKMARK":
                    attention.wake()
        except Forbidden:
            return
        except ClusterError:  # a restart, a version that is too old: start over
            time.sleep(_AGAIN)
