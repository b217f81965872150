"""One connection: HTTP/1.1 as llhttp parses it, held to limits before a request reaches the app.

A client is answered in words where it speaks HTTP: 408 for a request that does not end, 431 for a
head that is too large, 400 for no HTTP at all, 403 for a certificate of somebody else, 503 where
the memory for large requests is taken.
"""

import asyncio
from collections.abc import Callable
from email.utils import formatdate
from http import HTTPStatus
from typing import Final, TypeAlias, cast
from wsgiref.types import WSGIApplication, WSGIEnvironment

import httptools
import msgspec

from webhook.budget import Budget, Crowded, weight
from webhook.clients import PeerCertificate
from webhook.inline import ERRAND, Errands, Request, Response, call, environ_of
from webhook.limits import Limits
from webhook.room import Room

_LINGER_SECONDS: Final = 0.5
_EXPECTS: Final = (b"expect", b"100-continue")
_NO_REQUEST: Final = "this is no request of HTTP/1.1"

Rejected: TypeAlias = Callable[[str, str, int], None]
"""Is told of a refused request: the client's address, why, the HTTP status."""


class House(msgspec.Struct, frozen=True):
    """What the connections of one listener share."""

    app: WSGIApplication
    limits: Limits
    room: Room
    budget: Budget
    errands: Errands
    rejected: Rejected
    objection: Callable[[PeerCertificate], str]
    """Why the holder of a certificate may not ask; empty when it may."""
    closing: Callable[[], bool]
    """Whether clients shall open their next connection elsewhere."""


class Connection(asyncio.Protocol):
    """A guest of its house's room from its making on; `welcome` runs its handshake."""

    def __init__(self, house: House, client: str) -> None:
        self.client: Final = client
        self._house = house
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._handshake: asyncio.Task[object] | None = None
        self._objection = ""
        self._head = 0
        """Bytes since the request, or the last piece of its body, began: its head, its trailers."""
        self._request: Request | None = None
        """From its first byte until the client has taken the answer."""
        self._whole = False
        self._ahead = False
        """The next request has begun before the answer: it is not read, the client asks again."""
        self._errand: asyncio.Task[None] | None = None
        self._stalled = False
        self._since = self._loop.time()
        """When it began: waiting for a request, its head, its body, or answering it."""
        self._over = False
        house.room.enter(self)

    def welcome(self, handshake: asyncio.Task[object]) -> None:
        self._handshake = handshake

    @property
    def busy(self) -> bool:
        return self._request is not None and self._request.has_head

    @property
    def shaken(self) -> bool:
        """Whether its handshake has ended well."""
        return self._transport is not None

    def expel(self) -> None:
        if self._transport is not None:
            self._transport.abort()
        elif self._handshake is not None:
            self._handshake.cancel()

    def retire(self) -> None:
        if self._transport is not None and self._request is None:
            self._transport.close()

    def check(self, now: float) -> None:
        """End it where it is over its time; what has not shaken hands yet is timed elsewhere."""
        waited, limits = now - self._since, self._house.limits
        if self._transport is None:
            return
        if self._over:
            if waited > _LINGER_SECONDS:
                self._transport.close()
        elif self._request is None:
            if waited > limits.idle:
                self._transport.close()
        elif self._whole:
            if waited > limits.answer:
                self._transport.abort()
        elif waited > (most := limits.body if self.busy else limits.head):
            part = "body" if self.busy else "head of the request"
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, f"the {part} did not end within {most:g} s")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        # The loop reports every byte that the client has not taken yet. At 0 uvloop would report
        # an empty buffer as full, too.
        self._transport.set_write_buffer_limits(high=1)
        self._handshake = None  # its result refers to us: a circle that would outlive us
        self._since = self._loop.time()
        self._objection = self._house.objection(transport.get_extra_info("peercert") or {})

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._over = True
        self._house.room.leave(self)
        self._let_go()

    def data_received(self, data: bytes) -> None:
        if self._over:
            return
        self._head += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._refuse(HTTPStatus.BAD_REQUEST, _NO_REQUEST)
        if not self._whole and self._head > self._house.limits.head_bytes:
            self._refuse_head()
        if self._whole and not self._over:
            self._answer()

    def pause_writing(self) -> None:
        self._stalled = True

    def resume_writing(self) -> None:
        self._stalled = False
        if self._whole and self._errand is None:
            self._taken()

    def on_message_begin(self) -> None:
        if self._request is not None:
            self._ahead = True
        else:
            self._request, self._since = Request(self._house.budget), self._loop.time()

    def on_url(self, url: bytes) -> None:
        if (request := self._reading) is not None:
            request.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        request = self._reading
        if request is not None and len(request.headers) <= self._house.limits.headers:
            request.headers.append((name, value))

    def on_headers_complete(self) -> None:
        if (request := self._reading) is None:
            return
        limits = self._house.limits
        if self._objection:
            self._refuse(HTTPStatus.FORBIDDEN, self._objection)
        elif request.head_size() > limits.head_bytes or len(request.headers) > limits.headers:
            self._refuse_head()
        elif self._parser.should_upgrade():
            self._refuse(HTTPStatus.BAD_REQUEST, "nothing but HTTP/1.1 is spoken here")
        else:
            request.method = self._parser.get_method().decode("ascii")
            request.keep_alive = self._parser.should_keep_alive()
            request.has_head, self._head, self._since = True, 0, self._loop.time()
            self._house.room.speaks(self)
            if self._transport and _EXPECTS in ((n.lower(), v.lower()) for n, v in request.headers):
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        """Of a body no more than one byte above the limit is kept, but all of it is read."""
        request, most = self._reading, self._house.limits.body_bytes
        if request is None:
            return
        self._head = 0
        request.body += body[: max(0, most + 1 - request.size)]
        request.size += len(body)
        self._hold(request, len(request.body))

    def on_message_complete(self) -> None:
        if self._reading is not None:
            self._whole, self._head, self._since = True, 0, self._loop.time()

    @property
    def _reading(self) -> Request | None:
        """The request whose parts are read now; None for what is thrown away."""
        return None if self._over or self._whole else self._request

    def _answer(self) -> None:
        """Nothing more is read meanwhile."""
        request, transport = self._asked
        transport.pause_reading()
        if not self._hold(request, weight(request.body)):
            return
        scheme = "https" if transport.get_extra_info("ssl_object") else "http"
        try:
            environ = environ_of(request, self.client, scheme)
        except httptools.HttpParserInvalidURLError:
            self._refuse(HTTPStatus.BAD_REQUEST, _NO_REQUEST)
            return
        request.body.clear()
        response = call(self._house.app, environ)
        if ERRAND in environ:
            self._errand = self._loop.create_task(self._run(environ))
        else:
            self._send(response)

    async def _run(self, environ: WSGIEnvironment) -> None:
        environ["wsgi.input"].truncate(0)  # the errand has what it needs
        try:
            await self._house.errands.run(environ[ERRAND])
        except Crowded as crowded:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, str(crowded))
        self._errand = None
        if self._over:
            self._let_go()
        else:
            self._send(call(self._house.app, environ))

    def _send(self, response: Response) -> None:
        request, transport = self._asked
        if self._hold(request, len(response.content)):
            request.keep_alive &= not (self._house.closing() or self._ahead)
            transport.write(_encoded(response, closes=not request.keep_alive))
            # Writing may have ended in `resume_writing` already.
            if self._request is request and not self._stalled:
                self._taken()

    def _taken(self) -> None:
        """The client has the answer: only now its memory is free."""
        request, transport = self._asked
        self._since = self._loop.time()
        self._let_go()
        if request.keep_alive and not transport.is_closing():
            self._house.room.speaks(self)
            transport.resume_reading()
        else:
            self._over = True
            transport.close()

    @property
    def _asked(self) -> tuple[Request, asyncio.Transport]:
        if self._request is None or self._transport is None:
            raise AssertionError("only a request on a connection is answered")
        return self._request, self._transport

    def _hold(self, request: Request, size: int) -> bool:
        try:
            request.share.grow(size)
        except Crowded as crowded:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, str(crowded))
        return not self._over

    def _let_go(self) -> None:
        """Of the request and its memory; an errand keeps both to its end."""
        if self._errand is None and self._request is not None:
            self._request.share.release()
            self._request, self._whole = None, False

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
        if self._over or self._transport is None or self._transport.is_closing():
            return
        self._over, self._since = True, self._loop.time()
        self._house.rejected(self.client, reason, status)
        headers = [("content-type", "text/plain; charset=utf-8")]
        response = Response(f"{status.value} {status.phrase}", headers, f"{reason}\n".encode())
        self._transport.write(_encoded(response, closes=True))
        self._transport.resume_reading()
        self._let_go()


def _encoded(response: Response, *, closes: bool) -> bytes:
    headers = {name.lower(): text for name, text in response.headers}
    headers.setdefault("content-length", str(len(response.content)))
    headers |= {"date": formatdate(usegmt=True)} | ({"connection": "close"} if closes else {})
    lines = (f"HTTP/1.1 {response.status}", *(f"{name}: {text}" for name, text in headers.items()))
    return "\r\n".join((*lines, "", "")).encode("latin-1") + response.content
