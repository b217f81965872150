"""Checks that the API server calls the webhook and trusts it."""

from base64 import b64encode
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from certs.secrets import WEBHOOK_KINDS
from edl import contract
from edl.errors import Forbidden, Unreachable, WebhookAway
from edl.kube.api.api_errors import ApiCall, refusal
from edl.writes import Json
from tests.kubectl_edl.cluster_wrappers import hidden
from tests.kubectl_edl.doctor.fake_installation import FakeApi, installed, target
from tests.kubectl_edl.doctor.findings import ASK, WEBHOOKS, beside, checked, only
from tests.kubectl_edl.stage import NOW, Stage


def of_labelled_jobs(webhooks: list[Json]) -> Json:
    (entry,) = (webhook for webhook in webhooks if webhook["name"] == "jobs.edl.dev")
    return entry


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
            of_labelled_jobs(manifest["webhooks"]).update(change)

    (one,) = checked(installed(Stage(), server, spoil))["webhook-configuration"]
    assert one["result"] == verdict
    assert says in one["message"]
    assert one["remediation"] == "kubectl edl upgrade --force-conflicts"


def test_a_webhook_that_the_api_server_does_not_reach_is_a_failure(
    stage: Stage, server: FakeApi
) -> None:
    server.refusal = Unreachable("failed calling webhook jobs.edl.dev: connection refused", 500)
    verdict, message, fix = only(stage, "webhook-answers")
    assert verdict == "failure"
    assert message.startswith("the API server does not reach the webhook: failed calling webhook")
    assert "kubectl logs -n edl-system deploy/edl-webhook" in fix


def test_a_webhook_without_its_service_is_mended_by_an_upgrade(
    stage: Stage, server: FakeApi
) -> None:
    server.refusal = WebhookAway("failed calling webhook jobs.edl.dev: service not found", 500)
    stage.cluster.delete(target("Service", "edl-webhook"))
    assert only(stage, "webhook-answers")[2] == "kubectl edl upgrade"
    stage.wrapped = lambda cluster: hidden("Service")(server(cluster))
    assert "kubectl logs -n edl-system" in only(stage, "webhook-answers")[2]


def test_a_user_of_one_namespace_sees_that_the_webhook_is_away(
    stage: Stage, server: FakeApi
) -> None:
    """The webhook's own objects, from which the remedy is chosen, are not readable to them."""
    stage.wrapped = lambda cluster: hidden(*WEBHOOK_KINDS, "Deployment")(server(cluster))
    message = "failed calling webhook jobs.edl.dev: connection refused"
    server.refusal = WebhookAway(message, 500)
    away = f"the API server does not reach the webhook: {message}"
    fix = f"{ASK}kubectl edl doctor"
    assert only(stage, "webhook-answers") == ("failure", away, fix)
    assert stage.run("doctor", "--as", "jane", "-n", "team").code == 1
    server.refusal, server.asks = None, False
    assert only(stage, "webhook-answers")[::2] == ("failure", fix)


def test_a_user_without_the_right_to_its_logs_asks_for_the_cause(
    stage: Stage, server: FakeApi
) -> None:
    server.refusal = WebhookAway("failed calling webhook jobs.edl.dev: connection refused", 500)
    server.denied = frozenset({("", "get", "pods/log")})
    assert only(stage, "webhook-answers")[2] == f"{ASK}kubectl edl doctor"


def test_a_webhook_that_is_not_called_is_a_failure(stage: Stage, server: FakeApi) -> None:
    server.asks = False
    verdict, message, _ = only(stage, "webhook-answers")
    assert verdict == "failure"
    assert message == "a labelled Job was not mutated: no webhook is called in namespace default"


def test_a_namespace_that_takes_no_jobs_proves_nothing(stage: Stage, server: FakeApi) -> None:
    server.refusal = refusal(
        ApiCall("create", "jobs.batch", "default", "", "here"),
        403,
        b'{"message": "jobs.batch \\"x\\" is forbidden: exceeded quota: count/jobs.batch"}',
    )
    verdict, message, fix = only(stage, "webhook-answers")
    assert (verdict, fix) == ("warning", "kubectl edl doctor -n NAMESPACE")
    assert "exceeded quota" in message


def test_a_missing_right_to_create_jobs_is_named(stage: Stage, server: FakeApi) -> None:
    server.refusal = Forbidden('"ann" may not create jobs.batch in namespace default', 403)
    server.denied = frozenset({("", "create", "jobs")})
    found = stage.run("doctor")
    assert found.code == 0
    assert '  ! Webhook: "ann" may not create jobs.batch in namespace default\n' in found.out


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
    del of_labelled_jobs(webhooks)["clientConfig"]["caBundle"]
    stage.cluster.patch(target(WEBHOOKS, "edl"), {"webhooks": webhooks})
    (one,) = checked(stage)["trust"]
    assert one["result"] == "failure"
    assert one["message"].startswith("MutatingWebhookConfiguration edl, jobs.edl.dev: no caBundle,")
    assert one["remediation"] == "kubectl edl certs renew"


@pytest.mark.parametrize(
    "text", ["garbage", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
)
def test_a_ca_bundle_without_a_certificate_is_named_with_its_remedy(
    stage: Stage, server: FakeApi, text: str
) -> None:
    webhooks = stage.cluster.get(target(WEBHOOKS, "edl"))["webhooks"]
    entry = of_labelled_jobs(webhooks)
    entry["clientConfig"]["caBundle"] = b64encode(text.encode()).decode()
    stage.cluster.patch(target(WEBHOOKS, "edl"), {"webhooks": webhooks})
    (one,) = checked(stage)["trust"]
    assert one["message"] == (
        "MutatingWebhookConfiguration edl, jobs.edl.dev: its caBundle is not a PEM certificate, so "
        "the API server cannot call the webhook"
    )
    assert one["remediation"] == "kubectl edl certs renew"
    server.refusal = WebhookAway("failed calling webhook: unable to load root certificates", 500)
    assert only(stage, "webhook-answers")[2] == "kubectl edl certs renew"


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
        f"MutatingWebhookConfiguration edl, namespaces.edl.dev and {total - 1} more: no caBundle,"
    )
    assert one["remediation"] == (
        "wait for the rollout: kubectl rollout status deployment/edl-webhook "
        "deployment/edl-reconciler -n edl-system"
    )


def test_entries_of_a_webhook_outside_that_trust_different_authorities_are_applied_again(
    server: FakeApi,
) -> None:
    stage = beside(server)
    (webhook, *others) = stage.cluster.get(target(WEBHOOKS, "edl"))["webhooks"]
    other = installed(Stage(), FakeApi()).cluster.get(target(WEBHOOKS, "edl"))["webhooks"]
    webhook["clientConfig"]["caBundle"] = other[0]["clientConfig"]["caBundle"]
    stage.cluster.patch(target(WEBHOOKS, "edl"), {"webhooks": [webhook, *others]})
    (one,) = checked(stage)["trust"]
    assert one["message"] == "the webhooks' entries trust different authorities"
    assert one["remediation"].startswith("python -m manifests.render --webhook-url ")


def test_without_a_leader_the_settings_are_those_of_the_last_one(stage: Stage) -> None:
    stage.now = [NOW + timedelta(hours=1)]
    assert only(stage, "leader")[0] == "failure"
    assert only(stage, "settings")[1].startswith("the last leader decided by policy fair, load")


def test_a_damaged_secret_is_a_failure(stage: Stage) -> None:
    stage.cluster.patch(target("Secret", "edl-webhook-tls"), {"data": {"tls.key": None}})
    verdict, message, fix = only(stage, "certificate")
    assert (verdict, fix) == ("failure", "kubectl edl certs renew")
    assert message == "Secret edl-system/edl-webhook-tls: tls.key missing"


EDIT = "kubectl edit mutatingwebhookconfiguration edl"
FORCED = "kubectl edl upgrade --force-conflicts"
NEVER = {"name": "never", "expression": "false"}


@pytest.mark.parametrize(
    ("change", "says", "fix"),
    [
        (
            lambda own: [*own, NEVER],
            "the plugin's manifests do not have the match condition never: ",
            EDIT,
        ),
        (
            lambda own: [own[0] | {"expression": "false"}, *own[1:]],
            "the match condition not-being-deleted is not that of the plugin's manifests",
            FORCED,
        ),
        (
            lambda own: own[1:],
            "the match condition not-being-deleted is not that of the plugin's manifests",
            FORCED,
        ),
    ],
    ids=["added", "replaced", "removed"],
)
def test_a_match_condition_that_is_not_of_the_manifests_is_named(
    server: FakeApi, change: Callable[[list[Json]], list[Json]], says: str, fix: str
) -> None:
    def spoil(manifest: Json) -> None:
        if manifest["kind"] == WEBHOOKS:
            entry = of_labelled_jobs(manifest["webhooks"])
            entry["matchConditions"] = change(entry["matchConditions"])

    found = only(installed(Stage(), server, spoil), "webhook-configuration")
    assert found[0] == "warning"
    assert found[1].startswith(f"{WEBHOOKS} edl, jobs.edl.dev: {says}")
    assert found[2] == fix
