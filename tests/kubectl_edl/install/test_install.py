"""`install`, `upgrade` and `uninstall` on a cluster in memory."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from certs.secrets import WEBHOOK_KINDS
from edl import contract
from edl.errors import Conflict, Forbidden, Invalid, KindNotServed, NotFound
from edl.inject import ttl_after_finished
from edl.kube.cluster import RESOURCES, ListOptions, PluginCluster, RawList, find
from edl.model import ObjectRef
from edl.spec.job_spec import HELD_TTL
from edl.visibility.namespace_queue import CONFIG_MAP
from edl.visibility.queue_writes import LABELS
from edl.writes import Json
from kubectl_edl.install.prune import AMONG_USERS, IN_ITS_NAMESPACE, REQUESTS
from manifests import installation, values
from manifests.documents import load
from tests.fake_cluster.cluster import FakeCluster
from tests.integration.support.rights import grants
from tests.kubectl_edl.cluster_wrappers import ClusterWrapper
from tests.kubectl_edl.stage import Run, Stage, job

SYSTEM = contract.SYSTEM_NAMESPACE
WEBHOOK = ObjectRef("Deployment", SYSTEM, "edl-webhook")
CONFIGURATION = ObjectRef("MutatingWebhookConfiguration", "", "edl")
KEPT = ObjectRef("ConfigMap", SYSTEM, "edl-values")
IMAGE = "registry.example/kubectl-edl:9"
HELD = {
    "metadata": {"annotations": {contract.TTL: "600"}},
    "spec": {ttl_after_finished.FIELD: HELD_TTL},
}


class Judging:
    """A cluster that answers who may do what; `denied` are verbs with their plural."""

    def __init__(self, cluster: PluginCluster, *denied: str) -> None:
        self._cluster = cluster
        self._denied = denied

    def __getattr__(self, name: str) -> object:
        return getattr(self._cluster, name)

    def create(self, target: ObjectRef, manifest: Json, *, dry_run: bool = False) -> Json:
        if target.kind != "SelfSubjectAccessReview":
            return self._cluster.create(target, manifest, dry_run=dry_run)
        asked = manifest["spec"]["resourceAttributes"]
        allowed = f"{asked['verb']} {asked['resource']}" not in self._denied
        return {"status": {"allowed": allowed and not (self._denied and asked["verb"] == "*")}}

    def apply(self, target: ObjectRef, manifest: Json, **how: bool) -> Json:
        """Server-side apply leaves a caBundle that somebody else wrote."""
        body = self._cluster.apply(target, manifest, **how)
        if target.kind in WEBHOOK_KINDS and not how.get("dry_run"):
            return self._cluster.patch(target, {"webhooks": [trusted(w) for w in body["webhooks"]]})
        return body


def trusted(webhook: Json) -> Json:
    return webhook | {"clientConfig": webhook["clientConfig"] | {"caBundle": "UEVN"}}


def stage(*denied: str) -> Stage:
    return Stage(wrapped=lambda cluster: _judging(cluster, *denied))


def _judging(cluster: PluginCluster, *denied: str) -> PluginCluster:
    assert isinstance(cluster, FakeCluster)
    return Judging(cluster, *denied)  # type: ignore[return-value]


def install(stage: Stage, *words: str) -> Run:
    image = () if "--image" in words else ("--image", IMAGE)
    return stage.run("install", "--no-wait", *image, *words)


def deployment(stage: Stage, name: str = "edl-webhook") -> Json:
    return stage.cluster.get(ObjectRef("Deployment", SYSTEM, name))


def arguments(stage: Stage) -> list[str]:
    (container,) = deployment(stage, "edl-reconciler")["spec"]["template"]["spec"]["containers"]
    words: list[str] = container["args"]
    return words


def image(stage: Stage) -> str:
    return str(deployment(stage)["spec"]["template"]["spec"]["containers"][0]["image"])


def test_everything_is_applied_in_order_and_named_as_kubectl_does() -> None:
    on = stage()
    run = install(on, "--image", IMAGE)
    assert (run.code, run.err) == (0, "")
    lines = run.out.splitlines()
    assert lines[:2] == ["namespace/edl-system created", "configmap/edl-values created"]
    assert lines[-1] == ("validatingwebhookconfiguration.admissionregistration.k8s.io/edl created")
    assert len(lines) == len(installation.documents()) + 1
    assert image(on) == IMAGE


def test_a_client_dry_run_reads_no_cluster_and_equals_helm() -> None:
    run = Stage(wrapped=lambda _: pytest.fail("it was asked")).run(
        "install", "--image", IMAGE, "--dry-run", "client"
    )
    printed = list(yaml.safe_load_all(run.out))
    wanted = installation.documents(values.Values(image=IMAGE))
    assert tuple(each for each in printed if each["kind"] != "ConfigMap") == wanted


@pytest.mark.parametrize("mode", ["none", "client", "server"])
def test_without_an_image_the_error_shows_how_to_build_one(mode: str) -> None:
    on = stage()
    run = on.run("install", "--dry-run", mode)
    assert (run.code, run.out) == (2, "")
    assert "error: --image is missing: build it from kubectl-edl's sources" in run.err
    assert "kind load docker-image kubectl-edl:0.1.0 && kubectl edl install --image " in run.err
    assert "docker push REGISTRY/kubectl-edl:0.1.0 && kubectl edl install --image " in run.err
    assert not on.cluster.list(ListOptions("Namespace")).items


def test_a_server_dry_run_changes_nothing() -> None:
    on = stage()
    run = install(on, "--dry-run", "server")
    assert (run.code, run.err) == (0, "")
    assert "deployment.apps/edl-webhook created (server dry run)" in run.out.splitlines()
    assert on.run("upgrade", "--no-wait").code == 1


def test_installing_twice_names_upgrade() -> None:
    on = stage()
    install(on)
    run = on.run("install")
    assert run.code == 1
    assert run.err == (
        "error: kubectl-edl is installed already; another image or other values: "
        "kubectl edl upgrade\n"
    )


def test_an_installation_that_was_cut_off_is_completed() -> None:
    on = stage()
    install(on)
    on.cluster.delete(WEBHOOK)
    run = install(on)
    assert run.code == 0
    assert "deployment.apps/edl-webhook created" in run.out
    assert "namespace/edl-system unchanged" in run.out


class Silent(Judging):
    """The user may not ask which rights they have."""

    def create(self, target: ObjectRef, manifest: Json, *, dry_run: bool = False) -> Json:
        if target.kind == "SelfSubjectAccessReview":
            raise Forbidden('"ann" may not create selfsubjectaccessreviews', 403)
        return super().create(target, manifest, dry_run=dry_run)


def test_without_access_reviews_the_dry_run_checks_the_rights_and_a_hint_says_so() -> None:
    on = stage()
    on.wrapped = Silent
    run = install(on)
    hint = (
        "hint: your rights are checked only by the dry run of each object, and the right to bind "
        "roles is not checked: "
    )
    assert (run.code, run.err) == (0, f'{hint}"ann" may not create selfsubjectaccessreviews\n')
    assert image(on) == IMAGE


def test_without_access_reviews_a_missing_role_does_not_fail_a_dry_run() -> None:
    on = stage()

    class Unbound(Silent):
        def apply(self, target: ObjectRef, manifest: Json, **how: bool) -> Json:
            if target.kind == "ClusterRoleBinding":
                raise NotFound('clusterroles.rbac.authorization.k8s.io "edl" not found', 404)
            return super().apply(target, manifest, **how)

    on.wrapped = Unbound
    run = install(on)
    assert run.code == 1
    assert 'clusterroles.rbac.authorization.k8s.io "edl" not found' in run.err
    assert install(on, "--dry-run", "server").code == 0


def test_every_missing_right_is_named_before_anything_is_done() -> None:
    on = stage("patch clusterroles", "create namespaces")
    run = install(on)
    assert (run.code, run.out) == (1, "")
    assert run.err == (
        "error: you may not create namespaces, patch clusterroles.rbac.authorization.k8s.io; "
        "nothing was changed: ask a cluster-admin to do it, or choose other "
        "credentials with --context\n"
    )


def test_an_upgrade_keeps_values_and_shows_changes() -> None:
    on = stage()
    install(on, "--image", IMAGE, "--set", "reconciler.planning.policy=throughput")
    run = on.run("upgrade", "--no-wait", "--set", "webhook.replicas=3")
    assert (run.code, run.err) == (0, "")
    changed = [line for line in run.out.splitlines() if not line.endswith("unchanged")]
    assert changed[0] == "configmap/edl-values changed"
    assert changed[2:] == ["deployment.apps/edl-webhook changed", "  spec.replicas: 2 → 3"]
    assert image(on) == IMAGE
    assert arguments(on)[-2:] == ["--policy", "throughput"]


def test_an_empty_value_is_the_default_again() -> None:
    on = stage()
    install(on, "--set", "reconciler.planning.policy=throughput")
    run = on.run("upgrade", "--no-wait", "--set", "reconciler.planning.policy=")
    assert run.code == 0
    assert "--policy" not in arguments(on)
    assert "[… ]" not in run.out
    assert any("--policy throughput" in line and "→" in line for line in run.out.splitlines())


def test_an_upgrade_deletes_superseded_objects() -> None:
    on = stage()
    install(on, "--set", "networkPolicy.enabled=true")
    dry = on.run("upgrade", "--set", "networkPolicy.enabled=false", "--dry-run", "server")
    assert "networkpolicy.networking.k8s.io/edl-webhook deleted (server dry run)" in dry.out
    run = on.run("upgrade", "--no-wait", "--set", "networkPolicy.enabled=false")
    assert "networkpolicy.networking.k8s.io/edl-webhook deleted" in run.out.splitlines()
    assert "networkpolicy.networking.k8s.io/edl-reconciler deleted" in run.out.splitlines()
    again = on.run("upgrade", "--no-wait")
    assert all(line.endswith("unchanged") for line in again.out.splitlines())


def applied_by_hand(*settings: str) -> Stage:
    """As kustomize leaves it: without the values that the plugin keeps."""
    on = stage()
    install(on, *settings)
    on.cluster.delete(KEPT)
    return on


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


def test_a_refused_upgrade_has_written_nothing() -> None:
    on = applied_by_hand()

    class Owned(Judging):
        def apply(self, target: ObjectRef, manifest: Json, **how: bool) -> Json:
            if target == WEBHOOK:
                raise Conflict("Apply failed with 1 conflict: .spec.replicas", 409)
            return super().apply(target, manifest, **how)

    on.wrapped = Owned
    run = on.run("upgrade", "--no-wait", "--take-ownership", "--image", IMAGE)
    assert run.err.startswith("error: deployment.apps/edl-webhook: Apply failed with 1 conflict")
    assert (find(on.cluster, KEPT), run.out) == (None, "")


def test_a_missing_kind_is_named_before_anything_is_written() -> None:
    on = stage()

    class Bare(Judging):
        def apply(self, target: ObjectRef, manifest: Json, **how: bool) -> Json:
            if target.kind == "ServiceMonitor":
                raise KindNotServed("the server could not find the requested resource", 404)
            if how.get("dry_run") and target.namespace == SYSTEM:
                raise NotFound(f'namespaces "{SYSTEM}" not found', 404)
            return super().apply(target, manifest, **how)

    on.wrapped = Bare
    run = install(on, "--set", "monitoring.enabled=true")
    assert run.err == (
        "error: the API server does not serve ServiceMonitor (monitoring.coreos.com/v1): install "
        "the Prometheus operator first, or leave out monitoring.enabled\n"
    )
    assert (find(on.cluster, ObjectRef("Namespace", "", SYSTEM)), run.out) == (None, "")
    assert install(on).code == 0


def test_a_role_that_its_user_may_not_bind_is_named_with_the_right() -> None:
    on = stage()

    class Unbound(Judging):
        def apply(self, target: ObjectRef, manifest: Json, **how: bool) -> Json:
            if target.kind == "ClusterRoleBinding" and how.get("dry_run"):
                role = manifest["roleRef"]["name"]
                raise NotFound(f'clusterroles.rbac.authorization.k8s.io "{role}" not found', 404)
            return super().apply(target, manifest, **how)

    on.wrapped = lambda cluster: Unbound(cluster, "bind clusterroles")
    run = install(on)
    assert " you may not bind clusterroles.rbac.authorization.k8s.io edl-" in run.err
    assert (find(on.cluster, WEBHOOK), run.out) == (None, "")


def test_an_upgrade_of_nothing_names_install() -> None:
    run = stage().run("upgrade")
    assert (run.code, run.err) == (
        1,
        "error: kubectl-edl is not installed in this cluster: kubectl edl install --image IMAGE\n",
    )


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


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"values.yaml": "image: ["}, "ConfigMap edl-system/edl-values: not YAML"),
        ({"values.yaml": "[1]"}, "ConfigMap edl-system/edl-values: no map of values"),
        ({"values.yaml": "image: [1]"}, "image: Expected `str`"),
    ],
)
def test_values_that_another_client_has_spoilt_are_named(data: Json, words: str) -> None:
    on = stage()
    assert install(on, "--image", IMAGE).code == 0
    kept = ObjectRef("ConfigMap", "edl-system", "edl-values")
    on.cluster.patch(kept, {"data": data})
    run = on.run("upgrade", "--no-wait")
    assert run.code == 1
    assert words in run.err
    assert "unexpected" not in run.err


def test_an_upgrade_without_stored_values_starts_from_the_defaults() -> None:
    on = stage()
    assert install(on, "--image", IMAGE).code == 0
    on.cluster.patch(ObjectRef("ConfigMap", "edl-system", "edl-values"), {"data": None})
    assert on.run("upgrade", "--no-wait", "--image", IMAGE).code == 0


def test_an_existing_namespace_is_used_and_kept() -> None:
    on = stage()
    on.cluster.system_namespace = "team-x"
    on.cluster.create(ObjectRef("Namespace", "", "team-x"), {"metadata": {"name": "team-x"}})
    run = install(on, "--image", IMAGE)
    assert (run.code, run.err) == (0, "")
    assert "namespace/" not in run.out
    deployed = on.cluster.get(ObjectRef("Deployment", "team-x", "edl-webhook"))
    assert deployed["spec"]["template"]["spec"]["containers"][0]["image"] == IMAGE
    assert on.run("upgrade", "--no-wait", "--set", "logLevel=debug").code == 0
    kept = on.cluster.get(ObjectRef("ConfigMap", "team-x", "edl-values"))
    assert yaml.safe_load(kept["data"]["values.yaml"]) == {"image": IMAGE, "logLevel": "debug"}
    run_a_while(on, "team-x")
    on.create({"kind": "ConfigMap", "metadata": {"name": "theirs", "namespace": "team-x"}})
    assert on.run("uninstall", "--yes").code == 0
    assert on.cluster.get(ObjectRef("Namespace", "", "team-x"))
    there = [
        name
        for kind in {kind for kind, _ in IN_ITS_NAMESPACE}
        for one in on.cluster.list(ListOptions(kind, "team-x")).items
        for name in [json.loads(one)["metadata"]["name"]]
    ]
    assert there == ["theirs"]


def test_budgets_of_training_jobs_are_deleted_and_those_of_users_kept() -> None:
    on = stage()
    install(on)
    managed = {"app.kubernetes.io/managed-by": contract.MANAGED_BY}
    for name, labels in (("train-first-2", managed), ("theirs", {})):
        metadata = {"name": name, "labels": labels | {contract.JOB: "train"}}
        on.create({"kind": "PodDisruptionBudget", "metadata": metadata})
    run = on.run("uninstall", "--yes")
    assert "poddisruptionbudget.policy/train-first-2 in default deleted" in run.out.splitlines()
    left = on.cluster.list(ListOptions("PodDisruptionBudget")).items
    assert [json.loads(one)["metadata"]["name"] for one in left] == ["theirs"]


def test_a_namespace_with_pods_of_a_daemon_set_is_kept() -> None:
    on = stage()
    install(on)
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "1"}
    metadata = {"name": "agent-x", "namespace": SYSTEM, "ownerReferences": [owner]}
    on.create({"kind": "Pod", "metadata": metadata, "spec": {}})
    assert "namespace/edl-system stays" in on.run("uninstall", "--yes").err


@pytest.mark.parametrize("verb", ["install", "uninstall"])
def test_a_namespace_that_was_kept_for_users_objects_is_not_deleted_later(verb: str) -> None:
    on = stage()
    install(on)
    teams = {"name": contract.TEAMS_CONFIG_MAP, "namespace": SYSTEM}
    on.create({"kind": "ConfigMap", "metadata": teams})
    on.run("uninstall", "--yes")
    on.cluster.system_namespace = "team-x"
    on.cluster.create(ObjectRef("Namespace", "", "team-x"), {"metadata": {"name": "team-x"}})
    run = install(on)
    if verb == "uninstall":
        run = on.run("uninstall", "--yes")
    assert (run.code, "namespace/" in run.out) == (0, False)
    assert on.cluster.get(ObjectRef("Namespace", "", SYSTEM))


def test_an_upgrade_keeps_a_namespace_that_was_created_with_our_label() -> None:
    on = stage()
    on.cluster.system_namespace = "team-x"
    labels = {"app.kubernetes.io/part-of": contract.MANAGED_BY}
    theirs = {"metadata": {"name": "team-x", "labels": labels}}
    on.cluster.create(ObjectRef("Namespace", "", "team-x"), theirs)
    install(on)
    assert on.run("upgrade", "--no-wait", "--set", "logLevel=debug").code == 0
    assert on.cluster.get(ObjectRef("Namespace", "", "team-x"))


def test_a_provisional_pod_on_a_lost_node_delays_no_uninstallation() -> None:
    on = stage()
    install(on)
    labels = {contract.PROVISIONAL: "asks", "app.kubernetes.io/managed-by": contract.MANAGED_BY}
    stays = {"name": "asks", "namespace": "team-b", "labels": labels, "finalizers": ["x.test/y"]}
    on.create({"kind": "Pod", "metadata": stays, "spec": {"nodeName": "lost"}})
    run = on.run("uninstall", "--yes", "--timeout", "5s")
    assert (run.code, "still there" in run.err) == (0, False)
    assert on.cluster.get(ObjectRef("Pod", "team-b", "asks"))["metadata"]["deletionTimestamp"]


def run_a_while(on: Stage, namespace: str) -> None:
    """Objects without labels, such as a recreated Secret."""
    for kind, name in IN_ITS_NAMESPACE:
        target = ObjectRef(kind, namespace, name)
        if kind == "Secret" and find(on.cluster, target):
            on.cluster.delete(target)
        on.cluster.create(target, {"metadata": {"name": name, "namespace": namespace}})


def test_leftovers_of_a_partial_installation_are_deleted() -> None:
    """As Helm and `kubectl delete -k` leave it."""
    on = stage()
    said = "lease.coordination.k8s.io/edl-reconciler deleted"
    assert left(on) == [f"{said} (dry run)"]
    assert on.run("uninstall", "--yes").out.splitlines() == [said]
    assert left(on) == []


def test_objects_that_the_reconciler_creates_are_deleted_or_owned() -> None:
    """A new right to create objects must be assigned to one of the two lists."""
    kinds = {(known.group, known.plural): kind for kind, known in RESOURCES.items()}
    roles = {one["metadata"]["name"] for one in load() if one["kind"] in ("Role", "ClusterRole")}
    made = {
        kinds[grant.group, grant.resource]
        for grant in grants(load(), *(role for role in roles if "reconciler" in role))
        if grant.verb == "create"
    }
    with_jobs = {"Service", "ServiceAccount", "RoleBinding"}
    with_jobs |= {"ResourceClaimTemplate"}
    ours = {kind for kind, _ in IN_ITS_NAMESPACE}
    ours |= {options.kind for options in (*AMONG_USERS, *REQUESTS)}
    assert made == ours | with_jobs | {"Event"}


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
            read: Json = self.cluster.get(target)
            return read

        def list(self, selection: ListOptions) -> RawList:
            if selection.kind == "ServiceAccount" and not selection.namespace:
                raise Forbidden('"ann" may not list ServiceAccount', 403)
            return self.cluster.list(selection)

    return lambda cluster: cast("PluginCluster", Unreadable(cluster))


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
    on.cluster.create(ObjectRef("Namespace", "", SYSTEM), {"metadata": {"name": SYSTEM}})
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


def test_values_come_from_a_file_and_the_command_line_wins(tmp_path: Path) -> None:
    path = tmp_path / "values.yaml"
    path.write_text("reconciler: {planning: {policy: fifo, priorityWeight: {1000: 2}}}\n")
    on = stage()
    run = install(on, "-f", str(path), "--set", "reconciler.planning.policy=utilisation")
    assert run.code == 0, run.err
    words = ["--policy", "utilisation", "--priority-weight", "1000=2"]
    assert arguments(on)[-4:] == words


def test_several_files_of_values_are_merged_in_their_order(tmp_path: Path) -> None:
    for name, text in {
        "base.yaml": "reconciler: {planning: {policy: fifo, priorityWeight: {1000: 2}}}\n",
        "production.yaml": "reconciler: {planning: {policy: utilisation}}\n",
    }.items():
        (tmp_path / name).write_text(text)
    on = stage()
    run = install(on, "-f", f"{tmp_path}/base.yaml", "--values", f"{tmp_path}/production.yaml")
    assert run.code == 0, run.err
    words = ["--policy", "utilisation", "--priority-weight", "1000=2"]
    assert arguments(on)[-4:] == words


def laughs(twice: str) -> bytes:
    """Values that alias the value before them twice; the last one is expanded to 2**14."""
    levels = (f"v{n}: &v{n} {twice.format(f'*v{n - 1}')}" for n in range(1, 15))
    return "\n".join(("v0: &v0 {x: lol}", *levels, "")).encode()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"image: x\nnote: caf\xe9\n", "values.yaml: document 1, line 2: not UTF-8\n"),
        (b"- image\n", "values.yaml: no map of values\n"),
        (b"0\n", "values.yaml: no map of values\n"),
        (b"{", "values.yaml: not YAML: while parsing a flow node"),
        (b"x: 1\nimage: !!bool x", "the value does not fit its tag !!bool in "),
        (b"x: 1\nimage: !!int ''", "line 2, column 8"),
        (b"image: !!timestamp x", "the value does not fit its tag !!timestamp in "),
        (b"image: &a [*a]", "an alias is inside its own anchor in "),
        (b"a: " + b"[" * 500, "values.yaml: nested too deeply\n"),
        (b"a: " + b"[" * 110 + b"]" * 110, "values.yaml: nested too deeply\n"),
        (laughs("{{x: {0}, y: {0}}}"), "values.yaml: more than 10000 values (aliases count"),
        (laughs("[{0}, {0}]"), "values.yaml: more than 10000 values (aliases count"),
        (laughs("{{<<: [{0}, {0}]}}"), "values.yaml: more than 10000 values (aliases count"),
    ],
)
def test_a_values_file_without_a_map_is_refused_in_one_line(
    tmp_path: Path, content: bytes, said: str
) -> None:
    (tmp_path / "values.yaml").write_bytes(content)
    run = install(stage(), "-f", str(tmp_path / "values.yaml"))
    assert (run.code, run.err.count("\n")) == (1, 1)
    assert said in run.err


@pytest.mark.parametrize("timeout", ["0", "0s", "1m", "90", "2h30m"])
def test_a_timeout_is_seconds_or_has_its_unit(timeout: str) -> None:
    on = stage()
    install(on)
    for name in ("edl-webhook", "edl-reconciler"):
        ready(on, name)
    assert on.run("upgrade", "--timeout", timeout, "--dry-run", "server").code == 0


def test_a_dot_in_a_name_is_escaped_as_in_helm() -> None:
    on = stage()
    install(on, "--set", r"pods.nodeSelector.kubernetes\.io/os=linux")
    pod = deployment(on)["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"kubernetes.io/os": "linux"}


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--set", "webhook.replicas=1"), 1, "webhook.replicas: Expected `int` >= 2"),
        (("--set", "policy"), 2, '--set "policy": write NAME=VALUE'),
        (("--set", "a=b"), 2, '--set "a=b": there is no such value; a: one of image, '),
        (("--set", "webhook.replica=3"), 2, "; webhook.replica: one of "),
        (
            ("--set", "reconciler.planning.polcy="),
            2,
            "; reconciler.planning.polcy: one of policy, ",
        ),
        (("--set", "image={"), 2, '--set "image={": the value is not YAML'),
        (("--set", "image=!!bool x"), 2, '--set "image=!!bool x": the value is not YAML'),
        (("--set", "image=!!int ''"), 2, "--set \"image=!!int ''\": the value is not YAML"),
        (("--set", "image=!!timestamp x"), 2, "the value is not YAML"),
        (("--set", "image=2026-13-45"), 2, '--set "image=2026-13-45": the value is not YAML'),
        (("--set", f"image={'[' * 200}{']' * 200}"), 2, ']]]]": the value is not YAML'),
        (("--values", "nobody.yaml"), 1, "nobody.yaml cannot be read: No such file or directory"),
        (("-f", "."), 2, "File '.' is a directory."),
        (
            ("--image", ""),
            2,
            '"" is not an image; name one that the cluster can pull: registry.example/',
        ),
        (("--image", "a b"), 2, '"a b" is not an image'),
        (("--timeout", "nan"), 2, "nan: write a length of time in d, h, m and s, "),
        (("--timeout", "-1"), 2, "-1: write a length of time"),
        (("--timeout", "9999999d"), 2, "9999999d: longer than 365d"),
    ],
)
def test_a_wrong_value_is_refused(words: tuple[str, ...], code: int, said: str) -> None:
    run = install(stage(), *words)
    assert run.code == code
    assert said in run.err


def test_a_field_of_another_manager_is_not_taken_silently() -> None:
    on = stage()

    class Owned(Judging):
        def apply(self, target: ObjectRef, *_: object, force: bool = False, **__: object) -> Json:
            if force:
                return {"metadata": {"name": target.name}}
            raise Conflict('Apply failed with 1 conflict: conflict with "ann": .spec.replicas', 409)

    on.wrapped = Owned
    run = install(on)
    assert run.code == 1
    assert run.err == (
        "error: namespace/edl-system: Apply failed with 1 conflict: conflict with "
        '"ann": .spec.replicas; to take ownership: --force-conflicts\n'
    )
    assert install(on, "--force-conflicts").code == 0


def ready(on: Stage, name: str) -> None:
    target = ObjectRef("Deployment", SYSTEM, name)
    wanted = on.cluster.get(target)["spec"]["replicas"]
    counts = dict.fromkeys(("replicas", "updatedReplicas", "availableReplicas"), wanted)
    on.cluster.patch(target, {"status": counts})


def test_install_waits_until_both_are_ready_and_trusted() -> None:
    on = stage()
    install(on)
    for name in ("edl-webhook", "edl-reconciler"):
        ready(on, name)
    run = on.run("upgrade", "--timeout", "0")
    assert run.code == 0, run.err
    assert run.out.splitlines()[-1] == "kubectl-edl is ready: kubectl edl status -A"


@pytest.mark.parametrize("kind", WEBHOOK_KINDS)
def test_install_waits_until_both_webhook_configurations_are_trusted(kind: str) -> None:
    class NotYet(Judging):
        def apply(self, target: ObjectRef, manifest: Json, **how: bool) -> Json:
            if target.kind == kind:
                return self._cluster.apply(target, manifest, **how)
            return super().apply(target, manifest, **how)

    on = Stage(wrapped=NotYet)
    install(on)
    for name in ("edl-webhook", "edl-reconciler"):
        ready(on, name)
    run = on.run("upgrade", "--timeout", "0")
    assert run.code == 5
    assert f"the API server has no caBundle for it yet ({kind})" in run.err


def test_a_wait_that_times_out_names_component_and_reason() -> None:
    on = stage()
    install(on)
    on.create(ours(on, conditions=[unscheduled("0/3 nodes are available: 3 Insufficient cpu.")]))
    ready(on, "edl-reconciler")
    run = on.run("upgrade", "--timeout", "0", "--context", "prod")
    assert run.code == 5
    assert run.err == (
        "error: not ready after 0s: edl-webhook is not rolled out; pod edl-webhook-1: "
        "0/3 nodes are available: 3 Insufficient cpu.; kubectl edl doctor --context prod\n"
    )


def test_an_unpullable_image_is_refused_at_once_with_a_remedy() -> None:
    on = stage()
    install(on, "--image", "kubectl-edl:0.1.0")
    waiting = {
        "reason": "ImagePullBackOff",
        "message": 'Back-off pulling image "kubectl-edl:0.1.0"',
    }
    on.create(
        ours(on, containerStatuses=[{"image": "kubectl-edl:0.1.0", "state": {"waiting": waiting}}])
    )
    run = on.run("upgrade", "--timeout", "0", "--context", "prod")
    assert run.code == 1
    assert "no node gets the image kubectl-edl:0.1.0 (Back-off pulling" in run.err
    assert (
        "kind load docker-image kubectl-edl:0.1.0 && kubectl edl upgrade --context prod --image "
        in run.err
    )
    assert (
        "docker push REGISTRY/kubectl-edl:0.1.0 && kubectl edl upgrade --context prod --image "
        in run.err
    )


def test_problems_of_old_pods_are_ignored() -> None:
    on = stage()
    install(on, "--image", "nobody.test/none:1")
    waiting = {"reason": "ErrImagePull"}
    status = {"image": "nobody.test/none:1", "state": {"waiting": waiting}}
    on.create(ours(on, containerStatuses=[status]))
    assert "no node gets the image" in on.run("upgrade", "--timeout", "0").err
    run = on.run("upgrade", "--image", IMAGE, "--timeout", "0")
    assert run.code == 5
    assert "no node gets" not in run.err


def test_a_crashing_webhook_is_refused_at_once_with_its_log_command() -> None:
    on = stage()
    install(on)
    crash = {"waiting": {"reason": "CrashLoopBackOff"}}
    on.create(ours(on, containerStatuses=[{"image": "x", "restartCount": 3, "state": crash}]))
    run = on.run("upgrade", "--timeout", "0", "--context", "prod")
    assert run.code == 1
    assert "kubectl logs -n edl-system edl-webhook-1 --previous --context prod\n" in run.err


def ours(on: Stage, **status: object) -> Json:
    """A pod of the webhook as it is installed now."""
    template = deployment(on)["spec"]["template"]
    labels = {"app.kubernetes.io/part-of": contract.MANAGED_BY}
    metadata = {"name": "edl-webhook-1", "namespace": SYSTEM, "labels": labels}
    return {"kind": "Pod", "metadata": metadata, "spec": template["spec"], "status": status}


def unscheduled(message: str) -> Json:
    return {"type": "PodScheduled", "status": "False", "message": message}


def left(on: Stage) -> list[str]:
    """Everything in the cluster but Jobs."""
    listed = on.run("uninstall", "--dry-run", "client").out
    return [line for line in listed.splitlines() if line.endswith("(dry run)")]


def test_uninstalling_takes_everything_but_jobs() -> None:
    on = stage()
    install(on, "--set", "networkPolicy.enabled=true")
    on.put(job("runs", framework="none"), suspend=False)
    on.put(job("waits", framework="none"))
    on.patch("waits", HELD)
    theirs = {"metadata": {"name": CONFIG_MAP, "namespace": "other"}, "kind": "ConfigMap"}
    ours = {"name": CONFIG_MAP, "namespace": "default", "labels": LABELS}
    on.create(theirs)
    on.create(theirs | {"metadata": ours})
    asks = {"app.kubernetes.io/managed-by": contract.MANAGED_BY, contract.PROVISIONAL: "waits"}
    for name, labels in (("asks", asks), ("other", {contract.PROVISIONAL: "waits"})):
        on.create(
            {"kind": "Pod", "metadata": {"name": name, "namespace": "default", "labels": labels}}
        )
    assert len(left(on)) == len(installation.documents()) + 6
    tried = on.run("uninstall", "--dry-run", "server").out
    assert tried.replace("(server dry run)", "(dry run)").splitlines() == left(on)
    run = on.run("uninstall", "--yes")
    assert run.code == 0, run.err
    pods = on.cluster.list(ListOptions("Pod")).items
    assert [json.loads(one)["metadata"]["name"] for one in pods] == ["other"]
    assert run.out.splitlines()[0].startswith("mutatingwebhookconfiguration")
    assert run.out.splitlines()[-4:] == [
        "namespace/edl-system deleted",
        "lease.coordination.k8s.io/edl-reconciler deleted",
        "configmap/edl-queue in default deleted",
        "pod/asks in default deleted",
    ]
    assert left(on) == []
    kept = on.cluster.list(ListOptions("ConfigMap")).items
    assert [json.loads(one)["metadata"]["namespace"] for one in kept] == ["other"]
    assert on.job("runs")["spec"]["suspend"] is False
    assert run.err == (
        "1 elastic Job keeps running at the current size, no longer resized or ended.\n"
        "1 suspended: no longer started. To start them by hand:\n"
        """  kubectl patch job waits -n default -p '{"spec":{"suspend":false}}'\n"""
        "1 with edl.dev/ttl-seconds-after-finished (default/waits): each is deleted "
        "that long after its own end.\n"
    )
    assert on.job("waits")["spec"][ttl_after_finished.FIELD] == 600
    assert contract.TTL not in on.job("waits")["metadata"]["annotations"]


def holding(times: int, held: Json = HELD) -> Callable[[PluginCluster], PluginCluster]:
    """The webhook restores the field while it is configured, and for some patches after that."""
    left = [times]

    class Holding(ClusterWrapper):
        def patch(
            self, target: ObjectRef, body: Mapping[str, Any], *, dry_run: bool = False
        ) -> Json:
            written = self.cluster.patch(target, body, dry_run=dry_run)
            if target.kind != "Job":
                return written
            there = self.cluster.list(ListOptions(WEBHOOK_KINDS[0])).items
            left[0] -= not there
            return self.cluster.patch(target, held) if there or left[0] >= 0 else written

    return lambda cluster: cast("PluginCluster", Holding(cluster))


def gates(on: Stage, name: str) -> object:
    return on.job(name)["spec"]["template"]["spec"].get("schedulingGates")


def test_the_fence_is_deleted_after_all_rights_that_it_limits() -> None:
    on = stage()
    install(on)
    kinds = [line.partition(".")[0] for line in on.run("uninstall", "-y").out.splitlines()]
    rights = [kinds.index(kind) for kind in ("clusterrolebinding", "clusterrole")]
    fence = kinds.index("validatingadmissionpolicybinding")
    assert max(rights) < fence < kinds.index("validatingadmissionpolicy")


def test_gated_pods_are_named_before_uninstalling() -> None:
    """The template of a running Job is immutable: a hint; other Jobs lose their gates."""
    on = stage()
    install(on)
    on.put(job("runs", framework="tensorflow", max="2"), suspend=False)
    on.put(job("waits", framework="tensorflow", max="2"))
    assert gates(on, "waits") == [{"name": contract.PLACEMENT_GATE}]
    run = on.run("uninstall", "--yes")
    assert gates(on, "waits") is None
    assert gates(on, "runs") == [{"name": contract.PLACEMENT_GATE}]
    assert run.err.splitlines()[-1] == (
        "1 with scheduling gates (default/runs): a pod behind them, now or later, is not scheduled "
        "until you remove its gate: "
        """kubectl patch pod POD --type=merge -p '{"spec":{"schedulingGates":null}}'"""
    )


def gated_again() -> Json:
    gate = {"name": contract.PLACEMENT_GATE}
    return {"spec": {"template": {"spec": {"schedulingGates": [gate]}}}}


def test_gates_that_the_webhook_puts_back_are_taken_off_again() -> None:
    on = stage()
    install(on)
    on.put(job("waits", framework="tensorflow", max="2"))
    wrapped = on.wrapped
    on.wrapped = lambda cluster: holding(3, gated_again())(wrapped(cluster))
    on.run("uninstall", "--yes")
    assert gates(on, "waits") is None


def refusing_jobs(cluster: PluginCluster) -> PluginCluster:
    """A policy of the cluster lets no Job change."""

    class Refusing(ClusterWrapper):
        def patch(
            self, target: ObjectRef, body: Mapping[str, Any], *, dry_run: bool = False
        ) -> Json:
            if target.kind == "Job":
                raise Invalid("Jobs stay as they are")
            return self.cluster.patch(target, body, dry_run=dry_run)

    return cast("PluginCluster", Refusing(cluster))


def refusing_templates(cluster: PluginCluster) -> PluginCluster:
    """A policy of the cluster lets no template change."""

    class Refusing(ClusterWrapper):
        def patch(
            self, target: ObjectRef, body: Mapping[str, Any], *, dry_run: bool = False
        ) -> Json:
            if target.kind == "Job" and "template" in body.get("spec", {}):
                raise Invalid("templates stay as they are")
            return self.cluster.patch(target, body, dry_run=dry_run)

    return cast("PluginCluster", Refusing(cluster))


def test_a_template_that_is_refused_keeps_its_gates_and_no_time_to_live() -> None:
    on = stage()
    install(on)
    on.put(job("waits", framework="tensorflow", max="2"))
    on.patch("waits", HELD)
    wrapped = on.wrapped
    on.wrapped = lambda cluster: refusing_templates(wrapped(cluster))
    run = on.run("uninstall", "--yes")
    assert on.job("waits")["spec"]["ttlSecondsAfterFinished"] == 600
    assert (
        "default/waits keeps its scheduling gates: templates stay as they are. By hand: "
        "kubectl patch job waits -n default --type=merge -p "
        """'{"spec":{"template":{"spec":{"schedulingGates":null}}}}'"""
    ) in run.err


@pytest.mark.parametrize("accepts", [True, False])
def test_a_suspended_job_loses_its_gates_if_its_template_is_mutable(*, accepts: bool) -> None:
    """As from Kubernetes 1.36; the update is tried, whatever the version."""
    on = stage()
    install(on)
    on.put(job("stopped", framework="tensorflow", max="2"))
    on.patch("stopped", {"status": {"startTime": "2026-01-01T00:00:00Z"}})
    if not accepts:
        wrapped = on.wrapped
        on.wrapped = lambda cluster: refusing_templates(wrapped(cluster))
    run = on.run("uninstall", "--yes")
    assert gates(on, "stopped") == (None if accepts else [{"name": contract.PLACEMENT_GATE}])
    said = (
        "default/stopped keeps its scheduling gates: templates stay as they are. A pod behind "
        "them, now or later, is not scheduled until you remove its gate: kubectl patch pod POD"
    )
    assert (said in run.err) is not accepts
    before = next(line for line in run.err.splitlines() if "with scheduling gates" in line)
    assert before.startswith(
        "1 suspended with scheduling gates (default/stopped): unless the API server lets their "
        "templates change, a pod behind them, now or later, is not scheduled until you remove its "
        "gate: "
    )


def test_a_suspended_job_that_keeps_gates_and_ttl_gets_a_hint() -> None:
    on = stage()
    install(on)
    on.put(job("stopped", framework="tensorflow", max="2"))
    on.patch("stopped", {"status": {"startTime": "2026-01-01T00:00:00Z"}} | HELD)
    wrapped = on.wrapped
    on.wrapped = lambda cluster: refusing_jobs(wrapped(cluster))
    run = on.run("uninstall", "--yes")
    assert (
        "default/stopped keeps edl.dev/ttl-seconds-after-finished and its scheduling gates: Jobs "
        "stay as they are. By hand: kubectl patch job stopped -n default --type=merge -p "
        """'{"spec":{"ttlSecondsAfterFinished":600}}'. A pod behind them, now or later, is not """
        "scheduled until you remove its gate: kubectl patch pod POD"
    ) in run.err


@pytest.mark.parametrize(("times", "seconds"), [(0, 600), (3, 600), (99, HELD_TTL)])
def test_a_ttl_is_restored_after_the_webhook_is_deleted(times: int, seconds: int) -> None:
    on = stage()
    install(on)
    on.put(job("waits", framework="none"))
    on.patch("waits", HELD)
    wrapped = on.wrapped
    on.wrapped = lambda cluster: holding(times)(wrapped(cluster))
    run = on.run("uninstall", "--yes")
    assert run.code == 0
    assert on.job("waits")["spec"][ttl_after_finished.FIELD] == seconds
    by_hand = """waits -n default --type=merge -p '{"spec":{"ttlSecondsAfterFinished":600}}'"""
    assert (by_hand in run.err) == (seconds == HELD_TTL)


def test_a_gang_is_started_by_hand_with_no_fewer_pods_than_its_minimum() -> None:
    on = stage()
    install(on)
    on.put(job("gang", framework="pytorch", min="40", max="40"))
    on.put(job("waits", framework="none"))
    start = """  kubectl patch job {} -n default -p '{{"spec":{}}}'"""
    assert on.run("uninstall", "--yes").err.splitlines() == [
        "2 suspended: no longer started. To start them by hand:",
        start.format("gang", '{"parallelism":40,"completions":40,"suspend":false}'),
        start.format("waits", '{"suspend":false}'),
    ]


def test_a_command_starts_each_suspended_job_also_after_uninstalling() -> None:
    """A running Job, and a Job that has ended, have none."""
    on = stage()
    install(on)
    on.put(job("runs", framework="none"), suspend=False)
    for index in range(9):
        on.put(job(f"waits-{index}", framework="none", min="3", max="4"))
    on.patch("waits-8", {"status": {"conditions": [{"type": "Failed", "status": "True"}]}})
    before = on.run("uninstall", "--yes").err.splitlines()
    assert [line.partition(" -n ")[0] for line in before[1:]] == [
        "8 suspended: no longer started. To start them by hand:",
        *(f"  kubectl patch job waits-{index}" for index in range(5)),
        "  and 3 more: kubectl edl uninstall --start-commands",
    ]
    run = on.run("uninstall", "--start-commands", "--context", "prod")
    body = """'{"spec":{"parallelism":3,"suspend":false}}'"""
    assert (run.code, run.err) == (0, "")
    assert run.out.splitlines() == [
        f"kubectl patch job waits-{index} -n default -p {body} --context prod" for index in range(8)
    ]


def started(on: Stage, *words: str) -> list[str]:
    run = on.run("uninstall", "--start-commands", *words)
    assert (run.code, run.err) == (0, "")
    return run.out.splitlines()


def test_start_commands_name_the_gates_that_a_stopped_job_keeps() -> None:
    on = stage()
    placed = job("stopped", framework="none")
    placed["metadata"]["annotations"] = {contract.REQUIRED_TOPOLOGY: "rack"}
    on.put(placed)
    on.patch("stopped", {"status": {"startTime": "2026-01-01T00:00:00Z"}})
    on.put(job("waits", framework="none"))
    start = """kubectl patch job {} -n default -p '{{"spec":{{"suspend":false}}}}' --context prod"""
    gated = (
        "# default/stopped keeps scheduling gates: a pod behind them, now or later, is not "
        "scheduled until you remove its gate: kubectl patch pod POD --type=merge "
        """-p '{"spec":{"schedulingGates":null}}' -n default --context prod"""
    )
    lines = [start.format("stopped"), gated, start.format("waits")]
    assert started(on, "--context", "prod") == lines


def test_start_commands_of_paused_jobs_say_so() -> None:
    on = stage()
    for name in ("paused", "waits"):
        on.put(job(name, framework="none"))
    on.patch("paused", {"metadata": {"annotations": {contract.PAUSED: "true"}}})
    assert [line.endswith("  # paused") for line in started(on)] == [True, False]


@pytest.mark.parametrize(
    ("stored", "fields"),
    [
        ({"parallelism": 0}, '{"parallelism":1,"suspend":false}'),
        (
            {"parallelism": 0, "completions": 0, "completionMode": "Indexed"},
            '{"parallelism":1,"completions":1,"suspend":false}',
        ),
        ({"parallelism": 2}, '{"suspend":false}'),
    ],
)
def test_a_job_with_an_invalid_request_starts_with_a_pod(stored: Json, fields: str) -> None:
    on = stage()
    on.put(job("spoilt", framework="none"), **stored)
    on.patch("spoilt", {"metadata": {"labels": {contract.FRAMEWORK: "caffe"}}})
    assert started(on) == [f"""kubectl patch job spoilt -n default -p '{{"spec":{fields}}}'"""]


@pytest.mark.parametrize("words", [("-y",), ("--dry-run", "client"), ("--dry-run", "server")])
def test_start_commands_delete_nothing_and_need_no_confirmation(words: tuple[str, ...]) -> None:
    run = stage().run("uninstall", "--start-commands", *words)
    assert (run.code, run.out) == (2, "")
    assert run.err == ("error: --start-commands deletes nothing: leave out --yes and --dry-run\n")


def test_uninstall_needs_confirmation() -> None:
    on = stage()
    install(on)
    assert on.run("uninstall").code == 1
    assert "No terminal can answer: add --yes" in on.run("uninstall").err
    on.answers = "n\n"
    assert "kubectl-edl was not uninstalled" in on.run("uninstall").err
    assert deployment(on)
    on.answers = "yes\n"
    assert on.run("uninstall").code == 0
    assert left(on) == []


def test_the_namespace_is_kept_if_others_use_it() -> None:
    on = stage()
    install(on)
    for kind, name in (
        ("ConfigMap", contract.TEAMS_CONFIG_MAP),
        ("ConfigMap", "kube-root-ca.crt"),
        ("ConfigMap", "istio-ca-root-cert"),
        ("Secret", "pull"),
    ):
        on.create({"kind": kind, "metadata": {"name": name, "namespace": SYSTEM}})
    dry = on.run("uninstall", "--dry-run", "client")
    assert dry.err.splitlines()[-1] == (
        "namespace/edl-system stays, with what is not kubectl-edl's: configmap/edl-teams, "
        "secret/pull. To delete that too: kubectl delete namespace edl-system"
    )
    assert "namespace/" not in dry.out
    run = on.run("uninstall", "--yes")
    assert (run.code, "secret/pull" in run.err) == (0, True)
    assert on.cluster.get(ObjectRef("Namespace", "", SYSTEM))
    assert on.cluster.get(ObjectRef("ConfigMap", SYSTEM, contract.TEAMS_CONFIG_MAP))
    assert left(on) == []


def test_uninstalling_nothing_is_done_at_once() -> None:
    on = stage()
    on.cluster.delete(ObjectRef("Lease", SYSTEM, contract.RECONCILER_LEASE))
    run = on.run("uninstall", "--yes")
    assert (run.code, run.out) == (0, "nothing of kubectl-edl is installed in this cluster\n")


def test_names_and_documents_are_printed_for_other_programs() -> None:
    names = install(stage(), "-o", "name").out.splitlines()
    assert "deployment.apps/edl-webhook" in names
    found = json.loads(install(stage(), "-o", "json").out)
    assert {item["metadata"]["name"] for item in found["items"]} >= {"edl-webhook", "edl-values"}
