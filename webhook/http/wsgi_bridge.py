"""The ASGI app for uvicorn: calls a WSGI app on the event loop once a request is complete.

A review takes a fraction of a millisecond of computation, less than handing it to a thread. The
loop waits for slow and silent clients; the app never does. If the app itself must wait, it says so,
and is called again on a thread.
"""

import io
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import unquote_to_bytes
from wsgiref.types import WSGIApplication, WSGIEnvironment

from webhook.http.body_budget import SMALL, BodyShare, BudgetExceeded, weight
from webhook.http.connection import STATE, Endpoint, LimitedConnection
from webhook.http.deferred_calls import MAY_WAIT

AsgiScope: TypeAlias = dict[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[dict[str, Any]]]
Send: TypeAlias = Callable[[dict[str, Any]], Awaitable[None]]

_BODY: Final = "http.response.body"
_GONE: Final = "http.disconnect"
_UNREAD: Final = frozenset({b"transfer-encoding", b"upgrade"})
_PLAIN: Final = frozenset({"CONTENT_TYPE", "CONTENT_LENGTH"})
"""Headers whose environ keys have no HTTP_ prefix."""


class _LeftError(Exception):
    """The client disconnected before its request was complete."""


class WsgiResponse(NamedTuple):
    status: int
    headers: dict[str, str]
    content: bytes


class WsgiBridge:
    """The app of one endpoint, for uvicorn."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        connection: LimitedConnection = scope["state"][STATE]
        headers, share = dict(scope["headers"]), BodyShare(self._endpoint.budget)
        try:
            if connection.objection:
                connection.refuse(HTTPStatus.FORBIDDEN, connection.objection)
            elif _UNREAD & headers.keys():
                what = "Transfer-Encoding and Upgrade are not supported: send a Content-Length"
                connection.refuse(HTTPStatus.BAD_REQUEST, what)
            else:
                connection.expect(int(headers.get(b"content-length", 0)))
                environ = environ_of(scope, connection.client, await self._body(receive, share))
                await self._send(send, await self._response(environ, share), connection)
                return
        except BudgetExceeded as crowded:
            connection.refuse(HTTPStatus.SERVICE_UNAVAILABLE, str(crowded))
        except _LeftError:
            pass
        finally:
            share.release()
            connection.finish()
        while (await receive())["type"] != _GONE:  # the refusal has been written
            pass

    async def _body(self, receive: Receive, share: BodyShare) -> bytearray:
        """The body, read to its end; at most one byte above the limit is kept."""
        most, body, more = self._endpoint.limits.body_bytes + 1, bytearray(), True
        while more:
            message = await receive()
            if message["type"] == _GONE:
                raise _LeftError
            body += message["body"][: most - len(body)]
            share.grow(len(body))
            more = message["more_body"]
        share.grow(weight(body))
        return body

    async def _response(self, environ: WSGIEnvironment, share: BodyShare) -> WsgiResponse:
        response = call(self._endpoint.app, environ)
        if MAY_WAIT in environ:
            environ["wsgi.input"].seek(0)
            response = await self._endpoint.deferred.run(partial(call, self._endpoint.app, environ))
        share.grow(len(response.content))
        return response

    async def _send(
        self, send: Send, response: WsgiResponse, connection: LimitedConnection
    ) -> None:
        content = response.content
        headers = {"content-length": str(len(content))} | response.headers
        if connection.ends or self._endpoint.closing():
            headers["connection"] = "close"
        named = [(name.encode("latin-1"), text.encode("latin-1")) for name, text in headers.items()]
        await send({"type": "http.response.start", "status": response.status, "headers": named})
        # uvicorn waits for slow clients before a send, not after it: so the end is a message of its
        # own.
        if len(content) > SMALL:
            await send({"type": _BODY, "body": content, "more_body": True})
            content = b""
        await send({"type": _BODY, "body": content})


def call(app: WSGIApplication, environ: WSGIEnvironment) -> WsgiResponse:
    """The response of an app that returns its body, as Flask does: `write` is not supported."""
    status, headers = "", list[tuple[str, str]]()

    def start(*given: Any) -> Any:  # noqa: ANN401 - `write` is not supported
        nonlocal status, headers
        status, headers = given[:2]

    chunks = app(environ, start)
    try:
        content = b"".join(chunks)
    finally:
        getattr(chunks, "close", list)()
    named = {name.lower(): text for name, text in headers}
    return WsgiResponse(int(status.partition(" ")[0]), named, content)


def environ_of(scope: AsgiScope, client: str, body: bytearray) -> WSGIEnvironment:
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "0",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": client,
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": False,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for name, value in scope["headers"]:
        if b"_" in name:  # Content_Type would be taken for Content-Type
            continue
        key = name.decode("latin-1").upper().replace("-", "_")
        environ[key if key in _PLAIN else f"HTTP_{key}"] = value.decode("latin-1")
    return environ
