"""One connection: uvicorn's, held to limits before a request reaches the app.

A client is answered in words where it speaks HTTP: 408 for a head that does not end, 431 for one
that is too large, 400 for no HTTP at all, 403 for a certificate of somebody else.
"""

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Final, TypeAlias

import msgspec
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from webhook.clients import PeerCertificate
from webhook.limits import Limits
from webhook.room import Room

_LINGER_SECONDS: Final = 0.5

Rejected: TypeAlias = Callable[[str, str, int], None]
"""Is told of a refused request: the client's address, why, the HTTP status."""


class House(msgspec.Struct, frozen=True):
    """What the connections of one listener share."""

    config: uvicorn.Config
    state: ServerState
    limits: Limits
    room: Room
    rejected: Rejected
    objection: Callable[[PeerCertificate], str]
    """Why the holder of a certificate may not ask; empty when it may."""


class Connection(HttpToolsProtocol):
    """A guest of its house's room from its making on; `welcome` runs its handshake."""

    def __init__(self, house: House) -> None:
        super().__init__(house.config, house.state, {})
        self._house = house
        self._objection = ""
        self._handshake: asyncio.Task[object] | None = None
        self._head: int | None = 0
        """Bytes of a request's head so far; None from its end until the answer is complete."""
        self._since = self.loop.time()
        """When that began: waiting for a request, its head, or reading and answering it."""
        self._over = False
        house.room.enter(self)

    def welcome(self, handshake: asyncio.Task[object]) -> None:
        self._handshake = handshake

    @property
    def busy(self) -> bool:
        return self._head is None

    def expel(self) -> None:
        if self.transport is not None:
            self.transport.abort()
        elif self._handshake is not None:
            self._handshake.cancel()

    def check(self, now: float) -> None:
        """End it where it is over its time; what has not shaken hands yet is timed elsewhere."""
        if self.transport is None:
            return
        waited, limits = now - self._since, self._house.limits
        if self._over:
            if waited > _LINGER_SECONDS:
                self.transport.close()
        elif self.busy:
            if waited > limits.answer:
                self.transport.abort()
        elif not self._head:
            if waited > limits.idle:
                self.transport.close()
        elif waited > limits.head:
            what = f"the head of the request did not end within {limits.head:g} s"
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, what)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._handshake = None  # its result refers to us: a circle that would outlive us
        self._since = self.loop.time()
        self._objection = self._house.objection(transport.get_extra_info("peercert") or {})

    def connection_lost(self, exc: Exception | None) -> None:
        self._house.room.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._over:
            return
        if self._head is not None:
            if not self._head:
                self._since = self.loop.time()
            self._head += len(data)
        super().data_received(data)
        if self._head is not None and self._head > self._house.limits.head_bytes:
            self._refuse_head()

    def on_headers_complete(self) -> None:
        if self._over:
            return
        if self._objection:
            self._refuse(HTTPStatus.FORBIDDEN, self._objection)
        elif self._is_too_large():
            self._refuse_head()
        elif self.parser.should_upgrade():
            self._refuse(HTTPStatus.BAD_REQUEST, "nothing but HTTP/1.1 is spoken here")
        else:
            self._head, self._since = None, self.loop.time()
            self._house.room.asks(self)
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self._over:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._over:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        # A request that came behind this one is answered next.
        self._head, self._since = None if self.pipeline else 0, self.loop.time()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        del msg
        self._refuse(HTTPStatus.BAD_REQUEST, "this is no request of HTTP/1.1")

    def _is_too_large(self) -> bool:
        limits = self._house.limits
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        return size > limits.head_bytes or len(self.headers) > limits.headers

    def _refuse_head(self) -> None:
        limits = self._house.limits
        what = (
            f"the head of the request is larger than {limits.head_bytes} bytes "
            f"or {limits.headers} headers"
        )
        self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, what)

    def _refuse(self, status: HTTPStatus, reason: str) -> None:
        """Answer in one line; hang up when the client has had time to read it.

        What it still sends by then is thrown away: hanging up on it would take the answer away.
        """
        if self._over or self.transport.is_closing():
            return
        self._over, self._since = True, self.loop.time()
        self._house.rejected(self.client[0] if self.client else "nobody", reason, status)
        line = f"{reason}\n".encode()
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\n"
            "content-type: text/plain; charset=utf-8\r\n"
            f"content-length: {len(line)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + line)
