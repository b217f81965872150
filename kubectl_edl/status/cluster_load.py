"""The cluster's load and the queue's length in one line, refreshed every few seconds."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from edl.errors import ClusterError
from edl.job_state.phases import waits_to_start
from edl.quantities import CPU, DEVICE_CLASS, MEMORY, Resources, devices_text
from kubectl_edl.client.cluster_view import survey_cluster

if TYPE_CHECKING:
    from concurrent.futures import Future
    from datetime import datetime

    from edl.model import ClusterState
    from kubectl_edl.cli.context import ClusterConnection

_FRESH: Final = timedelta(seconds=10)


class ClusterLoad:
    """Computes the line; empty without rights to read the whole cluster. For use by one thread.

    The first text waits for it, at most `patience` seconds; later ones are the last line.
    """

    def __init__(self, connection: ClusterConnection, patience: float) -> None:
        self._connection = connection
        self._patience = patience
        self._pool = ThreadPoolExecutor(1)
        self._asked: Future[str] | None = None
        self._due_at: datetime | None = None
        self._text = ""

    def text(self, now: datetime) -> str:
        before = self._due_at
        if self._asked is None and (before is None or now >= before):
            self._asked, self._due_at = self._pool.submit(self._read, now), now + _FRESH
        if self._asked and before is None:
            wait([self._asked], self._patience)
        if self._asked and self._asked.done():
            self._text, self._asked = self._asked.result(), None
        return self._text

    def _read(self, now: datetime) -> str:
        from kubectl_edl.client.reconciler_settings import deciding

        try:
            settings = deciding(self._connection, now).settings
            state, _ = survey_cluster(self._connection.cluster, now, settings)
        except ClusterError:
            return ""
        return sentence(state)


def sentence(state: ClusterState) -> str:
    """`Cluster: 3 queued; requested: CPU 76 % of 80, memory 38 % of 320Gi`."""
    nodes = [node for node in state.nodes if node.schedulable]
    allocatable = sum((node.allocatable for node in nodes), Resources())
    used = sum((node.used for node in nodes), Resources())
    parts = [
        f"{_named(name)} {100 * used.get(name) // amount} % of {_amount(name, amount)}"
        for name, amount in allocatable
        if amount and (name in (CPU, MEMORY) or "/" in name)
    ]
    queued = sum(map(waits_to_start, state.jobs))
    requested = f"requested: {', '.join(parts)}" if parts else "no node is ready"
    return f"Cluster: {queued} queued; {requested}"


def _named(name: str) -> str:
    if name.startswith(DEVICE_CLASS):
        return devices_text(name)
    return "CPU" if name == CPU else name


def _amount(name: str, amount: int) -> str:
    """`320Gi`: the amount without the resource's name."""
    return str(Resources.of({name: amount})).split(" ")[0]
