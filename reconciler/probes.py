"""Serves /healthz, /readyz, /metrics and, if enabled, /debug/plan."""

import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR, socket
from threading import Condition, Lock, Thread
from typing import Any, Final, TypeAlias

import msgspec
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from edl.kube.listening_socket import listening_socket

CONNECTIONS: Final = 32
"""Connections at the same time: probes and scrapers need few, for milliseconds."""
_IDLE_SECONDS: Final = 10
_PLACE_SECONDS: Final = 1.0
"""Seconds to wait until a closed connection has ended."""
_SCRAPE_SECONDS: Final = 1.0


class Page(msgspec.Struct, frozen=True):
    """The response of a path."""

    body: bytes
    status: HTTPStatus = HTTPStatus.OK
    content_type: str = "text/plain; charset=utf-8"


Pages: TypeAlias = Mapping[str, Callable[[], Page]]


class Health(msgspec.Struct, frozen=True):
    """`alive`: the loop makes progress. `unready`: why the process is not ready, or empty.

    `duty`: its role when it is ready, leader or standby.
    """

    alive: Callable[[], bool]
    unready: Callable[[], str]
    duty: Callable[[], str]

    def healthz(self) -> Page:
        return Page(b"ok\n") if self.alive() else _unavailable("reconcile loop stalled")

    def readyz(self) -> Page:
        reason = self.unready()
        return _unavailable(reason) if reason else Page(f"{self.duty()}\n".encode())


def pages(health: Health, registry: CollectorRegistry) -> Pages:
    """The pages that every reconciler serves."""
    return {
        "/healthz": health.healthz,
        "/readyz": health.readyz,
        "/metrics": Scrape(
            lambda: Page(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)
        ),
    }


class Scrape:
    """A page that is rendered at most once per second, by one thread, for all clients."""

    def __init__(
        self, make: Callable[[], Page], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._make = make
        self._monotonic = monotonic
        self._lock = Lock()
        self._page: Page | None = None
        self._made_at = 0.0

    def __call__(self) -> Page:
        with self._lock:
            now = self._monotonic()
            if self._page is None or now - self._made_at >= _SCRAPE_SECONDS:
                self._page = self._make()
                self._made_at = now
            return self._page


class _Server(ThreadingHTTPServer):
    """One thread per connection, up to CONNECTIONS; one more closes the oldest.

    Answers are immediate, so the oldest connection is slow or silent.
    """

    daemon_threads = True

    def __init__(self, listening: socket, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(listening.getsockname()[:2], handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.server_name, self.server_port = listening.getsockname()[:2]
        self._open: dict[Any, None] = {}
        """The connections, the oldest first."""
        self._changed = Condition()

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - its parent's
        with self._changed:
            if not self._has_place():
                with suppress(OSError):  # it may just have ended by itself
                    next(iter(self._open)).shutdown(SHUT_RDWR)
            placed = self._changed.wait_for(self._has_place, _PLACE_SECONDS)
            if placed:
                self._open[request] = None
        if placed:
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def _has_place(self) -> bool:
        return len(self._open) < CONNECTIONS

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401 - its parent's
        super().shutdown_request(request)
        with self._changed:
            self._open.pop(request, None)
            self._changed.notify_all()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - its parent's
        """Logs errors, but not those of disconnected clients: probes time out after a second."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def serve(host: str, port: int, pages: Pages) -> ThreadingHTTPServer:
    """Serves from a thread of its own until `shutdown`; port 0 takes a free port."""
    index = Page(f"{' '.join(pages)}\n".encode(), HTTPStatus.NOT_FOUND)

    class Handler(BaseHTTPRequestHandler):
        timeout = _IDLE_SECONDS

        def do_GET(self) -> None:
            page = pages.get(self.path, lambda: index)()
            self.send_response(page.status)
            self.send_header("Content-Type", page.content_type)
            self.send_header("Content-Length", str(len(page.body)))
            self.end_headers()
            self.wfile.write(page.body)

        def log_message(self, *_: object) -> None:
            """Probes are not logged."""

    server = _Server(listening_socket(host, port, CONNECTIONS), Handler)
    Thread(target=server.serve_forever, name="http", daemon=True).start()
    return server


def _unavailable(reason: str) -> Page:
    return Page(f"{reason}\n".encode(), HTTPStatus.SERVICE_UNAVAILABLE)
