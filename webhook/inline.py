"""WSGI inside ASGI: the app is called on the event loop itself, once the whole body is there.

A review takes a fraction of a millisecond of pure computation, less than handing it to a thread.
The loop waits for slow and silent clients; the app never does: no thread is pinned. What an app
must wait for itself it leaves as an errand, which is run on a thread, and is then called again.
"""

import asyncio
import io
import sys
from collections.abc import Awaitable, Callable, Iterable
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final, TypeAlias
from wsgiref.types import WSGIApplication, WSGIEnvironment

Message: TypeAlias = dict[str, Any]
Scope: TypeAlias = dict[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Headers: TypeAlias = list[tuple[str, str]]

BODY_SECONDS: Final = 30
"""The API server gives up much earlier: whoever sends this slowly is somebody else."""

SMALL: Final = 64 * 1024
"""Bytes that every body may have. What is above them all bodies share, so that memory is bounded
however many clients send at once; a review seldom needs any."""
SHARED: Final = 64 * 1024 * 1024

ERRAND: Final = "edl.errand"
"""In the environ: a function that the app leaves there. On its second call it finds it run."""

_TOLD_OTHERWISE: Final = frozenset({"CONTENT_LENGTH", "TRANSFER_ENCODING"})
"""Headers about how the body travelled: the app gets it whole, with its true length."""
_CLOSE: Final = (b"connection", b"close")


class Crowded(Exception):
    """There is no room for one more large body at the moment."""


class Inline:
    """An ASGI app around a WSGI app. Of a body, no more than `limit` + 1 bytes are kept."""

    def __init__(
        self, app: WSGIApplication, limit: int, closing: Callable[[], bool], shared: int = SHARED
    ) -> None:
        self._app = app
        self._limit = limit
        self._closing = closing
        self._shared = Shared(shared)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with asyncio.timeout(BODY_SECONDS):
                body, size = await _body(receive, self._limit, self._shared)
        except ConnectionResetError:
            return
        except TimeoutError:
            what = f"the body did not end within {BODY_SECONDS} s"
            await _hang_up(send, HTTPStatus.REQUEST_TIMEOUT, what)
            return
        except Crowded:
            what = "too many large bodies are being read; try again"
            await _hang_up(send, HTTPStatus.SERVICE_UNAVAILABLE, what)
            return
        environ = _environ(scope, body, size)
        response, content = self._response(environ)
        if (errand := environ.get(ERRAND)) is not None:
            await asyncio.to_thread(errand)
            response, content = self._response(environ | {"wsgi.input": io.BytesIO(body)})
        # A client that is told so opens its next connection to a replica that stays.
        headers = [*response.headers, _CLOSE] if self._closing() else response.headers
        await _answer(send, response.status, headers, content)

    def _response(self, environ: WSGIEnvironment) -> tuple["_Response", bytes]:
        response = _Response()
        chunks = self._app(environ, response.start)
        try:
            return response, b"".join(chunks)
        finally:
            _close(chunks)


class _Response:
    """What the app passes to `start_response`."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []

    def start(
        self,
        status: str,
        headers: Headers,
        exc_info: tuple[type[BaseException], BaseException, TracebackType]
        | tuple[None, None, None]
        | None = None,
        /,
    ) -> Callable[[bytes], object]:
        del exc_info  # nothing has been sent yet: the new status simply replaces the old one
        self.status = int(status.split(" ", 1)[0])
        self.headers = [
            (name.encode("latin-1"), value.encode("latin-1")) for name, value in headers
        ]
        return _no_write


def _no_write(_: bytes) -> object:
    raise NotImplementedError("an app that returns its body, as Flask does, is all that is served")


class Shared:
    """Bytes above the small ones that all bodies may have together, while they are read."""

    def __init__(self, left: int) -> None:
        self.left = left

    def take(self, count: int) -> int:
        """Raises Crowded where there are not so many left."""
        if count > self.left:
            raise Crowded
        self.left -= count
        return count


async def _body(receive: Receive, limit: int, shared: Shared) -> tuple[bytes, int]:
    """The body, cut off behind `limit`, and its whole size.

    All of it is read, so that the client comes to reading the answer. Raises ConnectionResetError
    when the client leaves, Crowded where too much is being read.
    """
    chunks: list[bytes] = []
    size, taken, more = 0, 0, True
    try:
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ConnectionResetError
            chunk: bytes = message.get("body", b"")
            if size <= limit:
                chunks.append(chunk[: limit + 1 - size])
            size += len(chunk)
            taken += shared.take(max(0, min(size, limit) - SMALL - taken))
            more = message.get("more_body", False)
    finally:
        shared.left += taken
    return b"".join(chunks), size


async def _hang_up(send: Send, status: HTTPStatus, what: str) -> None:
    headers = [_CLOSE, (b"content-type", b"text/plain; charset=utf-8")]
    await _answer(send, status, headers, f"{what}\n".encode())


async def _answer(
    send: Send, status: int, headers: Iterable[tuple[bytes, bytes]], content: bytes
) -> None:
    await send({"type": "http.response.start", "status": int(status), "headers": list(headers)})
    await send({"type": "http.response.body", "body": content})


def _environ(scope: Scope, body: bytes, size: int) -> WSGIEnvironment:
    server, port = scope.get("server") or ("localhost", 0)
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": scope["path"].encode().decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": server,
        "SERVER_PORT": str(port),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "REMOTE_ADDR": (scope.get("client") or ("",))[0],
        "CONTENT_LENGTH": str(size),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": False,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for name, value in scope["headers"]:
        key = name.decode("latin-1").upper().replace("-", "_")
        if key == "CONTENT_TYPE":
            environ[key] = value.decode("latin-1")
        elif key not in _TOLD_OTHERWISE:
            environ[f"HTTP_{key}"] = value.decode("latin-1")
    return environ


def _close(chunks: Iterable[bytes]) -> None:
    if close := getattr(chunks, "close", None):
        close()
