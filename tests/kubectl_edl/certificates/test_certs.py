import base64
from datetime import timedelta

import pytest

from certs.bundle import each_certificate
from certs.issue import issue
from certs.secrets import WEBHOOK_KINDS, usual
from certs.verify import facts_of
from edl.errors import Forbidden
from edl.model import ObjectRef
from edl.writes import Json
from kubectl_edl.client.certificate_store import served, trusted
from tests.kubectl_edl.cluster_wrappers import ClusterWrapper
from tests.kubectl_edl.doctor.fake_installation import FakeApi, installed, target
from tests.kubectl_edl.doctor.findings import checked, only
from tests.kubectl_edl.stage import NOW, Stage

AUTHORITY, SECRET = usual().authority, usual().serving


@pytest.fixture
def stage() -> Stage:
    return installed(Stage(), FakeApi())


def serving(stage: Stage) -> bytes:
    return served(stage.cluster).certificate


def verdicts(stage: Stage) -> set[str]:
    found = checked(stage)
    names = ("trust", "certificate", "webhook-answers")
    return {one["result"] for name in names for one in found[name]}


def believed(stage: Stage) -> set[bytes]:
    return {one.certificates for one in trusted(stage.cluster)}


@pytest.mark.parametrize(
    ("after", "left"),
    [
        (timedelta(days=363), "2 days left"),
        (timedelta(days=365, minutes=-5), "5m left"),
        (timedelta(days=365, seconds=6), "expired on 2027-11-21 12:00 UTC"),
    ],
)
def test_the_last_hours_are_counted_as_such(stage: Stage, after: timedelta, left: str) -> None:
    stage.now = [NOW + after]
    assert left in only(stage, "certificate")[1]


def test_doctor_names_the_place_of_the_serving_certificate_and_prints_no_key(stage: Stage) -> None:
    found = stage.run("doctor", "-o", "json").out
    said = "in Secret edl-system/edl-webhook-tls has 365 days left, signed by the trusted authority"
    assert said in found
    assert "PRIVATE" not in found


def test_a_user_without_access_to_the_secret_sees_the_trusted_authority(stage: Stage) -> None:
    class NoSecrets(ClusterWrapper):
        def get(self, target: ObjectRef) -> Json:
            if target in (AUTHORITY, SECRET):
                raise Forbidden('"ann" may not get secrets', 403)
            return super().get(target)

    stage.wrapped = NoSecrets
    assert "3650 days left" in only(stage, "trust")[1]
    assert only(stage, "certificate")[:2] == ("warning", 'not checked: "ann" may not get secrets')


def test_without_an_installation_renew_is_refused() -> None:
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
    assert verdicts(stage) == {"ok"}


def test_renewing_the_authority_keeps_the_old_one_trusted(stage: Stage) -> None:
    (old,) = believed(stage)
    found = stage.run("certs", "renew", "--authority")
    assert "removes the old CA an hour later, when all replicas serve the new one" in found.out
    (new,) = believed(stage)
    assert each_certificate(new)[1:] == each_certificate(old)
    also = f'"{facts_of(old).subject}" (and its predecessor, while it is replaced), 3650 days left'
    assert also in only(stage, "trust")[1]
    signed = "365 days left, signed by its predecessor, which is still trusted"
    assert signed in only(stage, "certificate")[1]
    assert verdicts(stage) == {"ok"}


def test_renew_fills_a_damaged_secret_anew(stage: Stage) -> None:
    stage.cluster.patch(SECRET, {"data": {"tls.key": base64.b64encode(b"x").decode()}})
    assert "failure" in verdicts(stage)
    assert stage.run("certs", "renew").code == 0
    assert facts_of(serving(stage)).left(NOW).days == 365
    assert verdicts(stage) == {"ok"}


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
    stage.now = [NOW + timedelta(days=366)]
    result, _, fix = only(stage, "certificate")
    assert (result, fix) == ("failure", "kubectl delete secret edl-webhook-tls -n edl-system")


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
    found = stage.run("certs", "renew", "--context", "prod")
    assert found.code == 1
    assert found.err == (
        "error: cert-manager keeps the certificates of this installation: "
        "cmctl renew edl-webhook -n edl-system --context prod\n"
    )


def test_an_unknown_verb_names_the_known_ones() -> None:
    found = Stage().run("certs", "renwe")
    assert found.code == 2
    assert 'unknown command "renwe" for "kubectl edl certs"; did you mean renew?' in found.err


def test_certs_names_the_command_that_shows_the_certificates() -> None:
    shown = Stage().run("certs").out + Stage().run("certs").err
    assert "kubectl edl doctor" in shown
    assert "renew" in shown
