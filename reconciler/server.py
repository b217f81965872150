"""/healthz, /readyz, /metrics and perhaps /debug/plan, for the kubelet, Prometheus and people."""

import sys
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Final, TypeAlias

import msgspec
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

_IDLE_SECONDS: Final = 10


class Page(msgspec.Struct, frozen=True):
    """What a path answers with."""

    body: bytes
    status: HTTPStatus = HTTPStatus.OK
    content_type: str = "text/plain; charset=utf-8"


Pages: TypeAlias = Mapping[str, Callable[[], Page]]


class Health(msgspec.Struct, frozen=True):
    """`alive`: the loop turns. `unready`: why nothing should be expected yet, empty if all is well.

    `duty`: what it does when it is ready.
    """

    alive: Callable[[], bool]
    unready: Callable[[], str]
    duty: Callable[[], str]

    def healthz(self) -> Page:
        return Page(b"ok\n") if self.alive() else _unavailable("the loop does not turn")

    def readyz(self) -> Page:
        reason = self.unready()
        return _unavailable(reason) if reason else Page(f"{self.duty()}\n".encode())


def pages(health: Health, registry: CollectorRegistry) -> Pages:
    """What every reconciler serves."""
    return {
        "/healthz": health.healthz,
        "/readyz": health.readyz,
        "/metrics": lambda: Page(generate_latest(registry), content_type=CONTENT_TYPE_LATEST),
    }


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - its parent's
        """Who hangs up is no news either: a probe waits a second for us, and then no longer."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def serve(host: str, port: int, pages: Pages) -> ThreadingHTTPServer:
    """Serve from a thread of its own until `shutdown`; port 0 takes a free one."""
    known = Page(f"{' '.join(pages)}\n".encode(), HTTPStatus.NOT_FOUND)

    class Handler(BaseHTTPRequestHandler):
        timeout = _IDLE_SECONDS

        def do_GET(self) -> None:
            page = pages.get(self.path, lambda: known)()
            self.send_response(page.status)
            self.send_header("Content-Type", page.content_type)
            self.send_header("Content-Length", str(len(page.body)))
            self.end_headers()
            self.wfile.write(page.body)

        def log_message(self, *_: object) -> None:
            """Probes are no news."""

    server = _Server((host, port), Handler)
    Thread(target=server.serve_forever, name="http", daemon=True).start()
    return server


def _unavailable(reason: str) -> Page:
    return Page(f"{reason}\n".encode(), HTTPStatus.SERVICE_UNAVAILABLE)
