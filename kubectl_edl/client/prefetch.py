"""Lists requested before the modules that read them are imported: both take equally long."""

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
    """The items of each list, or the error that it met, when they are asked for."""

    jobs: Callable[[], tuple[bytes, ...]]
    pods: Callable[[], tuple[bytes, ...]]
    priorities: Callable[[], tuple[bytes, ...]]


_Futures: TypeAlias = "tuple[list[Future[RawList]], Future[Json] | None]"


class PrefetchedLists:
    """What a survey reads: asked for at once when this is made, and anew whenever it is read again.

    Not thread-safe.
    """

    def __init__(self, connection: ClusterConnection, *, lease: bool = False) -> None:
        self.connection: Final = connection
        self._with_lease = lease
        self._futures: _Futures | None = self._ask()
        self._lease: Future[Json] | None = None

    def answers(self) -> Answers:
        """Wait for all answers first: parsing one while others arrive only slows them down."""
        (listings, self._lease), self._futures = self._futures or self._ask(), None
        wait(listings)
        wait([self._lease] if self._lease else [])
        return Answers(*(lambda one=one: one.result().items for one in listings))

    def lease(self) -> Json:
        """The reconciler's, as it was with the last answers. Raises NotFound, Forbidden."""
        return self._lease.result() if self._lease else self._read_lease()

    def _ask(self) -> _Futures:
        selections = (
            jobs_of(self.connection),
            ListOptions("Pod", self.connection.namespace, contract.FRAMEWORK),
            ListOptions("PriorityClass"),
        )
        # The short ones follow whichever is done first: a connection of its own costs more.
        pool = ThreadPoolExecutor(len(selections) - 1)
        listings = [pool.submit(self.connection.cluster.list, one) for one in selections]
        lease = pool.submit(self._read_lease) if self._with_lease else None
        pool.shutdown(wait=False)
        return listings, lease

    def _read_lease(self) -> Json:
        from kubectl_edl.client.reconciler_lease import lease_ref  # noqa: PLC0415 (while the answers come)

        return self.connection.cluster.get(lease_ref(self.connection.cluster))


def jobs_of(connection: ClusterConnection, selector: str = "") -> ListOptions:
    """Our Jobs; their pods carry the same label."""
    labels = f"{contract.FRAMEWORK},{selector}" if selector else contract.FRAMEWORK
    return ListOptions("Job", connection.namespace, labels)
