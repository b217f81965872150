"""Clears a control plane, so that it can serve the next cluster without remains of the last one."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final

from benchmarks.follow import Observed, observed
from edl.errors import NotFound
from edl.kube.api.client import ApiClient
from edl.kube.cluster import ListOptions
from edl.model import ObjectRef

LONGEST: Final = 300.0
"""The seconds per cluster; gangs that have not ended by then did not run, or are reported."""
_THREADS: Final = 4


def until(holds: Callable[[], bool], seconds: float) -> None:
    """Wait until the condition holds, or until the time is over."""
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.1)


def clear(api: ApiClient, namespace: str, nodes: Sequence[str]) -> None:
    """Delete all Jobs and pods of the namespace, and these nodes."""
    for kind in ("Job", "Pod"):
        _delete(api, kind, namespace)
    until(lambda: not api.list(ListOptions("Pod", namespace)).items, LONGEST)
    for name in nodes:
        api.delete(ObjectRef("Node", "", name))


def _delete(api: ApiClient, kind: str, namespace: str) -> None:
    def delete(found: Observed) -> None:
        with suppress(NotFound):
            api.delete(ObjectRef(kind, namespace, found.metadata.name))

    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(delete, observed(api.list(ListOptions(kind, namespace)).items)))
