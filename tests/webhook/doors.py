"""A listener of the webhook's own kind in the loop of the test, with limits that are soon met."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from wsgiref.types import WSGIApplication

import uvloop

from edl.inject.admission import Context
from webhook.app import Desk, create_app
from webhook.budget import Budget
from webhook.connection import House
from webhook.inline import Errands
from webhook.limits import Limits
from webhook.listener import Listener, bound
from webhook.room import Room

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class Opened:
    """A listener, its guests, and whom it refused: the status and why."""

    listener: Listener
    room: Room
    budget: Budget
    refused: list[tuple[int, str]] = field(default_factory=list)
    clients: list[Streams] = field(default_factory=list)

    async def connect(self, context: ssl.SSLContext | None = None) -> Streams:
        name = "localhost" if context else None
        port = self.listener.port
        streams = await asyncio.open_connection(
            "127.0.0.1", port, ssl=context, server_hostname=name
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
        await self.listener.close(grace=0)


def reviewing() -> WSGIApplication:
    return create_app(Desk(Context(frozenset(), "kubectl-edl:test"), str))


@asynccontextmanager
async def opened(
    limits: Limits,
    context: ssl.SSLContext | None = None,
    *,
    app: WSGIApplication | None = None,
    budget: Budget | None = None,
    closing: bool = False,
) -> AsyncIterator[Opened]:
    room, refused = Room(limits.connections, limits.each), list[tuple[int, str]]()
    house = House(
        app or reviewing(),
        limits,
        room,
        budget or Budget(),
        Errands(most=3),
        rejected=lambda _client, reason, status: refused.append((status, reason)),
        objection=lambda _certificate: "",
        closing=lambda: closing,
    )
    listener = Listener(bound("127.0.0.1", 0), house, (lambda: context) if context else None)
    made = Opened(listener, room, house.budget, refused)
    try:
        yield made
    finally:
        await made.close()


def run(test: Callable[[], Coroutine[None, None, None]]) -> None:
    """On the loop that the webhook runs on."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(test())
