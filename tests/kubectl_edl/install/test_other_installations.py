"""Installations by manifests or Helm, in another namespace, or cut off half-way."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from certs.secrets import WEBHOOK_KINDS
from edl import contract
from edl.errors import Conflict, Forbidden
from edl.kube.cluster import ListOptions, PluginCluster, RawList, find
from edl.model import ObjectRef
from edl.writes import Json
from tests.kubectl_edl.cluster_wrappers import ClusterWrapper
from tests.kubectl_edl.install.installations import (
    IMAGE,
    KEPT,
    SYSTEM,
    Judging,
    applied_by_hand,
    install,
    left,
    stage,
)
from tests.kubectl_edl.stage import Stage

CONFIGURATION = ObjectRef("MutatingWebhookConfiguration", "", "edl")


def test_an_installation_by_manifests_is_refused_without_take_ownership() -> None:
    on = applied_by_hand("--set", "networkPolicy.enabled=true")
    policy = ObjectRef("NetworkPolicy", SYSTEM, "edl-webhook")
    run = on.run("upgrade", "--no-wait", "--image", IMAGE, "--force-conflicts")
    assert run.code == 1
    assert "by manifests: apply the manifests of the plugin's version (kubectl apply," in run.err
    assert "kubectl edl upgrade --take-ownership -f VALUES\n" in run.err
    assert (find(on.cluster, KEPT), run.out) == (None, "")
    assert find(on.cluster, policy)
    lost = on.run("upgrade", "--no-wait", "--take-ownership")
    assert "error: --image is missing" in lost.err
    wanted = ("--image", IMAGE, "--set", "networkPolicy.enabled=true")
    run = on.run("upgrade", "--no-wait", "--take-ownership", *wanted)
    assert (run.code, run.err) == (0, "")
    assert find(on.cluster, policy)
    assert on.run("upgrade", "--no-wait").code == 0


def test_taking_ownership_includes_the_fields_of_those_manifests() -> None:
    on = applied_by_hand()

    class AppliedByKubectl(Judging):
        def apply(self, target: ObjectRef, manifest: Mapping[str, Any], **how: bool) -> Json:
            if not how.get("force"):
                raise Conflict('conflict with "kubectl-client-side-apply"', 409)
            return super().apply(target, manifest, **how)

    on.wrapped = AppliedByKubectl
    run = on.run("upgrade", "--no-wait", "--take-ownership", "--image", IMAGE)
    assert (run.code, run.err) == (0, "")
    assert "to take ownership: --force-conflicts" in on.run("upgrade", "--no-wait").err


def served_from_outside() -> Stage:
    on = stage()
    client = {"url": "https://127.0.0.1:8443/mutate"}
    target = ObjectRef(WEBHOOK_KINDS[0], "", "edl")
    on.cluster.create(target, {"webhooks": [{"name": "jobs.edl.dev", "clientConfig": client}]})
    return on


def test_install_is_refused_if_the_webhook_runs_outside_the_cluster() -> None:
    on = served_from_outside()
    run = install(on)
    assert run.code == 1
    assert run.err == (
        "error: kubectl-edl is installed already: the webhook is served from "
        "https://127.0.0.1:8443, by no Deployment of this cluster; to run it in the cluster, "
        "first: kubectl edl uninstall\n"
    )
    assert find(on.cluster, ObjectRef("ConfigMap", "edl-system", "edl-values")) is None


def test_what_runs_outside_the_cluster_is_uninstalled_from_its_own_namespace() -> None:
    on = served_from_outside()
    teams = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["team-x"]}
    reviewed = {
        "name": "teams.edl.dev",
        "clientConfig": {"url": "https://127.0.0.1:8443/validate"},
        "namespaceSelector": {"matchExpressions": [teams]},
    }
    on.cluster.create(ObjectRef(WEBHOOK_KINDS[1], "", "edl"), {"webhooks": [reviewed]})
    run = install(on, "--system-namespace", SYSTEM)
    assert run.err.endswith("first: kubectl edl uninstall --system-namespace team-x\n")


def test_upgrade_is_refused_if_the_webhook_runs_outside_the_cluster() -> None:
    run = served_from_outside().run("upgrade")
    assert run.code == 1
    assert run.err == (
        "error: the webhook is served from https://127.0.0.1:8443, by no Deployment of this "
        "cluster: restart it there in the plugin's version, and apply the other objects: "
        "python -m manifests.render --webhook-url https://127.0.0.1:8443 --authority "
        "CERT_DIR/ca.crt --namespace edl-system --output - | "
        "kubectl apply --server-side --force-conflicts -f -\n"
    )


def installed_in(namespace: str) -> Stage:
    """A stage whose user names the default namespace instead."""
    on = stage()
    on.cluster.system_namespace = namespace
    install(on)
    on.cluster.system_namespace = SYSTEM
    return on


@pytest.mark.parametrize(
    ("words", "then"),
    [
        (("install", "--no-wait"), "upgrade"),
        (("upgrade", "--no-wait", "--system-namespace", SYSTEM), "upgrade"),
        (("uninstall", "--yes"), "uninstall"),
        (("uninstall", "--dry-run", "client"), "uninstall"),
        (("uninstall", "--yes", "--context", "prod"), "uninstall --context prod"),
    ],
)
def test_one_cluster_has_one_installation(words: tuple[str, ...], then: str) -> None:
    run = installed_in("team-x").run(*words)
    assert (run.code, run.out) == (1, "")
    assert run.err == (
        "error: kubectl-edl is installed in namespace team-x: "
        f"export EDL_SYSTEM_NAMESPACE=team-x, then kubectl edl {then}\n"
    )


BINDING = ObjectRef("ClusterRoleBinding", "", "edl-reconciler")
INCOMPLETE = (
    "error: an incomplete installation of kubectl-edl is left in namespace team-x: to delete it: "
    "kubectl edl uninstall --system-namespace team-x; to complete it: "
    "kubectl edl install --image IMAGE --system-namespace team-x\n"
)


def without_webhook_configurations(namespace: str) -> Stage:
    on = installed_in(namespace)
    for kind in WEBHOOK_KINDS:
        on.cluster.delete(ObjectRef(kind, "", "edl"))
    return on


def test_without_webhook_configurations_the_reconcilers_binding_names_the_namespace() -> None:
    on = without_webhook_configurations("team-x")
    # Of an older installation, whose account outlived it.
    labels = {"app.kubernetes.io/part-of": contract.MANAGED_BY}
    account = {"name": "edl-reconciler", "namespace": SYSTEM, "labels": labels}
    on.create({"kind": "ServiceAccount", "metadata": account})
    refused = on.run("uninstall", "--yes")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.endswith("EDL_SYSTEM_NAMESPACE=team-x, then kubectl edl uninstall\n")
    assert find(on.cluster, BINDING)
    doctor = on.run("doctor")
    assert "kubectl-edl is installed in namespace team-x, not in edl-system" in doctor.out
    on.cluster.system_namespace = "team-x"
    assert "deployment.apps/edl-webhook deleted" in on.run("uninstall", "--yes").out
    assert left(on) == []


def test_install_ignores_an_account_that_was_left_behind_elsewhere() -> None:
    on = stage()
    labels = {"app.kubernetes.io/part-of": contract.MANAGED_BY}
    account = {"name": "edl-reconciler", "namespace": "team-x", "labels": labels}
    on.create({"kind": "ServiceAccount", "metadata": account})
    assert "kubectl-edl is not installed here" in on.run("doctor").out
    run = install(on)
    assert (run.code, run.err) == (0, "")


@pytest.mark.parametrize("verb", ["install", "upgrade"])
def test_a_binding_that_was_left_behind_elsewhere_is_named_with_the_way_out(verb: str) -> None:
    on = without_webhook_configurations("team-x")
    for name in ("edl-webhook", "edl-reconciler"):
        on.cluster.delete(ObjectRef("Deployment", "team-x", name))
    on.cluster.delete(ObjectRef("ServiceAccount", "team-x", "edl-reconciler"))
    run = on.run(verb, "--no-wait", "--image", IMAGE)
    assert (run.code, run.out, run.err) == (1, "", INCOMPLETE)
    on.cluster.system_namespace = "team-x"
    assert on.run("uninstall", "--yes").code == 0
    on.cluster.system_namespace = SYSTEM
    assert install(on).code == 0


def unreadable(*kinds: str, namespaces: tuple[str, ...] = ("",)) -> Callable[..., PluginCluster]:
    """The user may not get objects of these kinds, and may list no accounts."""

    class Unreadable(ClusterWrapper):
        def get(self, target: ObjectRef) -> Json:
            if target.kind in kinds and target.namespace in namespaces:
                raise Forbidden(f'"ann" may not get {target.kind} {target.name}', 403)
            read: Json = super().get(target)
            return read

        def list(self, selection: ListOptions) -> RawList:
            if selection.kind == "ServiceAccount" and not selection.namespace:
                raise Forbidden('"ann" may not list ServiceAccount', 403)
            return super().list(selection)

    return Unreadable


@pytest.mark.parametrize("outside", [False, True])
def test_install_goes_on_for_a_user_who_may_not_read_the_binding(*, outside: bool) -> None:
    """The check of the rights names what is lacking."""
    on = served_from_outside() if outside else stage("get clusterrolebindings")
    wrapped = on.wrapped
    on.wrapped = lambda cluster: unreadable("ClusterRoleBinding")(wrapped(cluster))
    run = install(on)
    said = "first: kubectl edl uninstall" if outside else "get clusterrolebindings.rbac."
    assert run.code == 1
    assert said in run.err


def test_install_needs_no_right_to_list_accounts_everywhere() -> None:
    on = stage()
    wrapped = on.wrapped
    on.wrapped = lambda cluster: unreadable()(wrapped(cluster))
    run = install(on)
    assert (run.code, run.err) == (0, "")


def test_upgrade_and_doctor_go_on_for_a_user_who_may_not_read_the_binding() -> None:
    on = stage()
    wrapped = on.wrapped
    on.wrapped = lambda cluster: unreadable("ClusterRoleBinding")(wrapped(cluster))
    assert "kubectl-edl is not installed in this cluster" in on.run("upgrade").err
    assert "kubectl-edl is not installed here: there is no Mutating" in on.run("doctor").out


def test_uninstall_deletes_nothing_for_a_user_who_may_not_read_the_binding() -> None:
    on = without_webhook_configurations("team-x")
    wrapped = on.wrapped
    on.wrapped = lambda cluster: unreadable("ClusterRoleBinding")(wrapped(cluster))
    run = on.run("uninstall", "--yes")
    assert (run.code, run.out) == (1, "")
    assert '"ann" may not get ClusterRoleBinding edl-reconciler' in run.err
    assert find(on.cluster, BINDING)


def test_an_installation_whose_deployment_the_user_may_not_read_counts_as_complete() -> None:
    on = without_webhook_configurations("team-x")
    wrapped = on.wrapped
    hidden = unreadable("Deployment", namespaces=("team-x",))
    on.wrapped = lambda cluster: hidden(wrapped(cluster))
    assert install(on).err.endswith("EDL_SYSTEM_NAMESPACE=team-x, then kubectl edl upgrade\n")


def test_an_installation_by_helm_is_refused() -> None:
    on = stage()
    install(on)
    notes = {"meta.helm.sh/release-name": "edl", "meta.helm.sh/release-namespace": "ops"}
    on.cluster.patch(CONFIGURATION, {"metadata": {"annotations": notes}})
    run = on.run("upgrade")
    assert "Helm installed kubectl-edl here: helm upgrade edl CHART -n ops" in run.err
    assert install(on).err == run.err
    for words in (("--yes",), ("--dry-run", "client")):
        assert on.run("uninstall", *words).err == (
            "error: Helm installed kubectl-edl here, and leaves what the reconciler created (such "
            "as PodDisruptionBudgets, which would block drains); in two steps: "
            "helm uninstall edl -n ops; kubectl edl uninstall\n"
        )


def test_the_charts_notes_name_doctor_and_both_steps_of_uninstalling() -> None:
    notes = Path("manifests/chart/templates/NOTES.txt").read_text()
    assert "kubectl edl doctor" in notes
    first = notes.index("helm uninstall {{ .Release.Name }} -n {{ .Release.Namespace }}")
    assert notes.index("kubectl edl uninstall") > first


@pytest.mark.parametrize("mode", ["client", "none"])
def test_teams_that_stay_in_a_namespace_of_helm_are_named(mode: str) -> None:
    on = stage()
    install(on)
    on.run("uninstall", "--yes")
    teams = {"name": contract.TEAMS_CONFIG_MAP, "namespace": SYSTEM}
    on.create({"kind": "ConfigMap", "metadata": teams})
    words = ("--yes",) if mode == "none" else ("--dry-run", mode)
    for lease_left in (True, False):
        if lease_left:
            on.create(
                {"kind": "Lease", "metadata": {"name": "edl-reconciler", "namespace": SYSTEM}}
            )
        found = on.run("uninstall", *words)
        assert found.err.splitlines()[0] == (
            "configmap/edl-teams in namespace edl-system stays, and a later installation there "
            "applies its teams. To delete it: kubectl delete configmap edl-teams -n edl-system"
        )
        assert on.cluster.get(ObjectRef("ConfigMap", SYSTEM, contract.TEAMS_CONFIG_MAP))
