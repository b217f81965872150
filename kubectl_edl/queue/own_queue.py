"""The published queue of one namespace, for users without the right to read the cluster."""

from datetime import datetime
from typing import NamedTuple

from kubectl_edl.cli.context import ClusterConnection
from kubectl_edl.client import reconciler_lease
from kubectl_edl.client.cluster_view import Survey
from kubectl_edl.model.published_queue import PublishedView, ranked, read_published
from kubectl_edl.queue.view import WaitingJob
from kubectl_edl.queue.waiting_jobs import by_arrival


class OwnQueue(NamedTuple):
    """`published` is None if the reconciler published nothing that may be read."""

    jobs: tuple[WaitingJob, ...]
    published: PublishedView | None
    hints: tuple[str, ...]


def own_queue(connection: ClusterConnection, own: Survey, now: datetime) -> OwnQueue:
    """The queued jobs of `own` as the reconciler published them, or else by arrival."""
    hints = [*reconciler_lease.unattended(connection, now)]
    published = read_published(connection, now, hints) if connection.namespace else None
    own = ranked(own, published)
    return OwnQueue(by_arrival(own.jobs, published), published, (*own.hints, *hints))
