"""The HTTP server: werkzeug, with one thread per connection.

The page serves a user and some colleagues: dozens of connections, each a mostly idle stream. An
asynchronous server would need an adapter for Flask that is longer than this file, and would still
run Flask in threads. Limits protect the threads: the number of connections, and the time for
which a peer may neither send nor read.
"""

import errno
import logging
import socket
from dataclasses import dataclass
from ipaddress import ip_address
from threading import BoundedSemaphore, Thread
from typing import Any, Final
from wsgiref.types import WSGIApplication

from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

from kubectl_edl.cli.command_errors import Refused

_SILENCE: Final = 10.0
"""Seconds within which a peer must send or read."""
_MAX_CONNECTIONS: Final = 200
_LOOK: Final = 0.1
"""Seconds between checks whether the server is to stop."""
_log: Final = logging.getLogger(__name__)


class _Handler(WSGIRequestHandler):
    timeout = _SILENCE

    def version_string(self) -> str:
        return "kubectl-edl"

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Do not log requests."""

    def log_error(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401 - http.server's
        """Log peers that disconnect or time out at debug level only."""
        _log.debug(format, *args)


class _Server(ThreadedWSGIServer):
    """Closes connections beyond the limit immediately."""

    daemon_threads = True

    def __init__(self, *args: Any, **named: Any) -> None:  # noqa: ANN401 - werkzeug's
        super().__init__(*args, **named)
        self._seats = BoundedSemaphore(_MAX_CONNECTIONS)

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        if self._seats.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._seats.release()


@dataclass(frozen=True, slots=True)
class DashboardAddress:
    """`host` is an IP address; `loopback` means reachable from this machine only."""

    host: str
    port: int

    @property
    def loopback(self) -> bool:
        return ip_address(self.host).is_loopback

    @property
    def url(self) -> str:
        """The address for a browser on this machine."""
        address = ip_address(self.host)
        host = self.host
        if address.is_unspecified:
            host = "127.0.0.1" if address.version == 4 else "::1"  # noqa: PLR2004 - IPv4
        return f"http://[{host}]:{self.port}/" if ":" in host else f"http://{host}:{self.port}/"


def listening(host: str, port: int) -> tuple[socket.socket, DashboardAddress]:
    """A listening socket; port 0 selects a free port. Raises Refused with a remedy."""
    try:
        family, *_, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        taken = socket.create_server((place[0], port), family=family)
    except OSError as error:
        raise Refused(listen_error(host, port, error)) from error
    return taken, DashboardAddress(*taken.getsockname()[:2])


def listen_error(host: str, port: int, error: OSError) -> str:
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        why = f"is not an address of this machine ({error.strerror}); such as 127.0.0.1"
        return f"--address {host} {why}"
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {port} on {host} is taken, by another dashboard perhaps; "
            f"another one: --port {port + 1}, or any free one: --port 0"
        )
    if error.errno == errno.EACCES:
        return f"you may not listen on port {port}; one above 1023 may do: --port 8180"
    return f"cannot listen on {host}:{port}: {error.strerror or error}"


class Serving:
    def __init__(
        self, app: WSGIApplication, listener: socket.socket, address: DashboardAddress
    ) -> None:
        # werkzeug exits the process if it fails to bind, so it gets a bound descriptor.
        fd = listener.fileno()
        self._server = _Server(address.host, address.port, app, handler=_Handler, fd=fd)
        listener.close()
        serve = self._server.serve_forever
        self._thread = Thread(target=serve, args=(_LOOK,), name="http", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
