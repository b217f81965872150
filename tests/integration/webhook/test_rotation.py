"""Certificates that follow each other while the API server goes on calling: no review fails."""

import base64
import http.client
import re
import socket
import ssl
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Self

import pytest
from cryptography import x509

from certs.bundle import each_certificate
from certs.secrets import rotate, usual
from edl.errors import NotFound
from edl.kube.api.client import ApiClient, connect
from edl.model import ObjectRef
from sandbox.layout import free_ports
from tests.integration.support.webhook import Webhook, as_account, emptied, labelled, read
from tests.temporary_namespace import temporary
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.integration, pytest.mark.long]

INSTALLATION = usual("127.0.0.1")
AUTHORITY, SERVING = INSTALLATION.authority, INSTALLATION.serving
CONFIGURATION = ObjectRef("MutatingWebhookConfiguration", "", "edl")
SECONDS = 1 / 86_400
LIVES = ("--certificate-days", str(9 * SECONDS), "--authority-days", str(18 * SECONDS))
"""Some seconds: what takes years otherwise happens here again and again."""


class Load:
    """Labelled Jobs are created one after the other, by several clients, until it ends.

    They pause in between: it is the certificates' turn here, not the processor's.
    """

    def __init__(self, api: ApiClient, namespace: str) -> None:
        self._api = api
        self._namespace = namespace
        self._ended = Event()
        self.reviewed = 0
        self.failures: list[str] = []

    def __call__(self, client: int) -> None:
        number = 0
        while not self._ended.wait(0.2):
            number += 1
            job = labelled(f"mnist-{client}-{number}", self._namespace)
            target = ObjectRef("Job", self._namespace, job["metadata"]["name"])
            try:
                created = self._api.create(target, job, dry_run=True)
            except Exception as error:  # noqa: BLE001 - counted, and told
                self.failures.append(str(error))
            else:
                self.reviewed += created["spec"]["suspend"] is True

    def end(self) -> None:
        self._ended.set()


@contextmanager
def under(load: Load, clients: int = 3) -> Iterator[None]:
    threads = [Thread(target=load, args=(client,)) for client in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        load.end()
        for thread in threads:
            thread.join()


class Shown:
    """What a webhook shows to a client: serial numbers, and authorities, in order."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.serials: list[int] = []
        self.signers: list[bytes] = []

    def look(self) -> Self:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        address = ("127.0.0.1", self._port)
        with (
            socket.create_connection(address, timeout=5) as connection,
            context.wrap_socket(connection) as secure,
        ):
            der = secure.getpeercert(binary_form=True)
        certificate = x509.load_der_x509_certificate(der or b"")
        self._note(self.serials, certificate.serial_number)
        key = certificate.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
        self._note(self.signers, key.key_identifier or b"")
        return self

    def _note(self, seen: list[Any], found: object) -> None:
        if found not in seen:
            seen.append(found)


@pytest.fixture
def replicas(webhook: Webhook, tmp_path: Path) -> Iterator[tuple[int, int]]:
    """Ports of two webhooks that serve what the reconcilers' leader issues; the first is called."""
    cluster, called = webhook.cluster, webhook.installation.webhook_port
    beside, probes = free_ports(2)
    cluster.stop("webhook")
    emptied(webhook, AUTHORITY, SERVING)
    names = list(leaders(webhook, tmp_path))
    until(lambda: filled(webhook, SERVING))
    kubeconfig = as_account(cluster, "edl-webhook", tmp_path)
    own = [*("--secret", "edl-system/edl-webhook-tls"), *("--kubeconfig", str(kubeconfig))]
    options = [*own, "--image", "x", "--refresh", "0.2", "--drain", "0"]
    ports = {"rotating": (called, webhook.installation.probe_port), "beside": (beside, probes)}
    for name, (port, probed) in ports.items():
        at = ("--port", str(port), "--probe-port", str(probed))
        cluster.launch(name, [sys.executable, "-m", "webhook", *at, *options])
        names.append(name)
    try:
        webhook.wait_until_called()
        until(lambda: answers(beside))
        yield called, beside
    finally:
        for name in names:
            cluster.stop(name)
        cluster.start("webhook")
        webhook.restore()


def leaders(webhook: Webhook, folder: Path) -> Iterator[str]:
    """Two reconcilers, one of which leads, under the account's own rights; their names."""
    kubeconfig = as_account(webhook.cluster, "edl-reconciler", folder)
    own = ("--certificates", "--certificate-name", "127.0.0.1", "--certificate-refresh", "0.4")
    where = ("--kubeconfig", str(kubeconfig), "--metrics-port", "0")
    for name in ("leader", "follower"):
        command = [sys.executable, "-m", "reconciler", "--identity", name, *where, *own, *LIVES]
        webhook.cluster.launch(name, command)
        yield name


def filled(webhook: Webhook, secret: ObjectRef) -> bool:
    try:
        return bool(read(webhook.cluster, secret).get("data"))
    except NotFound:
        return False


def answers(port: int) -> bool:
    try:
        Shown(port).look()
    except OSError:
        return False
    return True


def trusted(webhook: Webhook) -> tuple[bytes, ...]:
    hooks = read(webhook.cluster, CONFIGURATION)["webhooks"]
    return each_certificate(base64.b64decode(hooks[0]["clientConfig"]["caBundle"]))


def metric(port: int, name: str) -> float:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    found = re.search(rf"^{name} (\S+)$", text, re.MULTILINE)
    assert found, f"no {name} in:\n{text}"
    return float(found[1])


def both(shown: Sequence[Shown]) -> set[bytes]:
    """The authorities that every replica's certificates were signed by."""
    return set.intersection(*(set(each.signers) for each in shown))


def test_no_review_fails_while_certificates_and_authorities_follow_each_other(
    webhook: Webhook, replicas: tuple[int, int]
) -> None:
    shown = [Shown(port) for port in replicas]
    overlaps = set()

    def watch() -> bool:
        for each in shown:
            each.look()
        overlaps.add(len(trusted(webhook)))
        return all(len(each.signers) >= 3 and len(each.serials) >= 5 for each in shown)

    with temporary(webhook.cluster) as namespace:
        load = Load(connect(str(webhook.cluster.kubeconfig)), namespace)
        with under(load):
            until(watch, within=200)  # on a busy machine each look takes its turn
    assert load.failures == []
    assert load.reviewed > 100
    # One may have been looked at before a change that the other was looked at behind.
    first, second = ([one for one in each.signers if one in both(shown)] for each in shown)
    assert len(first) >= 2
    assert first == second, "replicas agree, one after the other"
    assert overlaps == {1, 2}, "each overlap was begun, and ended"
    assert metric(webhook.installation.probe_port, "edl_webhook_certificate_loads_total") >= 5
    assert metric(webhook.installation.probe_port, "edl_webhook_certificate_failures_total") == 0
    left = metric(
        webhook.installation.probe_port, "edl_webhook_certificate_expiry_timestamp_seconds"
    )
    assert left > datetime.now(UTC).timestamp() - 1


def test_no_review_fails_while_the_secrets_are_emptied_damaged_and_deleted(
    webhook: Webhook, replicas: tuple[int, int]
) -> None:
    api = connect(str(webhook.cluster.kubeconfig))
    shown = Shown(replicas[0])
    garbage = base64.b64encode(b"garbage").decode()
    strikes: list[tuple[ObjectRef, Callable[[], object]]] = [
        (AUTHORITY, lambda: api.patch(AUTHORITY, {"data": None})),
        (AUTHORITY, lambda: api.patch(AUTHORITY, {"data": {"ca.key": garbage}})),
        (AUTHORITY, lambda: api.delete(AUTHORITY)),
        (AUTHORITY, lambda: rotate(api, INSTALLATION, datetime.now(UTC))),
        (SERVING, lambda: api.patch(SERVING, {"data": None})),
        (SERVING, lambda: api.patch(SERVING, {"data": {"tls.key": garbage}})),
        (SERVING, lambda: api.delete(SERVING)),
    ]

    with temporary(webhook.cluster) as namespace:
        load = Load(api, namespace)
        shown.look()
        with under(load):
            for secret, strike in strikes:
                seen = attrgetter("signers" if secret == AUTHORITY else "serials")
                before = len(seen(shown))
                strike()
                until(lambda: len(seen(shown.look())) > before)  # noqa: B023 - called here
                until(lambda: filled(webhook, secret))  # noqa: B023 - called here
    assert load.failures == []
    assert load.reviewed > 50
    assert len(shown.signers) >= 5
