"""Lists that are on their way before the modules are loaded that read them: both take as long."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Final, NamedTuple

from edl import contract
from edl.kube.cluster import Selection

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from edl.kube.cluster import RawListing
    from kubectl_edl.world import Connection


class Answers(NamedTuple):
    """The items of each list, or the error that it met, when they are asked for."""

    jobs: Callable[[], tuple[bytes, ...]]
    pods: Callable[[], tuple[bytes, ...]]
    priorities: Callable[[], tuple[bytes, ...]]


class Asked:
    """What a survey reads: asked for at once when this is made, and anew whenever it is read again.

    Not thread-safe.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection: Final = connection
        self._listings = self._ask()

    def answers(self) -> Answers:
        """All are there on return: who reads one while others arrive only slows them down."""
        listings, self._listings = self._listings or self._ask(), ()
        wait(listings)
        return Answers(*(lambda one=one: one.result().items for one in listings))

    def _ask(self) -> tuple[Future[RawListing], ...]:
        selections = (
            jobs_of(self.connection),
            Selection("Pod", self.connection.namespace, contract.FRAMEWORK),
            Selection("PriorityClass"),
        )
        # The short one follows whichever is done first: a connection of its own costs more.
        pool = ThreadPoolExecutor(len(selections) - 1)
        listings = tuple(pool.submit(self.connection.cluster.list, one) for one in selections)
        pool.shutdown(wait=False)
        return listings


def jobs_of(connection: Connection, selector: str = "") -> Selection:
    """Our Jobs; their pods carry the same label."""
    labels = f"{contract.FRAMEWORK},{selector}" if selector else contract.FRAMEWORK
    return Selection("Job", connection.namespace, labels)
