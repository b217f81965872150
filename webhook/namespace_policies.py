"""Settings of all namespaces, from a watch: reviews need not wait for the API server.

Settings may lag by a watch's delay of some milliseconds. Only a namespace that the watch has not
delivered yet is read by itself, on a thread. These requests are bounded in number and time,
whatever reviews a client sends.
"""

import time
from collections.abc import Callable
from threading import Lock
from typing import Final, Protocol

from edl.errors import ClusterError, Unreachable
from edl.kube.cache.informer import Informer
from edl.kube.cache.store import Store
from edl.kube.cluster import Cluster, ListOptions, ObjectKey
from edl.kube.decode import object_facts
from edl.model import ObjectRef
from edl.parsing.namespace_policy import SILENT, NamespacePolicy, read

NAMESPACES: Final = ListOptions("Namespace")
MAX_FAILURES: Final = 64
_FAILED_SECONDS: Final = 3.0


class NamespacePolicies(Protocol):
    """The source of the namespaces' settings."""

    def known(self, namespace: str) -> NamespacePolicy | None:
        """The settings from memory; None for a namespace that the watch has not delivered."""
        ...

    def fetch(self, namespace: str) -> NamespacePolicy:
        """Reads the namespace from the API server. Raises ClusterError."""
        ...

    def problem(self) -> str:
        """Why the settings are not known yet; empty once they are."""
        ...


class NoPolicies:
    """The source without a cluster: no namespace has settings."""

    def known(self, namespace: str) -> NamespacePolicy | None:
        del namespace
        return SILENT

    def fetch(self, namespace: str) -> NamespacePolicy:
        del namespace
        return SILENT

    def problem(self) -> str:
        return ""


class WatchedPolicies:
    """Settings of a cluster's namespaces, watched by a thread for the life of the process.

    While the API server cannot be reached, the last known settings apply.
    """

    def __init__(
        self, cluster: Cluster, quick: Cluster, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """`quick` is a client with a short timeout, for reads while a review waits."""
        self._store = Store(object_facts.namespace)
        self._informer = Informer(cluster, NAMESPACES, self._store)
        self._quick = quick
        self._failures = FetchFailures(monotonic)

    def start(self) -> None:
        self._informer.start()

    def stop(self) -> None:
        self._informer.stop()

    def known(self, namespace: str) -> NamespacePolicy | None:
        item = self._store.get(ObjectKey("", namespace))
        return item.policy if item else None

    def fetch(self, namespace: str) -> NamespacePolicy:
        """Reads the namespace, unless it has become known meanwhile. Raises ClusterError."""
        if problem := self.problem():
            raise Unreachable(problem)
        return self.known(namespace) or self._read(namespace)

    def _read(self, namespace: str) -> NamespacePolicy:
        self._failures.check(namespace)
        try:
            body = self._quick.get(ObjectRef("Namespace", "", namespace))
        except ClusterError as error:
            self._failures.add(namespace, error)
            raise
        self._store.accept(body)
        return read(body)

    def problem(self) -> str:
        return "" if self._store.synced else "the cluster's namespaces are not known yet"


class FetchFailures:
    """The namespaces that could not be read in the last seconds, and why. Thread-safe.

    A review may name any namespace. So the number of failures is bounded, and with it the number of
    requests that reviews cause: once it is reached, no unknown namespace is read.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._lock = Lock()
        self._errors: dict[str, tuple[float, ClusterError]] = {}

    def check(self, namespace: str) -> None:
        """Raises the error of a recent attempt to read it, or Unreachable after many failures."""
        with self._lock:
            oldest = self._monotonic() - _FAILED_SECONDS
            self._errors = {name: e for name, e in self._errors.items() if e[0] > oldest}
            _, error = self._errors.get(namespace, (0.0, None))
            if error is not None:
                raise type(error)(str(error), error.status)
            if len(self._errors) >= MAX_FAILURES:
                raise Unreachable("too many namespaces could not be read a moment ago")

    def add(self, namespace: str, error: ClusterError) -> None:
        with self._lock:
            self._errors[namespace] = (self._monotonic(), error)
