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
from kubectl_edl.cli.suggested_commands import FixCommand, by_administrator
from kubectl_edl.client.certificate_store import served_for, served_outside
from kubectl_edl.install.installation_values import VALUES_CONFIG_MAP

FORCE: Final = "--force-conflicts"
UPGRADE: Final = "kubectl edl upgrade"
INSTALL: Final = "kubectl edl install --image IMAGE"
_WEBHOOK: Final = "edl-webhook"
_HELM: Final = "meta.helm.sh/release-name"
_HELM_NAMESPACE: Final = "meta.helm.sh/release-namespace"
_BINDING: Final = ObjectRef("ClusterRoleBinding", "", "edl-reconciler")
"""Its subject is the reconciler's ServiceAccount, wherever the reconciler runs."""


@dataclass(frozen=True, slots=True)
class Installer:
    """What installed kubectl-edl, and so what applies all of its objects again.

    `again` does so in the plugin's version, in the words of its own tool. Its commands and
    `takeover` do not have the user's options yet (`with_flags`).
    """

    again: str
    force: str = ""
    """What follows `again` to take back fields of other clients; empty if `again` does."""
    image: str = ""
    """What follows `again` before another image; empty if that does not choose the image."""
    refusal: str = ""
    """Why `kubectl edl upgrade` refuses; empty if it applies, or if that is unknown."""
    takeover: str = ""
    """The command that leaves it to the plugin; empty if there is none."""

    @property
    def by_force(self) -> str:
        return self._with(self.force)

    def with_image(self, image: str) -> str:
        """`again` with another image."""
        return self._with(f"{self.image}{image}" if self.image else "")

    def _with(self, words: str) -> str:
        return type(self.again)(f"{self.again}{words}")


PLUGIN: Final = Installer(FixCommand(UPGRADE), f" {FORCE}", " --image ")
UNKNOWN: Final = replace(PLUGIN, again=by_administrator(UPGRADE))
"""The user may not read what installed it. `upgrade` refuses with the command that applies."""


def installer_of(cluster: Cluster) -> Installer:
    """What installed kubectl-edl. Raises ClusterError."""
    if release := helm_release(cluster):
        again = FixCommand(f"helm upgrade {release.name} CHART -n {release.namespace}")
        image = " --reset-then-reuse-values --set image="
        return Installer(again, image=image, refusal="Helm installed kubectl-edl here")
    deployed = find(cluster, webhook_deployment(cluster)) is not None
    if not deployed and (url := served_outside(cluster)):
        return Installer(
            FixCommand(
                f"python -m manifests.render --webhook-url {url} --authority CERT_DIR/ca.crt "
                f"--namespace {cluster.system_namespace} --output - | "
                f"kubectl apply --server-side {FORCE} -f -"
            ),
            refusal=f"the webhook is served from {url}, by no Deployment of this cluster: restart "
            "it there in the plugin's version, and apply the other objects",
        )
    values = find(cluster, ObjectRef("ConfigMap", cluster.system_namespace, VALUES_CONFIG_MAP))
    if values is None and (deployed or served_for(cluster)):
        return Installer(
            "apply the manifests of the plugin's version (kubectl apply, kustomize)",
            f" with --server-side {FORCE}",
            " with the image ",
            "kubectl-edl was installed here by manifests",
            FixCommand("kubectl edl upgrade --take-ownership -f VALUES"),
        )
    if deployed or (values is not None and served_for(cluster) == cluster.system_namespace):
        return PLUGIN  # `upgrade` creates again what is missing
    return Installer(FixCommand(INSTALL), refusal="kubectl-edl is not installed in this cluster")


def elsewhere(cluster: Cluster) -> str:
    """The namespace of an installation, or of what is left of one, if it is not ours; else empty.

    The webhook configurations tell, and without them the reconciler's ClusterRoleBinding. Raises
    ClusterError.
    """
    home = served_for(cluster) or _bound_in(cluster)
    return "" if home == cluster.system_namespace else home


def readable_elsewhere(cluster: Cluster) -> str:
    """As `elsewhere`; empty also if the user may not read it."""
    try:
        return elsewhere(cluster)
    except Forbidden:
        return ""


def _bound_in(cluster: Cluster) -> str:
    subjects = (find(cluster, _BINDING) or {}).get("subjects") or ()
    return next((str(subject["namespace"]) for subject in subjects if subject.get("namespace")), "")


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
