"""How many reviews the webhook answers over TLS.

`python -m benchmarks.webhook.reviews [--seconds 5]`

Eight kept connections, each of which asks again as soon as it is answered, from one process of raw
sockets. The first line asks for a review of a deletion, which nothing decides: what TLS, HTTP,
Flask and the generator cost, to compare the others with. `client` and `server` are processor time
for each request: on a machine where both fit, the larger one is the limit.
"""

import argparse
import asyncio
import json
import os
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import uvloop

from benchmarks.report.processor import memory_mib, processor_seconds
from certs import certificate_directory
from certs.bundle import to_files
from certs.issue import issue
from certs.subject_names import local_names, service_names

CONNECTIONS = 8
REVIEW_BYTES = 6_000
WARM_UP_SECONDS = 1.0
ROW = "{:<22}{:>9}{:>9}{:>9}{:>12}{:>12}{:>9}"


class Server(NamedTuple):
    pid: int
    port: int
    trust: bytes


class Measured(NamedTuple):
    """Sorted latencies in seconds, and the processor seconds of both sides."""

    latencies: list[float]
    seconds: float
    client: float
    server: float


class Client(asyncio.Protocol):
    """Sends one request repeatedly; counts answers only while `measuring`."""

    measuring = False

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._transport: Any = None
        self._sent_at = 0.0
        self._received = bytearray()
        self.latencies: list[float] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._send()

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        if not end:
            return
        _, _, rest = head.partition(b"content-length: ")
        if len(body) < int(rest.partition(b"\r\n")[0]):
            return
        if not head.startswith(b"HTTP/1.1 200"):
            raise SystemExit(f"the webhook answered {bytes(head)!r} {bytes(body)!r}")
        if Client.measuring:
            self.latencies.append(time.perf_counter() - self._sent_at)
        self._received.clear()
        self._send()

    def _send(self) -> None:
        self._sent_at = time.perf_counter()
        self._transport.write(self._request)


async def measure(server: Server, request: bytes, seconds: float) -> Measured:
    context = ssl.create_default_context(cadata=server.trust.decode())
    loop = asyncio.get_running_loop()
    clients = [Client(request) for _ in range(CONNECTIONS)]
    opened = [
        await loop.create_connection(
            lambda client=client: client,  # type: ignore[misc]
            *("127.0.0.1", server.port),
            ssl=context,
            server_hostname="localhost",
        )
        for client in clients
    ]
    await asyncio.sleep(WARM_UP_SECONDS)
    before, own = processor_seconds(server.pid), time.process_time()
    Client.measuring = True
    await asyncio.sleep(seconds)
    Client.measuring = False
    own, used = time.process_time() - own, processor_seconds(server.pid) - before
    for transport, _ in opened:
        transport.abort()
    latencies = sorted(chain.from_iterable(client.latencies for client in clients))
    return Measured(latencies, seconds, own, used)


@contextmanager
def webhook(port: int) -> Iterator[Server]:
    """A webhook process with certificates of its own."""
    with tempfile.TemporaryDirectory() as folder:
        names = local_names(service_names("edl-webhook", "edl-system"))
        bundle = issue(names, datetime.now(UTC))
        certificate_directory.write(Path(folder), to_files(bundle))
        options = ["--cert-dir", folder, "--port", str(port), "--log-level", "warning"]
        options += ["--no-namespaces"]
        command = [sys.executable, "-m", "webhook", *options, "--image", "x", "--drain", "0"]
        process = subprocess.Popen(command)
        try:
            asyncio.run(answering(port))
            yield Server(process.pid, port, bundle.trust)
        finally:
            process.terminate()
            process.wait()


async def answering(port: int) -> None:
    for _ in range(200):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.1)
        else:
            writer.close()
            return
    raise SystemExit("the webhook does not listen")


def job(**labels: str) -> dict[str, Any]:
    """A Job with so much environment that its review has REVIEW_BYTES."""
    variables: list[dict[str, str]] = []
    container = {"name": "main", "image": "train", "env": variables}
    manifest = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "mnist",
            "namespace": "default",
            "labels": {f"edl.dev/{name}": value for name, value in labels.items()},
        },
        "spec": {
            "parallelism": 2,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    }
    while len(review(manifest)) < REVIEW_BYTES:
        variables.append({"name": f"OPTION_{len(variables)}", "value": "x" * 40})
    return manifest


def review(manifest: dict[str, Any], operation: str = "CREATE") -> bytes:
    request = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": "batch", "version": "v1", "kind": "Job"},
        "operation": operation,
        "name": "mnist",
        "namespace": "default",
        "userInfo": {"username": "alice"},
        "object": manifest,
    }
    return json.dumps(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    ).encode()


def http(method: str, path: str, body: bytes = b"") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def requests() -> dict[str, bytes]:
    elastic = {"min": "1", "max": "8"}
    asked = {
        "unlabelled": job(),
        "none": job(framework="none", **elastic),
        "tensorflow": job(framework="tensorflow", **elastic),
        "refused": job(framework="caffe"),
    }
    deletion = review({"metadata": {"name": "mnist"}}, "DELETE")
    return {"deletion": http("POST", "/mutate", deletion)} | {
        f"mutate {name}": http("POST", "/mutate", review(manifest))
        for name, manifest in asked.items()
    }


def percentile(sorted_seconds: list[float], share: float) -> float:
    """The percentile in milliseconds."""
    place = min(int(len(sorted_seconds) * share), len(sorted_seconds) - 1)
    return sorted_seconds[place] * 1e3


def row(name: str, measured: Measured, first: float) -> str:
    count = len(measured.latencies)
    rate = count / measured.seconds
    return ROW.format(
        name,
        f"{rate:,.0f}",
        f"{percentile(measured.latencies, 0.5):.2f}",
        f"{percentile(measured.latencies, 0.99):.2f}",
        f"{measured.client / count * 1e6:.0f}",
        f"{measured.server / count * 1e6:.0f}",
        f"{rate / first:.2f}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="for each line")
    parser.add_argument("--port", type=int, default=18_443)
    given = parser.parse_args()
    print(
        f"{CONNECTIONS} connections, reviews of {REVIEW_BYTES} bytes, {os.cpu_count()} processors"
    )
    print(ROW.format("", "req/s", "p50 ms", "p99 ms", "client µs", "server µs", "ratio"))
    with webhook(given.port) as server, asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
        started_with, first = memory_mib(process=server.pid), 0.0
        for name, request in requests().items():
            measured = loop.run(measure(server, request, given.seconds))
            first = first or len(measured.latencies) / measured.seconds
            print(row(name, measured, first), flush=True)
        ended_with = memory_mib(process=server.pid)
        print(f"memory: {started_with:.0f} MiB at the start, {ended_with:.0f} at the end")


if __name__ == "__main__":
    main()
