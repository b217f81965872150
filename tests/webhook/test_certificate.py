import asyncio
import base64
import logging
import socket
import ssl
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from certs import directory as files_in
from certs.bundle import Bundle, CertificateError, Pair, service_names, to_files
from certs.installation import WEBHOOK_KINDS, Installation, rotate
from certs.issue import LIFETIMES, issue, issue_pair
from certs.verify import is_trusted
from edl.errors import Unreachable
from edl.kube.fake import FakeCluster
from edl.model import Target
from webhook.certificate import FromCluster, Offer, Pace, ServingCertificate, from_directory
from webhook.keeper import Keeper
from webhook.measures import Measures

NOW = datetime.now(UTC)
NAMES = service_names("edl-webhook", "edl-system")
BUNDLE = issue(NAMES, NOW)
RENEWED = issue_pair(BUNDLE.authority, NAMES, NOW)
SECRET = Target("Secret", "edl-system", "edl-webhook-tls")
INSTALLATION = Installation(SECRET, ("edl",), NAMES)


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


def der(pair: Pair) -> bytes:
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
        (Pair(RENEWED.certificate, BUNDLE.pair.key), "the key does not belong"),
        (Pair(b"x", BUNDLE.pair.key), "not readable"),
        (Pair(RENEWED.certificate, b""), "not readable"),
        (issue(NAMES, NOW - timedelta(days=400)).pair, "expired on"),
        (issue(NAMES, NOW + timedelta(days=2)).pair, "not valid before"),
    ],
)
def test_a_bad_pair_leaves_the_old_one_serving(pair: Pair, reason: str) -> None:
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
    source = from_directory(tmp_path)
    with pytest.raises(CertificateError, match=r"tls\.crt and tls\.key missing"):
        source(NOW)
    files_in.write(tmp_path, to_files(BUNDLE))
    assert source(NOW) == Offer(BUNDLE.pair)


def test_the_cluster_is_a_source_and_two_replicas_serve_the_same() -> None:
    cluster = FakeCluster(lambda: NOW)
    assert FromCluster(cluster, INSTALLATION)(NOW) == FromCluster(cluster, INSTALLATION)(NOW)


class Replica:
    """One webhook's certificate, kept from a cluster while seconds pass."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.certificate = ServingCertificate()
        self.measures = Measures()
        self.seconds = 0.0
        pace = Pace(settles=timedelta(seconds=10))
        source = FromCluster(cluster, INSTALLATION, pace, lambda: self.seconds)
        self.keeper = Keeper(self.certificate, source, self.measures, lambda: NOW)
        self.keeper.start()

    def looks(self, after: float) -> None:
        self.seconds += after
        asyncio.run(self.keeper.refresh())

    @property
    def serves(self) -> Pair:
        assert self.certificate.loaded is not None
        return self.certificate.loaded.pair


@pytest.fixture
def installed() -> FakeCluster:
    cluster = FakeCluster(lambda: NOW)
    for kind in WEBHOOK_KINDS:
        hooks = {"webhooks": [{"name": "jobs", "clientConfig": {}}]}
        cluster.create(Target(kind, "", "edl"), hooks)
    return cluster


def believed(cluster: FakeCluster) -> bytes:
    found = cluster.get(Target(WEBHOOK_KINDS[0], "", "edl"))["webhooks"][0]
    return base64.b64decode(found["clientConfig"]["caBundle"])


def test_a_new_authority_is_trusted_before_anybody_serves_with_it(installed: FakeCluster) -> None:
    first, second = Replica(installed), Replica(installed)
    old = first.serves
    new = rotate(installed, INSTALLATION, NOW).bundle
    seen = []
    for after in (0.0, 5.0, 5.1, 3600.0):
        for replica in (first, second):
            replica.looks(after)
            assert is_trusted(replica.serves, believed(installed), NOW)
            seen.append(replica.serves)
    assert seen == [old, old, old, old, new.pair, new.pair, new.pair, new.pair]
    assert believed(installed) == new.authority.certificate


def test_a_replica_that_begins_in_between_serves_what_all_know(installed: FakeCluster) -> None:
    old = Replica(installed).serves
    new = rotate(installed, INSTALLATION, NOW).bundle
    late = Replica(installed)
    assert late.serves == old
    late.looks(10.1)
    assert late.serves == new.pair


def test_whoever_serves_goes_on_while_a_lost_secret_is_made_anew(installed: FakeCluster) -> None:
    replica = Replica(installed)
    old = replica.serves
    installed.delete(SECRET)
    replica.looks(0.1)
    assert replica.serves == old
    assert is_trusted(old, believed(installed), NOW)
    replica.looks(10.1)
    assert replica.serves != old
    assert is_trusted(replica.serves, believed(installed), NOW)
    assert is_trusted(old, believed(installed), NOW)
    replica.looks(3600)
    replica.looks(0.1)
    assert not is_trusted(old, believed(installed), NOW)


def test_one_authority_after_another_is_measured(installed: FakeCluster) -> None:
    replica = Replica(installed)

    def value(name: str) -> float:
        lines = replica.measures.exposition().decode().splitlines()
        (found,) = (line for line in lines if line.startswith(f"edl_webhook_{name} "))
        return float(found.split()[1])

    assert (value("trusted_authorities"), value("certificate_loads_total")) == (1, 1)
    rotate(installed, INSTALLATION, NOW)
    replica.looks(0.1)
    assert value("trusted_authorities") == 2
    replica.looks(10.1)
    assert value("certificate_loads_total") == 2
    ends = (NOW + LIFETIMES.authority).replace(microsecond=0)
    assert value("authority_expiry_timestamp_seconds") == ends.timestamp()


def test_until_the_api_server_is_told_of_us_no_traffic_should_come(installed: FakeCluster) -> None:
    mutating = Target(WEBHOOK_KINDS[0], "", "edl")
    taken = installed.get(mutating)
    installed.delete(mutating)
    replica = Replica(installed)
    assert replica.certificate.problem(NOW) == "no MutatingWebhookConfiguration edl yet"
    installed.create(mutating, {"webhooks": taken["webhooks"]})
    replica.looks(0.1)
    assert replica.certificate.problem(NOW) == ""
    installed.delete(mutating)
    replica.looks(0.1)
    assert replica.certificate.problem(NOW) == "", "what it did before it goes on to do"


def keeper_of(directory: Path) -> tuple[Keeper, ServingCertificate]:
    certificate = ServingCertificate()
    return Keeper(certificate, from_directory(directory), Measures(), lambda: NOW), certificate


def write(directory: Path, bundle: Bundle) -> None:
    files_in.write(directory, to_files(bundle))


def test_the_keeper_sees_new_files_and_survives_half_written_ones(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    write(tmp_path, BUNDLE)
    keeper, certificate = keeper_of(tmp_path)
    keeper.start()
    files_in.write(tmp_path, {"tls.crt": RENEWED.certificate})
    asyncio.run(keeper.refresh())
    asyncio.run(keeper.refresh())
    assert certificate.loaded is not None
    assert certificate.loaded.pair == BUNDLE.pair
    assert caplog.messages == [
        "the certificate stays as it is: the key does not belong to the certificate"
    ]
    files_in.write(tmp_path, {"tls.key": RENEWED.key})
    asyncio.run(keeper.refresh())
    assert certificate.loaded.pair == RENEWED


def test_the_keeper_cannot_start_without_a_certificate(tmp_path: Path) -> None:
    keeper, _ = keeper_of(tmp_path)
    with pytest.raises(CertificateError):
        keeper.start()


@pytest.mark.parametrize("trouble", [Unreachable("no answer"), RuntimeError("a defect")])
def test_no_trouble_of_the_source_ends_the_keeping(
    trouble: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    def source(_: datetime) -> Offer:
        raise trouble

    certificate = ServingCertificate()
    certificate.load(BUNDLE.pair, NOW)
    asyncio.run(Keeper(certificate, source, Measures(), lambda: NOW).refresh())
    assert certificate.loaded is not None
    assert len(caplog.messages) == 1


def test_the_expiry_is_measured(tmp_path: Path) -> None:
    write(tmp_path, BUNDLE)
    measures = Measures()
    certificate = ServingCertificate()
    Keeper(certificate, from_directory(tmp_path), measures, lambda: NOW).start()
    assert certificate.loaded is not None
    line = next(
        line
        for line in measures.exposition().decode().splitlines()
        if line.startswith("edl_webhook_certificate_expiry_timestamp_seconds ")
    )
    assert float(line.split()[1]) == certificate.loaded.ends.timestamp()
