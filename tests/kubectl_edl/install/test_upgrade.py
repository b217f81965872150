"""`upgrade`: values that stay, objects that are superseded, and refusals that write nothing."""

from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from edl import contract
from edl.errors import Conflict
from edl.kube.cluster import find
from edl.model import ObjectRef
from edl.writes import Json
from tests.kubectl_edl.install.installations import (
    IMAGE,
    KEPT,
    SYSTEM,
    WEBHOOK,
    Judging,
    applied_by_hand,
    arguments,
    image,
    install,
    stage,
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


def test_a_restored_default_leaves_no_empty_map_behind() -> None:
    on = stage()
    install(on, "--set", "reconciler.planning.policy=throughput", "--set", "webhook.replicas=3")
    assert on.run("upgrade", "--no-wait", "--set", "reconciler.planning.policy=").code == 0
    kept = yaml.safe_load(on.cluster.get(KEPT)["data"]["values.yaml"])
    assert kept == {"image": IMAGE, "webhook": {"replicas": 3}}


def test_an_upgrade_shows_only_the_rules_that_change_and_as_yaml() -> None:
    on = stage()
    install(on)
    role = ObjectRef("ClusterRole", "", "edl-webhook")
    rules = on.cluster.get(role)["rules"]
    other = {"apiGroups": ["x"], "resources": ["y"], "verbs": ["get"]}
    on.cluster.patch(role, {"rules": [*rules[1:], other]})
    run = on.run("upgrade", "--no-wait")
    lines = run.out.splitlines()
    at = lines.index("clusterrole.rbac.authorization.k8s.io/edl-webhook changed")
    assert lines[at + 1] == "  rules: {apiGroups: [x], resources: [y], verbs: [get]} → –"
    assert lines[at + 2].startswith("  rules: – → {apiGroups: [")
    assert not lines[at + 3].startswith("  ")


@pytest.mark.parametrize("name", ["edl-webhook", "edl-reconciler"])
def test_an_upgrade_creates_a_deleted_deployment_with_the_stored_image(name: str) -> None:
    on = stage()
    install(on)
    on.cluster.delete(ObjectRef("Deployment", SYSTEM, name))
    missing = f"Deployment {name} does not exist in namespace {SYSTEM}"
    told = on.run("doctor").out
    assert missing in told
    assert "kubectl edl install" not in told
    assert "fix: kubectl edl upgrade" in told.partition(missing)[2].partition("✗")[0]
    assert on.run("upgrade", "--no-wait").code == 0
    assert image(on) == IMAGE
    assert missing not in on.run("doctor").out


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


def test_a_refused_upgrade_has_written_nothing() -> None:
    on = applied_by_hand()

    class Owned(Judging):
        def apply(self, target: ObjectRef, manifest: Mapping[str, Any], **how: bool) -> Json:
            if target == WEBHOOK:
                raise Conflict("Apply failed with 1 conflict: .spec.replicas", 409)
            return super().apply(target, manifest, **how)

    on.wrapped = Owned
    run = on.run("upgrade", "--no-wait", "--take-ownership", "--image", IMAGE)
    assert run.err.startswith("error: deployment.apps/edl-webhook: Apply failed with 1 conflict")
    assert (find(on.cluster, KEPT), run.out) == (None, "")


def test_an_upgrade_of_nothing_names_install() -> None:
    run = stage().run("upgrade")
    assert (run.code, run.err) == (
        1,
        "error: kubectl-edl is not installed in this cluster: kubectl edl install --image IMAGE\n",
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


def test_an_upgrade_keeps_a_namespace_that_was_created_with_our_label() -> None:
    on = stage()
    on.cluster.system_namespace = "team-x"
    labels = {"app.kubernetes.io/part-of": contract.MANAGED_BY}
    theirs = {"metadata": {"name": "team-x", "labels": labels}}
    on.cluster.create(ObjectRef("Namespace", "", "team-x"), theirs)
    install(on)
    assert on.run("upgrade", "--no-wait", "--set", "logLevel=debug").code == 0
    assert on.cluster.get(ObjectRef("Namespace", "", "team-x"))
