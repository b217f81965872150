import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from certs.secrets import WEBHOOK_KINDS
from edl import contract, reasons
from edl.annotations.json_text import json_text
from edl.errors import Forbidden, Invalid, Unreachable
from edl.frameworks.base import ModeRight
from edl.kube.auth.access_review import MissingRights
from edl.kube.cluster import ListOptions, RawList
from edl.model import FailedAttempt, ObjectRef
from edl.planner.decision_limits import Autoscaler, Limits, Provisioner, ProvisionerSettings
from edl.planner.published_settings import Settings, render
from edl.writes import Json
from kubectl_edl.cli.context import ClusterConnection, Scope
from kubectl_edl.doctor.checks import SECTIONS
from kubectl_edl.install.installation_values import KEPT
from kubectl_edl.main import run
from reconciler.write_permissions import OF_MODES
from tests.kubectl_edl.cluster_wrappers import (
    ClusterWrapper,
    fenced,
    hidden,
    one_namespace,
    reading,
    recorded,
    warning_of,
)
from tests.kubectl_edl.doctor.fake_installation import FakeApi, installed, target
from tests.kubectl_edl.stage import (
    NOW,
    Stage,
    event,
    job,
    lease,
    limit_range,
    mnist,
    node,
    pod,
    quota,
    role_manifests,
)

ASK = "ask a cluster administrator to run: "
WEBHOOKS = "MutatingWebhookConfiguration"
VALUES = ObjectRef("ConfigMap", contract.SYSTEM_NAMESPACE, KEPT)
HELM = {"meta.helm.sh/release-name": "edl", "meta.helm.sh/release-namespace": "ops"}
RENDER = (
    "python -m manifests.render --webhook-url https://127.0.0.1:8443 --authority CERT_DIR/ca.crt "
    "--namespace edl-system --output - | kubectl apply --server-side --force-conflicts -f -"
)


@pytest.fixture
def server() -> FakeApi:
    return FakeApi()


@pytest.fixture
def stage(server: FakeApi) -> Stage:
    return installed(Stage(), server)


def checked(stage: Stage, *args: str) -> dict[str, list[Json]]:
    """The findings by the name of their check."""
    found = json.loads(stage.run("doctor", "-o", "json", *args).out)
    checks: dict[str, list[Json]] = {}
    for one in found["checks"]:
        checks.setdefault(one["name"], []).append(one)
    return checks


def only(stage: Stage, check: str) -> tuple[str, str, str]:
    (one,) = checked(stage)[check]
    return one["result"], one["message"], one["remediation"]


def test_a_healthy_installation_passes_all_checks(stage: Stage) -> None:
    found = stage.run("doctor")
    assert found.code == 0
    assert found.err == ""
    assert found.out == (
        "Kubernetes API\n"
        "  ✓ https://cluster answers: Kubernetes v1.37.2 (1.33 and newer are supported)\n"
        "\n"
        "Installation\n"
        "  ✓ kubectl-edl is installed: both webhook configurations are there\n"
        "  ✓ edl-webhook: 2 of 2 replicas ready\n"
        "  ✓ edl-reconciler: 2 of 2 replicas ready\n"
        "  ✓ the cluster runs the plugin's own release, 0.1.0\n"
        "\n"
        "Webhook\n"
        "  ✓ the API server calls it for labelled objects only\n"
        "  ✓ the API server reaches it: a labelled Job was mutated in a dry run (default)\n"
        "\n"
        "Certificates\n"
        '  ✓ the API server trusts "kubectl-edl webhook authority", 3650 days left\n'
        "  ✓ the serving certificate has 365 days left, signed by the trusted authority\n"
        "\n"
        "Reconciler\n"
        "  ✓ one leads, and renewed its Lease 0s ago\n"
        "  ✓ it decides by policy fair, load ceiling 97 %\n"
        "  ✓ no teams are configured\n"
        "\n"
        "Rights\n"
        "  ✓ edl-webhook and edl-reconciler have all rights that they need\n"
        "  ✓ you have all rights that the plugin needs\n"
        "\n"
        "Training jobs\n"
        "  ✓ there are none yet\n"
        "  ✓ no training job waits for capacity\n"
        "  ✓ there are no orphaned objects of deleted Jobs\n"
        "\n"
        "All checks passed: 17 checks.\n"
    )


def test_the_probe_is_a_dry_run_in_the_users_namespace(stage: Stage, server: FakeApi) -> None:
    assert stage.run("doctor", "-n", "team").code == 0
    (probe,) = server.probes
    assert probe["metadata"]["namespace"] == "team"


def test_no_warnings_about_the_probe_are_printed(stage: Stage, server: FakeApi) -> None:
    """Policies may warn of anything: an image without a tag, missing limits, its name."""
    warned: list[ObjectRef] = []
    stage.wrapped = lambda cluster: warning_of(warned)(server(cluster))
    assert stage.run("doctor").code == 0
    assert len(server.probes) == 1
    assert [target for target in warned if target.kind == "Job"] == []


def test_what_an_uninstalled_kubectl_edl_has_left_is_reported_with_uninstall() -> None:
    stage = replace(Stage(), wrapped=FakeApi())
    managed = {"app.kubernetes.io/managed-by": contract.MANAGED_BY, contract.JOB: "train"}
    metadata = {"name": "train-first-2", "labels": managed}
    stage.create({"kind": "PodDisruptionBudget", "metadata": metadata})
    found = stage.run("doctor", "--context", "prod")
    assert found.code == 1
    assert (
        "  ! an earlier installation has left leases (1), poddisruptionbudgets (1); its "
        "poddisruptionbudgets block drains\n"
        "      fix: kubectl edl uninstall --context prod\n"
    ) in found.out


def test_a_missing_installation_is_a_failure_with_the_install_command() -> None:
    stage = replace(Stage(), wrapped=FakeApi())
    stage.cluster.delete(ObjectRef("Lease", contract.SYSTEM_NAMESPACE, contract.RECONCILER_LEASE))
    found = stage.run("doctor")
    assert found.code == 1
    assert found.out.endswith(
        "Installation\n"
        "  ✗ kubectl-edl is not installed here: there is no MutatingWebhookConfiguration and no "
        "ValidatingWebhookConfiguration edl\n"
        "      fix: kubectl edl install --image IMAGE\n"
        "\n"
        "Remaining checks skipped: they depend on this one.\n"
        "\n"
        "1 failure, 1 check passed.\n"
    )


def test_an_api_server_that_is_away_is_one_failure() -> None:
    def unreachable(_: Scope) -> ClusterConnection:
        raise Unreachable("no answer from the API server https://x; is it up?")

    cli = replace(Stage().cli(), connect=unreachable)
    assert run(["doctor", "-o", "json"], cli, {}) == 1
    found = json.loads(cli.out.getvalue())  # type: ignore[attr-defined]
    assert found["result"] == "failure"
    assert found["complete"] is False
    (only_one,) = found["checks"]
    assert only_one["name"] == "api"
    assert only_one["message"].startswith("no answer from the API server")
    assert "kubectl config get-contexts" in only_one["remediation"]


@pytest.mark.parametrize("release", ["v1.32.2", "v1.9"])
def test_an_old_cluster_is_a_failure(stage: Stage, release: str) -> None:
    stage.cluster.release = release
    (one,) = checked(stage)["api"]
    assert one["result"] == "failure"
    assert one["message"].endswith(f"runs Kubernetes {release}: 1.33 or newer is needed")


def test_a_distributions_release_is_read_by_its_numbers(stage: Stage) -> None:
    stage.cluster.release = "v1.37.1+k3s1"
    assert only(stage, "api")[0] == "ok"
    stage.cluster.release = "unreleased"
    assert only(stage, "api")[0] == "warning"


def test_replicas_that_are_missing_are_a_warning_and_all_of_them_a_failure(stage: Stage) -> None:
    stage.cluster.patch(target("Deployment", "edl-webhook"), {"status": {"readyReplicas": 1}})
    stage.cluster.patch(target("Deployment", "edl-reconciler"), {"status": {"readyReplicas": None}})
    webhook, reconciler = checked(stage)["deployments"]
    assert (webhook["result"], reconciler["result"]) == ("warning", "failure")
    assert reconciler["message"] == "edl-reconciler: 0 of 2 replicas ready"
    assert reconciler["remediation"] == (
        "kubectl describe pods -n edl-system -l app.kubernetes.io/name=edl-reconciler"
    )


def test_another_release_in_the_cluster_is_a_warning(server: FakeApi) -> None:
    def older(manifest: Json) -> None:
        if manifest["metadata"]["name"] == "edl-webhook" and manifest["kind"] == "Deployment":
            spec = manifest["spec"]["template"]["spec"]
            spec["containers"][0]["image"] = "registry:5000/kubectl-edl:0.0.9"

    verdict, message, fix = only(installed(Stage(), server, older), "release")
    assert (verdict, fix) == ("warning", "kubectl edl upgrade")
    assert message == "edl-webhook runs 0.0.9, and this plugin is 0.1.0"


def beside(server: FakeApi) -> Stage:
    """Webhook and reconciler run outside of the cluster, as in a sandbox."""
    stage = installed(Stage(), server)
    for name in ("edl-webhook", "edl-reconciler"):
        stage.cluster.delete(target("Deployment", name))
    stage.cluster.patch(target("Secret", "edl-webhook-tls"), {"data": {"tls.crt": None}})
    for kind in (WEBHOOKS, "ValidatingWebhookConfiguration"):
        webhooks = stage.cluster.get(target(kind, "edl"))["webhooks"]
        for one in webhooks:
            one["clientConfig"] |= {"url": "https://127.0.0.1:8443/mutate", "service": None}
        stage.cluster.patch(target(kind, "edl"), {"webhooks": webhooks})
    return stage


def test_a_webhook_outside_of_the_cluster_needs_no_deployment(server: FakeApi) -> None:
    stage = beside(server)
    assert only(stage, "deployments")[1].startswith("the webhook is served from https://127.0.0.1")
    assert only(stage, "certificate")[0] == "ok"
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


@pytest.mark.parametrize(
    ("deleted", "fix"),
    [
        ("edl-reconciler", "kubectl edl upgrade"),
        ("edl-webhook", "kubectl edl install --image IMAGE"),
    ],
)
def test_the_fix_for_a_deleted_deployment_is_the_command_that_restores_it(
    stage: Stage, deleted: str, fix: str
) -> None:
    stage.cluster.delete(target("Deployment", deleted))
    (absent,) = (one for one in checked(stage)["deployments"] if one["result"] == "failure")
    assert absent["remediation"] == fix


@pytest.mark.parametrize("right", ModeRight)
def test_a_right_that_the_installation_withholds_is_not_missing(
    server: FakeApi, right: ModeRight
) -> None:
    def withhold(manifest: Json) -> None:
        if (manifest["kind"], manifest["metadata"]["name"]) == ("Deployment", "edl-reconciler"):
            (container,) = manifest["spec"]["template"]["spec"]["containers"]
            container["args"] = [*container["args"], "--withheld-right", right.value]

    denied = ((one.verb, one.resource) for one in OF_MODES[right])
    server.denied = frozenset(("edl-reconciler", *one) for one in denied)
    assert only(installed(Stage(), server, withhold), "rights")[0] == "ok"
    assert only(installed(Stage(), server), "rights")[0] == "failure"


def test_the_fix_for_a_right_depends_on_what_installed_kubectl_edl(server: FakeApi) -> None:
    server.denied = frozenset({("edl-reconciler", "patch", "jobs")})
    assert fix_of_a_right(installed(Stage(), server)) == "kubectl edl upgrade --context prod"
    outside = fix_of_a_right(beside(server))
    assert outside == f"{RENDER} --context prod"
    by_manifests = installed(Stage(), server)
    by_manifests.cluster.delete(VALUES)
    apply_again = "apply the manifests of the plugin's version (kubectl apply, kustomize)"
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
    assert fix_of_a_right(stage) == f"{ASK}kubectl edl upgrade --context prod"


def test_without_the_right_to_read_the_deployment_the_fix_is_its_log(
    stage: Stage, server: FakeApi
) -> None:
    stage.now = [NOW + timedelta(minutes=10)]
    log = only(stage, "leader")[2]
    assert log.startswith("kubectl logs -n edl-system -l app.kubernetes.io/name=edl-reconciler")
    inner = stage.wrapped
    stage.wrapped = lambda cluster: hidden("Deployment")(inner(cluster))
    assert only(stage, "leader")[2] == log
    server.denied = frozenset({("", "get", "pods/log")})
    assert only(stage, "leader")[2] == f"{ASK}{log}"
    server.may_review_own = False
    verdict, message, fix = only(stage, "leader")
    assert message.startswith("no reconciler leads, ")
    assert (verdict, fix) == ("failure", f"{ASK}{log}")


def managed(manager: str, *fields: str, entry: str = "jobs.edl.dev") -> Json:
    """What a client owns of one entry of a webhook configuration."""
    own: Json = {f"f:{field}": {} for field in fields}
    return {"manager": manager, "fieldsV1": {"f:webhooks": {f'k:{{"name":"{entry}"}}': own}}}


JOBS = 'k:{"name":"jobs.edl.dev"}'


def taken(others: list[Json]) -> set[str]:
    entries = (fields for one in others for fields in one["fieldsV1"]["f:webhooks"].values())
    return {field.removeprefix("f:") for fields in entries for field in fields}


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
    assert fix == "kubectl edl upgrade --force-conflicts"


@pytest.mark.parametrize(
    ("change", "verdict", "says"),
    [
        ({"failurePolicy": "Ignore"}, "warning", "labelled objects are created incomplete"),
        ({"objectSelector": {}}, "failure", "its outage would stop them"),
        ({"namespaceSelector": {}}, "failure", "it does not exclude edl-system and kube-system"),
        ({"name": "other.edl.dev"}, "failure", "has no entry jobs.edl.dev"),
    ],
)
def test_an_entry_that_was_changed_is_named(
    server: FakeApi, change: dict[str, Any], verdict: str, says: str
) -> None:
    def spoil(manifest: Json) -> None:
        if manifest["kind"] == WEBHOOKS:
            manifest["webhooks"][0] |= change

    (one,) = checked(installed(Stage(), server, spoil))["webhook-configuration"]
    assert one["result"] == verdict
    assert says in one["message"]
    assert one["remediation"] == "kubectl edl upgrade"


def test_a_webhook_that_the_api_server_does_not_reach_is_a_failure(
    stage: Stage, server: FakeApi
) -> None:
    server.refusal = Unreachable("failed calling webhook jobs.edl.dev: connection refused", 500)
    verdict, message, fix = only(stage, "webhook-answers")
    assert verdict == "failure"
    assert message.startswith("the API server does not reach the webhook: failed calling webhook")
    assert "kubectl logs -n edl-system deploy/edl-webhook" in fix


def test_a_webhook_that_is_not_called_is_a_failure(stage: Stage, server: FakeApi) -> None:
    server.asks = False
    verdict, message, _ = only(stage, "webhook-answers")
    assert verdict == "failure"
    assert message == "a labelled Job was not mutated: no webhook is called in namespace default"


def test_a_namespace_that_takes_no_jobs_proves_nothing(stage: Stage, server: FakeApi) -> None:
    server.refusal = Invalid("exceeded quota: count/jobs.batch", 403)
    verdict, message, fix = only(stage, "webhook-answers")
    assert (verdict, fix) == ("warning", "kubectl edl doctor -n NAMESPACE")
    assert "exceeded quota" in message


def test_a_missing_right_to_create_jobs_is_named(stage: Stage, server: FakeApi) -> None:
    server.refusal = Forbidden('"ann" may not create jobs.batch in namespace default', 403)
    found = stage.run("doctor")
    assert found.code == 0
    assert '  ! not checked: "ann" may not create jobs.batch in namespace default\n' in found.out


def test_an_authority_that_signed_no_certificate_is_a_failure(stage: Stage) -> None:
    stage.cluster.delete(target("Secret", "edl-webhook-tls"))
    other = Stage()
    installed(other, FakeApi())
    secret = other.cluster.get(target("Secret", "edl-webhook-tls"))
    stage.create(
        {
            "kind": "Secret",
            "data": secret["data"],
            "metadata": {"name": "edl-webhook-tls", "namespace": contract.SYSTEM_NAMESPACE},
        }
    )
    verdict, message, fix = only(stage, "certificate")
    assert (verdict, fix) == ("failure", "kubectl edl certs renew")
    assert "trusts another authority than the one that signed the certificate" in message


@pytest.mark.parametrize(
    ("days", "verdict", "says"),
    [
        (200, "ok", "165 days left"),
        (300, "warning", "it should have been renewed by now"),
        (364, "warning", "has 24h left"),
        (370, "failure", "expired on 2027-11-21"),
    ],
)
def test_days_left_decide_about_the_certificate(
    stage: Stage, days: int, verdict: str, says: str
) -> None:
    stage.now = [NOW + timedelta(days=days)]
    (one,) = checked(stage)["certificate"]
    assert one["result"] == verdict
    assert says in one["message"]


def test_a_configuration_without_an_authority_is_a_failure(stage: Stage) -> None:
    webhooks = stage.cluster.get(target(WEBHOOKS, "edl"))["webhooks"]
    del webhooks[0]["clientConfig"]["caBundle"]
    stage.cluster.patch(target(WEBHOOKS, "edl"), {"webhooks": webhooks})
    (one,) = checked(stage)["trust"]
    assert one["result"] == "failure"
    assert one["message"].startswith("MutatingWebhookConfiguration edl, jobs.edl.dev: no caBundle,")
    assert one["remediation"] == "kubectl edl certs renew"


def test_entries_without_an_authority_are_one_failure_and_the_rollout_mends_it(
    stage: Stage,
) -> None:
    total = 0
    for kind in WEBHOOK_KINDS:
        webhooks = stage.cluster.get(target(kind, "edl"))["webhooks"]
        for webhook in webhooks:
            del webhook["clientConfig"]["caBundle"]
        total += len(webhooks)
        stage.cluster.patch(target(kind, "edl"), {"webhooks": webhooks})
    stage.cluster.patch(target("Deployment", "edl-reconciler"), {"status": {"readyReplicas": None}})
    (one,) = checked(stage)["trust"]
    assert one["message"].startswith(
        f"MutatingWebhookConfiguration edl, jobs.edl.dev and {total - 1} more: no caBundle,"
    )
    assert one["remediation"] == (
        "wait for the rollout: kubectl rollout status deployment/edl-webhook "
        "deployment/edl-reconciler -n edl-system"
    )


def test_without_a_leader_the_settings_are_those_of_the_last_one(stage: Stage) -> None:
    stage.now = [NOW + timedelta(hours=1)]
    assert only(stage, "leader")[0] == "failure"
    assert only(stage, "settings")[1].startswith("the last leader decided by policy fair, load")


def test_a_damaged_secret_is_a_failure(stage: Stage) -> None:
    stage.cluster.patch(target("Secret", "edl-webhook-tls"), {"data": {"tls.key": None}})
    verdict, message, fix = only(stage, "certificate")
    assert (verdict, fix) == ("failure", "kubectl edl certs renew")
    assert message == "Secret edl-system/edl-webhook-tls: tls.key missing"


@pytest.mark.parametrize(
    ("minutes", "verdict", "says"),
    [
        (
            10,
            "failure",
            (
                "no reconciler leads, the last was one: "
                "Lease edl-system/edl-reconciler was renewed 10m ago"
            ),
        ),
        (-10, "warning", "one leads, its clock 10m ahead of the API server's"),
    ],
)
def test_the_leader_check_reads_the_lease(
    stage: Stage, minutes: int, verdict: str, says: str
) -> None:
    stage.now = [NOW + timedelta(minutes=minutes)]
    found = only(stage, "leader")
    assert found[:2] == (verdict, says)


def test_a_renewal_slightly_ahead_of_the_clock_is_recent(stage: Stage) -> None:
    stage.now = [NOW - timedelta(seconds=3)]
    assert only(stage, "leader")[:2] == ("ok", "one leads, and renewed its Lease 0s ago")


def test_an_overdue_lease_is_a_warning(stage: Stage) -> None:
    stage.now = [NOW + timedelta(seconds=17)]
    assert only(stage, "leader")[:2] == (
        "warning",
        "one leads, and is overdue: it renewed its Lease 17s ago, for 15s",
    )
    stage.now = [NOW + timedelta(seconds=15)]
    assert only(stage, "leader")[0] == "ok"


def test_a_lease_that_lasts_for_an_hour_is_overdue_as_soon(stage: Stage) -> None:
    taken = {"holderIdentity": "thief", "leaseDurationSeconds": 3600}
    target = ObjectRef("Lease", contract.SYSTEM_NAMESPACE, contract.RECONCILER_LEASE)
    stage.cluster.patch(target, {"spec": taken})
    stage.now = [NOW + timedelta(seconds=91)]
    assert only(stage, "leader")[:2] == (
        "warning",
        "thief leads, and is overdue: it renewed its Lease 91s ago, for 60m",
    )


def test_no_reconciler_leads_by_a_released_lease(stage: Stage) -> None:
    lease = ObjectRef("Lease", contract.SYSTEM_NAMESPACE, contract.RECONCILER_LEASE)
    stage.cluster.patch(lease, {"spec": {"holderIdentity": ""}})
    assert only(stage, "leader")[:2] == (
        "failure",
        "no reconciler leads: Lease edl-system/edl-reconciler was released",
    )
    stage.cluster.delete(lease)
    assert "no reconciler has ever led" in only(stage, "leader")[1]
    verdict, message, fix = only(stage, "settings")
    assert (verdict, message) == ("warning", "its settings are unknown while no reconciler leads")
    assert fix.startswith("kubectl logs -n edl-system -l app.kubernetes.io/name=edl-reconciler")


WRONG = "system:serviceaccount:web:default"


def test_missing_write_rights_of_the_leader_are_a_failure(stage: Stage) -> None:
    assert "writes" not in checked(stage), "an older reconciler does not say"
    lease(stage, missing=MissingRights(WRONG, ("patch jobs.batch", "create events")))
    says = (
        f'one runs as "{WRONG}", which may not patch jobs.batch, create events: decisions that '
        "need these writes are not carried out"
    )
    assert only(stage, "writes") == ("failure", says, "kubectl edl upgrade")
    lease(stage, missing=MissingRights(WRONG))
    assert only(stage, "writes")[:2] == ("ok", f"it has all rights that it needs, as {WRONG}")
    lease(stage, missing=MissingRights(WRONG, ("patch pods",)), minutes_ago=5)
    assert "writes" not in checked(stage), "that it does not lead is told already"


def test_a_reconciler_outside_of_the_cluster_is_started_as_its_service_account(
    server: FakeApi,
) -> None:
    stage = beside(server)
    lease(stage, missing=MissingRights(WRONG, tuple(f"patch {n}" for n in range(9))))
    _, says, fix = only(stage, "writes")
    assert "may not patch 0, patch 1, patch 2, patch 3 and 5 more:" in says
    assert fix == (
        "no Deployment edl-reconciler in namespace edl-system: the reconciler runs outside this "
        "cluster; start it as ServiceAccount edl-system/edl-reconciler on its host"
    )


@pytest.mark.parametrize(("named", "account"), [("wrong", "wrong"), (None, "default")])
def test_the_rights_are_those_of_the_deployments_own_service_account(
    server: FakeApi, named: str | None, account: str
) -> None:
    def change(manifest: Json) -> None:
        if (manifest["kind"], manifest["metadata"]["name"]) == ("Deployment", "edl-reconciler"):
            manifest["spec"]["template"]["spec"]["serviceAccountName"] = named

    server.denied = frozenset({(account, "patch", "jobs")})
    assert only(installed(Stage(), server, change), "rights") == (
        "failure",
        f"ServiceAccount edl-system/{account} may not patch jobs.batch",
        "kubectl edl upgrade",
    )


def test_a_right_that_a_service_account_lacks_is_a_failure(stage: Stage, server: FakeApi) -> None:
    server.denied = frozenset({("edl-reconciler", "patch", "jobs")})
    assert only(stage, "rights") == (
        "failure",
        "ServiceAccount edl-system/edl-reconciler may not patch jobs.batch",
        "kubectl edl upgrade",
    )


def test_rights_that_an_installation_without_the_fence_leaves_out_are_not_missed(
    stage: Stage, server: FakeApi
) -> None:
    provisioning = ("pods", "podtemplates", "provisioningrequests")
    server.denied = frozenset(("edl-reconciler", "create", one) for one in provisioning)
    assert "create pods" in only(stage, "rights")[1]
    stage.cluster.delete(target("ValidatingAdmissionPolicy", "edl-reconciler"))
    assert only(stage, "rights")[0] == "ok"


def test_a_missing_right_to_review_access_is_named(stage: Stage, server: FakeApi) -> None:
    server.may_review_others = False
    verdict, message, fix = only(stage, "rights")
    assert verdict == "warning"
    assert "may not create subjectaccessreviews" in message
    assert fix == f"{ASK}kubectl edl doctor"


def test_missing_user_rights_name_commands_and_the_fix(stage: Stage, server: FakeApi) -> None:
    server.denied = frozenset({("", "patch", "jobs"), ("", "list", "nodes")})
    change, plan = checked(stage)["your-rights"]
    assert change["message"] == (
        "you may not patch jobs.batch in namespace default: scale, pause, resume need it"
    )
    assert change["remediation"] == (
        "ask an administrator of namespace default to run: "
        'kubectl create rolebinding "edl-editor-ann" -n default --clusterrole=edl-editor '
        '--user="ann"'
    )
    assert plan["message"].startswith("you may not list nodes: plan, explain")
    assert plan["remediation"] == (
        f'{ASK}kubectl create clusterrolebinding "edl-viewer-ann" --clusterrole=edl-viewer '
        '--user="ann"'
    )
    assert stage.run("doctor").code == 0


def test_a_list_of_roles_with_a_missing_role_is_stuck(stage: Stage) -> None:
    stage.put(role_manifests()[0])
    (one,) = checked(stage)["stuck"]
    assert one["message"] == (
        "default/mnist has waited 5m for the Jobs of ps, worker: no role starts before the "
        "Jobs of all roles exist"
    )
    assert one["remediation"] == "kubectl get jobs -n default -l edl.dev/job=mnist"


@pytest.mark.parametrize("created", ["2026-11-21T11:55:00Z", "2026-11-21T11:59:50Z"])
def test_a_running_job_whose_chief_was_deleted_is_stuck(stage: Stage, created: str) -> None:
    mnist(stage)
    for name in ("mnist-ps", "mnist-worker"):
        stage.patch(name, {"metadata": {"creationTimestamp": created}})
    stage.delete("mnist-chief")
    (one,) = checked(stage)["stuck"]
    assert (one["result"], one["message"], one["remediation"]) == (
        "warning",
        (
            "default/mnist runs without the Jobs of chief, which were deleted: "
            "it holds its nodes and cannot complete"
        ),
        "apply them again, or: kubectl edl delete mnist -n default",
    )


def test_a_user_of_one_namespace_gets_commands_that_stay_in_it(
    stage: Stage, server: FakeApi
) -> None:
    for number in range(11):
        stage.put(role_manifests(f"mnist-{number}")[0])
        stage.put(job(f"slip-{number}", framwork="none"))
    assert checked(stage)["stuck"][-1]["remediation"] == "kubectl edl status -A"
    inside = one_namespace()
    stage.wrapped = lambda cluster: inside(server(cluster))
    found = checked(stage)
    assert found["stuck"][-1]["remediation"] == "kubectl edl status -n default"
    assert found["keys"][-1]["remediation"] == "kubectl get jobs -n default --show-labels"


def test_commands_stay_in_a_namespace_whose_training_jobs_may_not_be_read(
    stage: Stage, server: FakeApi
) -> None:
    for number in range(11):
        metadata = {"name": f"nightly-{number}", "labels": {contract.FRAMEWORK: "none"}}
        stage.create({"kind": "CronJob", "metadata": metadata, "spec": {}})
    inside, fence = one_namespace(), fenced("Job")
    stage.wrapped = lambda cluster: inside(fence(server(cluster)))
    found = checked(stage)
    assert found["stuck"][0]["message"].startswith("not checked: ")
    assert found["cronjobs"][-1]["remediation"] == "kubectl get cronjobs -n default"


def ring(stage: Stage, name: str, **spec: object) -> None:
    for manifest in role_manifests(name, "launcher=1,worker=2"):
        manifest["metadata"]["labels"]["edl.dev/framework"] = "horovod"
        stage.put(manifest, **spec)


def test_namespaces_that_keep_launchers_from_their_workers_are_warned_of(
    stage: Stage, server: FakeApi
) -> None:
    here = ObjectRef("Namespace", "", "default")
    stage.cluster.create(here, {"metadata": {"name": "default"}})
    mnist(stage)
    assert "kubexec" not in checked(stage)
    ring(stage, "ring")
    ring(stage, "wheel", suspend=False)
    assert only(stage, "kubexec") == (
        "warning",
        (
            "namespace default does not let launchers exec into workers: ring, wheel cannot start "
            "without"
        ),
        "kubectl label namespace default edl.dev/kubexec=enabled",
    )
    assert not any("exec into" in one["message"] for one in checked(stage)["stuck"])
    server.denied = frozenset({("", "patch", "namespaces")})
    assert only(stage, "kubexec")[2].startswith(f"{ASK}kubectl label namespace default ")
    server.may_review_own = False
    assert only(stage, "kubexec")[2].startswith(f"{ASK}kubectl label namespace default ")
    server.may_review_own = True
    stage.cluster.patch(here, {"metadata": {"labels": {"edl.dev/kubexec": "enabled"}}})
    assert only(stage, "kubexec")[0] == "ok"


def test_labels_on_a_cron_job_itself_are_warned_of(stage: Stage) -> None:
    labels = {contract.FRAMEWORK: "none"}
    for name, own in (("nightly", labels), ("other", {})):
        stage.create({"kind": "CronJob", "metadata": {"name": name, "labels": own}, "spec": {}})
    assert only(stage, "cronjobs") == (
        "warning",
        (
            "CronJob default/nightly: edl.dev/framework does nothing on a CronJob itself: "
            "its Jobs get spec.jobTemplate.metadata"
        ),
        (
            "kubectl get cronjob nightly -n default -o yaml | kubectl edl adopt -f - "
            "| kubectl apply -f -"
        ),
    )
    inner = stage.wrapped
    stage.wrapped = lambda cluster: fenced("CronJob")(inner(cluster))
    assert "cronjobs" not in checked(stage)


def test_labelled_jobs_in_an_ignored_namespace_are_warned_of(stage: Stage) -> None:
    mnist(stage)
    assert "ignored" not in checked(stage)
    lease(stage, render(Settings(ignored_namespaces=("default",))))
    result, said, fix = only(stage, "ignored")
    assert result == "warning"
    names = "mnist-chief, mnist-ps, mnist-worker are ordinary Jobs"
    assert said == f"webhook and reconciler ignore namespace default: {names}"
    assert fix == "remove the label edl.dev/framework, or use another namespace"


def test_a_default_priority_class_that_does_not_exist_is_a_warning(stage: Stage) -> None:
    assert "default-priority" not in checked(stage)
    metadata = {"name": "lab", "annotations": {contract.DEFAULT_PRIORITY: "nosuch"}}
    stage.cluster.create(ObjectRef("Namespace", "", "lab"), {"metadata": metadata})
    result, said, fix = only(stage, "default-priority")
    assert (result, fix) == ("warning", "kubectl create priorityclass nosuch --value=VALUE")
    assert said == (
        'namespace lab: edl.dev/default-priority is "nosuch", and there is no such PriorityClass: '
        "its Jobs that name none cannot start"
    )
    target = ObjectRef("PriorityClass", "", "nosuch")
    stage.cluster.create(target, {"metadata": {"name": "nosuch"}, "value": 5})
    assert only(stage, "default-priority")[0] == "ok"
    inner = stage.wrapped
    stage.wrapped = lambda cluster: fenced("Namespace")(inner(cluster))
    assert "default-priority" not in checked(stage)


def named(kind: str, name: str, **more: Json) -> Json:
    """With a misspelt framework label."""
    labels = {"edl.dev/framwork": "none"}
    return {"kind": kind, "metadata": {"name": name, "labels": labels}, **more}


DID_YOU_MEAN = "edl.dev/framwork is unknown, and does nothing: did you mean edl.dev/framework?"


def test_misspelt_keys_are_found_on_jobs_and_bare_pods(stage: Stage) -> None:
    over = {"conditions": [{"type": "Complete", "status": "True"}]}
    stage.create(named("Job", "over", spec={}, status=over))
    assert "keys" not in checked(stage)
    stage.create(named("Job", "mnist", spec={}))
    stage.create(named("Pod", "alone", spec={}))
    stage.put(job("other", framework="none", maximum="4"))
    stage.put(job("ours", framework="none", min="1", max="4", maxx="2"))
    placed = {"edl.dev/required-topolgy": "topology.kubernetes.io/zone"}
    stage.put(job("placed", framework="none", min="1", max="4"))
    stage.patch("placed", {"metadata": {"annotations": placed}})
    again = "correct its manifest, then: kubectl {} -f FILE"
    assert [
        (one["result"], one["message"], one["remediation"]) for one in checked(stage)["keys"]
    ] == [
        ("warning", f"Job default/mnist: {DID_YOU_MEAN}", again.format("replace --force")),
        (
            "warning",
            (
                "Job default/other: edl.dev/maximum is unknown, and does nothing: "
                "did you mean edl.dev/max?"
            ),
            again.format("replace --force"),
        ),
        (
            "warning",
            (
                "Job default/ours: edl.dev/maxx is unknown, and does nothing: "
                "did you mean edl.dev/max?"
            ),
            again.format("apply"),
        ),
        (
            "warning",
            (
                "Job default/placed: edl.dev/required-topolgy is unknown, and does nothing: "
                "did you mean edl.dev/required-topology?"
            ),
            again.format("replace --force"),
        ),
        ("warning", f"Pod default/alone: {DID_YOU_MEAN}", again.format("replace --force")),
    ]


def test_a_job_of_a_namespace_that_is_being_deleted_is_a_warning(stage: Stage) -> None:
    stage.put(job("mine", framework="none"))
    kept = {"name": "default", "namespace": "", "finalizers": ["example.com/kept"]}
    stage.create({"kind": "Namespace", "metadata": kept})
    stage.cluster.delete(ObjectRef("Namespace", "", "default"))
    assert only(stage, "stuck") == (
        "warning",
        "default/mine: its namespace is being deleted: no pod can be created in it",
        "kubectl describe namespace default",
    )


def test_settings_of_a_namespace_that_mean_nothing_are_warned_of(stage: Stage) -> None:
    says = {"edl.dev/larges-max": "4", contract.GPU_BUDGET: "many"}
    stage.create({"kind": "Namespace", "metadata": {"name": "lab", "annotations": says}})
    budget, largest = checked(stage)["namespaces"]
    assert budget["message"] == (
        'namespace lab metadata.annotations[edl.dev/gpu-budget]: "many"; '
        "GPUs, such as 8 or 2.5; 0 for none"
    )
    assert (
        "[edl.dev/larges-max]: a namespace has no such setting; did you mean"
        in (largest["message"])
    )
    assert largest["remediation"] == "kubectl edit namespace lab"


def test_a_released_job_is_not_killed_for_an_annotation_that_was_left(stage: Stage) -> None:
    stage.put(job("sweep", framework="none", min="1", max="4"))
    stage.run("release", "sweep")
    assert "keys" not in checked(stage)
    stage.patch("sweep", {"metadata": {"annotations": {contract.PAUSED: "true"}}})
    assert only(stage, "keys") == (
        "warning",
        "Job default/sweep: edl.dev/paused does nothing without the label edl.dev/framework",
        "remove them from its manifest: kubectl edl release -f FILE | kubectl apply -f -",
    )


def test_misspelt_keys_are_checked_in_readable_namespaces(stage: Stage) -> None:
    stage.create(named("Job", "mnist", spec={}))
    inner = stage.wrapped
    stage.wrapped = lambda cluster: fenced("Pod")(inner(cluster))
    assert only(stage, "keys")[1] == f"Job default/mnist: {DID_YOU_MEAN}"


def test_a_misspelt_key_in_a_cron_job_template_is_found(stage: Stage) -> None:
    template = {"metadata": {"labels": {"edl.dev/framwork": "none"}}}
    nightly = {"kind": "CronJob", "metadata": {"name": "nightly"}}
    stage.create(nightly | {"spec": {"jobTemplate": template}})
    assert only(stage, "cronjobs") == (
        "warning",
        f"CronJob default/nightly: {DID_YOU_MEAN}",
        "correct spec.jobTemplate.metadata of its manifest, then: kubectl apply -f FILE",
    )


@pytest.mark.parametrize("in_pods", [False, True])
def test_a_cron_job_whose_jobs_are_refused_is_named_with_the_errors(
    stage: Stage, *, in_pods: bool
) -> None:
    made = job("unused", framework="none", min="8", max="6")
    labels = made.pop("metadata")["labels"]
    made["spec"]["template"]["metadata"] = {"labels": labels if in_pods else {}}
    template = made | {"metadata": {} if in_pods else {"labels": labels}}
    for name, own in (("nightly", template), ("plain", {"spec": {}})):
        stage.create({"kind": "CronJob", "metadata": {"name": name}, "spec": {"jobTemplate": own}})
    assert only(stage, "cronjobs") == (
        "warning",
        (
            "CronJob default/nightly: spec.jobTemplate.metadata.labels[edl.dev/min]: min 8 is "
            "above max 6; 1 ≤ min ≤ max: each of its Jobs is refused"
        ),
        "kubectl edit cronjob nightly -n default",
    )


def pod_labelled(max_replicas: str, framework: str = "none") -> "Json":
    """A CronJob that labels its pods alone; its Jobs have another label."""
    made = job("unused", framework=framework, max=max_replicas)
    made["spec"]["template"]["metadata"] = {"labels": made["metadata"]["labels"]}
    template = {"metadata": {"labels": {"app": "sweep"}}, "spec": made["spec"]}
    return {"kind": "CronJob", "metadata": {"name": "nightly"}, "spec": {"jobTemplate": template}}


def adopting(stage: Stage, **annotations: str) -> None:
    """The namespace of the stage adopts all Jobs."""
    texts = {
        f"{contract.PREFIX}{name.replace('_', '-')}": text for name, text in annotations.items()
    }
    metadata = {"labels": {contract.INJECTION: contract.ENABLED}, "annotations": texts}
    stage.cluster.create(ObjectRef("Namespace", "", "default"), {"metadata": metadata})


@pytest.mark.parametrize("adopts", [False, True])
def test_a_cron_job_that_labels_its_pods_alone_is_named_with_the_remedy(
    stage: Stage, *, adopts: bool
) -> None:
    stage.create(pod_labelled("4"))
    if adopts:
        adopting(stage, default_framework="none")
    assert only(stage, "cronjobs") == (
        "warning",
        (
            "CronJob default/nightly: edl.dev/framework, edl.dev/max do nothing in spec.template: "
            "write this on the Job's own metadata"
        ),
        (
            "kubectl get cronjob nightly -n default -o yaml | kubectl edl adopt -f - "
            "| kubectl apply -f -"
        ),
    )


def test_labels_of_pods_that_keep_a_job_from_being_adopted_are_not_without_effect(
    stage: Stage,
) -> None:
    """The webhook says the same when the CronJob is applied."""
    stage.create(pod_labelled("4", "tensorflow"))
    adopting(stage, default_framework="none")
    _, message, _ = only(stage, "cronjobs")
    assert message.startswith(
        "CronJob default/nightly: Job nightly-00000000: an ordinary Job, not elastic: it does not"
    )
    assert '"tensorflow" on the pods and "none" on the Job; leave it out' in message


def test_a_cron_job_of_a_namespace_that_adopts_all_jobs_is_checked_by_its_settings(
    stage: Stage,
) -> None:
    made = job("unused", min="1", max="6")
    template = {"metadata": {"labels": made["metadata"]["labels"]}, "spec": made["spec"]}
    stage.create(
        {"kind": "CronJob", "metadata": {"name": "nightly"}, "spec": {"jobTemplate": template}}
    )
    assert "do nothing without the label edl.dev/framework" in only(stage, "cronjobs")[1]
    adopting(stage, default_framework="none", largest_max="4")
    found = only(stage, "cronjobs")
    assert found[1].startswith("CronJob default/nightly: spec.jobTemplate.metadata.labels[edl.dev")
    assert found[1].endswith(": each of its Jobs is refused")


def test_cron_jobs_of_all_namespaces_are_checked_by_those_who_may_list_them(
    stage: Stage, server: FakeApi
) -> None:
    """Others have those of their own namespace checked, and get commands for it."""
    labels = {contract.FRAMEWORK: "none"}
    for number in range(11):
        for namespace in ("default", "team"):
            metadata = {"name": f"nightly-{number}", "namespace": namespace, "labels": labels}
            stage.create({"kind": "CronJob", "metadata": metadata, "spec": {}})
    *_, last = checked(stage)["cronjobs"]
    assert (last["message"], last["remediation"]) == (
        "and 12 more like them",
        "kubectl get cronjobs -A",
    )
    inside = one_namespace()
    stage.wrapped = lambda cluster: inside(server(cluster))
    *_, last = checked(stage)["cronjobs"]
    assert (last["message"], last["remediation"]) == (
        "and 1 more like them",
        "kubectl get cronjobs -n default",
    )


def test_the_limits_of_its_namespace_hold_for_the_jobs_of_a_cron_job(stage: Stage) -> None:
    made = job("unused", framework="none", min="1", max="6")
    template = made | {"metadata": {"labels": made["metadata"]["labels"]}}
    stage.create(
        {"kind": "CronJob", "metadata": {"name": "nightly"}, "spec": {"jobTemplate": template}}
    )
    assert "cronjobs" not in checked(stage)
    stage.cluster.create(
        ObjectRef("Namespace", "", "default"),
        {"metadata": {"annotations": {contract.LARGEST_MAX: "4"}}},
    )
    assert only(stage, "cronjobs")[1].endswith(": each of its Jobs is refused")


def greedy(stage: Stage, **resources: object) -> None:
    """One pod of up to 60."""
    manifest = job("greedy", framework="none", min="1", max="60")
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    container["resources"] = resources
    one = pod(stage.put(manifest, suspend=False), 0)
    one["spec"]["containers"] = [container]
    stage.create(one)


def test_pods_that_request_nothing_are_warned_of(stage: Stage) -> None:
    greedy(stage)
    assert only(stage, "requests") == (
        "warning",
        (
            "default/greedy: no container of worker requests CPU or memory: its pods count as "
            "nothing, and all 60 run regardless of free capacity"
        ),
        "kubectl edl explain greedy -n default  # then recreate it with resources.requests",
    )
    assert (
        "Requests:    worker requests no CPU and no memory: such pods count as nothing and fit "
        "anywhere\n"
    ) in stage.run("explain", "greedy").out


def test_pods_with_requests_pass(stage: Stage) -> None:
    greedy(stage, requests={"memory": "1Gi"})
    assert only(stage, "requests")[0] == "ok"
    assert "Requests:" not in stage.run("explain", "greedy").out


REFUSED = (
    'worker: ResourceQuota "compute" refuses its pods: container "main" sets no limits.memory and '
    "no requests.cpu; set them, or create a LimitRange with defaults"
)


def test_pods_without_requests_that_a_quota_refuses_are_a_warning(
    stage: Stage,
) -> None:
    manifest = job("greedy", framework="none", min="1", max="60")
    manifest["spec"]["template"]["spec"]["containers"][0]["resources"] = {}
    stage.put(manifest)
    stage.create(quota("requests.cpu", "limits.memory"))
    found = checked(stage)
    assert [(one["message"], one["remediation"]) for one in found["stuck"]] == [
        (f"default/greedy: {REFUSED}", "kubectl edl explain greedy -n default")
    ]
    assert "requests" not in found
    told = stage.run("explain", "greedy").out
    assert f"Reason:      {REFUSED}\n" in told
    assert "Requests:" not in told
    assert "fit anywhere" not in told


def test_pods_that_get_requests_from_a_limit_range_pass(stage: Stage) -> None:
    manifest = job("greedy", framework="none", min="1", max="60")
    manifest["spec"]["template"]["spec"]["containers"][0]["resources"] = {}
    stage.put(manifest)
    assert only(stage, "requests")[0] == "warning"
    stage.create(limit_range(cpu="1"))
    assert only(stage, "requests")[0] == "ok"
    assert "Requests:" not in stage.run("explain", "greedy").out
    inner = stage.wrapped
    stage.wrapped = lambda cluster: fenced("LimitRange")(inner(cluster))
    assert "requests" not in checked(stage), "a LimitRange may give them some"


def test_a_queued_job_without_a_running_reconciler_is_a_failure(stage: Stage) -> None:
    stage.put(job("sweep", framework="none"))
    (one,) = checked(stage)["stuck"]
    assert (one["result"], one["remediation"]) == (
        "failure",
        "kubectl logs -n edl-system -l app.kubernetes.io/name=edl-reconciler --tail 50",
    )
    assert "has been queued for 5m, and no reconciler has processed it" in one["message"]


def test_a_gang_that_is_half_started_is_a_failure(stage: Stage) -> None:
    stage.minutes_ago = 30
    mnist(stage)
    started = (NOW - timedelta(minutes=20)).isoformat()
    for name in ("mnist-chief", "mnist-ps", "mnist-worker"):
        stage.patch(name, {"metadata": {"annotations": {contract.STARTED_AT: started}}})
    stage.patch("mnist-worker", {"spec": {"suspend": True}})
    (one,) = checked(stage)["stuck"]
    assert one["result"] == "failure"
    assert one["message"] == "default/mnist is half started: worker still suspended after 20m"


def test_lost_pods_of_a_minimum_are_a_warning_whatever_the_back_off_and_the_age(
    stage: Stage,
) -> None:
    """A job that has run for long does not start: its pods are missing, and none is unready."""
    stage.put(job("half", framework="none"), suspend=False)
    started = (NOW - timedelta(minutes=28)).isoformat()
    notes = {contract.FAILURES_AT_START: "0", contract.STARTED_AT: started}
    stage.patch("half", {"metadata": {"annotations": notes}, "status": {"failed": 1}})
    (one,) = checked(stage)["stuck"]
    assert (one["result"], one["remediation"]) == ("warning", "kubectl edl explain half -n default")
    assert one["message"] == (
        "default/half: 1 of 1 pods of its minimum is missing: the Job controller creates it again "
        "after its back-off, up to 10 s"
    )


def test_a_lowered_quota_that_refuses_lost_pods_comes_before_their_back_off(stage: Stage) -> None:
    owner = stage.put(job("half", framework="none", max="3"), suspend=False, parallelism=3)
    stage.create(pod(owner, 0))
    began = (NOW - timedelta(hours=1)).isoformat()
    notes = {contract.FAILURES_AT_START: "0", contract.STARTED_AT: began}
    stage.patch("half", {"metadata": {"annotations": notes}, "status": {"failed": 9}})
    lowered = quota("requests.cpu")
    lowered["status"] = {"hard": {"requests.cpu": "1"}, "used": {"requests.cpu": "2"}}
    stage.create(lowered)
    compute = 'ResourceQuota "compute" of namespace default'
    assert only(stage, "stuck") == (
        "warning",
        (
            f"default/half: exceeded {compute}, requested: requests.cpu=4, limited: "
            "requests.cpu=1, never allowed: requests.cpu=4; used: requests.cpu=2"
        ),
        f"raise {compute} to requests.cpu=6, or: kubectl edl scale half -n default SIZE",
    )


@pytest.mark.parametrize(("failures", "result"), [(4, "ok"), (5, "warning")])
def test_lost_extras_are_a_warning_only_if_they_are_missing_for_long(
    stage: Stage, failures: int, result: str
) -> None:
    owner = stage.put(job("half", framework="none", max="3"), suspend=False, parallelism=3)
    stage.create(pod(owner, 0))
    notes = {contract.FAILURES_AT_START: "0", contract.STARTED_AT: NOW.isoformat()}
    stage.patch("half", {"metadata": {"annotations": notes}, "status": {"failed": failures}})
    (one,) = checked(stage)["stuck"]
    assert one["result"] == result
    lacks = "default/half: 2 of 3 pods are missing: "
    assert one["message"].startswith(lacks) == (result == "warning")


def test_a_job_below_its_raised_minimum_is_a_warning_and_does_not_count_as_running(
    stage: Stage,
) -> None:
    owner = stage.put(job("half", framework="none", min="1", max="8"), suspend=False)
    stage.create(pod(owner, 0))
    assert json.loads(stage.run("status", "half", "-o", "json").out)["phase"] == "Running"
    since = (NOW - timedelta(hours=1)).isoformat()
    raised = {"labels": {contract.MIN: "3"}, "annotations": {contract.BELOW_MIN_SINCE: since}}
    stage.patch("half", {"metadata": raised})
    (one,) = checked(stage)["stuck"]
    assert (one["result"], one["message"]) == ("warning", "default/half: 2 below its minimum")
    shown = json.loads(stage.run("status", "half", "-o", "json").out)
    assert (shown["phase"], shown["reason"]) == ("Starting", "BelowMin")


@pytest.mark.parametrize(("seconds", "result"), [(100, "ok"), (130, "warning")])
def test_a_minimum_that_was_raised_a_moment_ago_raises_no_warning_yet(
    stage: Stage, seconds: int, result: str
) -> None:
    owner = stage.put(job("half", framework="none", min="3", max="8"), suspend=False)
    stage.create(pod(owner, 0))
    since = (NOW - timedelta(seconds=seconds)).isoformat()
    ours = {  # the reconciler writes with one manager, whatever it writes
        "manager": "kubectl-edl",
        "time": NOW.isoformat(),
        "fieldsV1": {"f:metadata": {"f:labels": {f"f:{contract.MIN}": {}}}},
    }
    notes = {contract.BELOW_MIN_SINCE: since}
    stage.patch("half", {"metadata": {"managedFields": [ours], "annotations": notes}})
    (one,) = checked(stage)["stuck"]
    assert one["result"] == result


def _started_long_ago(stage: Stage, name: str, minutes: int = 20) -> Json:
    """A Job with two pods, started 20 minutes ago."""
    owner = stage.put(job(name, framework="none", min="2", max="2"), suspend=False, parallelism=2)
    started = (NOW - timedelta(minutes=minutes)).isoformat()
    stage.patch(name, {"metadata": {"annotations": {contract.STARTED_AT: started}}})
    return owner


def test_a_start_that_takes_too_long_is_a_warning(stage: Stage) -> None:
    stage.minutes_ago = 20
    owner = _started_long_ago(stage, "slow")
    stage.create(pod(owner, 0))
    stage.create(pod(owner, 1, node="", phase="Pending", conditions=[]))
    (one,) = checked(stage)["stuck"]
    assert (one["result"], one["message"], one["remediation"]) == (
        "warning",
        "default/slow does not run 20m after its start: 1 of 2 pods of its minimum is not ready",
        "kubectl describe pods -n default -l edl.dev/job=slow",
    )


def test_pods_whose_image_cannot_be_pulled_are_stuck(stage: Stage) -> None:
    stage.minutes_ago = 1
    owner = _started_long_ago(stage, "slow", minutes=1)
    waits = {"reason": "ImagePullBackOff", "message": "no such image"}
    status = {"name": "main", "state": {"waiting": waits}}
    for index in range(2):
        stage.create(pod(owner, index, phase="Pending", conditions=[], containerStatuses=[status]))
    assert only(stage, "stuck") == (
        "warning",
        "default/slow: 2 pods wait: container main: ImagePullBackOff: no such image",
        (
            "is the image's name right, and may this cluster pull it? "
            "kubectl describe pod slow-0-x0 -n default"
        ),
    )


def test_a_launcher_that_cannot_pull_kubectls_image_has_a_remedy_of_its_own(stage: Stage) -> None:
    stage.minutes_ago = 1
    owner = _started_long_ago(stage, "ring", minutes=1)
    status = {
        "name": contract.KUBECTL_CONTAINER,
        "state": {"waiting": {"reason": "ImagePullBackOff", "message": "unauthorized"}},
    }
    stage.create(pod(owner, 0, phase="Pending", conditions=[], initContainerStatuses=[status]))
    _, problem, remedy = only(stage, "stuck")
    assert problem == (
        "default/ring: ring-0-x0 waits: container edl-kubectl: ImagePullBackOff: unauthorized"
    )
    assert "launchers copy kubectl from this image" in remedy
    assert "launcherImage" in remedy
    assert remedy.endswith(": kubectl describe pod ring-0-x0 -n default")


def test_pods_that_were_never_created_have_nothing_to_describe(stage: Stage) -> None:
    _started_long_ago(stage, "slow")
    (one,) = checked(stage)["stuck"]
    assert (one["message"], one["remediation"]) == (
        "default/slow does not run 20m after its start: 2 of 2 pods of its minimum are not ready",
        "kubectl edl explain slow -n default",
    )


def test_a_pod_that_was_replaced_a_moment_ago_raises_no_warning_yet(stage: Stage) -> None:
    owner = _started_long_ago(stage, "fast")
    stage.create(pod(owner, 0))
    stage.create(pod(owner, 1, node="", phase="Pending", conditions=[]))
    assert only(stage, "stuck")[0] == "ok"


def test_a_start_whose_pods_are_replaced_again_and_again_is_a_warning(stage: Stage) -> None:
    owner = _started_long_ago(stage, "crashes", minutes=30)
    stage.create(pod(owner, 0))
    stage.create(pod(owner, 1, node="", phase="Pending", conditions=[]))
    verdict, message, _ = only(stage, "stuck")
    assert verdict == "warning"
    assert message.startswith("default/crashes does not run 30m after its start: 1 of 2 pods")


def test_labels_that_make_no_sense_are_a_warning(stage: Stage) -> None:
    stage.create(job("odd", framework="caffe"))
    (one,) = checked(stage)["stuck"]
    assert one["result"] == "warning"
    assert one["message"].startswith("default/odd: ")
    assert one["remediation"] == "kubectl edl explain odd -n default"


def test_a_gang_that_would_not_fit_an_empty_cluster_is_named(stage: Stage) -> None:
    stage.create(node("node-1", cpu="16"))
    big = job("big", framework="none", min="9", max="9")
    small = job("small", framework="none")
    big["spec"]["parallelism"] = 9
    stage.put(big)
    stage.put(small)
    (one,) = checked(stage)["never"]
    assert one["result"] == "warning"
    assert one["message"].startswith("default/big cannot start on the present nodes and quotas: ")
    assert one["remediation"] == "kubectl edl explain big -n default"


def test_a_pending_pod_of_another_owner_that_no_node_holds_is_named(stage: Stage) -> None:
    """No job scales down for it; a pod that fits beside training jobs is not named."""
    stage.create(node("node-1", cpu="16"))
    for name, cpu in (("large", "32"), ("web", "8")):
        requests = {"requests": {"cpu": cpu}}
        spec = {"containers": [{"name": "main", "image": "web", "resources": requests}]}
        metadata = {"name": name, "namespace": "lab"}
        waits = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        status = {"phase": "Pending", "conditions": [waits]}
        stage.create({"kind": "Pod", "metadata": metadata, "spec": spec, "status": status})
    _, found = checked(stage)["never"]
    assert found["result"] == "warning"
    assert found["remediation"] == "kubectl describe pod large -n lab"
    assert found["message"] == (
        "the pending pod lab/large fits no node, even if no training job ran: no job scales down "
        "for it"
    )


def test_a_pending_pod_of_the_named_namespace_is_named_beside_others_like_it(stage: Stage) -> None:
    """Pods of several namespaces with the same requests are one demand."""
    stage.create(node("node-1", cpu="16"))
    for namespace in ("archive", "lab"):
        requests = {"requests": {"cpu": "32"}}
        spec = {"containers": [{"name": "main", "image": "web", "resources": requests}]}
        waits = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        status = {"phase": "Pending", "conditions": [waits]}
        metadata = {"name": "large", "namespace": namespace}
        stage.create({"kind": "Pod", "metadata": metadata, "spec": spec, "status": status})
    for namespace in ("archive", "lab"):
        _, found = checked(stage, "-n", namespace)["never"]
        assert found["remediation"] == f"kubectl describe pod large -n {namespace}"
    assert len(checked(stage, "-n", "other")["never"]) == 1


def test_a_job_that_is_suspended_for_a_restart_counts_as_queued(stage: Stage) -> None:
    stage.create(node("node-1", cpu="16"))
    stage.put(job("trains", framework="paddle", min="1", max="2"))
    last = json_text(reasons.restart(reasons.grown(1, 2)))
    stage.patch("trains", {"metadata": {"annotations": {contract.LAST_CHANGE: last}}})
    assert "Scaling" in stage.run("status").out
    suffice = "the present nodes and quotas suffice for the queued job"
    assert only(stage, "never")[:2] == ("ok", suffice)


def test_jobs_that_wait_for_other_jobs_pass(stage: Stage) -> None:
    stage.create(node("node-1", cpu="16"))
    for name in ("one", "two", "three"):
        manifest = job(name, framework="none", min="7", max="7")
        manifest["spec"]["parallelism"] = 7
        stage.put(manifest)
    assert only(stage, "never")[:2] == (
        "ok",
        "the present nodes and quotas suffice for each of the 3 queued jobs",
    )


def test_a_job_that_follows_the_pods_of_another_one_passes(stage: Stage) -> None:
    """The other job's pods are what it has affinity to, and what it waits for."""
    stage.create(node("node-1", cpu="16"))
    leader, follower = (job(name, framework="none", max="7") for name in ("leader", "follower"))
    for manifest, size in ((leader, 7), (follower, 2)):
        manifest["spec"]["parallelism"] = size
        manifest["spec"]["template"]["metadata"] = {"labels": {"app": manifest["metadata"]["name"]}}
    term = {
        "labelSelector": {"matchLabels": {"app": "leader"}},
        "topologyKey": "kubernetes.io/hostname",
    }
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    follower["spec"]["template"]["spec"]["affinity"] = {"podAffinity": required}
    running = stage.put(leader, suspend=False)
    for index in range(7):
        stage.create(pod(running, index))
    stage.put(follower)
    assert only(stage, "never")[:2] == (
        "ok",
        "the present nodes and quotas suffice for the queued job",
    )


def test_leftovers_are_counted_beyond_the_first_ten_and_owners_of_other_kinds_exist(
    stage: Stage,
) -> None:
    ours = {contract.JOB: "gone", "app.kubernetes.io/managed-by": contract.MANAGED_BY}
    for number in range(12):
        metadata = {"name": f"gone-{number:02}", "labels": ours}
        stage.create({"kind": "Service", "metadata": metadata})
    owner = {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "name": "a", "uid": "1"}
    owned = {"name": "of-a-tfjob", "labels": ours, "ownerReferences": [owner]}
    stage.create({"kind": "Service", "metadata": owned})
    found = json.loads(stage.run("doctor", "-o", "json").out)["checks"]
    said = [one["message"] for one in found if one["name"] == "leftovers"]
    assert said[:2] == [
        f"Service default/gone-0{n} is orphaned: its Job no longer exists" for n in (0, 1)
    ]
    assert said[10:] == ["and 2 more like them"]
    kinds = "services,poddisruptionbudgets,serviceaccounts,rolebindings"
    selector = "edl.dev/job,app.kubernetes.io/managed-by=kubectl-edl"
    for args, where in (((), "-A"), (("-n", "default"), "-n default")):
        rest = checked(stage, *args)["leftovers"][-1]["remediation"]
        assert rest == f"kubectl get {kinds} {where} -l '{selector}'"


def test_orphans_of_deleted_jobs_are_named(stage: Stage) -> None:
    for name in ("gone", "here"):
        manifest = stage.put(job(name, framework="none"))
        reference = {"kind": "Job", "name": name, "uid": manifest["metadata"]["uid"]}
        stage.create(
            {
                "kind": "Service",
                "metadata": {
                    "name": name,
                    "labels": {
                        contract.JOB: name,
                        "app.kubernetes.io/managed-by": contract.MANAGED_BY,
                    },
                    "ownerReferences": [reference],
                },
            }
        )
    stage.delete("gone")
    assert only(stage, "leftovers") == (
        "warning",
        "Service default/gone is orphaned: its Job no longer exists",
        "kubectl delete services gone -n default",
    )


def left_service(name: str) -> Json:
    """The Service of a job that `kubectl delete --cascade=orphan` has left without owner."""
    labels = {contract.JOB: name, "app.kubernetes.io/managed-by": contract.MANAGED_BY}
    return {"kind": "Service", "metadata": {"name": name, "labels": labels}}


def test_objects_without_owner_belong_to_a_job_of_their_name(
    stage: Stage,
) -> None:
    stage.create(left_service("again"))
    assert only(stage, "leftovers")[0] == "warning"
    stage.put(job("again", framework="none"))
    assert only(stage, "leftovers")[0] == "ok"


def test_pods_that_run_without_their_job_are_named(stage: Stage) -> None:
    """Another Job of the name may run: its own pods, ended and terminating ones are let be.

    The garbage collector is about to delete a pod that still names its deleted Job.
    """
    present = stage.put(job("again", framework="none"))["metadata"]["uid"]
    labels = {contract.FRAMEWORK: "none", contract.JOB: "again"}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "again", "uid": "left"}
    for name, uid, fields, phase in (
        ("again-0-old", "gone", {}, "Running"),
        ("again-1-old", "gone", {}, "Pending"),
        ("again-2-old", "gone", {}, "Succeeded"),
        ("again-3-old", "gone", {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "Running"),
        ("again-4-old", "left", {"ownerReferences": [owner]}, "Running"),
        ("again-0-new", present, {}, "Running"),
        ("bare", None, {}, "Running"),
    ):
        own = labels | ({"batch.kubernetes.io/controller-uid": uid} if uid else {})
        manifest = {"kind": "Pod", "metadata": {"name": name, "labels": own, **fields}}
        stage.create(manifest | {"spec": {"containers": []}, "status": {"phase": phase}})
    verdict, what, fix = only(stage, "leftovers")
    assert verdict == "warning"
    assert what == (
        "pods of default/again keep running without their Job, which was deleted: again-0-old, "
        "again-1-old"
    )
    assert fix == "kubectl delete pods -l batch.kubernetes.io/controller-uid=gone -n default"


def test_the_rest_of_many_pods_without_their_job_is_listed_by_a_command_for_pods(
    stage: Stage,
) -> None:
    for number in range(12):
        uid = {"batch.kubernetes.io/controller-uid": f"gone-{number:02}"}
        labels = {contract.FRAMEWORK: "none", contract.JOB: f"gone-{number:02}"} | uid
        manifest = {"kind": "Pod", "metadata": {"name": f"left-{number:02}", "labels": labels}}
        stage.create(manifest | {"spec": {"containers": []}, "status": {"phase": "Running"}})
    stage.create(left_service("gone-00"))
    service, *pods = checked(stage)["leftovers"]
    assert service["message"].startswith("Service default/gone-00 ")
    assert (len(pods), pods[-1]["message"]) == (11, "and 2 more like them")
    selector = "edl.dev/framework,batch.kubernetes.io/controller-uid"
    assert pods[-1]["remediation"] == f"kubectl get pods -A -l '{selector}'"


def test_a_missing_right_is_reported_once_per_section(stage: Stage, server: FakeApi) -> None:
    kinds = ("MutatingWebhookConfiguration", "Lease", "ConfigMap")
    stage.wrapped = lambda cluster: hidden(*kinds)(server(cluster))
    found = stage.run("doctor")
    said = [line for line in found.out.splitlines() if "not checked" in line]
    webhooks = '  ! not checked: "ann" may not get MutatingWebhookConfiguration (kubectl auth'
    assert [line.removesuffix(" can-i …)") for line in said].count(webhooks) == 3
    assert sum('"ann" may not get Lease' in line for line in found.out.splitlines()) == 1
    assert found.out.count("  ! ") == int(found.out.splitlines()[-1].split()[0])


def test_without_the_right_to_list_nodes_the_other_checks_run(
    stage: Stage, server: FakeApi
) -> None:
    fence = fenced("Node")
    stage.wrapped = lambda cluster: server(fence(cluster))
    found = checked(stage)
    assert found["never"][0]["result"] == "warning"
    assert found["leftovers"][0]["result"] == "ok"


def test_a_terminal_without_unicode_reads_words(stage: Stage) -> None:
    cli = replace(stage.cli(), unicode=False)
    assert run(["doctor"], cli, {}) == 0
    out = cli.out.getvalue()  # type: ignore[attr-defined]
    assert "  ok   it decides by policy fair" in out
    assert out.isascii()


def test_failures_and_warnings_are_coloured(stage: Stage, server: FakeApi) -> None:
    server.asks = False
    cli = replace(stage.cli(), coloured=True)
    assert run(["doctor"], cli, {}) == 1
    assert "\x1b[31m✗\x1b[0m a labelled Job was not mutated" in cli.out.getvalue()  # type: ignore[attr-defined]


def test_check_names_are_unique() -> None:
    names = [check.name for section in SECTIONS for check in section.checks]
    assert len(set(names)) == len(names)


def test_a_topology_label_that_no_node_has_is_named(stage: Stage) -> None:
    stage.create(node("node-1", rack="r1"))
    for name, kind, label in (
        ("mnist", "required", "rak"),
        ("bert", "preferred", "block"),
        ("fine", "required", "rack"),
    ):
        manifest = job(name, framework="none")
        notes = {f"{contract.PREFIX}{kind}-topology": f"example.com/{label}"}
        stage.put(manifest | {"metadata": manifest["metadata"] | {"annotations": notes}})
    found = checked(stage)
    assert "never" not in found
    said = [one["message"].partition(": ")[::2] for one in found["topology"]]
    of, never = (
        "no node has the label example.com",
        "it cannot start; did you mean example.com/rack?",
    )
    assert said == [
        ("default/bert", f"{of}/block of its {contract.PREFERRED_TOPOLOGY}: it has no effect"),
        ("default/mnist", f"{of}/rak of its {contract.REQUIRED_TOPOLOGY}: {never}"),
    ]


def test_a_chief_that_blocks_the_drain_of_a_cordoned_node_is_named(stage: Stage) -> None:
    mnist(stage)
    assert "drain" not in checked(stage)
    cordon = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    for name in ("node-1", "node-2"):
        stage.create(node(name))
    assert "drain" not in checked(stage)
    stage.create(node("node-3") | {"spec": {"unschedulable": True, "taints": [cordon]}})
    stage.patch("mnist-chief-0-x0", {"spec": {"nodeName": "node-3"}}, "Pod")
    stage.patch("mnist-worker-0-x0", {"spec": {"nodeName": "node-3"}}, "Pod")
    assert only(stage, "drain") == (
        "warning",
        (
            "default/mnist: mnist-chief-0-x0 stays on the cordoned node node-3, and its "
            "PodDisruptionBudget blocks a drain until the job is paused or ends"
        ),
        "kubectl edl pause mnist -n default",
    )


def test_a_node_that_is_not_ready_under_pods_is_named_with_what_helps(stage: Stage) -> None:
    mnist(stage)
    stage.create(node("node-1"))
    assert "nodes" not in checked(stage)
    silent = {"type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-01-01T11:58:00Z"}
    taint = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
    gone = node("node-2") | {"spec": {"taints": [taint]}}
    stage.create(gone | {"status": {**gone["status"], "conditions": [silent]}})
    what = (
        "1 pod is on node-2, which is not ready (unreachable) since 2026-01-01 11:58:00 UTC: "
        "Kubernetes evicts pods there after 5m (tolerationSeconds)"
    )
    fix = (
        "make sure that its machine is off, then: kubectl taint node node-2 "
        "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute; or: kubectl delete node node-2"
    )
    assert only(stage, "nodes") == ("warning", f"default/mnist: {what}", fix)
    for command in ("status", "explain"):
        assert f"{what}\n     fix: {fix}\n" in stage.run(command, "mnist").out


def test_a_job_that_a_controller_suspended_is_named_with_that_controller(stage: Stage) -> None:
    mnist(stage)
    assert "paused" not in checked(stage)
    kueue = "system:serviceaccount:kueue-system:kueue-controller-manager"
    notes = {contract.PAUSED: "true", contract.PAUSED_BY: kueue}
    for name in ("mnist-chief", "mnist-ps", "mnist-worker"):
        stage.patch(name, {"spec": {"suspend": True}, "metadata": {"annotations": notes}})
    assert only(stage, "paused") == (
        "warning",
        f"default/mnist is paused: {kueue} suspended it, and may do so again",
        "exclude namespace default from that controller, then: kubectl edl resume mnist -n default",
    )
    shown = stage.run("status", "mnist").out
    assert f"it is paused: {kueue} suspended it\n" in shown


CORDONED: Json = {
    "unschedulable": True,
    "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}],
}


def test_workers_of_a_full_cluster_that_block_a_drain_are_named_with_the_reason(
    stage: Stage,
) -> None:
    stage.create(node("node-1", cpu="4") | {"spec": CORDONED})
    stage.create(node("node-2", cpu="4"))
    owner = stage.put(
        job("ring", framework="pytorch", min="4", max="4"),
        suspend=False,
        parallelism=4,
        completions=4,
    )
    for index in range(4):
        stage.create(pod(owner, index, f"node-{index % 2 + 1}"))
    what = (
        "ring-0-x0, ring-2-x2 stay on the cordoned node node-1, as no other pod can replace them "
        "elsewhere (Insufficient cpu for one more pod of 2 CPU), and their PodDisruptionBudget "
        "blocks a drain until the job is paused or ends"
    )
    fix = "kubectl edl pause ring -n default"
    assert only(stage, "drain") == ("warning", f"default/ring: {what}", fix)
    for command in ("status", "explain"):
        assert f"{what}\n     fix: {fix}\n" in stage.run(command, "ring").out
    planned = stage.run("plan").out
    assert "Nothing to do now.\n" in planned
    assert what in planned
    (found,) = json.loads(stage.run("plan", "-o", "json").out)["staying"]
    assert found["blocksDrain"]
    assert (found["reason"], [one["name"] for one in found["pods"]]) == (
        "InsufficientCapacity",
        ["ring-0-x0", "ring-2-x2"],
    )


@pytest.mark.parametrize(
    ("there", "at_once", "it"), [(1, "", "it"), (2, "", "them"), (4, ", 3 at once,", "them")]
)
def test_pods_that_a_drain_evicts_are_shown_by_the_plan_and_block_nothing(
    stage: Stage, there: int, at_once: str, it: str
) -> None:
    stage.create(node("node-1") | {"spec": CORDONED})
    stage.create(node("node-2"))
    sweep = job("sweep", framework="none", min="2", max="4")
    owner = stage.put(sweep, suspend=False, parallelism=4, completions=9)
    for index in range(4):
        stage.create(pod(owner, index, "node-1" if index < there else "node-2"))
    fine = "kubectl drain evicts each pod that stays on a cordoned node"
    assert only(stage, "drain") == ("ok", fine, "")
    for command in ("status", "explain"):
        assert "cordoned" not in stage.run(command, "sweep").out
    then = "recreates {it} on nodes with free capacity"
    stays, their = ("stays", "its") if there == 1 else ("stay", "their")
    what = (
        f"{stays} on the cordoned node node-1 until kubectl drain evicts {it}{at_once} and {their} "
        f"Job {then.format(it=it)}"
    )
    (found,) = json.loads(stage.run("plan", "-o", "json").out)["staying"]
    assert found["message"].endswith(what)
    assert (found["blocksDrain"], len(found["pods"])) == (False, there)
    assert what in stage.run("plan").out


def test_status_says_whether_pods_stay_without_a_plan_of_a_large_cluster(stage: Stage) -> None:
    mnist(stage)
    for number in range(1, 1002):
        stage.create(node(f"node-{number}"))
    stage.create(node("node-0") | {"spec": CORDONED})
    lists, inner = list[ListOptions](), stage.wrapped
    stage.wrapped = lambda cluster: recorded(lists)(inner(cluster))
    stage.patch("mnist-chief-0-x0", {"spec": {"nodeName": "node-0"}}, "Pod")
    found = stage.run("status", "mnist", "--context", "prod")
    assert "mnist-chief-0-x0 stays on the cordoned node node-0" in found.out
    assert not any(one.kind == "ConfigMap" for one in lists)  # of the teams, for a plan
    stage.patch("mnist-worker-0-x0", {"spec": {"nodeName": "node-0"}}, "Pod")
    found = stage.run("status", "mnist", "--context", "prod")
    assert "mnist-chief-0-x0 stays on the cordoned node node-0" in found.out
    hint = "hint: whether its pods can leave cordoned nodes takes a plan of all 1002 nodes: "
    assert found.err == f"{hint}kubectl edl doctor --context prod\n"
    assert not any(one.kind == "ConfigMap" for one in lists)


@pytest.mark.parametrize("several", [True, False])
def test_a_users_budget_for_pods_that_have_one_already_is_named(
    stage: Stage, *, several: bool
) -> None:
    """The API server refuses to evict a pod that two select; extras have one alone."""
    owner = stage.put(job("ring", framework="pytorch", min="2", max="3"), suspend=False)
    for index in range(3):
        created = pod(owner, index)
        created["metadata"]["labels"] |= {contract.COMPLETION_INDEX_ANNOTATION: str(index)}
        stage.create(created)
    term = {
        "key": contract.COMPLETION_INDEX_ANNOTATION,
        "operator": "In",
        "values": ["0", "1"] if several else ["7"],
    }
    ours = {contract.JOB: "ring", "app.kubernetes.io/managed-by": contract.MANAGED_BY}
    selector = {"matchLabels": {contract.JOB_NAME_LABEL: "ring"}, "matchExpressions": [term]}
    for name, labels, selects in (
        ("ring-first-2", ours, selector),
        ("all", {}, {}),
        ("none", {}, None),
        ("web", {}, {"matchLabels": {"app": "web"}}),
    ):
        spec = {"minAvailable": 2} | ({} if selects is None else {"selector": selects})
        metadata = {"name": name, "namespace": "default", "labels": labels}
        stage.create({"kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec})
    if not several:
        assert "budgets" not in checked(stage)
        return
    verdict, what, fix = only(stage, "budgets")
    assert (verdict, what) == (
        "warning",
        (
            "PodDisruptionBudget default/all and kubectl-edl's ring-first-2 select the same pods: "
            "ring-0-x0, ring-1-x1; no drain and no autoscaler can evict them"
        ),
    )
    assert fix == (
        "kubectl edit poddisruptionbudget all -n default  # exclude pods with the label "
        "edl.dev/job from its selector, or delete it"
    )


def test_an_extra_of_a_job_that_restarts_for_each_size_blocks_no_drain(stage: Stage) -> None:
    """The PodDisruptionBudget selects the indexes of the minimum."""
    cordon = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    stage.create(node("node-3") | {"spec": {"unschedulable": True, "taints": [cordon]}})
    manifest = job("digits", framework="paddle", min="2", max="3")
    manifest["metadata"]["annotations"] = {contract.MODE: "collective"}
    owner = stage.put(manifest, suspend=False, parallelism=3, completions=3)
    for index in range(3):
        stage.create(pod(owner, index, "node-1" if index == 0 else "node-3"))
    _, what, _ = only(stage, "drain")
    assert what.startswith("default/digits: digits-1-x1 stays on the cordoned node node-3, ")


def test_topologies_with_labels_of_nodes_pass(stage: Stage) -> None:
    stage.create(node("node-1", rack="r1"))
    manifest = job("mnist", framework="none")
    notes = {contract.REQUIRED_TOPOLOGY: "example.com/rack"}
    stage.put(manifest | {"metadata": manifest["metadata"] | {"annotations": notes}})
    assert only(stage, "topology")[0] == "ok"


# -- teams -----------------------------------------------------------------------------------------


def teams(stage: Stage, text: str) -> None:
    where = ObjectRef("ConfigMap", contract.SYSTEM_NAMESPACE, contract.TEAMS_CONFIG_MAP)
    stage.cluster.create(where, {"data": {contract.TEAMS_KEY: text}})


def test_a_cluster_without_teams_passes(stage: Stage) -> None:
    assert only(stage, "teams") == ("ok", "no teams are configured", "")


def test_an_empty_list_of_teams_passes(stage: Stage) -> None:
    """Deleting the last team leaves one."""
    teams(stage, "teams: []")
    stage.cluster.create(ObjectRef("Namespace", "", "vision"), {})
    assert only(stage, "teams") == ("ok", "no teams are configured", "")


def test_a_document_of_teams_that_is_not_read_is_a_failure_with_each_finding(stage: Stage) -> None:
    teams(stage, "teams: [{name: Vision, weight: 0}]")
    found = checked(stage)["teams"]
    assert [one["result"] for one in found] == ["failure", "failure"]
    assert found[0]["message"].startswith(
        "ConfigMap edl-system/edl-teams is not in effect, the teams before it are: "
        "data[teams.yaml]: teams[0].name: "
    )
    assert found[0]["remediation"] == "kubectl edit configmap edl-teams -n edl-system"


def test_guarantees_above_the_capacity_are_a_warning(stage: Stage) -> None:
    stage.create(node("node-1", cpu="16"))
    stage.create(node("node-2", cpu="16"))
    guaranteed = "{{name: {0}, guaranteed: {{cpu: {1}}}, namespaces: [{0}]}}".format
    for name in ("a", "b"):
        stage.cluster.create(ObjectRef("Namespace", "", name), {})
    teams(stage, f"teams: [{guaranteed('a', 30)}, {guaranteed('b', 10)}]")
    result, message, _ = only(stage, "teams")
    assert (result, message) == (
        "warning",
        "teams are guaranteed 40 CPU, and the nodes have 32 CPU",
    )


def test_a_namespace_claimed_by_two_teams_is_a_warning(stage: Stage) -> None:
    stage.cluster.create(ObjectRef("Namespace", "", "vision-dev"), {})
    teams(stage, "teams: [{name: a, namespaces: [vision-*]}, {name: b, namespaces: ['*-dev']}]")
    result, message, _ = only(stage, "teams")
    assert (result, message) == (
        "warning",
        "namespace vision-dev is claimed by a and b: it belongs to a",
    )


def test_a_guarantee_without_a_namespace_is_a_warning(stage: Stage) -> None:
    """The namespace of `lost` was deleted; `taken` loses its only one to the exact name of `b`."""
    stage.create(node("node-1", cpu="16"))
    stage.cluster.create(ObjectRef("Namespace", "", "vision-dev"), {})
    teams(
        stage,
        """teams:
        - {name: lost, namespaces: [gone], guaranteed: {cpu: 1}}
        - {name: taken, namespaces: [vision-*], guaranteed: {cpu: 1}}
        - {name: parent, guaranteed: {cpu: 1}}
        - {name: b, parent: parent, namespaces: [vision-dev], guaranteed: {cpu: 1}}
        - {name: idle, namespaces: [none-yet]}""",
    )
    found = checked(stage)["teams"]
    assert [one["message"].partition(" has a guarantee and no namespace")[0] for one in found] == [
        *("team lost", "team taken"),
    ]
    assert found[0]["remediation"] == (
        "correct its namespaces: kubectl edit configmap edl-teams -n edl-system"
    )


def test_teams_in_the_namespace_of_an_earlier_installation_are_a_warning(stage: Stage) -> None:
    behind = ObjectRef("ConfigMap", "edl-old", contract.TEAMS_CONFIG_MAP)
    stage.cluster.create(behind, {"data": {}})
    result, message, fix = only(stage, "teams")
    assert (result, message) == (
        "warning",
        (
            "no teams are configured: the ConfigMap edl-old/edl-teams has no effect, as "
            "kubectl-edl is installed in edl-system"
        ),
    )
    assert fix.startswith("kubectl get configmap edl-teams -n edl-old -o yaml; copy its data into")


def test_teams_that_are_in_order_are_counted(stage: Stage) -> None:
    teams(stage, "teams: [{name: a}, {name: b}]")
    assert only(stage, "teams") == ("ok", "2 teams are configured", "")


def test_a_failed_node_request_shows_the_autoscalers_message(stage: Stage) -> None:
    mnist(stage)
    failure = FailedAttempt(NOW - timedelta(minutes=3), 2, "no instance type has 900 CPU")
    notes = {
        contract.REASON: "NodesNotProvisioned",
        contract.PROVISIONING_FAILED: json_text(failure),
    }
    for name in ("mnist-chief", "mnist-ps", "mnist-worker"):
        stage.patch(name, {"spec": {"suspend": True}, "metadata": {"annotations": notes}})
    (one,) = checked(stage)["stuck"]
    assert one["message"] == (
        "default/mnist requested nodes 2 times without success, last 3m ago: "
        "no instance type has 900 CPU"
    )


def test_a_job_whose_start_failed_is_reported_with_the_cause(stage: Stage) -> None:
    mnist(stage)
    why = "back-off: not all pods of its last start could be created"
    notes = {contract.REASON: "BackOff", contract.MESSAGE: why}
    for name in ("mnist-chief", "mnist-ps", "mnist-worker"):
        stage.patch(name, {"spec": {"suspend": True}, "metadata": {"annotations": notes}})
    (one,) = checked(stage)["stuck"]
    assert (one["message"], one["remediation"]) == (
        f"default/mnist: {why}",
        "kubectl edl explain mnist -n default",
    )


NO_ACCOUNT = (
    'Error creating: pods "poor-0-" is forbidden: error looking up service account '
    'default/nope: serviceaccount "nope" not found'
)


@pytest.mark.parametrize("suspended", [False, True], ids=["starting", "backing off"])
def test_what_refuses_the_pods_of_a_start_is_reported_at_once_and_while_it_backs_off(
    stage: Stage, *, suspended: bool
) -> None:
    stage.put(job("poor", framework="none"), suspend=suspended)
    last = (
        {contract.LAST_CHANGE: json_text(reasons.GANG_UNSCHEDULABLE_CREATION)} if suspended else {}
    )
    why = {contract.REASON: "BackOff", contract.MESSAGE: "back-off: …"}
    stage.patch("poor", {"metadata": {"annotations": why | last}})
    stage.create(event("poor", "FailedCreate", NO_ACCOUNT, minutes_ago=1, warning=True))
    (one,) = checked(stage)["stuck"]
    assert (one["result"], one["message"]) == (
        "warning",
        f"default/poor: poor: FailedCreate: {NO_ACCOUNT}",
    )
    create = "create the ServiceAccount: kubectl create serviceaccount nope -n default"
    assert one["remediation"].startswith(create)


def counted(stage: Stage) -> list[tuple[str, str]]:
    """The (kind, namespace) of each list from now on."""
    listed: list[tuple[str, str]] = []

    class Counting(ClusterWrapper):
        def list(self, selection: ListOptions) -> RawList:
            listed.append((selection.kind, selection.namespace))
            return self.cluster.list(selection)

    before = stage.wrapped
    stage.wrapped = lambda cluster: Counting(before(cluster))
    return listed


def refused_in(stage: Stage, *namespaces: str) -> None:
    for namespace in namespaces:
        for name in ("poor", "bare"):
            manifest = job(name, framework="none")
            manifest["metadata"]["namespace"] = namespace
            stage.put(manifest, suspend=False)
            refused = event(name, "FailedCreate", NO_ACCOUNT, minutes_ago=1, warning=True)
            refused["metadata"]["namespace"] = namespace
            stage.create(refused)


@pytest.mark.parametrize("namespaces", [["a"], ["a", "b", "c"]])
def test_events_are_listed_once_for_all_jobs(stage: Stage, namespaces: list[str]) -> None:
    refused_in(stage, *namespaces)
    listed = counted(stage)
    found = checked(stage)["stuck"]
    assert sum("poor: FailedCreate" in one["message"] for one in found) == len(namespaces)
    events = [namespace for kind, namespace in listed if kind == "Event"]
    assert events == (["a"] if len(namespaces) == 1 else [""])


def test_only_warnings_about_jobs_are_read_of_all_events(stage: Stage) -> None:
    refused_in(stage, "a", "b")
    stage.create(event("poor", "SuccessfulCreate", "Created pod: poor-0", minutes_ago=1))
    crash = event("web", "BackOff", "restarting failed container", minutes_ago=1, warning=True)
    stage.create(crash | {"involvedObject": {"kind": "Pod", "name": "web"}})
    read: list[str] = []

    class Reading(ClusterWrapper):
        def list(self, selection: ListOptions) -> RawList:
            found = self.cluster.list(selection)
            events = found.manifests() if selection.kind == "Event" else []
            read.extend(one["reason"] for one in events)
            return found

    before = stage.wrapped
    stage.wrapped = lambda cluster: Reading(before(cluster))
    assert len(checked(stage)["stuck"]) == 4
    assert set(read) == {"FailedCreate"}


def test_events_are_listed_by_namespace_if_not_of_all(stage: Stage) -> None:
    refused_in(stage, "a", "b")
    before = stage.wrapped

    class Own(ClusterWrapper):
        def list(self, selection: ListOptions) -> RawList:
            if selection.kind == "Event" and selection.namespace != "a":
                raise Forbidden('"ann" may not list Event', 403)
            return self.cluster.list(selection)

    stage.wrapped = lambda cluster: Own(before(cluster))
    missing, *found = checked(stage)["stuck"]
    assert (missing["result"], missing["message"]) == (
        "warning",
        'why pods cannot be created is missing: "ann" may not list Event',
    )
    assert [one["message"].split(":")[0] for one in found] == ["a/bare", "a/poor"]


LOOPS = "crash-loops: {pod} failed {times} times, last 2m ago"


def crashed(owner: Json, index: int, number: int, minutes_ago: float, **ended: object) -> Json:
    """A failed pod, one of several with this index."""
    finished = (NOW - timedelta(minutes=minutes_ago)).strftime("%Y-%m-%dT%H:%M:%SZ")
    terminated = {"reason": "Error", "exitCode": 1, "finishedAt": finished} | ended
    statuses = [{"name": "main", "restartCount": 0, "state": {"terminated": terminated}}]
    made = pod(owner, index, phase="Failed", conditions=[], containerStatuses=statuses)
    made["metadata"]["name"] += f"-{number}"
    return made


def crashing(stage: Stage, *, failures: int, suspended: bool, newest: float = 2) -> None:
    owner = stage.put(
        job("crash", framework="none", min="2", max="2"), suspend=suspended, parallelism=2
    )
    started = (NOW - timedelta(minutes=25)).isoformat()
    why = {contract.REASON: "BackOff", contract.MESSAGE: "back-off: …"}
    notes = {contract.STARTED_AT: started} | (why if suspended else {})
    stage.patch("crash", {"metadata": {"annotations": notes}, "status": {"failed": failures}})
    for number in range(failures):
        said = {"message": "no GPU\nfound"} if number == 0 else {}
        stage.create(crashed(owner, 1, number, newest + 5 * number, **said))


@pytest.mark.parametrize("suspended", [False, True], ids=["starting", "backing off"])
def test_a_start_that_crash_loops_is_a_warning_with_the_last_error(
    stage: Stage, *, suspended: bool
) -> None:
    crashing(stage, failures=3, suspended=suspended)
    why = "container main: Error, exit code 1: no GPU found"
    assert only(stage, "stuck") == (
        "warning",
        f"default/crash {LOOPS.format(pod='worker-1', times=3)}: {why}",
        "kubectl edl logs crash -n default --role worker --index 1 --tail 50",
    )


def test_a_container_that_the_kubelet_restarts_crash_loops(stage: Stage) -> None:
    owner = stage.put(job("crash", framework="none", min="1", max="1"), suspend=False)
    ended = {"reason": "OOMKilled", "exitCode": 137, "finishedAt": "2026-11-21T11:58:00Z"}
    status = {
        "name": "main",
        "restartCount": 4,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": ended},
    }
    stage.create(pod(owner, 0, conditions=[], containerStatuses=[status]))
    _, message, _ = only(stage, "stuck")
    why = "container main: OOMKilled, exit code 137"
    assert message == f"default/crash {LOOPS.format(pod='worker-0', times=5)}: {why}"


def test_a_crash_by_a_clock_ahead_has_no_negative_age(stage: Stage) -> None:
    crashing(stage, failures=3, suspended=True, newest=-15)
    _, message, _ = only(stage, "stuck")
    assert "worker-1 failed 3 times, last 15m ahead of this clock: container main" in message


@pytest.mark.parametrize(
    ("failures", "newest"), [(2, 2), (3, 55)], ids=["two failures", "two of them are older"]
)
def test_two_failures_in_the_last_hour_pass(stage: Stage, failures: int, newest: float) -> None:
    crashing(stage, failures=failures, suspended=True, newest=newest)
    assert "crash-loops" not in only(stage, "stuck")[1]


def test_pods_are_listed_for_crashes_only_if_jobs_have_failures(stage: Stage) -> None:
    stage.put(job("fine", framework="none", min="2", max="2"), suspend=False, parallelism=2)
    listed = counted(stage)
    checked(stage)
    before = listed.count(("Pod", ""))
    crashing(stage, failures=3, suspended=False)
    listed.clear()
    checked(stage)
    assert listed.count(("Pod", "")) == before
    assert listed.count(("Pod", "default")) == 1


def test_why_pods_failed_is_missing_without_the_right_to_list_them(stage: Stage) -> None:
    crashing(stage, failures=3, suspended=True)
    stage.wrapped = fenced("Pod")
    found = stage.run("doctor", "-n", "default").out
    assert "why pods failed is missing" in found


STATUS = ObjectRef("ConfigMap", "kube-system", "cluster-autoscaler-status")


def test_a_cluster_autoscaler_that_is_not_detected_is_a_warning(stage: Stage) -> None:
    assert "autoscaler" not in checked(stage)
    stage.cluster.create(STATUS, {})
    result, said, fix = only(stage, "autoscaler")
    assert result == "warning"
    assert said.endswith("and the reconciler detects none: queued jobs get no nodes")
    assert "reconciler.planning.autoscaler to present (--autoscaler=present)" in fix
    inner = stage.wrapped
    stage.wrapped = lambda cluster: reading([], STATUS.name)(inner(cluster))
    assert "autoscaler" not in checked(stage)
    stage.wrapped = inner
    lease(stage, render(Settings(limits=Limits(autoscaler=Autoscaler.PRESENT))))
    assert "autoscaler" not in checked(stage)


def test_requests_for_nodes_that_nothing_answers_are_a_warning(stage: Stage) -> None:
    stage.cluster.unserved = frozenset()
    result, said, fix = only(stage, "autoscaler")
    assert (result, said.endswith("nothing else shows an autoscaler")) == ("warning", True)
    assert "(--autoscaler=none), else to present" in fix
    request = ObjectRef("ProvisioningRequest", "default", "one")
    condition = {"type": "Provisioned", "status": "True"}
    stage.cluster.create(request, {"status": {"conditions": [condition]}})
    assert "autoscaler" not in checked(stage)
    stage.cluster.delete(request)
    assert "autoscaler" in checked(stage)
    stage.cluster.create(STATUS, {})
    assert "autoscaler" not in checked(stage)


def test_requests_for_nodes_need_their_api(stage: Stage) -> None:
    assert "provisioner" not in checked(stage), "it asks by provisional pods"
    provisioning = ProvisionerSettings(Provisioner.REQUEST)
    lease(stage, render(Settings(limits=Limits(provisioning=provisioning))))
    verdict, message, fix = only(stage, "provisioner")
    assert verdict == "warning"
    assert "the API server serves no ProvisioningRequest" in message
    assert "--enable-provisioning-requests" in fix
    stage.cluster.unserved = frozenset()
    assert only(stage, "provisioner")[0] == "ok"


def test_the_training_jobs_are_listed_once_for_all_checks(stage: Stage) -> None:
    listed: list[str] = []

    class Counting(ClusterWrapper):
        def list(self, selection: ListOptions) -> RawList:
            listed.append(selection.kind)
            return self.cluster.list(selection)

    before = stage.wrapped
    stage.wrapped = lambda cluster: Counting(before(cluster))
    stage.run("doctor", "-o", "json")
    assert listed.count("LimitRange") == 1, "of the whole cluster, for them and for its plan"


@pytest.mark.parametrize("kinds", [("Job",), ("Node", "CronJob", "Pod", "Namespace", "Event")])
def test_a_list_that_is_refused_is_requested_once(
    stage: Stage, server: FakeApi, kinds: tuple[str, ...]
) -> None:
    lists: list[ListOptions] = []
    mnist(stage)
    stage.wrapped = lambda cluster: recorded(lists)(fenced(*kinds)(server(cluster)))
    checked(stage)
    asked = [(one.kind, one.namespace) for one in lists if one.kind in kinds]
    assert sorted(asked) == sorted(set(asked))
    assert {kind for kind, _ in asked} == set(kinds)


def test_a_user_of_another_namespace_is_told_to_name_it(stage: Stage, server: FakeApi) -> None:
    """The namespace may not be readable if it was named."""
    fence = fenced("Job")
    stage.wrapped = lambda cluster: server(fence(cluster))
    own = f"{ASK}kubectl edl doctor"
    other = f"name a namespace that you may read (-n NAMESPACE), or {own}"
    assert checked(stage)["stuck"][0]["remediation"] == other
    assert checked(stage, "-n", "default")["stuck"][0]["remediation"] == own
