"""A namespace of its own for each test.

By the API: kubectl would be started three times for each of some hundred tests.
"""

from __future__ import annotations

import contextlib
import secrets
from typing import TYPE_CHECKING, Final

from edl.errors import NotFound
from edl.kube.api.client import connect
from edl.model import ObjectRef
from sandbox.processes.readiness import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edl.kube.api.client import ApiClient
    from sandbox.cluster import Cluster

WITHIN: Final = 120.0


@contextlib.contextmanager
def temporary(cluster: Cluster, prefix: str = "test") -> Iterator[str]:
    """A fresh namespace that takes pods. It is deleted afterwards, which nobody waits for."""
    name = f"{prefix}-{secrets.token_hex(4)}"
    namespace = ObjectRef("Namespace", "", name)
    with _connected(cluster) as api:
        api.create(namespace, {"metadata": {"name": name}})
    try:
        with _connected(cluster) as api:
            wait_for(lambda: _account_gap(api, name), lambda: None, WITHIN)
        yield name
    finally:
        # Anew: what the test did to the API server ended the connections from before.
        with _connected(cluster) as api:
            api.delete(namespace)


@contextlib.contextmanager
def _connected(cluster: Cluster) -> Iterator[ApiClient]:
    with contextlib.closing(connect(str(cluster.kubeconfig))) as api:
        yield api


def _account_gap(api: ApiClient, namespace: str) -> str:
    """Pods are refused before the controller manager has made it."""
    try:
        api.get(ObjectRef("ServiceAccount", namespace, "default"))
    except NotFound:
        return f"kube-controller-manager: no default service account in {namespace}"
    return ""
