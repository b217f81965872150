"""A webhook that only its API server may ask: by the certificate that this one shows it."""

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from dev.installation import apply_manifests, webhook_command
from sandbox.errors import SandboxError
from sandbox.layout import free_ports
from tests.integration.support.webhook import Webhook, labelled
from tests.waiting import until

pytestmark = pytest.mark.integration
NAME = "guarded"


@contextmanager
def guarded(webhook: Webhook, client: str) -> Iterator[str]:
    """The API server calls a webhook that answers `client` alone; its URL."""
    cluster, (port, probes) = webhook.cluster, free_ports(2)
    installation = replace(webhook.installation, webhook_port=port, probe_port=probes)
    words = ("--client-ca", str(cluster.ca), "--client-name", client)
    cluster.launch(NAME, [*webhook_command(installation), *words])
    try:
        until(lambda: is_ready(probes))
        apply_manifests(installation)
        yield f"https://127.0.0.1:{port}"
    finally:
        cluster.stop(NAME)
        webhook.restore()


def is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz") as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def test_only_the_api_servers_client_certificate_is_accepted(
    webhook: Webhook, namespace: str
) -> None:
    with guarded(webhook, "kube-apiserver") as url:
        until(lambda: counted(webhook, namespace))
        context = ssl.create_default_context(cafile=str(webhook.installation.authority))
        with pytest.raises((urllib.error.URLError, ssl.SSLError, ConnectionError)):
            urllib.request.urlopen(f"{url}/mutate", data=b"{}", context=context)  # noqa: S310


def counted(webhook: Webhook, namespace: str) -> bool:
    """Whether a labelled Job comes back completed while the usual webhook sees nothing of it."""
    before = webhook.reviews()
    stored = webhook.dry_run(labelled("mnist", namespace))
    return "suspend: true" in stored and webhook.reviews() == before


def test_an_api_server_of_another_name_is_told_in_its_users_message(
    webhook: Webhook, namespace: str
) -> None:
    what = "the client certificate of kube-apiserver"
    with guarded(webhook, "another-api-server"):
        until(lambda: what in webhook.dry_run(labelled("mnist", namespace)))
        with pytest.raises(SandboxError, match="is not one of another-api-server"):
            webhook.cluster.kubectl(
                "create", "-f", "-", input=json.dumps(labelled("mnist", namespace))
            )
