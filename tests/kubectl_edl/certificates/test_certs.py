import base64
import json
from datetime import timedelta

import pytest

from certs.bundle import each_certificate
from certs.issue import issue
from certs.secrets import WEBHOOK_KINDS, usual
from certs.verify import facts_of
from edl.errors import Forbidden, Invalid
from edl.model import ObjectRef
from edl.writes import Json
from kubectl_edl.client.certificate_store import served, trusted
from tests.kubectl_edl.cluster_wrappers import ClusterWrapper
from tests.kubectl_edl.doctor.fake_installation import FakeApi, installed, target
from tests.kubectl_edl.stage import NOW, Stage

AUTHORITY, SECRET = usual().authority, usual().serving


@pytest.fixture
def stage() -> Stage:
    return installed(Stage(), FakeApi())


def serving(stage: Stage) -> bytes:
    return served(stage.cluster).certificate


def believed(stage: Stage) -> set[bytes]:
    return {one.certificates for one in trusted(stage.cluster)}


def test_show_lists_subject_lifetime_and_place_of_each_certificate(stage: Stage) -> None:
    found = stage.run("certs", "show")
    assert found.code == 0
    assert found.out == (
        "CERTIFICATE   SUBJECT                         SIGNED-BY                       LEFT        "
        "     KEPT-IN\n"
        "authority     kubectl-edl webhook authority   kubectl-edl webhook authority   3650 days le"
        "ft   Secret edl-system/edl-webhook-authority\n"
        "serving       edl-webhook.edl-system.svc      kubectl-edl webhook authority   365 days lef"
        "t    Secret edl-system/edl-webhook-tls\n"
        "trusted       kubectl-edl webhook authority   kubectl-edl webhook authority   3650 days le"
        "ft   MutatingWebhookConfiguration edl\n"
        "trusted       kubectl-edl webhook authority   kubectl-edl webhook authority   3650 days le"
        "ft   ValidatingWebhookConfiguration edl\n"
    )


@pytest.mark.parametrize(
    ("after", "left"),
    [
        (timedelta(days=363), "2 days left"),
        (timedelta(days=365, minutes=-5), "5m left"),
        (timedelta(days=365, seconds=6), "expired 6s ago"),
        (timedelta(days=366, hours=12), "expired 36h ago"),
    ],
)
def test_the_last_hours_are_counted_as_such(stage: Stage, after: timedelta, left: str) -> None:
    stage.now = [NOW + after]
    assert left in stage.run("certs", "show").out


def test_show_for_a_script_has_names_and_dates_and_no_key(stage: Stage) -> None:
    found = json.loads(stage.run("certs", "show", "-o", "json").out)
    assert found["kind"] == "CertificateList"
    names = [item["metadata"]["name"] for item in found["items"]]
    assert names == ["authority", "serving", "trusted", "trusted"]
    assert "edl-webhook.edl-system.svc" in found["items"][1]["dnsNames"]
    assert found["items"][1]["notAfter"] == "2027-11-21T12:00:00Z"
    assert "PRIVATE" not in json.dumps(found)


def test_a_user_without_access_to_the_secret_sees_trusted_certificates(stage: Stage) -> None:
    class NoSecrets(ClusterWrapper):
        def get(self, target: ObjectRef) -> Json:
            if target in (AUTHORITY, SECRET):
                raise Forbidden('"ann" may not get secrets', 403)
            return super().get(target)

    stage.wrapped = NoSecrets
    found = stage.run("certs", "show")
    assert found.out.count("trusted") == 2
    assert found.err == (
        "hint: what is in Secret edl-system/edl-webhook-authority is not shown: "
        '"ann" may not get secrets\n'
        "hint: what is in Secret edl-system/edl-webhook-tls is not shown: "
        '"ann" may not get secrets\n'
    )


def test_without_an_installation_show_is_empty_and_renew_is_refused() -> None:
    shown = Stage().run("certs", "show")
    assert (shown.code, shown.out) == (0, "")
    assert "not installed here; kubectl edl install --image IMAGE" in shown.err
    renewed = Stage().run("certs", "renew")
    assert renewed.code == 1
    assert renewed.err == (
        "error: kubectl-edl is not installed here: kubectl edl install --image IMAGE\n"
    )


def test_renew_makes_a_new_serving_certificate_of_the_same_authority(stage: Stage) -> None:
    before, trust = serving(stage), believed(stage)
    found = stage.run("certs", "renew")
    assert found.code == 0
    assert found.out == "renewed: 365 days left; the webhook loads it within a minute\n"
    assert serving(stage) != before
    assert believed(stage) == trust
    assert stage.run("certs", "verify").code == 0


def test_renewing_the_authority_keeps_the_old_one_trusted(stage: Stage) -> None:
    (old,) = believed(stage)
    found = stage.run("certs", "renew", "--authority")
    assert "removes the old CA an hour later, when all replicas serve the new one" in found.out
    (new,) = believed(stage)
    assert each_certificate(new)[1:] == each_certificate(old)
    shown = [line.split("   ") for line in stage.run("certs", "show").out.splitlines()[1:]]
    what = ["authority", "predecessor", "serving", *["trusted", "trusted predecessor"] * 2]
    assert [cells[0] for cells in shown] == what
    signed = f"{facts_of(old).subject} (predecessor)"
    assert [signed in map(str.strip, cells) for cells in shown] == [
        name == "serving" for name in what
    ]
    stored = json.loads(stage.run("certs", "show", "-o", "json").out)["items"]
    assert [item["metadata"]["name"] for item in stored][-1] == "trusted-predecessor"
    assert stage.run("certs", "verify").code == 0


def test_renew_fills_a_damaged_secret_anew(stage: Stage) -> None:
    stage.cluster.patch(SECRET, {"data": {"tls.key": base64.b64encode(b"x").decode()}})
    assert stage.run("certs", "verify").code == 1
    assert stage.run("certs", "renew").code == 0
    assert facts_of(serving(stage)).left(NOW).days == 365
    assert stage.run("certs", "verify").code == 0


def served_outside(stage: Stage, trust: bytes = b"") -> None:
    for kind in WEBHOOK_KINDS:
        webhooks = stage.cluster.get(target(kind, "edl"))["webhooks"]
        for one in webhooks:
            one["clientConfig"]["url"] = "https://127.0.0.1:8443/mutate"
            if trust:
                one["clientConfig"]["caBundle"] = base64.b64encode(trust).decode()
        stage.cluster.patch(target(kind, "edl"), {"webhooks": webhooks})


def test_certificates_of_a_webhook_outside_the_cluster_are_renewed_by_the_leader(
    stage: Stage,
) -> None:
    served_outside(stage)
    assert stage.run("certs", "renew").err == (
        "error: the reconciler of a webhook outside the cluster keeps the certificates of this "
        "installation: to have it renewed: kubectl delete secret edl-webhook-tls -n edl-system\n"
    )
    assert "authority" in stage.run("certs", "show").out
    stage.now = [NOW + timedelta(days=366)]
    verified = stage.run("certs", "verify")
    assert verified.code == 1
    assert "fix: kubectl delete secret edl-webhook-tls -n edl-system" in verified.out


def test_a_webhook_that_keeps_its_certificate_itself_is_left_alone(stage: Stage) -> None:
    served_outside(stage, issue(usual().names, NOW).issuer.trust)
    before = stage.cluster.get(SECRET)
    found = stage.run("certs", "renew")
    assert found.code == 1
    assert "python -m certs issue --dir DIR renews it there" in found.err
    assert stage.cluster.get(SECRET) == before


def test_doctor_checks_certificates_of_cert_manager(stage: Stage) -> None:
    stage.cluster.delete(AUTHORITY)
    injected = {"cert-manager.io/inject-ca-from": "edl-system/edl-webhook"}
    webhook = target(WEBHOOK_KINDS[0], "edl")
    stage.cluster.patch(webhook, {"metadata": {"annotations": injected}})
    stage.wrapped = FakeApi(denied=frozenset({("edl-webhook", "patch", "secrets")}))
    assert stage.run("doctor").code == 0
    assert "serving" in stage.run("certs", "show").out
    found = stage.run("certs", "renew", "--context", "prod")
    assert found.code == 1
    assert found.err == (
        "error: cert-manager keeps the certificates of this installation: "
        "cmctl renew edl-webhook -n edl-system --context prod\n"
    )


def test_verify_fails_when_the_api_server_does_not_reach_the_webhook(stage: Stage) -> None:
    stage.wrapped = FakeApi(asks=False)
    found = stage.run("certs", "verify")
    assert found.code == 1
    assert "✗ a labelled Job was not mutated" in found.out
    stage.wrapped = FakeApi(refusal=Invalid("no jobs here", 422))
    assert stage.run("certs", "verify").code == 0


def test_an_unknown_verb_names_the_known_ones() -> None:
    found = Stage().run("certs", "shwo")
    assert found.code == 2
    assert 'unknown command "shwo" for "kubectl edl certs"; did you mean show?' in found.err
