"""A listener of the webhook's own kind in the loop of the test, with limits that are soon met."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from wsgiref.types import WSGIApplication

import uvloop

from edl.inject.handlers import Context
from webhook.http.body_budget import BodyBudget
from webhook.http.connection import Endpoint
from webhook.http.connection_limits import ConnectionLimits
from webhook.http.connection_table import ConnectionTable
from webhook.http.deferred_calls import DeferredCalls
from webhook.http.listener import server_of, watch
from webhook.routes import RouteContext, add_review_routes, create_app

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class OpenListener:
    """A server, its connections, and what it refused: the status and why."""

    port: int
    table: ConnectionTable
    budget: BodyBudget
    refused: list[tuple[int, str]] = field(default_factory=list)
    clients: list[Streams] = field(default_factory=list)

    async def connect(self, context: ssl.SSLContext | None = None) -> Streams:
        name = "localhost" if context else None
        streams = await asyncio.open_connection(
            "127.0.0.1", self.port, ssl=context, server_hostname=name
        )
        self.clients.append(streams)
        return streams

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """The answer to one request, on a connection of its own."""
        reader, writer = await self.connect()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        return int(head.split(b" ")[1]), await reader.readexactly(length)

    async def close(self) -> None:
        for _, writer in self.clients:
            writer.transport.abort()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


def reviewing() -> WSGIApplication:
    return create_app(
        RouteContext(Context(frozenset(), "kubectl-edl:test"), str), add_review_routes
    )


@asynccontextmanager
async def opened(
    limits: ConnectionLimits,
    context: ssl.SSLContext | None = None,
    *,
    app: WSGIApplication | None = None,
    budget: BodyBudget | None = None,
    closing: bool = False,
) -> AsyncIterator[OpenListener]:
    table, refused = ConnectionTable(limits.connections, limits.each), list[tuple[int, str]]()
    endpoint = Endpoint(
        app or reviewing(),
        limits,
        table,
        budget or BodyBudget(),
        DeferredCalls(most=3),
        rejected=lambda _client, reason, status: refused.append((status, reason)),
        objection=lambda _certificate: "",
        closing=lambda: closing,
        context=context,
    )
    server, listening = server_of(endpoint), socket.create_server(("127.0.0.1", 0), backlog=2_048)
    made = OpenListener(listening.getsockname()[1], table, endpoint.budget, refused)
    watching = asyncio.create_task(watch(endpoint))
    serving = asyncio.create_task(server.serve([listening]))
    while not server.started:  # noqa: ASYNC110 - uvicorn offers no event
        await asyncio.sleep(0.001)
    try:
        yield made
    finally:
        await made.close()
        watching.cancel()
        server.should_exit = server.force_exit = True
        await serving


def run(test: Callable[[], Coroutine[None, None, None]]) -> None:
    """On the loop that the webhook runs on."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(test())
