"""One side of a conversation in HTTP/1.1: a connection, and the requests that come over it."""

import asyncio
from dataclasses import dataclass
from typing import Final

import h11

_CHUNK: Final = 1 << 16
_LONGEST_HEAD: Final = 1 << 20
_WATCH: Final = "watch=true"


class Vanished(Exception):
    """One side is gone in the middle of an exchange."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request, read whole. `path` has no query; `watches`: its answer does not end."""

    method: str
    path: str
    head: h11.Request
    body: bytes

    @property
    def watches(self) -> bool:
        return _WATCH in self.head.target.decode()

    def __str__(self) -> str:
        return f"{'WATCH' if self.watches else self.method} {self.path}"


class Peer:
    """One connection and its place in the protocol."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, role: type
    ) -> None:
        self._reader = reader
        self._writer = writer
        self.state = h11.Connection(role, max_incomplete_event_size=_LONGEST_HEAD)

    async def next(self) -> h11.Event:
        while (event := self.state.next_event()) is h11.NEED_DATA:
            self.state.receive_data(await self._reader.read(_CHUNK))
        return event  # type: ignore[return-value]

    async def send(self, event: h11.Event) -> None:
        data = self.state.send(event)
        if data:
            self._writer.write(data)
            await self._writer.drain()

    @property
    def gone(self) -> bool:
        return self._reader.at_eof() or self._writer.is_closing()

    async def closed(self) -> None:
        """Return once the other side has gone. It has asked, and says nothing more until then."""
        data = await self._reader.read(_CHUNK)
        self.state.receive_data(data)

    def abort(self) -> None:
        self._writer.transport.abort()

    def close(self) -> None:
        self._writer.close()


async def read(client: Peer) -> Request | None:
    """The next request whole; None when the client has no more."""
    head = await client.next()
    if not isinstance(head, h11.Request):
        return None
    body = bytearray()
    while isinstance(event := await client.next(), h11.Data):
        body += event.data
    if not isinstance(event, h11.EndOfMessage):
        raise Vanished("in the middle of a request")
    path = head.target.decode().partition("?")[0]
    return Request(head.method.decode(), path, head, bytes(body))
