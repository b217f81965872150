"""One connection, from its acceptance on: bounds the time and memory that it may take.

uvicorn's HTTP protocol handles requests, but no setting limits what a client does before the app is
called. So bytes pass through here first: the head of a request is limited in time and size, and
uvicorn gets one request at a time, because it allocates 2 KiB of objects for each one in a read.
`Content-Length` marks the end of a request; every API server sends it.
"""

import asyncio
from collections.abc import Callable
from enum import Enum, auto
from http import HTTPStatus
from ssl import SSLContext
from typing import Any, Final, TypeAlias, cast
from wsgiref.types import WSGIApplication

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from webhook.http.body_budget import SMALL, BodyBudget
from webhook.http.connection_limits import ConnectionLimits
from webhook.http.connection_table import ConnectionTable
from webhook.http.deferred_calls import DeferredCalls
from webhook.tls.client_auth import PeerCertificate

STATE: Final = "connection"
"""The key of the connection in the `state` of a request's scope."""
_LINGER_SECONDS: Final = 0.5
_HEAD_ENDS: Final = b"\r\n\r\n"

Rejected: TypeAlias = Callable[[str, str, int], None]
"""Called for each refused request: the client's address, the cause, the HTTP status."""


class Endpoint(msgspec.Struct, frozen=True):
    """A port: what is served there, and what its connections share."""

    app: WSGIApplication
    limits: ConnectionLimits
    table: ConnectionTable
    budget: BodyBudget
    deferred: DeferredCalls
    rejected: Rejected
    objection: Callable[[PeerCertificate], str]
    """Why the holder of a client certificate may not send reviews; empty if it may."""
    closing: Callable[[], bool]
    """Whether clients should open their next connection to another replica."""
    context: SSLContext | None
    """None for plain HTTP."""


class ConnectionPhase(Enum):
    """What a connection is doing. Each phase has a timeout."""

    HANDSHAKE = auto()
    IDLE = auto()
    HEAD = auto()
    BODY = auto()
    ANSWER = auto()
    REFUSED = auto()


class LimitedConnection(asyncio.Protocol):
    """A connection with limits, timed from its creation.

    `of_uvicorn` are the arguments of uvicorn's own protocol.
    """

    def __init__(self, endpoint: Endpoint, client: str, of_uvicorn: dict[str, Any]) -> None:
        self.client: Final = client
        self.handshake: asyncio.Task[None] | None = None
        self.transport: asyncio.Transport | None = None
        """None before the handshake has succeeded, and after the end."""
        self.objection = ""
        self.ends = False
        """Whether to close after the answer: the client sent EOF, or its next request too early."""
        self._endpoint = endpoint
        self._http: HttpToolsProtocol
        self._of_uvicorn = of_uvicorn | {"app_state": {STATE: self}}
        self._now = asyncio.get_running_loop().time
        self._enter(ConnectionPhase.HANDSHAKE)
        self._head = bytearray()
        self._early = b""
        """Bytes of the body that arrived with the head, until the app reads them."""
        self._missing = 0
        """Bytes of the body that have yet to arrive."""
        endpoint.table.enter(self)

    @property
    def busy(self) -> bool:
        return self._phase in (ConnectionPhase.BODY, ConnectionPhase.ANSWER)

    def expel(self) -> None:
        if self.transport is not None:
            self.transport.abort()
        elif self.handshake is not None:
            self.handshake.cancel()

    def check(self, now: float) -> bool:
        """Closes the connection if it exceeded its timeout, and returns whether it did."""
        limits = self._endpoint.limits
        most, part = {
            ConnectionPhase.HANDSHAKE: (limits.handshake, ""),
            ConnectionPhase.IDLE: (limits.idle, ""),
            ConnectionPhase.HEAD: (limits.head, "head of the request"),
            ConnectionPhase.BODY: (limits.body, "body"),
            ConnectionPhase.ANSWER: (limits.answer, ""),
            ConnectionPhase.REFUSED: (_LINGER_SECONDS, ""),
        }[self._phase]
        if now - self._since <= most:
            return False
        if part:
            what = f"the {part} did not end within {most:g} s"
            self.refuse(HTTPStatus.REQUEST_TIMEOUT, what)
        elif self.transport is None or self._phase is ConnectionPhase.ANSWER:
            self.expel()
        else:
            self.transport.close()
        return True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.handshake = None  # its result refers to this object: a cycle would keep both alive
        self.transport.set_write_buffer_limits(high=SMALL)
        self.objection = self._endpoint.objection(transport.get_extra_info("peercert") or {})
        self._enter(ConnectionPhase.IDLE)
        self._http = HttpToolsProtocol(**self._of_uvicorn)
        self._http.connection_made(self.transport)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self.transport = None
        self._endpoint.table.leave(self)
        # With an exception, uvicorn would wait two more minutes for the next request.
        self._http.connection_lost(None)
        del self._http  # its last request refers to this object: a cycle would keep both alive

    def pause_writing(self) -> None:
        self._http.pause_writing()

    def resume_writing(self) -> None:
        self._http.resume_writing()

    def eof_received(self) -> bool:
        """Whether to keep the transport open to send an answer: only if the request is complete.

        TLS connections cannot stay half open.
        """
        self.ends = True
        return self._phase is ConnectionPhase.ANSWER and self._endpoint.context is None

    def data_received(self, data: bytes) -> None:
        if self._phase is ConnectionPhase.IDLE:
            self._enter(ConnectionPhase.HEAD)
            self._head.clear()
        if self._phase is ConnectionPhase.HEAD:
            self._read_head(data)
        elif self._phase is ConnectionPhase.BODY:
            self._read_body(data)
        elif self._phase is ConnectionPhase.ANSWER:
            self._end_with_answer()

    def expect(self, length: int) -> None:
        """Called by the app with the head of a request, to read `length` bytes of its body."""
        self._missing, early, self._early = length, self._early, b""
        self._endpoint.table.speaks(self)
        self._read_body(early)

    def finish(self) -> None:
        """Called when the request is answered."""
        transport = self.transport
        if transport and not transport.is_closing() and self._phase is ConnectionPhase.ANSWER:
            self._enter(ConnectionPhase.IDLE)
            self._endpoint.table.speaks(self)
            transport.resume_reading()

    def refuse(self, status: HTTPStatus, reason: str) -> None:
        """Answers in one line, and closes the connection once the client has had time to read it.

        What the client sends meanwhile is discarded: closing earlier could lose the answer.
        """
        if self.transport is None or self.transport.is_closing():
            return
        self._enter(ConnectionPhase.REFUSED)
        self._endpoint.rejected(self.client, reason, status)
        content = f"{reason}\n".encode()
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: text/plain; charset=utf-8"
            f"\r\ncontent-length: {len(content)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + content)
        self.transport.resume_reading()

    def _read_head(self, data: bytes) -> None:
        begun, most = len(self._head), self._endpoint.limits.head_bytes
        self._head += data
        end = self._head.find(_HEAD_ENDS, max(0, begun - len(_HEAD_ENDS)))
        piece = data if end < 0 else data[: end + len(_HEAD_ENDS) - begun]
        if begun + len(piece) > most:
            what = f"the head of the request is larger than {most} bytes"
            self.refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, what)
            return
        self._http.data_received(piece)
        if self._flow.is_closing():
            what = "this is not an HTTP/1.1 request"
            self._endpoint.rejected(self.client, what, HTTPStatus.BAD_REQUEST)
        elif end >= 0:
            self._enter(ConnectionPhase.BODY)
            self._early = data[len(piece) :]
            self._flow.pause_reading()

    def _read_body(self, data: bytes) -> None:
        piece = data[: self._missing]
        self._missing -= len(piece)
        if piece:
            self._http.data_received(piece)
        if self._missing:
            self._flow.resume_reading()
        else:
            self._enter(ConnectionPhase.ANSWER)
            self._flow.pause_reading()
        if len(data) > len(piece):
            self._end_with_answer()

    def _end_with_answer(self) -> None:
        """Closes after the answer: the client sent its next request too early, and retries it."""
        self.ends = True
        self._flow.pause_reading()

    def _enter(self, phase: ConnectionPhase) -> None:
        self._phase, self._since = phase, self._now()

    @property
    def _flow(self) -> asyncio.Transport:
        if self.transport is None:
            raise AssertionError("bytes come over a transport")
        return self.transport
