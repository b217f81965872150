"""Objects of kubectl-edl in the cluster: those installed, and those created at run time."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Final

from certs.secrets import AUTHORITY_SECRET, SECRET, WEBHOOK_KINDS
from edl import contract
from edl.contract.manifest_parts import labels
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

_NAMESPACE: Final = "Namespace"
KINDS: Final = (
    *WEBHOOK_KINDS,
    *("ServiceMonitor", "PrometheusRule", "Certificate", "Issuer"),
    *("Deployment", "PodDisruptionBudget", "NetworkPolicy", "Service"),
    *("RoleBinding", "Role", "ClusterRoleBinding", "ClusterRole"),
    *("ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"),
    *("ServiceAccount", "Secret", "ConfigMap", "ResourceQuota", "PriorityClass", _NAMESPACE),
)
"""Kinds that any version of ours installs, in the order of deletion: webhooks first.

The admission policy limits the reconciler's token until the token has no rights."""


def installed(cluster: PluginCluster) -> tuple[ObjectRef, ...]:
    """All objects with our label, in the order of `KINDS`."""
    return tuple(target for kind in KINDS for target in _labelled(cluster, kind))


def superseded(cluster: PluginCluster, wanted: Sequence[ObjectRef]) -> tuple[ObjectRef, ...]:
    """Installed objects that the new version no longer has.

    The namespace is never among them: with it, users' objects would be lost.
    """
    needed = set(wanted)
    targets = (target for target in installed(cluster) if target.kind != _NAMESPACE)
    return tuple(target for target in targets if target not in needed)


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


def _labelled(cluster: PluginCluster, kind: str) -> Iterator[ObjectRef]:
    namespace = cluster.system_namespace if RESOURCES[kind].namespaced else ""
    # The namespace of an earlier installation may have been kept for users' objects.
    name = cluster.system_namespace if kind == _NAMESPACE else ""
    try:
        listing = cluster.list(ListOptions(kind, namespace, PART_OF, name))
    except NotFound:  # the API of another project, which this cluster does not have
        return
    for manifest in listing.manifests():
        yield ObjectRef(kind, namespace, manifest["metadata"]["name"])


_OF_OTHERS: Final = (
    *("ConfigMap", "Secret", "PersistentVolumeClaim", "Job", "CronJob", "Deployment", "Pod"),
    *("Service", "NetworkPolicy"),
)
"""Kinds whose objects would be lost with the namespace."""
_OF_KUBERNETES: Final = {"kube-root-ca.crt", "openshift-service-ca.crt", "istio-ca-root-cert"}
"""ConfigMaps that Kubernetes, OpenShift or Istio creates in every namespace."""


def of_others(cluster: PluginCluster) -> Iterator[ObjectRef]:
    """Users' objects in our namespace, such as the teams.

    Objects with an owner are not counted, but pods are: their owner may be of any kind.
    """
    ours = {ObjectRef(kind, cluster.system_namespace, name) for kind, name in IN_ITS_NAMESPACE}
    part, _, of_ours = PART_OF.partition("=")
    for kind in _OF_OTHERS:
        for manifest in cluster.list(ListOptions(kind, cluster.system_namespace)).manifests():
            metadata = manifest["metadata"]
            target = ObjectRef(kind, cluster.system_namespace, metadata["name"])
            labelled = labels(manifest).get(part) == of_ours
            owned = kind != "Pod" and metadata.get("ownerReferences")
            if not (labelled or owned or target in ours) and target.name not in _OF_KUBERNETES:
                yield target


IN_ITS_NAMESPACE: Final = (
    ("Lease", contract.RECONCILER_LEASE),
    ("ConfigMap", contract.TEAMS_APPLIED_CONFIG_MAP),
    ("Secret", AUTHORITY_SECRET),
    ("Secret", SECRET),
    ("Secret", "edl-authority"),
)
"""(kind, name). The Secrets are installed, and recreated without our label if they are missing; the
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
