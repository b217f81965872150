"""Certificates on a real API server: trust that is wrong, trust that is installed, renewal."""

import base64
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from certs import directory as files_in
from certs.bundle import Bundle, from_files, service_names, to_files
from certs.installation import Installation, ensure, secret_target
from certs.issue import issue
from certs.verify import bundle_problem
from edl.errors import Forbidden
from edl.kube.client import connect
from edl.model import Target
from manifests import render
from tests.integration.support.webhook import Webhook, as_account, labelled, read, until

pytestmark = pytest.mark.integration

NAMES = service_names("edl-webhook", "edl-system")
SECRET = secret_target("edl-system/edl-webhook-tls")
CONFIGURATION = Target("MutatingWebhookConfiguration", "", "edl")


def certs(webhook: Webhook, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "certs", *words, "--kubeconfig", str(webhook.cluster.kubeconfig)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def trusted(webhook: Webhook) -> set[bytes]:
    found = read(webhook.cluster, CONFIGURATION)["webhooks"]
    return {base64.b64decode(each["clientConfig"]["caBundle"]) for each in found}


def kept(webhook: Webhook) -> Bundle:
    data: dict[str, str] = read(webhook.cluster, SECRET)["data"]
    return from_files({name: base64.b64decode(text) for name, text in data.items()})


@pytest.fixture
def restored(webhook: Webhook) -> Iterator[Webhook]:
    """The webhook, whose configurations are as installed again after the test."""
    yield webhook
    webhook.restore()


def test_an_authority_that_did_not_sign_is_named_in_the_refusal(
    restored: Webhook, tmp_path: Path
) -> None:
    files_in.write(tmp_path, to_files(issue(NAMES, datetime.now(UTC))))
    done = certs(restored, "install", "--configuration", "edl", "--dir", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    job = labelled("mnist")
    until(lambda: "certificate signed by unknown authority" in restored.dry_run(job))
    assert 'failed calling webhook "jobs.edl.dev"' in restored.dry_run(job)
    own = str(restored.installation.authority.parent)
    assert certs(restored, "install", "--configuration", "edl", "--dir", own).returncode == 0
    restored.wait_until_called()
    assert trusted(restored) == {restored.installation.authority.read_bytes()}


def test_installing_into_a_configuration_that_is_not_there_says_so(webhook: Webhook) -> None:
    done = certs(webhook, "install", "--configuration", "nobody")
    assert done.returncode == 1
    assert done.stderr == (
        "error: no MutatingWebhookConfiguration nobody, ValidatingWebhookConfiguration nobody; "
        "is kubectl-edl installed in this cluster?\n"
    )


def test_applying_the_manifests_again_takes_no_certificate_away(
    restored: Webhook, tmp_path: Path
) -> None:
    path = tmp_path / "release.yaml"
    path.write_text(render.to_yaml(render.without_workloads(render.load())))
    restored.cluster.kubectl("apply", "--server-side", "-f", str(path))
    assert certs(restored, "install", "--configuration", "edl").returncode == 0
    before, trust = kept(restored), trusted(restored)
    restored.cluster.kubectl("apply", "--server-side", "-f", str(path))
    assert kept(restored) == before
    assert trusted(restored) == trust == {before.trust}


def test_replicas_agree_under_the_webhooks_own_rights(restored: Webhook, tmp_path: Path) -> None:
    kubeconfig = as_account(restored.cluster, "edl-webhook", tmp_path)
    restored.cluster.kubectl(
        "patch", "-n", "edl-system", "secret", SECRET.name, "-p", '{"data":null}'
    )
    installation = Installation(SECRET, ("edl",), NAMES)

    def start(_: int) -> Bundle:
        return ensure(connect(str(kubeconfig)), installation, datetime.now(UTC)).bundle

    with ThreadPoolExecutor(4) as replicas:
        bundles = set(replicas.map(start, range(4)))
    assert bundles == {kept(restored)}
    assert trusted(restored) == {kept(restored).trust}
    assert bundle_problem(kept(restored), NAMES, datetime.now(UTC)) == ""


@pytest.mark.parametrize(
    "target",
    [
        Target("Secret", "edl-system", "another"),
        Target("Secret", "default", "edl-webhook-tls"),
        Target("MutatingWebhookConfiguration", "", "another"),
        Target("Job", "default", "mnist"),
        Target("Node", "", "any"),
    ],
)
def test_the_webhooks_account_reaches_nothing_else(
    webhook: Webhook, tmp_path: Path, target: Target
) -> None:
    cluster = connect(str(as_account(webhook.cluster, "edl-webhook", tmp_path)))
    with pytest.raises(Forbidden):
        cluster.get(target)
    with pytest.raises(Forbidden):
        cluster.patch(target, {"metadata": {"labels": {"a": "b"}}})


def test_a_webhook_with_the_clusters_certificate_is_called_and_survives_its_loss(
    restored: Webhook, tmp_path: Path
) -> None:
    kubeconfig = as_account(restored.cluster, "edl-webhook", tmp_path)
    cluster, port = restored.cluster, restored.installation.webhook_port
    cluster.stop("webhook")
    own = [*("--secret", "edl-system/edl-webhook-tls"), *("--kubeconfig", str(kubeconfig))]
    words = [*own, "--port", str(port), "--image", "x", "--refresh", "0.2", "--drain", "0"]
    cluster.launch("secret-webhook", [sys.executable, "-m", "webhook", *words])
    try:
        restored.wait_until_called()
        first = kept(restored).trust
        empty = ("patch", "-n", "edl-system", "secret", SECRET.name, "-p", '{"data":null}')
        cluster.kubectl(*empty)
        until(lambda: "data" in read(cluster, SECRET) and kept(restored).trust != first)
        restored.wait_until_called()
        assert trusted(restored) == {kept(restored).trust}
        cluster.check()
    finally:
        cluster.stop("secret-webhook")
        cluster.start("webhook")
