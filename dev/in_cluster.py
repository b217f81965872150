"""Installs kubectl-edl in a cluster as users do: from its image, with `kubectl apply -k`."""

from typing import Final

from edl import contract
from manifests import render
from sandbox.cluster import Cluster

DEPLOYMENTS: Final = ("edl-webhook", "edl-reconciler")
_WITHIN: Final = "--timeout=120s"


def apply(cluster: Cluster) -> None:
    """Apply `manifests/base`; returns when both Deployments are rolled out.

    The nodes must have the image, or be able to pull it. Raises SandboxError.
    """
    cluster.kubectl("apply", "-k", str(render.BASE))
    await_rollout(cluster)


def await_rollout(cluster: Cluster) -> None:
    """Wait until all pods of both Deployments are ready. Raises SandboxError after two minutes."""
    for name in DEPLOYMENTS:
        rollout = ("rollout", "status", f"deployment/{name}", _WITHIN)
        cluster.kubectl("-n", contract.SYSTEM_NAMESPACE, *rollout)


def delete(cluster: Cluster) -> None:
    """Delete everything of `manifests/base` and wait until it is gone. Raises SandboxError."""
    cluster.kubectl("delete", "-k", str(render.BASE), "--ignore-not-found", _WITHIN)
