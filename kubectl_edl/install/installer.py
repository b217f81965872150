"""How and where kubectl-edl was installed, and so what upgrades and repairs it."""

from dataclasses import dataclass, replace
from typing import Final

from certs.secrets import CONFIGURATION, WEBHOOK_KINDS
from edl import contract
from edl.contract.manifest_parts import annotations
from edl.errors import Forbidden
from edl.kube.cluster import Cluster, find
from edl.model import ObjectRef
from kubectl_edl.cli.command_errors import Refused
from kubectl_edl.cli.context import Scope
from kubectl_edl.cli.suggested_commands import FixCommand
from kubectl_edl.client.certificate_store import served_for, served_outside
from kubectl_edl.install.installation_values import KEPT

FORCE: Final = "--force-conflicts"
INSTALL: Final = "kubectl edl install --image IMAGE"
_WEBHOOK: Final = "edl-webhook"
_HELM: Final = "meta.helm.sh/release-name"
_HELM_NAMESPACE: Final = "meta.helm.sh/release-namespace"
_BINDING: Final = ObjectRef("ClusterRoleBinding", "", "edl-reconciler")
"""Its subject is the reconciler's ServiceAccount, wherever the reconciler runs."""


@dataclass(frozen=True, slots=True)
class OtherInstaller:
    """An installation that `kubectl edl upgrade` refuses.

    `again` applies all of its objects in the plugin's version, in the words of its own tool. Its
    commands and `takeover` do not have the user's options yet (`with_flags`).
    """

    how: str
    again: str
    takeover: str = ""
    """The command that leaves it to the plugin; empty if there is none."""
    forced: str = ""
    """`again` where other clients own fields; empty if that is the same."""
    to_image: str = ""
    """What follows `again` before another image; empty if that does not choose the image."""

    @property
    def by_force(self) -> str:
        return self.forced or self.again

    def with_image(self, image: str) -> str:
        """`again` with another image."""
        if not self.to_image:
            return self.again
        text = f"{self.again}{self.to_image}{image}"
        return FixCommand(text) if isinstance(self.again, FixCommand) else text


def other_installer(cluster: Cluster) -> OtherInstaller | None:
    """What installed kubectl-edl here instead of the plugin; None if the plugin did.

    Raises ClusterError.
    """
    if release := helm_release(cluster):
        again = FixCommand(f"helm upgrade {release.name} CHART -n {release.namespace}")
        image = " --reset-then-reuse-values --set image="
        return OtherInstaller("Helm installed kubectl-edl here", again, to_image=image)
    deployed = find(cluster, webhook_deployment(cluster)) is not None
    if not deployed and (url := served_outside(cluster)):
        return OtherInstaller(
            f"the webhook is served from {url}, by no Deployment of this cluster: restart it there "
            "in the plugin's version, and apply the other objects",
            FixCommand(
                f"python -m manifests.render --webhook-url {url} --authority CERT_DIR/ca.crt "
                f"--namespace {cluster.system_namespace} --output - | "
                f"kubectl apply --server-side {FORCE} -f -"
            ),
        )
    values = find(cluster, ObjectRef("ConfigMap", cluster.system_namespace, KEPT))
    if values is None and (deployed or served_for(cluster)):
        return OtherInstaller(
            "kubectl-edl was installed here by manifests",
            "apply the manifests of the plugin's version (kubectl apply, kustomize)",
            FixCommand("kubectl edl upgrade --take-ownership -f VALUES"),
            f"apply the manifests of the plugin's version (kubectl apply --server-side {FORCE})",
            " with the image ",
        )
    if deployed or (values is not None and served_for(cluster) == cluster.system_namespace):
        return None  # `upgrade` creates again what is missing
    return OtherInstaller("kubectl-edl is not installed in this cluster", FixCommand(INSTALL))


def elsewhere(cluster: Cluster) -> str:
    """The namespace of an installation, or of its rest, if that is another one; or empty.

    The webhook configurations tell, and without them the reconciler's ClusterRoleBinding. Raises
    ClusterError.
    """
    home = served_for(cluster) or _bound_in(cluster)
    return "" if home == cluster.system_namespace else home


def readable_elsewhere(cluster: Cluster) -> str:
    """The same; empty if the user may not read it."""
    try:
        return elsewhere(cluster)
    except Forbidden:
        return ""


def _bound_in(cluster: Cluster) -> str:
    subjects = (find(cluster, _BINDING) or {}).get("subjects") or ()
    return next((str(one["namespace"]) for one in subjects if one.get("namespace")), "")


def refuse_elsewhere(cluster: Cluster, scope: Scope) -> None:
    """Raise Refused for an installation in another namespace, as install and upgrade do."""
    where = readable_elsewhere(cluster)
    if where and _is_rest(cluster, where):
        flags = replace(scope, system_namespace=where).edl_flags
        raise Refused(
            f"an incomplete installation of kubectl-edl is left in namespace {where}: to delete "
            f"it: kubectl edl uninstall{flags}; to complete it: {INSTALL}{flags}"
        )
    if where:
        raise Refused(applies_in(where, "upgrade", scope))


def applies_in(where: str, verb: str, scope: Scope) -> str:
    """The sentence on an installation in another namespace, and the command that applies there."""
    return (
        f"kubectl-edl is installed in namespace {where}: "
        f"export {contract.SYSTEM_NAMESPACE_ENV}={where}, then "
        f"kubectl edl {verb}{scope.cluster_flags}"
    )


def _is_rest(cluster: Cluster, where: str) -> bool:
    """Whether `upgrade` has nothing to upgrade there; False if the user may not read it."""
    try:
        deployed = find(cluster, ObjectRef("Deployment", where, _WEBHOOK)) is not None
        return not (deployed or served_outside(cluster))
    except Forbidden:
        return False


def helm_release(cluster: Cluster) -> ObjectRef | None:
    """The Helm release that owns the installation; None if Helm did not install it."""
    configurations = (ObjectRef(kind, "", CONFIGURATION) for kind in WEBHOOK_KINDS)
    for target in (*configurations, webhook_deployment(cluster)):  # any of them may be missing
        notes = annotations(find(cluster, target) or {})
        if release := notes.get(_HELM):
            return ObjectRef("Release", notes.get(_HELM_NAMESPACE, "default"), release)
    return None


def webhook_deployment(cluster: Cluster) -> ObjectRef:
    return ObjectRef("Deployment", cluster.system_namespace, _WEBHOOK)
