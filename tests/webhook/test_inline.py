import asyncio
from collections.abc import Iterable, Iterator
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest

from webhook.inline import ERRAND, SMALL, Inline, Message, Scope

LIMIT = 100


class Client:
    """The ASGI side of one request: what it sends, and what it gets."""

    def __init__(self, *messages: Message) -> None:
        self._messages = list(messages)
        self.received: list[Message] = []

    async def receive(self) -> Message:
        return self._messages.pop(0)

    async def send(self, message: Message) -> None:
        self.received.append(message)


class Seen:
    """A WSGI app that remembers what it was called with."""

    def __init__(self) -> None:
        self.environ: WSGIEnvironment = {}
        self.body = b""
        self.closed = False

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        self.environ = environ
        self.body = environ["wsgi.input"].read()
        start("200 OK", [("X-One", "1")])
        return self

    def __iter__(self) -> Iterator[bytes]:
        return iter((b"a", b"b"))

    def close(self) -> None:
        self.closed = True


def part(body: bytes, *, more: bool = False) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


def scope(**changes: Any) -> Scope:  # noqa: ANN401 - ASGI
    return {
        "type": "http",
        "method": "POST",
        "path": "/mutate",
        "query_string": b"timeout=5s",
        "http_version": "1.1",
        "scheme": "https",
        "server": ("127.0.0.1", 8443),
        "client": ("10.0.0.1", 40000),
        "headers": [(b"content-type", b"application/json"), (b"x-two", b"2")],
    } | changes


def call(app: Seen, client: Client, *, closing: bool = False, **changes: Any) -> None:  # noqa: ANN401
    served = Inline(app, LIMIT, lambda: closing)
    asyncio.run(served(scope(**changes), client.receive, client.send))


def test_the_app_sees_the_request_and_the_client_the_response() -> None:
    app, client = Seen(), Client(part(b"he", more=True), part(b"llo"))
    call(app, client)
    assert app.body == b"hello"
    wanted = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/mutate",
        "QUERY_STRING": "timeout=5s",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": "5",
        "HTTP_X_TWO": "2",
        "REMOTE_ADDR": "10.0.0.1",
        "wsgi.url_scheme": "https",
    }
    assert {name: app.environ[name] for name in wanted} == wanted
    assert client.received == [
        {"type": "http.response.start", "status": 200, "headers": [(b"X-One", b"1")]},
        {"type": "http.response.body", "body": b"ab"},
    ]
    assert app.closed


def test_of_a_body_that_is_too_large_only_the_size_is_kept() -> None:
    app = Seen()
    call(app, Client(*(part(b"x" * 40, more=True) for _ in range(50)), part(b"")))
    assert len(app.body) == LIMIT + 1
    assert app.environ["CONTENT_LENGTH"] == "2000"


def test_a_content_length_that_lies_is_not_believed() -> None:
    app = Seen()
    call(app, Client(part(b"hello")), headers=[(b"content-length", b"3")])
    assert (app.body, app.environ["CONTENT_LENGTH"]) == (b"hello", "5")


class Endless(Client):
    """Sends the first half of its body and waits; the server has it all when it goes on."""

    def __init__(self, size: int) -> None:
        half = b"x" * (size // 2)
        super().__init__(part(half, more=True), part(half))
        self.goes_on = asyncio.Event()
        self.waits = asyncio.Event()

    async def receive(self) -> Message:
        if len(self._messages) == 1:
            self.waits.set()
            await self.goes_on.wait()
        return await super().receive()


def test_large_bodies_share_their_memory_and_small_ones_need_none() -> None:
    async def test() -> None:
        served = Inline(Seen(), 10 * SMALL, bool, shared=3 * SMALL)
        first, second = Endless(6 * SMALL), Client(part(b"x" * 4 * SMALL))
        small = Client(part(b"x" * SMALL))
        reading = asyncio.create_task(served(scope(), first.receive, first.send))
        await first.waits.wait()
        await served(scope(), second.receive, second.send)
        await served(scope(), small.receive, small.send)
        assert [each.received[0]["status"] for each in (second, small)] == [503, 200]
        assert second.received[1]["body"] == b"too many large bodies are being read; try again\n"
        first.goes_on.set()
        await reading
        assert first.received[0]["status"] == 503, "its second half is too much as well"
        alone = Client(part(b"x" * 4 * SMALL))
        await served(scope(), alone.receive, alone.send)
        assert alone.received[0]["status"] == 200, "what was read and left is free again"

    asyncio.run(test())


def test_nothing_is_asked_for_a_client_that_left() -> None:
    app, client = Seen(), Client(part(b"he", more=True), {"type": "http.disconnect"})
    call(app, client)
    assert app.environ == {}
    assert client.received == []


def test_a_closing_server_asks_its_clients_to_go_elsewhere() -> None:
    client = Client(part(b""))
    call(Seen(), client, closing=True)
    assert (b"connection", b"close") in client.received[0]["headers"]


@pytest.mark.parametrize("path", ["/ü", "/%41", "/a b"])
def test_any_path_reaches_the_app(path: str) -> None:
    app = Seen()
    call(app, Client(part(b"")), path=path)
    assert app.environ["PATH_INFO"].encode("latin-1").decode() == path


class Waiting(Seen):
    """Leaves an errand on its first call."""

    def __init__(self) -> None:
        super().__init__()
        self.bodies: list[bytes] = []
        self.done: list[str] = []

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        if not self.done:
            environ[ERRAND] = lambda: self.done.append("errand")
        answer = super().__call__(environ, start)
        self.bodies.append(self.body)
        return answer


def test_an_app_that_leaves_an_errand_is_called_again_with_the_same_request() -> None:
    app, client = Waiting(), Client(part(b"hello"))
    call(app, client)
    assert (app.done, app.bodies) == (["errand"], [b"hello", b"hello"])
    assert len(client.received) == 2, "one response"
