"""When to read again: after a change in the cluster, or after an interval."""

import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from threading import Thread
from typing import Final

from edl.errors import ClusterError, Forbidden
from edl.kube.cluster import Cluster, ListOptions
from kubectl_edl.cli.terminal import Attention

_PATIENCE: Final = 5.0
"""Seconds without a change after which ages are worth printing again."""
_GATHER: Final = 0.2
"""Seconds in which several changes count as one: a resize touches many objects."""
_AGAIN: Final = 2.0


def wakes(
    cluster: Cluster,
    selection: ListOptions,
    attention: Attention,
    deadlines: Sequence[timedelta] = (),
) -> Iterator[None]:
    """Until its user has seen enough. Without the right to watch, every 5 s.

    Also when each of the `deadlines`, counted from now, is over.
    """
    Thread(target=_watch, args=(cluster, selection, attention), daemon=True).start()
    return _wakes(attention, deadlines, time.monotonic())


def _wakes(attention: Attention, deadlines: Sequence[timedelta], begun: float) -> Iterator[None]:
    while True:
        at_once = attention.wait(patience(deadlines, time.monotonic() - begun))
        if not at_once and not attention.ended:
            time.sleep(_GATHER)
        attention.forget()
        if attention.ended:
            return
        yield


def patience(deadlines: Sequence[timedelta], since: float) -> float:
    """Seconds to wait for a change, `since` seconds after the deadlines' beginning."""
    left = [deadline.total_seconds() - since for deadline in deadlines]
    return min([_PATIENCE, *(seconds for seconds in left if seconds > 0)])


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
