"""Objects of kubectl-edl in the cluster: those installed, and those created at run time."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Final

from certs.secrets import AUTHORITY_SECRET, SECRET, WEBHOOK_KINDS
from edl import contract
from edl.durations import duration_text
from edl.errors import NotFound
from edl.kube.cluster import RESOURCES, ListOptions, PluginCluster, find
from edl.model import ObjectRef
from edl.visibility.namespace_queue import CONFIG_MAP
from edl.visibility.queue_writes import SELECTOR
from kubectl_edl.cli.command_errors import TimedOut
from kubectl_edl.cli.context import CliContext
from kubectl_edl.cli.interaction import waited_gone
from kubectl_edl.install.components import PART_OF
from kubectl_edl.install.server_side_apply import name_of
from kubectl_edl.output.cell_quantities import counted

KINDS: Final = (
    *WEBHOOK_KINDS,
    *("ServiceMonitor", "PrometheusRule", "Certificate", "Issuer"),
    *("Deployment", "PodDisruptionBudget", "NetworkPolicy", "Service"),
    *("RoleBinding", "Role", "ClusterRoleBinding", "ClusterRole"),
    *("ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"),
    *("ServiceAccount", "Secret", "ConfigMap", "ResourceQuota", "PriorityClass"),
)
"""Kinds that any version of ours installs, in the order of deletion: webhooks first.

The admission policy limits the reconciler's token until the token has no rights. The namespace is
not among them: with it, users' objects would be lost.
"""


def installed(cluster: PluginCluster) -> tuple[ObjectRef, ...]:
    """All objects with the label of an installation, in the order of `KINDS`."""
    return tuple(
        target for kind in KINDS for target in _labelled(cluster, kind, contract.INSTALLED)
    )


def superseded(cluster: PluginCluster, wanted: Sequence[ObjectRef]) -> tuple[ObjectRef, ...]:
    """Installed objects that the new version no longer has."""
    needed = set(wanted)
    return tuple(target for target in installed(cluster) if target not in needed)


_UNLABELLED: Final = f"{PART_OF}={contract.MANAGED_BY},!{contract.INSTALLED}"


def others_stay(
    cluster: PluginCluster, flags: str, handled: Sequence[ObjectRef] = ()
) -> Iterator[str]:
    """The sentence on objects that look like ours, and lack the label of an installation.

    They may be an administrator's, or of manifests without that label. The teams have a sentence of
    their own.
    """
    teams = ObjectRef("ConfigMap", cluster.system_namespace, contract.TEAMS_CONFIG_MAP)
    unlabelled = (target for kind in KINDS for target in _labelled(cluster, kind, _UNLABELLED))
    # Names of roles and bindings may contain what a shell acts on.
    if names := [
        shlex.quote(name_of(target)) for target in unlabelled if target not in {*handled, teams}
    ]:
        yield (
            f"left in the cluster: {counted(len(names), 'object')} with "
            f"{PART_OF}={contract.MANAGED_BY} and without {contract.INSTALLED}. "
            "To delete what is not yours: "
            f"kubectl delete -n {cluster.system_namespace} {' '.join(names)}{flags}"
        )


def remove(
    cluster: PluginCluster, targets: Sequence[ObjectRef], *, dry_run: bool = False
) -> Iterator[ObjectRef]:
    """Delete the objects, and yield each that existed."""
    for target in targets:
        try:
            cluster.delete(target, dry_run=dry_run)
        except NotFound:
            continue
        yield target


def wait_until_gone(
    cli: CliContext,
    cluster: PluginCluster,
    targets: Sequence[ObjectRef],
    timeout: timedelta,
    flags: str,
) -> None:
    """Raise TimedOut, naming what still exists; `flags` are appended to the suggested command."""
    if left := waited_gone(cli, targets, lambda target: find(cluster, target) is not None, timeout):
        names = ", ".join(f"{target.kind} {target.name}" for target in left)
        first = left[0]
        place = f" -n {first.namespace}" if first.namespace else ""
        raise TimedOut(
            f"{names} still there after {duration_text(timeout)}; its finalizers and "
            f"conditions say why: kubectl get {first.kind.lower()} {first.name}{place} -o yaml"
            f"{flags}"
        )


def _labelled(cluster: PluginCluster, kind: str, selector: str) -> Iterator[ObjectRef]:
    namespace = cluster.system_namespace if RESOURCES[kind].namespaced else ""
    try:
        listing = cluster.list(ListOptions(kind, namespace, selector))
    except NotFound:  # the API of another project, which this cluster does not have
        return
    for manifest in listing.manifests():
        yield ObjectRef(kind, namespace, manifest["metadata"]["name"])


IN_ITS_NAMESPACE: Final = (
    ("Lease", contract.RECONCILER_LEASE),
    ("ConfigMap", contract.TEAMS_APPLIED_CONFIG_MAP),
    ("Secret", AUTHORITY_SECRET),
    ("Secret", SECRET),
    ("Secret", "edl-authority"),
)
"""(kind, name). The Secrets are installed, and recreated without the label if they are missing; the
last one is cert-manager's.
"""
_PROVISIONAL: Final = f"{contract.PROVISIONAL},{contract.MANAGED}"
AMONG_USERS: Final = (
    ListOptions("ConfigMap", labels=SELECTOR, name=CONFIG_MAP),
    ListOptions("PodDisruptionBudget", labels=f"{contract.JOB},{contract.MANAGED}"),
    ListOptions("Pod", labels=_PROVISIONAL),
)
"""Objects in any namespace: published queues, which are useless without the reconciler, budgets,
which would block each drain of a node with a minimum, and provisional pods, for which an autoscaler
would keep nodes.
"""
REQUESTS: Final = tuple(
    ListOptions(kind, labels=_PROVISIONAL) for kind in ("ProvisioningRequest", "PodTemplate")
)
"""Further such objects, if the API server serves ProvisioningRequests."""


def created(cluster: PluginCluster) -> Iterator[ObjectRef]:
    """Objects that the reconciler created at run time. Raises ClusterError."""
    for kind, name in IN_ITS_NAMESPACE:
        target = ObjectRef(kind, cluster.system_namespace, name)
        if find(cluster, target) is not None:
            yield target
    for options in AMONG_USERS:
        yield from _listed(cluster, options)
    with suppress(NotFound):
        for options in REQUESTS:
            yield from _listed(cluster, options)


def _listed(cluster: PluginCluster, options: ListOptions) -> Iterator[ObjectRef]:
    for manifest in cluster.list(options).manifests():
        yield ObjectRef.of(options.kind, manifest)
