"""The webhook as a process, over real TLS sockets. Counts are asserted, never times."""

import asyncio
import json
import os
import re
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from certs import certificate_directory as files_in
from certs.bundle import to_files
from certs.issue import issue_pair
from certs.subject_names import local_names, service_names
from tests.webhook import reviews, wire
from tests.webhook.wire import Answered, Process
from webhook.__main__ import webhook
from webhook.http.connection_limits import LIMIT


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with wire.webhook(tmp_path_factory.mktemp("webhook")) as running:
        yield running


def question(uid: str) -> bytes:
    return reviews.review(reviews.job(framework="none", min="1", max="3"), uid=uid)


async def reviewed(served: Process, uid: str) -> bool:
    """Whether a connection of its own brings the right answer to one review."""
    async with served.connection() as connection:
        return is_patch_for(uid, await connection.ask("POST", "/mutate", question(uid)))


def is_patch_for(uid: str, answered: Answered) -> bool:
    answer = reviews.response(answered.body)
    return answered.status == 200 and answer["uid"] == uid and bool(reviews.operations(answer))


@wire.in_loop
async def test_it_is_ready(served: Process) -> None:
    assert (await served.probe("/readyz")).body == b"ready\n"
    assert (await served.probe("/healthz")).body == b"ok\n"


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
@wire.in_loop
async def test_the_port_for_reviews_has_no_probes_and_no_metrics(
    served: Process, path: str
) -> None:
    """It must be open to addresses that no NetworkPolicy can name."""
    async with served.connection() as connection:
        assert (await connection.ask("GET", path)).status == 404
    assert (await served.probe(path)).status == 200
    assert (await served.probe("/mutate")).status == 404


def unreachable_kubeconfig(folder: Path) -> Path:
    with socket.socket() as probe:  # nobody listens where somebody just did
        probe.bind(("127.0.0.1", 0))
        server = f"http://127.0.0.1:{probe.getsockname()[1]}"
    path = folder / "kubeconfig"
    named = {"name": "it", "cluster": {"server": server}}
    context = {"name": "it", "context": {"cluster": "it", "user": "it"}}
    users = [{"name": "it", "user": {}}]
    config = {"clusters": [named], "contexts": [context], "users": users, "current-context": "it"}
    path.write_text(json.dumps(config))
    return path


@pytest.mark.slow
def test_without_its_namespaces_it_is_not_ready_and_lets_nothing_in(tmp_path: Path) -> None:
    words = ("--namespaces", "--kubeconfig", str(unreachable_kubeconfig(tmp_path)))
    with wire.webhook(tmp_path, *words) as blind:
        ready, answered = asyncio.run(blindly(blind))
    assert (ready.status, ready.body) == (503, b"the cluster's namespaces are not known yet\n")
    refused = reviews.response(answered.body)
    assert "its namespace cannot be read" in refused["status"]["message"]
    assert "watch of Namespace failed, retrying" in blind.logged()


async def blindly(blind: Process) -> tuple[Answered, Answered]:
    ready = await blind.probe("/readyz")
    async with blind.connection() as connection:
        return ready, await connection.ask("POST", "/mutate", question("blind"))


@pytest.mark.slow
@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
def test_clients_of_ipv4_and_ipv6_are_served_and_logged_by_their_own_addresses(
    tmp_path: Path,
) -> None:
    async def connect_from(*addresses: str) -> None:
        for address in addresses:
            assert (await process.probe("/readyz", address)).body == b"ready\n"
            async with process.connection(source=address) as connection:
                assert (await connection.ask("POST", "/mutate", b"{}")).status == 400

    with wire.webhook(tmp_path, "--host", "::") as process:
        asyncio.run(connect_from("127.0.0.1", "::1"))
    rejected = re.findall(r"rejected a request from (\S+): ", process.logged())
    assert rejected == ["127.0.0.1", "::1"]


@wire.in_loop
async def test_silent_connections_stall_no_review(served: Process) -> None:
    """An API server opens TLS connections ahead of need; some clients do not even shake hands."""
    async with AsyncExitStack() as silent:
        for _ in range(8):
            await silent.enter_async_context(served.connection())
        for _ in range(8):
            silent.enter_context(socket.create_connection(("127.0.0.1", served.port)))
        answers = [await reviewed(served, str(number)) for number in range(20)]
    assert answers == [True] * 20


@pytest.mark.slow
@wire.in_loop
async def test_bursts_are_answered_to_the_last(served: Process) -> None:
    for size in (2, 32, 64, 2, 64):
        answers = await asyncio.gather(*(reviewed(served, str(number)) for number in range(size)))
        assert answers == [True] * size


@wire.in_loop
async def test_half_sent_requests_stall_no_review_and_can_be_finished(served: Process) -> None:
    whole = wire.request("POST", "/mutate", question("slow"))
    async with served.connection() as head, served.connection() as body:
        await head.send(whole[:30])
        await body.send(whole[:-100])
        assert await reviewed(served, "quick")
        await head.send(whole[30:])
        await body.send(whole[-100:])
        assert is_patch_for("slow", await head.answer())
        assert is_patch_for("slow", await body.answer())


@wire.in_loop
async def test_clients_that_leave_in_the_middle_do_no_harm(served: Process) -> None:
    whole = wire.request("POST", "/mutate", question("gone"))
    for end in (10, 200, len(whole) - 1):
        async with served.connection() as connection:
            await connection.send(whole[:end])
    assert await reviewed(served, "next")


@wire.in_loop
async def test_a_body_that_is_too_large_is_refused_and_the_connection_goes_on(
    served: Process,
) -> None:
    async with served.connection() as connection:
        answered = await connection.ask("POST", "/mutate", b" " * (LIMIT + 1))
        assert (answered.status, answered.body.count(b"\n")) == (413, 1)
        again = await connection.ask("POST", "/mutate", question("after"))
        assert is_patch_for("after", again)


@wire.in_loop
async def test_an_endless_body_is_not_kept(served: Process) -> None:
    """What one request costs once (buffers, a growing copy) is a few times the limit."""
    before = _resident(served)
    size = 24 * LIMIT
    head = f"POST /mutate HTTP/1.1\r\nhost: x\r\ncontent-length: {size}\r\n"
    async with served.connection() as connection:
        await connection.send(f"{head}content-type: application/json\r\n\r\n".encode())
        for _ in range(24):
            await connection.send(b" " * LIMIT)
        assert (await connection.answer()).status == 413
    assert _resident(served) - before < 8 * LIMIT


def _resident(served: Process) -> int:
    pages = Path(f"/proc/{served.process.pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("noise", [b"\0" * 50, b"GET / HTTP/9.9\r\n\r\n", b"hello\r\n\r\n"])
@wire.in_loop
async def test_noise_ends_its_own_connection_only(served: Process, noise: bytes) -> None:
    async with served.connection() as connection:
        await connection.send(noise)
        assert (await connection.answer()).status == 400
    with socket.create_connection(("127.0.0.1", served.port)) as plain:
        plain.sendall(noise)
    assert await reviewed(served, "after")


@wire.in_loop
async def test_a_client_that_trusts_another_authority_refuses_us(served: Process) -> None:
    stranger = wire.Connection(served.port, wire.fresh_bundle().trust)
    with pytest.raises(ssl.SSLCertVerificationError):
        await stranger.__aenter__()
    assert await reviewed(served, "after")


class Load:
    """Clients that ask and ask, ten times on a connection, until they are told to stop."""

    def __init__(self, served: Process) -> None:
        self._served = served
        self._enough = False
        self.right = 0
        self.wrong: list[object] = []

    async def ask(self, name: str) -> None:
        while not self._enough:
            try:
                async with self._served.connection() as connection:
                    for number in range(10):
                        await self._ask_once(connection, f"{name}-{number}")
            except (OSError, EOFError) as error:
                self.wrong.append(error)

    async def _ask_once(self, connection: wire.Connection, uid: str) -> None:
        answered = await connection.ask("POST", "/mutate", question(uid))
        if is_patch_for(uid, answered):
            self.right += 1
        else:
            self.wrong.append(answered)

    async def goes_on(self) -> None:
        """Return when many more questions were answered than by now."""
        goal = self.right + 50

        async def reached() -> bool:
            return self.right >= goal or bool(self.wrong)

        await wire.until(reached)

    def stop(self) -> None:
        self._enough = True


async def renew(served: Process) -> None:
    """Write a new certificate of the same authority; return when it is shown."""
    names = local_names(service_names("edl-webhook", "edl-system"))
    pair = issue_pair(served.bundle.authority, names, datetime.now(UTC))
    files_in.write(served.certificates, to_files(replace(served.bundle, pair=pair)))
    wanted = ssl.PEM_cert_to_DER_cert(pair.certificate.decode())

    async def is_shown() -> bool:
        async with served.connection() as connection:
            return connection.certificate == wanted

    await wire.until(is_shown)


@pytest.mark.slow
@wire.in_loop
async def test_new_certificates_under_load_lose_nothing(tmp_path: Path) -> None:
    with wire.webhook(tmp_path, "--refresh", "0.02") as served:
        load = Load(served)
        clients = [asyncio.create_task(load.ask(str(number))) for number in range(8)]
        for _ in range(5):
            await renew(served)
            await load.goes_on()
        load.stop()
        await asyncio.gather(*clients)
    assert load.wrong == []
    assert load.right >= 250


@pytest.mark.slow
@wire.in_loop
async def test_sigterm_refuses_readiness_first_and_finishes_what_has_begun(tmp_path: Path) -> None:
    whole = wire.request("POST", "/mutate", question("last"))
    with wire.webhook(tmp_path, "--drain", "3") as served:
        async with served.connection() as begun, served.connection() as idle:
            await begun.send(whole[:-10])
            served.signal()
            await wire.until(partial(refuses_traffic, served))
            assert await reviewed(served, "while draining")
            assert await idle.reader.read() == b""  # now the sockets close
            await begun.send(whole[-10:])
            assert is_patch_for("last", await begun.answer())
        assert await asyncio.to_thread(served.process.wait, wire.SECONDS) == 0
        assert "Traceback" not in served.logged()


@pytest.mark.slow
@wire.in_loop
async def test_a_second_sigterm_waits_for_no_request(tmp_path: Path) -> None:
    with wire.webhook(tmp_path) as served:
        async with served.connection() as begun:
            await begun.send(wire.request("POST", "/mutate", question("late"))[:-10])
            assert await reviewed(served, "before")
            served.signal()
            await wire.until(partial(accepts_nothing, served))
            assert served.process.poll() is None
            served.signal()
            assert await asyncio.to_thread(served.process.wait, wire.SECONDS) == 0
        assert "Traceback" not in served.logged()


async def accepts_nothing(served: Process) -> bool:
    try:
        async with served.connection():
            return False
    except OSError:
        return True


async def refuses_traffic(served: Process) -> bool:
    answered = await served.probe("/readyz")
    if answered.status == 200:
        return False
    assert (answered.status, answered.body) == (503, b"shutting down\n")
    assert answered.headers["connection"] == "close"
    return True


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: PLW1510 - exit codes are what is tested
        [sys.executable, "-m", "webhook", "--image", "x", "--no-namespaces", *words],
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.slow
def test_a_directory_without_certificates_is_one_line(tmp_path: Path) -> None:
    ended = run("--cert-dir", str(tmp_path))
    assert ended.returncode == 1
    assert ended.stderr == f"error: {tmp_path}: tls.crt and tls.key missing\n"


@pytest.mark.slow
def test_a_source_of_certificates_must_be_chosen() -> None:
    ended = run()
    assert ended.returncode == 2
    assert "choose one of --cert-dir and --secret" in ended.stderr


@pytest.mark.slow
def test_a_secret_is_named_with_its_namespace() -> None:
    ended = run("--secret", "edl-webhook-tls")
    assert ended.returncode == 1
    assert ended.stderr == 'error: "edl-webhook-tls" names no Secret; write NAMESPACE/NAME\n'


@pytest.mark.slow
def test_a_port_in_use_is_reported_without_a_traceback(served: Process) -> None:
    ended = run("--cert-dir", str(served.certificates), "--port", str(served.port))
    assert ended.returncode != 0
    assert "address already in use" in ended.stderr.lower()
    assert "Traceback" not in ended.stderr


def test_a_pause_of_zero_between_checks_for_a_certificate_is_refused() -> None:
    """It would read the Secret thousands of times per second."""
    run = CliRunner().invoke(webhook, ["--image", "edl:1", "--refresh", "0"])
    assert run.exit_code == 2
    assert "'0' is not a duration from 0.001s to 1d: write 60s" in run.output
