import asyncio
import base64
import logging
import socket
import ssl
import threading
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from certs import certificate_directory as files_in
from certs.bundle import Bundle, CertificateError, KeyPair, pair_files, to_files
from certs.issue import issue, issue_pair
from certs.subject_names import local_names, service_names
from edl.errors import NotFound, Unreachable
from edl.model import ObjectRef
from tests.fake_cluster.cluster import FakeCluster
from webhook.tls.certificate_reloader import CertificateReloader
from webhook.tls.serving_certificate import ServingCertificate, of_directory, of_secret
from webhook.webhook_metrics import WebhookMetrics

NOW = datetime.now(UTC)
NAMES = local_names(service_names("edl-webhook", "edl-system"))
BUNDLE = issue(NAMES, NOW)
RENEWED = issue_pair(BUNDLE.authority, NAMES, NOW)


def shown(certificate: ServingCertificate, trust: bytes) -> bytes:
    """The certificate (DER) that a client which trusts `trust` is shown."""
    ours, theirs = socket.socketpair()
    client = ssl.create_default_context(cadata=trust.decode())

    def serve() -> None:
        certificate.context.wrap_socket(ours, server_side=True).close()

    server = threading.Thread(target=serve)
    server.start()
    with client.wrap_socket(theirs, server_hostname="localhost") as connection:
        found = connection.getpeercert(binary_form=True)
    server.join()
    assert found is not None
    return found


def der(pair: KeyPair) -> bytes:
    return ssl.PEM_cert_to_DER_cert(pair.certificate.decode())


def test_without_a_certificate_it_says_so() -> None:
    assert ServingCertificate().problem(NOW) == "no certificate is loaded"


def test_a_client_is_shown_what_was_loaded_last() -> None:
    certificate = ServingCertificate()
    assert certificate.load(BUNDLE.pair, NOW)
    assert shown(certificate, BUNDLE.trust) == der(BUNDLE.pair)
    context = certificate.context
    assert certificate.load(RENEWED, NOW)
    assert certificate.context is context
    assert shown(certificate, BUNDLE.trust) == der(RENEWED)
    assert certificate.problem(NOW) == ""


def test_loading_the_same_again_is_nothing_new() -> None:
    certificate = ServingCertificate()
    certificate.load(BUNDLE.pair, NOW)
    assert not certificate.load(BUNDLE.pair, NOW)


@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        (KeyPair(RENEWED.certificate, BUNDLE.pair.key), "the key does not belong"),
        (KeyPair(b"x", BUNDLE.pair.key), "not readable"),
        (KeyPair(RENEWED.certificate, b""), "not readable"),
        (issue(NAMES, NOW - timedelta(days=400)).pair, "expired on"),
        (issue(NAMES, NOW + timedelta(days=2)).pair, "not valid before"),
    ],
)
def test_a_bad_pair_leaves_the_old_one_serving(pair: KeyPair, reason: str) -> None:
    certificate = ServingCertificate()
    certificate.load(BUNDLE.pair, NOW)
    with pytest.raises(CertificateError, match=reason):
        certificate.load(pair, NOW)
    assert shown(certificate, BUNDLE.trust) == der(BUNDLE.pair)


def test_an_expired_certificate_makes_it_unready() -> None:
    certificate = ServingCertificate()
    certificate.load(BUNDLE.pair, NOW)
    assert certificate.problem(NOW + timedelta(days=366)) == "the certificate has expired"


def test_a_directory_is_a_source(tmp_path: Path) -> None:
    source = partial(of_directory, tmp_path)
    with pytest.raises(CertificateError, match=r"tls\.crt and tls\.key missing"):
        source()
    files_in.write(tmp_path, to_files(BUNDLE))
    assert source() == BUNDLE.pair


SECRET = ObjectRef("Secret", "edl-system", "edl-webhook-tls")


def filled(cluster: FakeCluster, pair: KeyPair) -> None:
    files = pair_files(pair).items()
    data = {name: base64.b64encode(content).decode() for name, content in files}
    cluster.patch(SECRET, {"data": data})


def test_a_secret_is_a_source() -> None:
    cluster = FakeCluster(lambda: NOW)
    source = partial(of_secret, cluster, SECRET)
    with pytest.raises(NotFound):
        source()
    cluster.create(SECRET, {"metadata": {}})
    with pytest.raises(CertificateError, match=r"edl-webhook-tls: tls\.crt and tls\.key missing"):
        source()
    filled(cluster, BUNDLE.pair)
    assert source() == BUNDLE.pair


def test_a_webhook_begins_before_its_secret_is_filled_and_serves_what_comes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster, certificate = FakeCluster(lambda: NOW), ServingCertificate()
    cluster.create(SECRET, {"metadata": {}})
    reloader = CertificateReloader(
        certificate, partial(of_secret, cluster, SECRET), WebhookMetrics(), lambda: NOW
    )
    for _ in range(3):
        asyncio.run(reloader.refresh())
    assert certificate.problem(NOW) == "no certificate is loaded"
    (message,) = caplog.messages
    assert message == (
        "no certificate yet, refusing connections: "
        "Secret edl-system/edl-webhook-tls: tls.crt and tls.key missing"
    )
    for pair in (BUNDLE.pair, RENEWED):
        filled(cluster, pair)
        asyncio.run(reloader.refresh())
        assert shown(certificate, BUNDLE.trust) == der(pair)
    cluster.patch(SECRET, {"data": None})
    asyncio.run(reloader.refresh())
    assert shown(certificate, BUNDLE.trust) == der(RENEWED)


def reloader_of(directory: Path) -> tuple[CertificateReloader, ServingCertificate]:
    certificate = ServingCertificate()
    return CertificateReloader(
        certificate, partial(of_directory, directory), WebhookMetrics(), lambda: NOW
    ), certificate


def write(directory: Path, bundle: Bundle) -> None:
    files_in.write(directory, to_files(bundle))


def test_the_keeper_sees_new_files_and_survives_half_written_ones(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    write(tmp_path, BUNDLE)
    reloader, certificate = reloader_of(tmp_path)
    reloader.start()
    files_in.write(tmp_path, {"tls.crt": RENEWED.certificate})
    asyncio.run(reloader.refresh())
    asyncio.run(reloader.refresh())
    assert certificate.loaded is not None
    assert certificate.loaded.pair == BUNDLE.pair
    assert caplog.messages == [
        "keeping the current certificate: the key does not belong to the certificate"
    ]
    files_in.write(tmp_path, {"tls.key": RENEWED.key})
    asyncio.run(reloader.refresh())
    assert certificate.loaded.pair == RENEWED


def test_the_keeper_cannot_start_without_a_certificate(tmp_path: Path) -> None:
    reloader, _ = reloader_of(tmp_path)
    with pytest.raises(CertificateError):
        reloader.start()


@pytest.mark.parametrize("trouble", [Unreachable("no answer"), RuntimeError("a defect")])
def test_no_trouble_of_the_source_ends_the_keeping(
    trouble: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    def source() -> KeyPair:
        raise trouble

    certificate = ServingCertificate()
    certificate.load(BUNDLE.pair, NOW)
    asyncio.run(CertificateReloader(certificate, source, WebhookMetrics(), lambda: NOW).refresh())
    assert certificate.loaded is not None
    assert len(caplog.messages) == 1


def test_without_a_certificate_no_expiry_is_told() -> None:
    """An expiry of 0 would raise the alert of an expired certificate, not that of its absence."""
    metrics = WebhookMetrics()
    assert b"certificate_expiry" not in metrics.exposition()
    for _ in range(2):
        metrics.certified_until(NOW)
    assert metrics.exposition().count(b"\nedl_webhook_certificate_expiry_timestamp_seconds ") == 1


def test_the_expiry_is_measured(tmp_path: Path) -> None:
    write(tmp_path, BUNDLE)
    metrics = WebhookMetrics()
    certificate = ServingCertificate()
    CertificateReloader(certificate, partial(of_directory, tmp_path), metrics, lambda: NOW).start()
    assert certificate.loaded is not None
    line = next(
        line
        for line in metrics.exposition().decode().splitlines()
        if line.startswith("edl_webhook_certificate_expiry_timestamp_seconds ")
    )
    assert float(line.split()[1]) == certificate.loaded.ends.timestamp()
