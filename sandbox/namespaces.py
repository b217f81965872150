"""A namespace of its own for each test."""

from __future__ import annotations

import contextlib
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sandbox.named import Cluster


@contextlib.contextmanager
def temporary(cluster: Cluster, prefix: str = "test") -> Iterator[str]:
    """A fresh namespace that takes pods. It is deleted afterwards, which nobody waits for."""
    name = f"{prefix}-{secrets.token_hex(4)}"
    cluster.kubectl("create", "namespace", name)
    try:
        # Pods are refused before the controller manager has made it.
        account = ("--for=create", "serviceaccount/default", "--timeout=60s")
        cluster.kubectl("wait", "-n", name, *account)
        yield name
    finally:
        cluster.kubectl("delete", "namespace", name, "--wait=false")
