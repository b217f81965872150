"""What the app sees of a request, what its memory costs, and what it waits for."""

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, cast
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest

from tests.webhook import listeners, wire
from tests.webhook.listeners import OpenListener
from webhook.http.body_budget import SMALL, BodyBudget
from webhook.http.connection_limits import ConnectionLimits
from webhook.http.deferred_calls import MAY_WAIT

if TYPE_CHECKING:
    from asyncio import Transport

LIMITS = ConnectionLimits(look=0.02, body_bytes=10 * SMALL)


class Seen:
    """A WSGI app that remembers what it was called with."""

    def __init__(self, answer: bytes = b"ab") -> None:
        self.environ: WSGIEnvironment = {}
        self.body = b""
        self.closed = False
        self.answer = answer

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        self.environ = environ
        self.body = environ["wsgi.input"].read()
        start("200 OK", [("X-One", "1")])
        return self

    def __iter__(self) -> Iterator[bytes]:
        return iter((self.answer[:1], self.answer[1:]))

    def close(self) -> None:
        self.closed = True


def asked(app: Seen, request: bytes, *, closing: bool = False) -> bytes:
    """The whole answer to the only request of a connection."""
    found = b""

    async def test() -> None:
        nonlocal found
        async with listeners.opened(LIMITS, app=app, closing=closing) as listener:
            reader, writer = await listener.connect()
            writer.write(request)
            found = await asyncio.wait_for(reader.readuntil(app.answer), wire.SECONDS)
            assert listener.budget.left == BodyBudget().left

    listeners.run(test)
    return found


def test_the_app_sees_the_request_and_the_client_the_response() -> None:
    app = Seen()
    head = "POST /mutate?timeout=5s HTTP/1.1\r\nContent-Type: application/json\r\nX-Two: 2\r\n"
    answer = asked(app, f"{head}Content-Length: 5\r\n\r\nhello".encode())
    assert app.body == b"hello"
    wanted = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/mutate",
        "QUERY_STRING": "timeout=5s",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": "5",
        "HTTP_X_TWO": "2",
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.url_scheme": "http",
    }
    assert {name: app.environ[name] for name in wanted} == wanted
    assert answer.startswith(b"HTTP/1.1 200 OK\r\ndate: ")
    assert b"\r\ncontent-length: 2\r\nx-one: 1\r\n\r\n" in answer
    assert app.closed


def test_a_header_with_an_underscore_replaces_none_with_a_hyphen() -> None:
    app = Seen()
    head = "POST / HTTP/1.1\r\nContent-Type: a/b\r\nContent_Type: c/d\r\nX_Two: 2\r\n"
    asked(app, f"{head}Content-Length: 2\r\nContent_Length: 1\r\n\r\nhi".encode())
    assert (app.environ["CONTENT_TYPE"], app.environ["CONTENT_LENGTH"]) == ("a/b", "2")
    assert "HTTP_X_TWO" not in app.environ


def test_of_a_body_that_is_too_large_only_the_size_is_kept() -> None:
    app = Seen()
    asked(app, wire.request("POST", "/", b"x" * 20 * SMALL))
    assert len(app.body) == LIMITS.body_bytes + 1
    assert app.environ["CONTENT_LENGTH"] == f"{20 * SMALL}"


def test_a_client_that_asks_before_it_sends_a_body_is_told_to_go_on() -> None:
    app = Seen()
    head = b"POST / HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n"
    assert asked(app, head + b"hi").startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK")


def test_a_client_that_sends_no_more_is_still_answered() -> None:
    async def test() -> None:
        async with listeners.opened(LIMITS, app=Seen()) as listener:
            reader, writer = await listener.connect()
            writer.write(wire.request("POST", "/", b"hello"))
            writer.write_eof()
            assert (await reader.read()).endswith(b"\r\n\r\nab")

    listeners.run(test)


def test_a_closing_server_asks_its_clients_to_go_elsewhere() -> None:
    answer = asked(Seen(), wire.request("GET", "/"), closing=True)
    assert b"\r\nconnection: close\r\n" in answer


@pytest.mark.parametrize(
    ("url", "path"),
    [("/%C3%BC", "/ü"), ("/%2541", "/%41"), ("/a%20b", "/a b"), ("http://x/a", "/a")],
)
def test_any_path_reaches_the_app(url: str, path: str) -> None:
    app = Seen()
    asked(app, wire.request("GET", url))
    assert app.environ["PATH_INFO"].encode("latin-1").decode() == path


def test_large_requests_share_their_memory_and_small_ones_need_none() -> None:
    async def test() -> None:
        budget = BodyBudget(3 * SMALL)
        async with listeners.opened(LIMITS, app=Seen(), budget=budget) as listener:
            whole = wire.request("POST", "/", b"x" * 4 * SMALL)
            _, half = await listener.connect()
            half.write(whole[:-SMALL])
            await wire.until(lambda: has_left(listener, SMALL))
            assert await listener.ask(whole) == (
                503,
                b"too many large requests are being answered; try again\n",
            )
            assert await listener.ask(wire.request("POST", "/", b"x" * SMALL)) == (200, b"ab")
            half.transport.abort()
            await wire.until(lambda: has_left(listener, 3 * SMALL))
            assert (await listener.ask(whole))[0] == 200, "what was read and left is free again"

    listeners.run(test)


def test_what_is_decoded_of_a_body_counts_before_it_is_decoded() -> None:
    async def test() -> None:
        app = Seen()
        async with listeners.opened(LIMITS, app=app, budget=BodyBudget(9 * SMALL)) as listener:
            assert (await listener.ask(wire.request("POST", "/", b"[" * SMALL)))[0] == 503
            assert app.environ == {}

    listeners.run(test)


def test_an_answer_holds_its_memory_until_it_is_taken() -> None:
    async def test() -> None:
        size = 1024 * SMALL  # Linux lets the sockets between us take 36 MiB at most
        budget = BodyBudget(size)
        async with listeners.opened(LIMITS, app=Seen(b"a" * size), budget=budget) as listener:
            reader, writer = await listener.connect()
            transport = cast("Transport", writer.transport)
            transport.pause_reading()
            writer.write(wire.request("GET", "/"))
            await wire.until(lambda: has_left(listener, SMALL))
            assert (await listener.ask(wire.request("GET", "/")))[0] == 503
            transport.resume_reading()
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200")
            await reader.readexactly(size)
            await wire.until(lambda: has_left(listener, size))

    listeners.run(test)


async def has_left(listener: OpenListener, size: int) -> bool:
    return listener.budget.left == size


class Waiting(Seen):
    """Asks to be called where it may wait, and waits there until it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.bodies: list[bytes] = []
        self.threads: list[str] = []
        self.goes_on = threading.Event()

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        if MAY_WAIT in environ:
            self.threads.append(threading.current_thread().name)
            self.goes_on.wait(wire.SECONDS)
        environ[MAY_WAIT] = True
        answer = super().__call__(environ, start)
        self.bodies.append(self.body)
        return answer


def waiting(test: Callable[[Waiting, OpenListener], "asyncio.Future[None] | object"]) -> None:
    async def run() -> None:
        app = Waiting()
        async with listeners.opened(LIMITS, app=app) as listener:
            await test(app, listener)  # type: ignore[misc]
            app.goes_on.set()

    listeners.run(run)


LARGE = wire.request("POST", "/", b"x" * 5 * SMALL)


def test_an_app_that_has_to_wait_is_called_again_with_the_same_body() -> None:
    async def test(app: Waiting, listener: OpenListener) -> None:
        app.goes_on.set()
        assert await listener.ask(LARGE) == (200, b"ab")
        assert app.bodies == [b"x" * 5 * SMALL] * 2
        assert len(app.threads) == 1

    waiting(test)


def test_what_waits_for_a_deferred_call_holds_its_memory() -> None:
    async def test(app: Waiting, listener: OpenListener) -> None:
        whole = BodyBudget().left
        answer = asyncio.create_task(listener.ask(LARGE))
        await wire.until(lambda: has_left(listener, whole - 4 * SMALL))
        _, gone = await listener.connect()
        gone.write(LARGE)
        await wire.until(lambda: has_left(listener, whole - 8 * SMALL))
        gone.transport.abort()
        await asyncio.sleep(0.1)
        assert listener.budget.left == whole - 8 * SMALL, "its deferred call runs on"
        app.goes_on.set()
        assert (await answer)[0] == 200
        await wire.until(lambda: has_left(listener, whole))

    waiting(test)


def test_deferred_calls_are_bounded_and_leave_other_threads_alone() -> None:
    async def test(app: Waiting, listener: OpenListener) -> None:
        small = wire.request("POST", "/")
        answers = [asyncio.create_task(listener.ask(small)) for _ in range(4)]
        done, _ = await asyncio.wait(answers, return_when=asyncio.FIRST_COMPLETED)
        (refused,) = done
        assert refused.result() == (503, b"too many namespaces are being read; try again\n")
        assert await asyncio.to_thread(lambda: "a certificate is looked for") != ""
        app.goes_on.set()
        assert sorted([(await each)[0] for each in answers]) == [200, 200, 200, 503]
        assert all(name.startswith("deferred-call") for name in app.threads)

    waiting(test)
