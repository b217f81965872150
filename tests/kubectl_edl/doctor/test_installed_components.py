"""Checks of what is installed, and the command that mends it."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from certs.secrets import WEBHOOK_KINDS
from edl import contract
from edl.errors import Unreachable, WebhookRefused
from edl.frameworks.base import ModeRight
from edl.model import ObjectRef
from edl.writes import Json
from kubectl_edl.install.installation_values import VALUES_CONFIG_MAP
from tests.integration.support.rights import OF_MODES
from tests.kubectl_edl.cluster_wrappers import hidden
from tests.kubectl_edl.doctor.fake_installation import FakeApi, installed, target
from tests.kubectl_edl.doctor.findings import ASK, WEBHOOKS, beside, checked, managed, only, taken
from tests.kubectl_edl.stage import NOW, Stage, job

VALUES = ObjectRef("ConfigMap", contract.SYSTEM_NAMESPACE, VALUES_CONFIG_MAP)
HELM = {"meta.helm.sh/release-name": "edl", "meta.helm.sh/release-namespace": "ops"}
RENDER = (
    "python -m manifests.render --webhook-url https://127.0.0.1:8443 --authority CERT_DIR/ca.crt "
    "--namespace edl-system --output - | kubectl apply --server-side --force-conflicts -f -"
)


def test_replicas_that_are_missing_are_a_warning_and_all_of_them_a_failure(stage: Stage) -> None:
    stage.cluster.patch(target("Deployment", "edl-webhook"), {"status": {"readyReplicas": 1}})
    stage.cluster.patch(target("Deployment", "edl-reconciler"), {"status": {"readyReplicas": None}})
    webhook, reconciler = checked(stage)["deployments"]
    assert (webhook["result"], reconciler["result"]) == ("warning", "failure")
    assert reconciler["message"] == "edl-reconciler: 0 of 2 replicas ready"
    assert reconciler["remediation"] == (
        "kubectl describe pods -n edl-system -l app.kubernetes.io/name=edl-reconciler"
    )


STALLED = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}


@pytest.mark.parametrize(
    ("status", "why"),
    [
        ({"updatedReplicas": 1}, "not all of them are of its newest template"),
        ({"availableReplicas": 1}, "its rollout did not end in time"),
    ],
)
def test_a_rollout_that_does_not_end_is_a_warning_and_proves_no_release(
    stage: Stage, status: Json, why: str
) -> None:
    """As with an image that cannot be pulled: the pods of the earlier template stay ready."""
    assert only(stage, "release")[0] == "ok"
    stalled = {"status": status | {"conditions": [STALLED]}}
    stage.cluster.patch(target("Deployment", "edl-webhook"), stalled)
    webhook, _ = checked(stage)["deployments"]
    assert webhook["message"] == f"edl-webhook: 2 of 2 replicas ready, but {why}"
    assert (webhook["result"], "release" in checked(stage)) == ("warning", False)


@pytest.mark.parametrize(
    "status",
    [
        {"updatedReplicas": 1, "replicas": 3},
        {"availableReplicas": 1, "conditions": [STALLED | {"status": "True"}]},
        {"replicas": 3, "readyReplicas": 3},
        {"observedGeneration": 0},
    ],
)
def test_an_ordinary_rollout_causes_no_warning(stage: Stage, status: Json) -> None:
    """Its new pod starts, its pods become available, or one more than wanted is about to end."""
    webhook = target("Deployment", "edl-webhook")
    stage.cluster.patch(webhook, {"metadata": {"generation": 1}, "status": status})
    found, _ = checked(stage)["deployments"]
    assert found["result"] == "ok"
    assert found["message"].endswith(" of 2 replicas ready; its rollout is under way")


def test_a_component_that_is_scaled_to_zero_is_to_be_scaled_up(stage: Stage) -> None:
    none = {"spec": {"replicas": 0}, "status": {"readyReplicas": None}}
    stage.cluster.patch(target("Deployment", "edl-reconciler"), none)
    _, reconciler = checked(stage)["deployments"]
    assert reconciler["message"] == "edl-reconciler is scaled to 0 replicas"
    assert reconciler["remediation"] == (
        "kubectl scale deployment edl-reconciler -n edl-system --replicas=2"
    )


def test_another_release_in_the_cluster_is_a_warning(server: FakeApi) -> None:
    def older(manifest: Json) -> None:
        if manifest["metadata"]["name"] == "edl-webhook" and manifest["kind"] == "Deployment":
            spec = manifest["spec"]["template"]["spec"]
            spec["containers"][0]["image"] = "registry:5000/kubectl-edl:0.0.9"

    verdict, message, fix = only(installed(Stage(), server, older), "release")
    assert (verdict, fix) == (
        "warning",
        "kubectl edl upgrade --image registry:5000/kubectl-edl:0.1.0",
    )
    assert message == "Deployment edl-webhook has the image tag 0.0.9, and this plugin is 0.1.0"


def test_a_webhook_outside_of_the_cluster_needs_no_deployment(server: FakeApi) -> None:
    stage = beside(server)
    assert only(stage, "deployments")[1].startswith("the webhook is served from https://127.0.0.1")
    assert "certificate" not in checked(stage), "its file is elsewhere, and is not checked"
    server.refusal = Unreachable("failed calling webhook jobs.edl.dev: connection refused", 500)
    fix = only(stage, "webhook-answers")[2]
    assert fix == (
        "start the webhook that is served from https://127.0.0.1:8443; where it runs, caBundle in "
        "the webhook configurations must be the authority of its certificate (ca.crt of its "
        "--cert-dir)"
    )


def test_an_installation_in_another_namespace_is_named(
    server: FakeApi,
) -> None:
    for stage in (installed(Stage(), server), beside(server)):
        stage.cluster.system_namespace = "foo"
        checks = json.loads(stage.run("doctor", "-o", "json").out)["checks"]
        (wrong,) = (one for one in checks if one["result"] != "ok")
        assert (wrong["message"], wrong["remediation"]) == (
            "kubectl-edl is installed in namespace edl-system, not in foo",
            "export EDL_SYSTEM_NAMESPACE=edl-system",
        )


def test_the_fix_for_a_reconciler_outside_the_cluster_is_to_start_it_there(
    server: FakeApi,
) -> None:
    stage = beside(server)
    stage.put(job("sweep", framework="none"))
    stage.now = [NOW + timedelta(minutes=10)]
    outside = (
        "no Deployment edl-reconciler in namespace edl-system: the reconciler runs outside this "
        "cluster; {} on its host"
    )
    assert only(stage, "leader")[2] == outside.format("start it")
    assert only(stage, "stuck")[2] == outside.format("look at its log")


def test_rights_of_processes_outside_the_cluster_are_those_of_service_accounts(
    server: FakeApi,
) -> None:
    other = "edl-webhook and edl-reconciler may run as another user outside of the cluster"
    assert other in beside(server).run("doctor").out
    assert other not in installed(Stage(), server).run("doctor").out


@pytest.mark.parametrize("deleted", ["edl-reconciler", "edl-webhook"])
def test_the_fix_for_a_deleted_deployment_is_the_command_that_restores_it(
    stage: Stage, deleted: str
) -> None:
    stage.cluster.delete(target("Deployment", deleted))
    (absent,) = (one for one in checked(stage)["deployments"] if one["result"] == "failure")
    assert absent["remediation"] == "kubectl edl upgrade"


@pytest.mark.parametrize("right", ModeRight)
def test_a_right_that_the_installation_withholds_is_not_missing(
    server: FakeApi, right: ModeRight
) -> None:
    def withhold(manifest: Json) -> None:
        if (manifest["kind"], manifest["metadata"]["name"]) == ("Deployment", "edl-webhook"):
            (container,) = manifest["spec"]["template"]["spec"]["containers"]
            container["args"] = [*container["args"], "--withheld-right", right.value]

    denied = ((one.verb, one.resource) for one in OF_MODES[right])
    server.denied = frozenset(("edl-reconciler", *one) for one in denied)
    assert only(installed(Stage(), server, withhold), "rights")[0] == "ok"
    assert only(installed(Stage(), server), "rights")[0] == "failure"


def test_the_fix_for_a_right_depends_on_what_installed_kubectl_edl(server: FakeApi) -> None:
    server.denied = frozenset({("edl-reconciler", "patch", "jobs")})
    assert (
        fix_of_a_right(installed(Stage(), server))
        == "kubectl edl upgrade --force-conflicts --context prod"
    )
    outside = fix_of_a_right(beside(server))
    assert outside == f"{RENDER} --context prod"
    by_manifests = installed(Stage(), server)
    by_manifests.cluster.delete(VALUES)
    apply_again = (
        "apply the manifests of the plugin's version (kubectl apply, kustomize) with --server-side "
        "--force-conflicts"
    )
    assert fix_of_a_right(by_manifests) == apply_again
    by_manifests.cluster.delete(target("Deployment", "edl-webhook"))
    assert fix_of_a_right(by_manifests) == apply_again
    by_helm = installed(Stage(), server)
    by_helm.cluster.patch(target(WEBHOOKS, "edl"), {"metadata": {"annotations": HELM}})
    assert fix_of_a_right(by_helm) == "helm upgrade edl CHART -n ops --kube-context prod"


def fix_of_a_right(stage: Stage) -> str:
    (one,) = checked(stage, "--context", "prod")["rights"]
    return str(one["remediation"])


@pytest.mark.parametrize("deleted", WEBHOOK_KINDS)
def test_the_fix_for_a_deleted_webhook_configuration_is_of_what_installed_it(
    server: FakeApi, deleted: str
) -> None:
    by_helm = installed(Stage(), server)
    by_helm.cluster.delete(VALUES)
    owned = (*(target(kind, "edl") for kind in WEBHOOK_KINDS), target("Deployment", "edl-webhook"))
    for one in owned:
        by_helm.cluster.patch(one, {"metadata": {"annotations": HELM}})
    outside = beside(server)
    outside.cluster.delete(VALUES)
    for stage, fix in ((by_helm, "helm upgrade edl CHART -n ops"), (outside, RENDER)):
        stage.cluster.delete(target(deleted, "edl"))
        (found,) = (one for one in checked(stage)["installed"] if one["result"] == "failure")
        assert deleted in found["message"]
        assert found["remediation"] == fix
    for kind in set(WEBHOOK_KINDS) - {deleted}:
        by_helm.cluster.delete(target(kind, "edl"))
    assert only(by_helm, "installed")[2] == "helm upgrade edl CHART -n ops"
    assert by_helm.run("upgrade").err == (
        "error: Helm installed kubectl-edl here: helm upgrade edl CHART -n ops\n"
    )


def test_without_the_right_to_read_deployments_a_missing_installation_is_installed() -> None:
    stage = replace(Stage(), wrapped=lambda cluster: hidden("Deployment")(FakeApi()(cluster)))
    assert only(stage, "installed")[2] == f"{ASK}kubectl edl install --image IMAGE"


def test_a_changed_entry_of_a_webhook_outside_is_not_mended_by_upgrade(server: FakeApi) -> None:
    stage = beside(server)
    webhooks = stage.cluster.get(target(WEBHOOKS, "edl"))["webhooks"]
    webhooks[0]["failurePolicy"] = "Ignore"
    stage.cluster.patch(target(WEBHOOKS, "edl"), {"webhooks": webhooks})
    assert only(stage, "webhook-configuration")[2].startswith("python -m manifests.render ")


def test_without_the_right_to_read_the_values_the_fix_is_to_upgrade(
    stage: Stage, server: FakeApi
) -> None:
    server.denied = frozenset({("edl-reconciler", "patch", "jobs")})
    inner = stage.wrapped
    stage.wrapped = lambda cluster: hidden("ConfigMap")(inner(cluster))
    assert fix_of_a_right(stage) == f"{ASK}kubectl edl upgrade --force-conflicts --context prod"


def test_where_the_deployment_is_unreadable_the_fix_is_the_log_if_that_is_readable(
    stage: Stage, server: FakeApi
) -> None:
    stage.now = [NOW + timedelta(minutes=10)]
    log = only(stage, "leader")[2]
    assert log.startswith("kubectl logs -n edl-system -l app.kubernetes.io/name=edl-reconciler")
    inner = stage.wrapped
    stage.wrapped = lambda cluster: hidden("Deployment")(inner(cluster))
    assert only(stage, "leader")[2] == log
    server.denied = frozenset({("", "get", "pods/log")})
    assert only(stage, "leader")[2] == f"{ASK}kubectl edl doctor"
    server.may_review_own = False
    verdict, message, fix = only(stage, "leader")
    assert message.startswith("no reconciler leads, ")
    assert (verdict, fix) == ("failure", f"{ASK}kubectl edl doctor")


JOBS = 'k:{"name":"jobs.edl.dev"}'


@pytest.mark.parametrize(
    ("others", "says"),
    [
        ([managed("admissionsenforcer", "namespaceSelector")], "namespaceSelector of jobs.edl.dev"),
        (
            [
                managed("admissionsenforcer", "namespaceSelector", "rules"),
                managed("admissionsenforcer", "rules", entry="pods.edl.dev"),
            ],
            "namespaceSelector, rules of jobs.edl.dev, pods.edl.dev",
        ),
        ([managed("edl-reconciler", "clientConfig")], ""),
    ],
)
def test_another_client_that_changes_what_is_reviewed_is_named(
    server: FakeApi, others: list[Json], says: str
) -> None:
    def own(manifest: Json) -> None:
        """The installer owns what no other has taken from it."""
        if manifest["kind"] == WEBHOOKS:
            entries = {key for one in others for key in one["fieldsV1"]["f:webhooks"]}
            left = managed("kubectl", *({"name", "rules", "namespaceSelector"} - taken(others)))
            mine = dict.fromkeys(entries, left["fieldsV1"]["f:webhooks"][JOBS])
            first = {"manager": "kubectl", "fieldsV1": {"f:webhooks": mine}}
            manifest["metadata"]["managedFields"] = [first, *others]

    stage = installed(Stage(), server, own)
    verdict, message, fix = only(stage, "webhook-configuration")
    if not says:
        assert verdict == "ok"
        return
    assert verdict == "warning"
    assert message.startswith(f'{WEBHOOKS} edl: "admissionsenforcer" has changed {says}: ')
    assert "Jobs of namespaces with edl.dev/injection: enabled stay ordinary Jobs" in message
    assert fix == "kubectl edl upgrade --force-conflicts"
    server.refusal = WebhookRefused("spec.suspend: it is not true", 422)
    assert only(stage, "webhook-answers")[::2] == ("failure", fix)
    inner = stage.wrapped
    stage.wrapped = lambda cluster: hidden(*WEBHOOK_KINDS)(inner(cluster))
    assert only(stage, "webhook-answers")[0] == "warning"
    stage.wrapped = lambda cluster: hidden("ConfigMap")(inner(cluster))
    assert only(stage, "webhook-configuration")[2] == f"{ASK}{fix}"
    stage.wrapped = inner
    stage.cluster.delete(VALUES)
    forced = "(kubectl apply, kustomize) with --server-side --force-conflicts"
    assert forced in only(stage, "webhook-configuration")[2]
