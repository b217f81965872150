"""Certificates on a real API server: trust that is wrong, trust that is installed, renewal."""

import base64
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from certs.bundle import Bundle, CertificateError
from certs.issue import issue
from certs.rotation_steps import CertificateRequest, TrustProgress, is_good
from certs.secrets import ensure, read_issuer, read_pair, usual
from certs.subject_names import local_names
from edl.errors import Forbidden
from edl.kube.api.client import connect
from edl.model import ObjectRef
from manifests import render
from tests.integration.support.webhook import Webhook, as_account, emptied, labelled, read
from tests.waiting import until

pytestmark = [pytest.mark.integration, pytest.mark.long]

INSTALLATION = usual("127.0.0.1")
NAMES = INSTALLATION.names
AUTHORITY, SERVING = INSTALLATION.authority, INSTALLATION.serving
CONFIGURATION = ObjectRef("MutatingWebhookConfiguration", "", "edl")


def trusted(webhook: Webhook) -> set[bytes]:
    found = read(webhook.cluster, CONFIGURATION)["webhooks"]
    return {base64.b64decode(each["clientConfig"]["caBundle"]) for each in found}


def kept(webhook: Webhook) -> Bundle:
    api = connect(str(webhook.cluster.kubeconfig))
    return Bundle(read_issuer(api, AUTHORITY), read_pair(api, SERVING))


@pytest.fixture
def restored(webhook: Webhook) -> Iterator[Webhook]:
    """The webhook, whose configurations are as installed again after the test."""
    yield webhook
    webhook.restore()


def test_an_authority_that_did_not_sign_is_named_in_the_refusal(restored: Webhook) -> None:
    trust(restored, issue(local_names(NAMES), datetime.now(UTC)).trust)
    job = labelled("mnist")
    until(lambda: "certificate signed by unknown authority" in restored.dry_run(job))
    assert 'failed calling webhook "jobs.edl.dev"' in restored.dry_run(job)
    trust(restored, restored.installation.authority.read_bytes())
    restored.wait_until_called()


def test_applying_the_manifests_again_takes_no_certificate_away(
    restored: Webhook, tmp_path: Path
) -> None:
    path = tmp_path / "release.yaml"
    path.write_text(render.to_yaml(render.without_workloads(render.load())))
    restored.cluster.kubectl("apply", "--server-side", "-f", str(path))
    api, now = connect(str(restored.cluster.kubeconfig)), datetime.now(UTC)
    fresh = ensure(api, INSTALLATION, now).issuer.authority.certificate
    ensure(api, INSTALLATION, now, progress=TrustProgress(settled=fresh))
    before, trust = kept(restored), trusted(restored)
    restored.cluster.kubectl("apply", "--server-side", "-f", str(path))
    assert kept(restored) == before
    assert trusted(restored) == trust == {before.trust}


def test_leaders_that_overlap_agree_under_the_reconcilers_own_rights(
    restored: Webhook, tmp_path: Path
) -> None:
    kubeconfig = as_account(restored.cluster, "edl-reconciler", tmp_path)
    emptied(restored, AUTHORITY, SERVING)

    def keep(_: int) -> None:
        ensure(connect(str(kubeconfig)), INSTALLATION, datetime.now(UTC))

    with ThreadPoolExecutor(4) as leaders:
        list(leaders.map(keep, range(4)))
    assert trusted(restored) == {read_issuer(connect(str(kubeconfig)), AUTHORITY).trust}


@pytest.mark.parametrize(
    "target",
    [
        AUTHORITY,
        ObjectRef("Secret", "edl-system", "another"),
        ObjectRef("Secret", "default", "edl-webhook-tls"),
        CONFIGURATION,
        ObjectRef("MutatingWebhookConfiguration", "", "another"),
        ObjectRef("Job", "default", "mnist"),
        ObjectRef("Node", "", "any"),
    ],
)
def test_the_webhooks_account_reaches_nothing_but_its_certificate(
    webhook: Webhook, tmp_path: Path, target: ObjectRef
) -> None:
    cluster = connect(str(as_account(webhook.cluster, "edl-webhook", tmp_path)))
    with pytest.raises(Forbidden):
        cluster.get(target)
    for wanted in (target, SERVING):
        with pytest.raises(Forbidden):
            cluster.patch(wanted, {"metadata": {"labels": {"a": "b"}}})
    with pytest.raises(Forbidden):
        cluster.create(SERVING, {"metadata": {"name": "another", "namespace": "edl-system"}})


@pytest.mark.parametrize(
    "target",
    [
        ObjectRef("Secret", "edl-system", "another"),
        ObjectRef("Secret", "default", "edl-webhook-tls"),
    ],
)
def test_the_reconcilers_account_reads_no_other_secret(
    webhook: Webhook, tmp_path: Path, target: ObjectRef
) -> None:
    cluster = connect(str(as_account(webhook.cluster, "edl-reconciler", tmp_path)))
    with pytest.raises(Forbidden):
        cluster.get(target)


@pytest.fixture
def apart(restored: Webhook, tmp_path: Path) -> Iterator[tuple[Webhook, Callable[[], None]]]:
    """A webhook that reads an empty Secret, and what starts the reconciler that fills it."""
    cluster, port = restored.cluster, restored.installation.webhook_port
    emptied(restored, AUTHORITY, SERVING)
    cluster.stop("webhook")
    running = ["apart"]
    own = ("--secret", "edl-system/edl-webhook-tls", "--port", str(port), "--image", "x")
    paced = ("--refresh", "0.2", "--drain", "0", "--probe-port", "0")
    kubeconfig = ("--kubeconfig", str(as_account(cluster, "edl-webhook", tmp_path)))
    cluster.launch("apart", [sys.executable, "-m", "webhook", *own, *paced, *kubeconfig])

    def start_leader() -> None:
        names = ("--certificates", "--certificate-name", "127.0.0.1")
        paced = ("--certificate-refresh", "0.5", "--metrics-port", "0")
        kubeconfig = ("--kubeconfig", str(as_account(cluster, "edl-reconciler", tmp_path)))
        command = [sys.executable, "-m", "reconciler", *names, *paced, *kubeconfig]
        cluster.launch("leader", command)
        running.append("leader")

    try:
        yield restored, start_leader
        cluster.check()
    finally:
        for name in running:
            cluster.stop(name)
        cluster.start("webhook")


def test_a_webhook_waits_for_its_certificate_and_survives_the_loss_of_both_secrets(
    apart: tuple[Webhook, Callable[[], None]],
) -> None:
    webhook, start_leader = apart
    until(lambda: "no certificate yet" in webhook.cluster.log("apart").read_text())
    assert "failed calling webhook" in webhook.dry_run(labelled("probe"))
    start_leader()
    webhook.wait_until_called()
    first = kept(webhook)
    assert is_good(first.pair, first.trust, CertificateRequest(NAMES, datetime.now(UTC)))
    emptied(webhook, AUTHORITY, SERVING)
    until(lambda: again(webhook, first))
    webhook.wait_until_called()
    assert trusted(webhook) == {kept(webhook).trust}


def again(webhook: Webhook, first: Bundle) -> bool:
    try:
        found = kept(webhook)
    except CertificateError:
        return False
    return found.authority != first.authority and found.pair != first.pair


def trust(webhook: Webhook, authority: bytes) -> None:
    """Have the API server trust this authority (PEM) alone."""
    api = connect(str(webhook.cluster.kubeconfig))
    encoded = base64.b64encode(authority).decode()
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        target = ObjectRef(kind, "", "edl")
        webhooks = api.get(target)["webhooks"]
        for one in webhooks:
            one["clientConfig"]["caBundle"] = encoded
        api.patch(target, {"webhooks": webhooks})
