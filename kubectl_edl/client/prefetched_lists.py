"""Requests lists before the modules that read them are imported: both take equally long."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from edl import contract
from edl.kube.cluster import ListOptions

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from edl.kube.cluster import RawList
    from edl.writes import Json
    from kubectl_edl.cli.context import ClusterConnection


class Answers(NamedTuple):
    """Functions that return the items of each list, or raise the error of its request."""

    jobs: Callable[[], tuple[bytes, ...]]
    pods: Callable[[], tuple[bytes, ...]]
    priorities: Callable[[], tuple[bytes, ...]]


_Futures: TypeAlias = "tuple[list[Future[RawList]], Future[Json]]"


class PrefetchedLists:
    """The lists and the Lease that a survey reads: requested on creation, and for each further one.

    Not thread-safe.
    """

    def __init__(self, connection: ClusterConnection) -> None:
        self.connection: Final = connection
        self._futures: _Futures | None = self._request()
        self._lease: Future[Json] | None = None

    def answers(self) -> Answers:
        """Wait for all lists before parsing any: parsing while others arrive slows both down."""
        (listings, self._lease), self._futures = self._futures or self._request(), None
        wait(listings)
        wait([self._lease])
        return Answers(*(lambda one=one: one.result().items for one in listings))

    def lease(self) -> Json:
        """The reconciler's Lease, as of the last answers. Raises NotFound, Forbidden."""
        return self._lease.result() if self._lease else self._read_lease()

    def _request(self) -> _Futures:
        selections = (
            jobs_of(self.connection),
            ListOptions("Pod", self.connection.namespace, contract.FRAMEWORK),
            ListOptions("PriorityClass"),
        )
        # Fewer workers than lists: a short list is cheaper on a used connection than on a new one.
        pool = ThreadPoolExecutor(len(selections) - 1)
        listings = [pool.submit(self.connection.cluster.list, one) for one in selections]
        lease = pool.submit(self._read_lease)
        pool.shutdown(wait=False)
        return listings, lease

    def _read_lease(self) -> Json:
        from kubectl_edl.client.reconciler_lease import lease_ref

        return self.connection.cluster.get(lease_ref(self.connection.cluster))


def jobs_of(connection: ClusterConnection, selector: str = "") -> ListOptions:
    """The selection of our Jobs; their pods carry the same label."""
    labels = f"{contract.FRAMEWORK},{selector}" if selector else contract.FRAMEWORK
    return ListOptions("Job", connection.namespace, labels)
