"""Requests lists before the modules that read them are imported: both take equally long."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Final

from edl import contract
from edl.kube.cluster import ListOptions

if TYPE_CHECKING:
    from concurrent.futures import Future

    from edl.kube.cluster import RawList
    from edl.writes import Json
    from kubectl_edl.cli.context import ClusterConnection


class PrefetchedLists:
    """The lists and the Lease of a survey: requested on creation, and again for each later survey.

    Not thread-safe.
    """

    def __init__(self, connection: ClusterConnection) -> None:
        self.connection: Final = connection
        self._lists, self._lease = self._request()

    def answers(self) -> list[Future[RawList]]:
        """The Jobs, pods and PriorityClasses; a result raises the error of its request.

        Waits for all of them: parsing some while others arrive slows both down.
        """
        if not self._lists:
            self._lists, self._lease = self._request()
        lists, self._lists = self._lists, []
        wait(lists)
        wait([self._lease])
        return lists

    def lease(self) -> Json:
        """The reconciler's Lease, as of the last answers. Raises NotFound, Forbidden."""
        return self._lease.result()

    def _request(self) -> tuple[list[Future[RawList]], Future[Json]]:
        selections = (
            jobs_of(self.connection),
            ListOptions("Pod", self.connection.namespace, contract.FRAMEWORK),
            ListOptions("PriorityClass"),
        )
        # Fewer workers than lists: a short list is cheaper on a used connection than on a new one.
        pool = ThreadPoolExecutor(len(selections) - 1)
        listings = [pool.submit(self.connection.cluster.list, options) for options in selections]
        lease = pool.submit(self._read_lease)
        pool.shutdown(wait=False)
        return listings, lease

    def _read_lease(self) -> Json:
        from kubectl_edl.client.reconciler_lease import read_lease

        return read_lease(self.connection.cluster)


def jobs_of(connection: ClusterConnection, selector: str = "") -> ListOptions:
    """The selection of our Jobs; their pods carry the same label."""
    labels = f"{contract.FRAMEWORK},{selector}" if selector else contract.FRAMEWORK
    return ListOptions("Job", connection.namespace, labels)
