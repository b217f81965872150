"""A WSGI app called on the event loop itself, once a whole request is there.

A review takes a fraction of a millisecond of pure computation, less than handing it to a thread.
The loop waits for slow and silent clients; the app never does: no thread is pinned. What an app
must wait for itself it leaves as an errand, which is run on a thread, and is then called again.
"""

import asyncio
import io
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Final, TypeAlias
from urllib.parse import unquote_to_bytes
from wsgiref.types import WSGIApplication, WSGIEnvironment

import httptools
import msgspec

from webhook.budget import Budget, Crowded, Share

Headers: TypeAlias = list[tuple[str, str]]

ERRAND: Final = "edl.errand"
"""In the environ: a function that the app leaves there. On its second call it finds it run."""
THREADS: Final = 4
MOST: Final = 32
"""Errands at a time: a namespace is read within two seconds."""
_TOLD_OTHERWISE: Final = frozenset({"CONTENT_LENGTH", "TRANSFER_ENCODING"})
"""Headers about how the body travelled: the app gets it whole, with its true length."""


class Errands:
    """Threads for errands alone, and a bound for those that run or wait for one."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._running = 0
        self._pool = ThreadPoolExecutor(THREADS, "errand")

    async def run(self, errand: Callable[[], object]) -> None:
        """Raises Crowded where too many wait."""
        if self._running >= self._most:
            raise Crowded("too many namespaces are being read; try again")
        self._running += 1
        try:
            await asyncio.get_running_loop().run_in_executor(self._pool, errand)
        finally:
            self._running -= 1


class Request:
    """What a client has sent of a request so far, and the memory that it holds."""

    def __init__(self, budget: Budget) -> None:
        self.share: Final = Share(budget)
        self.method = ""
        self.url = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.has_head = False
        """Whether its head is complete."""
        self.body = bytearray()
        """May be cut off."""
        self.size = 0
        """Bytes of the whole body."""
        self.keep_alive = False

    def head_size(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)


class Response(msgspec.Struct):
    """What the app passes to `start_response`, and its content."""

    status: str = ""
    headers: Headers = []
    content: bytes = b""

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
        self.status, self.headers = status, headers
        return _no_write


def _no_write(_: bytes) -> object:
    raise NotImplementedError("an app that returns its body, as Flask does, is all that is served")


def call(app: WSGIApplication, environ: WSGIEnvironment) -> Response:
    response = Response()
    chunks = app(environ, response.start)
    try:
        response.content = b"".join(chunks)
    finally:
        getattr(chunks, "close", list)()
    return response


def environ_of(request: Request, client: str, scheme: str) -> WSGIEnvironment:
    """Raises httptools.HttpParserInvalidURLError."""
    url = httptools.parse_url(request.url)
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(url.path or b"/").decode("latin-1"),
        "QUERY_STRING": (url.query or b"").decode("latin-1"),
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "0",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": client,
        "CONTENT_LENGTH": str(request.size),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scheme,
        "wsgi.input": io.BytesIO(bytes(request.body)),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": False,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for name, value in request.headers:
        key = name.decode("latin-1").upper().replace("-", "_")
        if key == "CONTENT_TYPE":
            environ[key] = value.decode("latin-1")
        elif key not in _TOLD_OTHERWISE:
            environ[f"HTTP_{key}"] = value.decode("latin-1")
    return environ
