"""A raw HTTPS client and a webhook process: what the tests of the real server talk through."""

import asyncio
import functools
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import ParamSpec, Self

from certs import certificate_directory as files_in
from certs.bundle import Bundle, to_files
from certs.issue import issue
from certs.subject_names import local_names, service_names
from sandbox.layout import free_ports

P = ParamSpec("P")
SECONDS = 30  # a stall, not a slow machine


def in_loop(test: Callable[P, Coroutine[None, None, None]]) -> Callable[P, None]:
    """An asynchronous test that pytest runs like any other."""

    @functools.wraps(test)
    def run(*values: P.args, **named: P.kwargs) -> None:
        asyncio.run(test(*values, **named))

    return run


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait for something that comes soon, however long each look at it takes."""
    clock = asyncio.get_running_loop().time
    ends = clock() + SECONDS
    while not await holds():
        if clock() > ends:
            raise AssertionError(f"still not so: {holds}")
        await asyncio.sleep(0.01)


def fresh_bundle() -> Bundle:
    return issue(local_names(service_names("edl-webhook", "edl-system")), datetime.now(UTC))


@dataclass(frozen=True)
class Answered:
    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Process:
    """A running webhook, its directory of certificates and its log."""

    process: subprocess.Popen[bytes]
    port: int
    probe_port: int
    certificates: Path
    log: Path
    bundle: Bundle

    def connection(self, identity: Path | None = None, source: str = "127.0.0.1") -> "Connection":
        return Connection(self.port, self.bundle.trust, identity, source)

    async def probe(self, path: str, address: str = "127.0.0.1") -> "Answered":
        """The answer on the port for probes and metrics, which has no TLS."""
        reader, writer = await asyncio.open_connection(address, self.probe_port)
        try:
            writer.write(request("GET", path))
            return await asyncio.wait_for(read_answer(reader), SECONDS)
        finally:
            writer.transport.abort()

    def signal(self, number: signal.Signals = signal.SIGTERM) -> None:
        os.kill(self.process.pid, number)

    def logged(self) -> str:
        return self.log.read_text()


class Connection:
    """One TLS connection; `async with` opens it. Bytes go out exactly as they are given."""

    def __init__(
        self, port: int, trust: bytes, identity: Path | None = None, source: str = "127.0.0.1"
    ) -> None:
        """`identity` is a file NAME.crt beside its NAME.key: the client's own certificate."""
        self._port = port
        self._source = source
        self._context = ssl.create_default_context(cadata=trust.decode())
        if identity is not None:
            self._context.load_cert_chain(identity, identity.with_suffix(".key"))
        self.reader = asyncio.StreamReader()
        self.writer: asyncio.StreamWriter

    async def __aenter__(self) -> Self:
        self.reader, self.writer = await asyncio.wait_for(
            asyncio.open_connection(
                "::1" if ":" in self._source else "127.0.0.1",
                self._port,
                ssl=self._context,
                server_hostname="localhost",
                local_addr=(self._source, 0),
            ),
            SECONDS,
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.writer.transport.abort()

    @property
    def certificate(self) -> bytes:
        """What the server showed (DER)."""
        found: bytes = self.writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return found

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self) -> Answered:
        """The next response; raises IncompleteReadError when the server hangs up instead."""
        return await asyncio.wait_for(read_answer(self.reader), SECONDS)

    async def ask(self, method: str, path: str, body: bytes = b"") -> Answered:
        await self.send(request(method, path, body))
        return await self.answer()


async def read_answer(reader: asyncio.StreamReader) -> Answered:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    status, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Answered(int(status.split(" ")[1]), headers, body)


def request(method: str, path: str, body: bytes = b"") -> bytes:
    lines = (
        f"{method} {path} HTTP/1.1",
        "host: localhost",
        "content-type: application/json",
        f"content-length: {len(body)}",
    )
    return "\r\n".join((*lines, "", "")).encode() + body


@contextmanager
def webhook(directory: Path, *words: str, code: Path | None = None) -> Iterator[Process]:
    """A webhook process with fresh certificates in `directory`; ended when the block ends.

    `code`: a folder with packages that it runs instead of ours.
    """
    bundle = fresh_bundle()
    files_in.write(directory / "certificates", to_files(bundle))
    (port, probe_port), log = free_ports(2), directory / "log"
    command = [sys.executable, "-m", "webhook", "--cert-dir", str(directory / "certificates")]
    command += ["--port", str(port), "--probe-port", str(probe_port)]
    command += ["--image", "kubectl-edl:test", "--drain", "0"]
    command += ["--no-namespaces", *words]
    with log.open("wb") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=stream, cwd=code)
    running = Process(process, port, probe_port, directory / "certificates", log, bundle)
    try:
        for each in (port, probe_port):
            _wait_until_it_listens(running, each)
        yield running
    finally:
        process.kill()
        process.wait()


def _wait_until_it_listens(running: Process, port: int) -> None:
    for _ in range(SECONDS * 20):
        assert running.process.poll() is None, running.logged()
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError(running.logged())
