"""`install` on a cluster in memory."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from edl.errors import Conflict, Forbidden, KindNotServed, NotFound
from edl.kube.cluster import ListOptions, find
from edl.model import ObjectRef
from edl.writes import Json
from kubectl_edl.install.prune import IN_ITS_NAMESPACE
from manifests import installation, values
from tests.kubectl_edl.install.installations import (
    IMAGE,
    SYSTEM,
    WEBHOOK,
    Judging,
    image,
    install,
    stage,
)
from tests.kubectl_edl.stage import Stage


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

    def create(
        self, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
    ) -> Json:
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
        def apply(self, target: ObjectRef, manifest: Mapping[str, Any], **how: bool) -> Json:
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


def test_a_missing_kind_is_named_before_anything_is_written() -> None:
    on = stage()

    class Bare(Judging):
        def apply(self, target: ObjectRef, manifest: Mapping[str, Any], **how: bool) -> Json:
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
        def apply(self, target: ObjectRef, manifest: Mapping[str, Any], **how: bool) -> Json:
            if target.kind == "ClusterRoleBinding" and how.get("dry_run"):
                role = manifest["roleRef"]["name"]
                raise NotFound(f'clusterroles.rbac.authorization.k8s.io "{role}" not found', 404)
            return super().apply(target, manifest, **how)

    on.wrapped = lambda cluster: Unbound(cluster, "bind clusterroles")
    run = install(on)
    assert " you may not bind clusterroles.rbac.authorization.k8s.io edl-" in run.err
    assert (find(on.cluster, WEBHOOK), run.out) == (None, "")


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


def run_a_while(on: Stage, namespace: str) -> None:
    """Objects without labels, such as a recreated Secret."""
    for kind, name in IN_ITS_NAMESPACE:
        target = ObjectRef(kind, namespace, name)
        if kind == "Secret" and find(on.cluster, target):
            on.cluster.delete(target)
        on.cluster.create(target, {"metadata": {"name": name, "namespace": namespace}})


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


def test_names_and_documents_are_printed_for_other_programs() -> None:
    names = install(stage(), "-o", "name").out.splitlines()
    assert "deployment.apps/edl-webhook" in names
    found = json.loads(install(stage(), "-o", "json").out)
    assert {item["metadata"]["name"] for item in found["items"]} >= {"edl-webhook", "edl-values"}
