"""The server: listeners around the apps, one TLS context, and a graceful shutdown."""

import asyncio
import gc
import logging
import resource
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from typing import Final
from wsgiref.types import WSGIApplication

import msgspec
import uvicorn
import uvloop

from edl.errors import EdlError
from edl.kube.listening_socket import listening_socket
from edl.kube.problem_log import ProblemLog
from webhook.http.body_budget import BodyBudget
from webhook.http.connection import Endpoint, Rejected
from webhook.http.connection_limits import ConnectionLimits
from webhook.http.connection_table import ConnectionTable
from webhook.http.deferred_calls import DeferredCalls
from webhook.http.listener import server_of, watch
from webhook.tls.certificate_reloader import CertificateReloader
from webhook.tls.client_auth import ClientAuthority, ClientAuthorityError
from webhook.tls.serving_certificate import ServingCertificate

_BACKLOG: Final = 2048
_GRACE_SECONDS: Final = 10
_TICK_SECONDS: Final = 0.02
_OTHER_FILES: Final = 100 + _BACKLOG
"""File descriptors beyond one per connection: other files, and handshakes, which need two."""
_log: Final = logging.getLogger(__name__)


class ServerError(EdlError):
    """The server cannot be started."""


class ListenerSettings(msgspec.Struct, frozen=True):
    """A port and its app, over TLS or plain HTTP; `clients` restricts the clients."""

    app: WSGIApplication
    port: int
    tls: bool = True
    clients: ClientAuthority | None = None
    limits: ConnectionLimits = msgspec.field(default_factory=ConnectionLimits)


class ServerSettings(msgspec.Struct, frozen=True):
    """Addresses, the interval of certificate checks, and the time to drain.

    `drain`: seconds after the signal during which /readyz fails while requests are still answered,
    until the Service's endpoints have changed on every node.
    """

    host: str
    listeners: tuple[ListenerSettings, ...]
    rejected: Rejected
    refresh: timedelta = timedelta(seconds=10)
    drain: timedelta = timedelta(seconds=5)


@dataclass(slots=True)
class Readiness:
    """Whether the pod is ready for traffic.

    `problem` returns another obstacle, or an empty text.
    """

    certificate: ServingCertificate
    clock: Callable[[], datetime]
    problem: Callable[[], str] = str
    closing: bool = False

    def unready(self) -> str:
        """Why the pod is not ready for traffic; empty if it is."""
        if self.closing:
            return "shutting down"
        return self.certificate.problem(self.clock()) or self.problem()


class _Servers:
    """The servers of all listeners. A first signal drains them, a second one ends them at once."""

    def __init__(self, lifecycle: Readiness, settings: ServerSettings) -> None:
        self._lifecycle = lifecycle
        self._settings = settings
        self._budget, self._deferred = BodyBudget(), DeferredCalls()
        self._signals = asyncio.Semaphore(0)
        self._sockets = [_bound(settings.host, listener.port) for listener in settings.listeners]

    async def serve(self) -> None:
        endpoints = [self._endpoint(listener) for listener in self._settings.listeners]
        servers = [server_of(endpoint) for endpoint in endpoints]
        watching = [asyncio.create_task(watch(endpoint)) for endpoint in endpoints]
        pairs = zip(servers, self._sockets, strict=True)
        ending = asyncio.gather(*(server.serve([listening]) for server, listening in pairs))
        asked = asyncio.create_task(self._asked_to_end(servers))
        await asyncio.wait((ending, asked), return_when=asyncio.FIRST_COMPLETED)
        for server in servers:
            server.should_exit = True
        again = asyncio.create_task(self._signals.acquire())
        both = (ending, again)
        await asyncio.wait(both, timeout=_GRACE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        for connection in chain.from_iterable(one.table.connections() for one in endpoints):
            connection.expel()
        for task in (*watching, asked, again):
            task.cancel()
        await ending

    async def _asked_to_end(self, servers: list[uvicorn.Server]) -> None:
        loop = asyncio.get_running_loop()
        while not all(one.started for one in servers):  # noqa: ASYNC110 - uvicorn has no event
            await asyncio.sleep(_TICK_SECONDS)
        for number in (signal.SIGINT, signal.SIGTERM):  # instead of uvicorn's, which end at once
            loop.add_signal_handler(number, self._signals.release)
        await self._signals.acquire()
        self._lifecycle.closing = True
        with suppress(TimeoutError):
            await asyncio.wait_for(self._signals.acquire(), self._settings.drain.total_seconds())

    def _endpoint(self, listener: ListenerSettings) -> Endpoint:
        _log.info(
            "listening on %s port %d, TLS: %s", self._settings.host, listener.port, listener.tls
        )
        return Endpoint(
            listener.app,
            listener.limits,
            ConnectionTable(listener.limits.connections, listener.limits.each),
            self._budget,
            self._deferred,
            self._settings.rejected,
            objection=listener.clients.problem if listener.clients else lambda _: "",
            closing=lambda: self._lifecycle.closing,
            context=self._lifecycle.certificate.context if listener.tls else None,
        )


def _bound(host: str, port: int) -> socket.socket:
    try:
        return listening_socket(host, port, _BACKLOG)
    except OSError as error:
        raise ServerError(f"cannot listen on {host}:{port}: {error.strerror}") from error


def serve(lifecycle: Readiness, reloader: CertificateReloader, settings: ServerSettings) -> None:
    """Serves until SIGTERM or SIGINT, then completes pending requests.

    The certificate is loaded already. Raises ServerError if a port is taken, and
    ClientAuthorityError for an unusable client CA.
    """
    _demand(lifecycle, settings)
    _raise_limit_of_files(
        sum(listener.limits.connections for listener in settings.listeners) + _OTHER_FILES
    )
    servers = _Servers(lifecycle, settings)
    # Modules and the app live forever: full collections, which pause every review, skip them.
    gc.collect()
    gc.freeze()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(servers, reloader, lifecycle, settings))


async def _run(
    servers: _Servers, reloader: CertificateReloader, lifecycle: Readiness, settings: ServerSettings
) -> None:
    keeping = asyncio.create_task(reloader.keep(settings.refresh))
    looking = asyncio.create_task(_keep_demanding(lifecycle, settings))
    try:
        await servers.serve()
    finally:
        keeping.cancel()
        looking.cancel()


async def _keep_demanding(lifecycle: Readiness, settings: ServerSettings) -> None:
    """Checks the client CA file as often as the serving certificate."""
    problems = ProblemLog(_log)
    while True:
        await asyncio.sleep(settings.refresh.total_seconds())
        try:
            _demand(lifecycle, settings)
            problems.clear()
        except ClientAuthorityError as error:
            problems.report("cannot load the client CA, keeping the previous one: %s", error)


def _demand(lifecycle: Readiness, settings: ServerSettings) -> None:
    for listener in settings.listeners:
        if listener.clients is not None and listener.clients.demand(lifecycle.certificate.context):
            _log.info("reviews require a client certificate of --client-ca")


def _raise_limit_of_files(wanted: int) -> None:
    """Raises the limit of file descriptors as far as allowed: the usual 1,024 are too few."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
