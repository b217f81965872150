"""`--client-ca`: only the API server may ask. Real TLS, real certificates, a process of its own."""

import asyncio
import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sandbox.processes import pki
from tests.webhook import reviews, wire
from tests.webhook.wire import Answered, Process

QUESTION = reviews.review(reviews.job(framework="none", min="1", max="3"))
API_SERVER = "server.crt"  # of kube-apiserver
SOMEBODY = "kwok.crt"


@dataclass(frozen=True)
class Guarded:
    """A webhook for the API server alone. `ours` and `theirs`: certificates of two clusters."""

    process: Process
    ours: Path
    theirs: Path

    async def asked(self, identity: Path | None, path: str = "/mutate") -> Answered:
        async with self.process.connection(identity) as connection:
            method = "POST" if path == "/mutate" else "GET"
            return await connection.ask(method, path, QUESTION)

    def probe(self, path: str) -> str:
        return asyncio.run(self.process.probe(path)).body.decode()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("guarded")
    for name in ("ours", "theirs"):
        pki.issue(folder / name, datetime.now(UTC))
    words = ("--client-ca", str(folder / "ours" / "ca.crt"), "--client-name", "kube-apiserver")
    with wire.webhook(folder, *words, "--refresh", "0.05") as running:
        yield Guarded(running, folder / "ours", folder / "theirs")


def test_the_api_server_is_answered(guarded: Guarded) -> None:
    answered = asyncio.run(guarded.asked(guarded.ours / API_SERVER))
    assert answered.status == 200
    assert reviews.operations(reviews.response(answered.body))


def test_a_client_without_a_certificate_is_refused(guarded: Guarded) -> None:
    with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
        asyncio.run(guarded.asked(None))


def test_a_certificate_of_another_authority_is_refused(guarded: Guarded) -> None:
    with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
        asyncio.run(guarded.asked(guarded.theirs / API_SERVER))


def test_refused_handshakes_are_logged_and_counted(guarded: Guarded) -> None:
    before = refused(guarded)
    for identity in (None, guarded.theirs / SOMEBODY):
        with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
            asyncio.run(guarded.asked(identity))
    assert refused(guarded) == before + 2
    logged = guarded.process.logged().lower()
    for reason in ("peer did not return a certificate", "certificate verify failed"):
        assert reason in logged


def refused(guarded: Guarded) -> float:
    """How many requests were answered 403, or would have been."""
    lines = guarded.probe("/metrics").splitlines()
    wanted = 'edl_webhook_bad_requests_total{status="403"} '
    return sum(float(line.removeprefix(wanted)) for line in lines if line.startswith(wanted))


def test_another_client_of_the_same_authority_gets_the_allowed_names(guarded: Guarded) -> None:
    answered = asyncio.run(guarded.asked(guarded.ours / SOMEBODY))
    assert (answered.status, answered.body) == (
        403,
        b"the client certificate of kwok is not one of kube-apiserver (--client-name)\n",
    )


def test_probes_and_metrics_need_no_certificate(guarded: Guarded) -> None:
    assert guarded.probe("/healthz") == "ok\n"
    assert guarded.probe("/readyz") == "ready\n"
    assert "edl_webhook_certificate_expiry_timestamp_seconds" in guarded.probe("/metrics")


def test_each_port_answers_its_own_paths_alone(guarded: Guarded) -> None:
    answered = asyncio.run(guarded.asked(guarded.ours / API_SERVER, "/metrics"))
    assert answered.status == 404
    assert asyncio.run(guarded.process.probe("/mutate")).status == 404


def test_a_new_authority_is_seen_beside_the_old_one(guarded: Guarded) -> None:
    shutil.copy(guarded.theirs / "ca.crt", guarded.ours / "ca.crt")

    async def is_answered(identity: Path) -> bool:
        try:
            return (await guarded.asked(identity)).status == 200
        except (OSError, EOFError):
            return False

    async def both() -> None:
        await wire.until(lambda: is_answered(guarded.theirs / API_SERVER))
        assert await is_answered(guarded.ours / API_SERVER)

    asyncio.run(both())


def test_an_authority_that_became_none_leaves_the_old_one(guarded: Guarded) -> None:
    (guarded.ours / "ca.crt").write_text("garbage")

    async def is_told() -> bool:
        return "cannot load the client CA, keeping the previous one" in guarded.process.logged()

    asyncio.run(wire.until(is_told))
    assert asyncio.run(guarded.asked(guarded.ours / API_SERVER)).status == 200


def ended(*words: str) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-m", "webhook", "--image", "x", "--no-namespaces", *words)
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.slow
def test_options_that_contradict_each_other_are_refused(guarded: Guarded, tmp_path: Path) -> None:
    certificates = ("--cert-dir", str(guarded.process.certificates))
    file = tmp_path / "ca.crt"
    file.write_text("")
    one_port = ended(*certificates, "--port", "8443", "--probe-port", "8443")
    assert one_port.returncode == 2
    assert "--probe-port must differ from --port" in one_port.stderr
    nameless = ended(*certificates, "--client-name", "x")
    assert nameless.returncode == 2
    assert "--client-name needs --client-ca" in nameless.stderr
    empty = ended(*certificates, "--client-ca", str(file), "--probe-port", "0")
    assert empty.returncode == 1
    assert empty.stderr.splitlines()[-1].startswith(f"error: --client-ca {file}: ")
