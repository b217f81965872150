"""The server: uvicorn around the apps, with our TLS context and an end that loses nothing."""

import asyncio
import gc
import logging
import resource
import socket
import ssl
from collections.abc import Callable
from datetime import datetime, timedelta
from types import FrameType
from typing import Final, cast
from wsgiref.types import WSGIApplication

import msgspec
import uvicorn
import uvloop

from edl.errors import EdlError
from webhook.app import LIMIT
from webhook.certificate import ServingCertificate
from webhook.clients import Clients, ClientsError
from webhook.connection import House, Rejected
from webhook.inline import Inline
from webhook.keeper import Keeper
from webhook.limits import Limits
from webhook.listener import Listener, bound
from webhook.room import Room

_GRACE_SECONDS: Final = 10
_TICK_SECONDS: Final = 0.1
_OTHER_FILES: Final = 100
"""File descriptors for all that is no connection of a client."""
_log: Final = logging.getLogger(__name__)


class ServerError(EdlError):
    """The server cannot be started here."""


class Door(msgspec.Struct, frozen=True):
    """A port and what is served behind it, over TLS or plainly; with `clients`, to them alone."""

    app: WSGIApplication
    port: int
    tls: bool = True
    clients: Clients | None = None
    limits: Limits = msgspec.field(default_factory=Limits)


class Settings(msgspec.Struct, frozen=True):
    """Where to listen, how often to look for a new certificate, how long to wait at the end.

    `drain`: for so long after the signal readiness is refused while requests are still answered,
    until the Service's endpoints have changed on every node.
    """

    host: str
    doors: tuple[Door, ...]
    rejected: Rejected
    refresh: timedelta = timedelta(seconds=10)
    drain: timedelta = timedelta(seconds=5)


class Lifecycle:
    """Whether traffic should come: `problem` tells what else is missing, empty for nothing."""

    def __init__(
        self,
        certificate: ServingCertificate,
        clock: Callable[[], datetime],
        problem: Callable[[], str] = str,
    ) -> None:
        self.certificate = certificate
        self.closing = False
        self._clock = clock
        self._problem = problem

    def unready(self) -> str:
        """Why no traffic should come; empty when it should."""
        if self.closing:
            return "shutting down"
        return self.certificate.problem(self._clock()) or self._problem()


class _Server(uvicorn.Server):
    """A first signal turns traffic away gently, a second one ends at once."""

    def __init__(self, lifecycle: Lifecycle, settings: Settings) -> None:
        configs = [_config(door, lifecycle) for door in settings.doors]
        super().__init__(configs[0])
        self._lifecycle = lifecycle
        self._drain = settings.drain
        self._opened = [
            (door, _bound(settings.host, door.port), self._house(door, config, settings.rejected))
            for door, config in zip(settings.doors, configs, strict=True)
        ]

    def _house(self, door: Door, config: uvicorn.Config, rejected: Rejected) -> House:
        objection = door.clients.problem if door.clients else _welcome
        room = Room(door.limits.connections)
        return House(config, self.server_state, door.limits, room, rejected, objection)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """The original knows one listener, and neither handshakes' nor idle connections' time."""
        del sockets
        await self.lifespan.startup()
        # All that is asked of these is to be closed, and waited for.
        listeners = [
            Listener(listening, house, self._context if door.tls else None)
            for door, listening, house in self._opened
        ]
        self.servers = cast("list[asyncio.Server]", listeners)
        for door, listening, _ in self._opened:
            _log.info("listening on %s, TLS: %s", listening.getsockname(), door.tls)
        self.started = True

    def _context(self) -> ssl.SSLContext:
        return self._lifecycle.certificate.context

    async def main_loop(self) -> None:
        await super().main_loop()
        self._lifecycle.closing = True
        for _ in range(round(self._drain.total_seconds() / _TICK_SECONDS)):
            if not self.force_exit:
                await asyncio.sleep(_TICK_SECONDS)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # Not handed on: uvicorn would raise the signal again, and a graceful end has exit code 0.
        del sig, frame
        self.force_exit = self.should_exit
        self.should_exit = True


def _config(door: Door, lifecycle: Lifecycle) -> uvicorn.Config:
    config = uvicorn.Config(
        Inline(door.app, LIMIT, lambda: lifecycle.closing),
        http="httptools",
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        # Its warnings are of what strangers send, as often as they like: `rejected` tells of these.
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=round(door.limits.idle),
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    config.load()
    return config


def _bound(host: str, port: int) -> socket.socket:
    try:
        return bound(host, port)
    except OSError as error:
        raise ServerError(f"cannot listen on {host}:{port}: {error.strerror}") from error


def _welcome(_: object) -> str:
    return ""


def serve(lifecycle: Lifecycle, keeper: Keeper, settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT, then finish what has begun. The certificate is loaded.

    Raises ServerError where a port is taken, ClientsError for an authority that is no good.
    """
    _demand(lifecycle, settings)
    _raise_limit_of_files(sum(door.limits.connections for door in settings.doors) + _OTHER_FILES)
    server = _Server(lifecycle, settings)
    # Modules and the app stay for good: full collections, which pause every review, skip them.
    gc.collect()
    gc.freeze()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(server, keeper, lifecycle, settings))


async def _run(
    server: uvicorn.Server, keeper: Keeper, lifecycle: Lifecycle, settings: Settings
) -> None:
    keeping = asyncio.create_task(keeper.keep(settings.refresh))
    looking = asyncio.create_task(_keep_demanding(lifecycle, settings))
    try:
        await server.serve()
    finally:
        keeping.cancel()
        looking.cancel()


async def _keep_demanding(lifecycle: Lifecycle, settings: Settings) -> None:
    """New authorities of clients are seen as new certificates are."""
    trouble = ""
    while True:
        await asyncio.sleep(settings.refresh.total_seconds())
        try:
            _demand(lifecycle, settings)
            trouble = ""
        except ClientsError as error:
            if str(error) != trouble:
                _log.warning("the authority of clients stays as it is: %s", error)
            trouble = str(error)


def _demand(lifecycle: Lifecycle, settings: Settings) -> None:
    for door in settings.doors:
        if door.clients is not None and door.clients.demand(lifecycle.certificate.context):
            _log.info("only clients of --client-ca may ask for reviews")


def _raise_limit_of_files(wanted: int) -> None:
    """As far as the machine allows: a shell's usual 1,024 would be too few."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
