"""What every namespace says about its Jobs, by a watch: no review waits for the API server.

A review may be as old as a watch's delay, some milliseconds. Only a namespace that the watch has
not brought yet is read by itself, beside the loop.
"""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, Protocol

from edl.kube import facts
from edl.kube.cluster import Cluster, Selection
from edl.kube.informer import Informer
from edl.kube.store import Name, Store
from edl.model import Target
from edl.namespaces import SILENT, NamespacePolicy, read

NAMESPACES: Final = Selection("Namespace")


class Policies(Protocol):
    """Where the policies of namespaces come from."""

    def known(self, namespace: str) -> NamespacePolicy | None:
        """At once; None for a namespace that nobody has told us of."""
        ...

    def fetch(self, namespace: str) -> NamespacePolicy:
        """Ask the API server, which takes a while. Raises ClusterError."""
        ...

    def problem(self) -> str:
        """Why nothing is known yet; empty when it is."""
        ...


class Silent:
    """Of no cluster: no namespace says anything."""

    def known(self, namespace: str) -> NamespacePolicy | None:
        del namespace
        return SILENT

    def fetch(self, namespace: str) -> NamespacePolicy:
        del namespace
        return SILENT

    def problem(self) -> str:
        return ""


class Watched:
    """Of a cluster's namespaces, followed by a thread of its own for as long as we live.

    While the API server is away, what was known last goes on to hold.
    """

    def __init__(self, cluster: Cluster, quick: Cluster) -> None:
        """`quick` is the same cluster, asked for one namespace while a review waits."""
        self._store = Store(facts.namespace)
        self._informer = Informer(cluster, NAMESPACES, self._store)
        self._quick = quick

    def start(self) -> None:
        self._informer.start()

    def stop(self) -> None:
        self._informer.stop()

    def known(self, namespace: str) -> NamespacePolicy | None:
        found = self._store.get(Name("", namespace))
        return found.policy if found else None

    def fetch(self, namespace: str) -> NamespacePolicy:
        body = self._quick.get(Target("Namespace", "", namespace))
        self._store.accept(body)
        return read(body)

    def problem(self) -> str:
        return "" if self._store.synced else "the cluster's namespaces are not known yet"


class Errand:
    """A policy that is fetched beside the loop: called on a thread, asked for afterwards."""

    def __init__(self, fetch: Callable[[], NamespacePolicy]) -> None:
        self._fetch = fetch
        self._future: Future[NamespacePolicy] = Future()

    def __call__(self) -> None:
        try:
            self._future.set_result(self._fetch())
        except Exception as error:  # noqa: BLE001 - raised again where it can be answered
            self._future.set_exception(error)

    def result(self) -> NamespacePolicy:
        """Raises what fetching raised."""
        return self._future.result(timeout=0)
