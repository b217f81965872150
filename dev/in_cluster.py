"""kubectl-edl in a cluster as users put it there: its image, and `kubectl apply -k`."""

from typing import Final

from edl import contract
from manifests import render
from sandbox.existing import Cluster

DEPLOYMENTS: Final = ("edl-webhook", "edl-reconciler")
_WITHIN: Final = "--timeout=120s"


def apply(cluster: Cluster) -> None:
    """Everything of `manifests/base`; both Deployments are rolled out on return.

    The cluster's nodes must have or find the image. Raises SandboxError.
    """
    cluster.kubectl("apply", "-k", str(render.BASE))
    await_rollout(cluster)


def await_rollout(cluster: Cluster) -> None:
    """Returns when every wanted pod of ours is ready. Raises SandboxError after two minutes."""
    for name in DEPLOYMENTS:
        rollout = ("rollout", "status", f"deployment/{name}", _WITHIN)
        cluster.kubectl("-n", contract.SYSTEM_NAMESPACE, *rollout)


def delete(cluster: Cluster) -> None:
    """Nothing of `manifests/base` is left on return. Raises SandboxError."""
    cluster.kubectl("delete", "-k", str(render.BASE), "--ignore-not-found", _WITHIN)
