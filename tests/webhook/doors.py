"""A listener of the webhook's own kind in the loop of the test, with limits that are soon met."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import uvicorn
import uvloop
from uvicorn.server import ServerState

from edl.inject.admission import Context
from webhook.app import LIMIT, Desk, create_app
from webhook.connection import House
from webhook.inline import Inline
from webhook.limits import Limits
from webhook.listener import Listener, bound
from webhook.room import Room

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class Opened:
    """A listener, its guests, and whom it refused: the status and why."""

    listener: Listener
    room: Room
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

    async def close(self) -> None:
        for _, writer in self.clients:
            writer.transport.abort()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
        self.listener.close()
        await self.listener.wait_closed()


@asynccontextmanager
async def opened(limits: Limits, context: ssl.SSLContext | None = None) -> AsyncIterator[Opened]:
    app = create_app(Desk(Context(frozenset(), "kubectl-edl:test"), str))
    config = uvicorn.Config(
        Inline(app, LIMIT, bool), http="httptools", ws="none", lifespan="off", log_config=None
    )
    config.load()
    room, refused = Room(limits.connections), list[tuple[int, str]]()
    house = House(
        config,
        ServerState(),
        limits,
        room,
        rejected=lambda _client, reason, status: refused.append((status, reason)),
        objection=lambda _certificate: "",
    )
    listener = Listener(bound("127.0.0.1", 0), house, (lambda: context) if context else None)
    made = Opened(listener, room, refused)
    try:
        yield made
    finally:
        await made.close()


def run(test: Callable[[], Coroutine[None, None, None]]) -> None:
    """On the loop that the webhook runs on."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(test())
