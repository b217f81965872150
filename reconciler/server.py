"""/healthz, /readyz and /metrics, for the kubelet and Prometheus."""

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

_IDLE_SECONDS: Final = 10


@dataclass(frozen=True, slots=True)
class Health:
    """`alive`: the loop turns. `ready`: every kind was read once."""

    alive: Callable[[], bool]
    ready: Callable[[], bool]


def serve(host: str, port: int, health: Health, registry: CollectorRegistry) -> ThreadingHTTPServer:
    """Serve from a thread of its own until `shutdown`; port 0 takes a free one."""

    class Handler(BaseHTTPRequestHandler):
        timeout = _IDLE_SECONDS

        def do_GET(self) -> None:
            if self.path == "/metrics":
                self._answer(HTTPStatus.OK, generate_latest(registry), CONTENT_TYPE_LATEST)
            elif check := {"/healthz": health.alive, "/readyz": health.ready}.get(self.path):
                good = check()
                status = HTTPStatus.OK if good else HTTPStatus.SERVICE_UNAVAILABLE
                self._answer(status, b"ok\n" if good else b"not yet\n", "text/plain")
            else:
                self._answer(HTTPStatus.NOT_FOUND, b"/healthz /readyz /metrics\n", "text/plain")

        def log_message(self, *_: object) -> None:
            """Probes are no news."""

        def _answer(self, status: HTTPStatus, body: bytes, content_type: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer((host, port), Handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, name="http", daemon=True).start()
    return server
