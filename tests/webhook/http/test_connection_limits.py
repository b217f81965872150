"""What one client may take from the others. Who is over a limit is told so, and let go."""

import asyncio
import gc
import socket
import ssl
import struct
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from itertools import pairwise, product
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, cast
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from certs import certificate_directory as files_in
from certs.bundle import CERTIFICATE, KEY, Bundle
from certs.issue import issue
from certs.subject_names import local_names, service_names
from tests.webhook import listeners, reviews, wire
from tests.webhook.listeners import OpenListener, Streams
from webhook.http.connection_limits import ConnectionLimits
from webhook.http.deferred_calls import MAY_WAIT
from webhook.http.listener import AT_ONCE

if TYPE_CHECKING:
    from asyncio import Transport

SOON = ConnectionLimits(look=0.02, each=1_100)
QUESTION = wire.request("POST", "/mutate", reviews.review(reviews.job()))


async def said(streams: Streams) -> tuple[int, str]:
    """Everything until the server hangs up: the status, and the last line."""
    text = (await asyncio.wait_for(streams[0].read(), wire.SECONDS)).decode()
    return int(text.split(" ")[1]), text.splitlines()[-1]


async def is_answered(streams: Streams) -> bool:
    streams[1].write(QUESTION)
    head = await asyncio.wait_for(streams[0].readuntil(b"\r\n\r\n"), wire.SECONDS)
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    body = await streams[0].readexactly(length)
    return head.startswith(b"HTTP/1.1 200") and bool(reviews.response(body)["allowed"])


async def hangs_up(streams: Streams) -> bool:
    return await asyncio.wait_for(streams[0].read(), wire.SECONDS) == b""


def patient(**limits: float) -> ConnectionLimits:
    return ConnectionLimits(look=0.02, **limits)  # type: ignore[arg-type]


def test_a_head_that_does_not_end_is_told_so() -> None:
    async def test() -> None:
        async with listeners.opened(patient(head=0.1)) as listener:
            streams = await listener.connect()
            streams[1].write(b"POST /mutate HTTP/1.1\r\nx: y")
            line = "the head of the request did not end within 0.1 s"
            assert await said(streams) == (408, line)
            assert listener.refused == [(408, line)]

    listeners.run(test)


def test_of_many_that_are_over_their_time_a_few_end_in_a_turn_of_the_loop() -> None:
    async def test() -> None:
        async with listeners.opened(patient(head=0.1)) as listener:
            held = [await listener.connect() for _ in range(5 * AT_ONCE)]
            for _, writer in held:
                writer.write(b"POST /mutate HTTP/1.1\r\nx: y")
            told = [0]
            async with asyncio.timeout(wire.SECONDS):
                while told[-1] < len(held):
                    await asyncio.sleep(0)
                    told.append(len(listener.refused))
            assert max(after - before for before, after in pairwise(told)) <= AT_ONCE
            assert {(await said(streams))[0] for streams in held} == {408}

    listeners.run(test)


def test_dribbling_gains_no_time() -> None:
    async def test() -> None:
        async with listeners.opened(patient(head=0.2)) as listener:
            reader, writer = await listener.connect()
            writer.write(b"POST /mutate HTTP/1.1\r\nx: ")
            answer = asyncio.create_task(reader.readuntil(b"\n"))
            while not answer.done():
                writer.write(b"y")
                await asyncio.sleep(0.01)
            assert (await answer).startswith(b"HTTP/1.1 408 ")

    listeners.run(test)


def test_the_second_request_of_a_connection_is_held_to_its_time_too() -> None:
    async def test() -> None:
        async with listeners.opened(patient(head=0.1)) as listener:
            streams = await listener.connect()
            assert await is_answered(streams)
            await asyncio.sleep(0.2)  # silence between requests is no head
            streams[1].write(b"POST")
            assert (await said(streams))[0] == 408

    listeners.run(test)


def test_an_idle_connection_without_a_request_is_closed_silently() -> None:
    async def test() -> None:
        async with listeners.opened(patient(idle=0.1)) as listener:
            assert await hangs_up(await listener.connect())
            assert listener.refused == []
            assert len(listener.table) == 0

    listeners.run(test)


def test_an_idle_connection_with_a_request_is_closed_later() -> None:
    async def test() -> None:
        async with listeners.opened(patient(idle=0.1)) as listener:
            streams = await listener.connect()
            assert await is_answered(streams)
            assert await hangs_up(streams)

    listeners.run(test)


@pytest.mark.parametrize(
    "head",
    [
        b"x: " + b"y" * 2_000 + b"\r\n\r\n",
        b"x: " + b"y" * 2_000,  # and it goes on
    ],
)
def test_a_head_that_is_too_large_is_told_so(head: bytes) -> None:
    async def test() -> None:
        async with listeners.opened(patient(head_bytes=1_000)) as listener:
            streams = await listener.connect()
            streams[1].write(b"GET /healthz HTTP/1.1\r\n" + head)
            line = "the head of the request is larger than 1000 bytes"
            assert await said(streams) == (431, line)
            assert listener.refused == [(431, line)]

    listeners.run(test)


def test_a_path_that_is_too_long_is_told_so() -> None:
    async def test() -> None:
        async with listeners.opened(patient(head_bytes=1_000)) as listener:
            streams = await listener.connect()
            streams[1].write(b"GET /" + b"a" * 2_000 + b" HTTP/1.1\r\n\r\n")
            assert (await said(streams))[0] == 431

    listeners.run(test)


@pytest.mark.parametrize(
    "header", ["transfer-encoding: chunked", "connection: upgrade\r\nupgrade: h2c"]
)
def test_what_follows_a_head_without_a_length_is_not_parsed(header: str) -> None:
    """A parser keeps the extensions and trailers of chunks whole, in quadratic time."""

    async def test() -> None:
        async with listeners.opened(patient(body=wire.SECONDS * 2)) as listener:
            streams = await listener.connect()
            head = f"POST /mutate HTTP/1.1\r\n{header}\r\n\r\n"
            streams[1].write(head.encode() + b"2\r\n{}\r\n0\r\nx: ")
            await streams[1].drain()
            streams[1].write(b"y" * 1_000_000)
            line = "Transfer-Encoding and Upgrade are not supported: send a Content-Length"
            assert await said(streams) == (400, line)
            assert listener.refused == [(400, line)]

    listeners.run(test)


def test_a_large_body_does_not_count_as_a_large_head() -> None:
    async def test() -> None:
        async with listeners.opened(patient(head_bytes=1_000)) as listener:
            assert await is_answered(await listener.connect())
            streams = await listener.connect()
            body = reviews.review(reviews.job()) + b" " * 100_000
            streams[1].write(wire.request("POST", "/mutate", body))
            head = await streams[0].readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200")

    listeners.run(test)


@pytest.mark.parametrize(
    "sent",
    [
        b"\0" * 50,
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\n\n",
        b"CONNECT a:1 HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
    ],
)
def test_a_malformed_request_is_answered_once(sent: bytes) -> None:
    async def test() -> None:
        async with listeners.opened(SOON) as listener:
            streams = await listener.connect()
            streams[1].write(sent + sent)
            assert await said(streams) == (400, "Invalid HTTP request received.")
            assert listener.refused == [(400, "this is not an HTTP/1.1 request")]

    listeners.run(test)


def test_of_requests_in_one_piece_the_first_is_answered_and_the_others_asked_again() -> None:
    async def test() -> None:
        async with listeners.opened(SOON) as listener:
            streams = await listener.connect()
            streams[1].write(QUESTION * 3)
            text = await asyncio.wait_for(streams[0].read(), wire.SECONDS)
            assert text.count(b"HTTP/1.1 200") == 1
            assert b"\r\nconnection: close\r\n" in text

    listeners.run(test)


def test_a_body_that_does_not_end_is_told_so() -> None:
    async def test() -> None:
        async with listeners.opened(patient(body=0.1)) as listener:
            streams = await listener.connect()
            streams[1].write(QUESTION[:-1])
            assert await said(streams) == (408, "the body did not end within 0.1 s")

    listeners.run(test)


def test_a_client_that_does_not_take_its_answer_is_let_go() -> None:
    async def test() -> None:
        async with listeners.opened(patient(answer=0.2), app=large) as listener:
            reader, writer = await listener.connect()
            transport = cast("Transport", writer.transport)
            transport.pause_reading()
            writer.write(QUESTION)
            await until_connections_are(listener, 1)
            await until_connections_are(listener, 0)
            transport.resume_reading()
            assert len(await reader.read()) < len(_LARGE)

    listeners.run(test)


_LARGE = b"x" * 20_000_000


def large(_: WSGIEnvironment, start: StartResponse) -> list[bytes]:
    start("200 OK", [])
    return [_LARGE]


def test_when_it_is_full_the_connection_that_is_silent_longest_ends() -> None:
    async def test() -> None:
        async with listeners.opened(patient(connections=5)) as listener:
            silent = [await listener.connect() for _ in range(4)]
            await until_connections_are(listener, 4)
            first = await listener.connect()
            assert await is_answered(first)
            newer = [await listener.connect() for _ in range(4)]
            for one in silent:
                assert await hangs_up(one)
            assert await is_answered(first)
            assert await is_answered(newer[-1])

    listeners.run(test)


def test_a_connection_that_waits_for_its_answer_is_not_the_one_that_ends() -> None:
    begun, may_answer = Event(), Event()

    def slow(environ: WSGIEnvironment, start: StartResponse) -> list[bytes]:
        if MAY_WAIT in environ:
            begun.set()
            may_answer.wait(wire.SECONDS)
        environ[MAY_WAIT] = True
        start("200 OK", [])
        return [b"done"]

    async def has_begun() -> bool:
        return begun.is_set()

    async def test() -> None:
        async with listeners.opened(patient(connections=3), app=slow) as listener:
            reader, writer = await listener.connect()
            writer.write(QUESTION)
            await wire.until(has_begun)
            silent = [await listener.connect() for _ in range(3)]
            assert await hangs_up(silent[0])
            may_answer.set()
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), wire.SECONDS)
            assert head.startswith(b"HTTP/1.1 200")

    listeners.run(test)


@pytest.mark.parametrize("sent", [QUESTION, QUESTION[:-1], QUESTION[:9], QUESTION * 2])
def test_connections_may_end_at_any_moment(sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """After each turn of the loop that serves them: their client leaves, or they are ended."""

    async def test() -> None:
        async with listeners.opened(SOON) as listener:
            for turns in range(30):
                clients = [await listener.connect() for _ in range(2)]
                await until_connections_are(listener, 2)
                for _, writer in clients:
                    writer.write(sent)
                for _ in range(turns):
                    await asyncio.sleep(0)
                clients[0][1].transport.abort()
                for connection in listener.table.connections():
                    listener.table.leave(connection)
                    connection.expel()
                await until_connections_are(listener, 0)
            assert await is_answered(await listener.connect())

    listeners.run(test)
    assert caplog.records == []


def test_connections_that_ended_leave_nothing_behind(
    serving: ssl.SSLContext, bundle: Bundle
) -> None:
    """At once: neither a collection of circles nor a timer frees what they held."""

    def held() -> int:
        return sum(isinstance(one, HttpToolsProtocol) for one in gc.get_objects())

    async def are_freed() -> bool:
        return held() == 0

    async def test() -> None:
        async with listeners.opened(SOON, serving) as listener:
            trusting = ssl.create_default_context(cadata=bundle.trust.decode())
            streams = [await listener.connect(trusting) for _ in range(3)]
            for each in streams:
                assert await is_answered(each)
            assert held() == 3
            resetting = struct.pack("ii", 1, 0)
            for _, writer in streams:
                plain = writer.get_extra_info("socket")
                plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, resetting)
                writer.transport.abort()
            await wire.until(are_freed)

    gc.collect()
    gc.disable()
    try:
        listeners.run(test)
    finally:
        gc.enable()


async def until_connections_are(listener: OpenListener, count: int) -> None:
    async def has() -> bool:
        return len(listener.table) == count

    await wire.until(has)


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return issue(local_names(service_names("edl-webhook", "edl-system")), datetime.now(UTC))


@pytest.fixture(scope="module")
def serving(bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    folder: Path = tmp_path_factory.mktemp("pair")
    files_in.write(folder, {CERTIFICATE: bundle.pair.certificate, KEY: bundle.pair.key})
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / CERTIFICATE, folder / KEY)
    return context


def deferring(environ: WSGIEnvironment, start: StartResponse) -> list[bytes]:
    """Is called again on a thread for the path /later, and answers all else at once."""
    if environ["PATH_INFO"] == "/later":
        environ[MAY_WAIT] = True
    start("200 OK", [])
    return [b"done"]


def test_deferred_and_immediate_answers_arrive_over_tls(
    serving: ssl.SSLContext, bundle: Bundle
) -> None:
    """In every order: the loop reports an empty buffer as full where the limit is 0 bytes."""
    asked = [wire.request("POST", path, b"{}") for path in ("/now", "/later")]

    async def test() -> None:
        async with listeners.opened(SOON, serving, app=deferring) as listener:
            trusting = ssl.create_default_context(cadata=bundle.trust.decode())
            for order in product(asked, repeat=4):
                reader, writer = await listener.connect(trusting)
                for request in order:
                    writer.write(request)
                    answer = await asyncio.wait_for(reader.readuntil(b"done"), wire.SECONDS)
                    assert answer.startswith(b"HTTP/1.1 200 OK")

    listeners.run(test)


def test_a_connection_without_a_handshake_is_closed(
    serving: ssl.SSLContext, bundle: Bundle
) -> None:
    async def test() -> None:
        async with listeners.opened(patient(handshake=1), serving) as listener:
            mute = await listener.connect()
            half = await listener.connect()
            half[1].write(b"\x16\x03\x01")  # a record's beginning
            assert await hangs_up(mute)
            assert await hangs_up(half)
            await until_connections_are(listener, 0)
            trusting = ssl.create_default_context(cadata=bundle.trust.decode())
            assert await is_answered(await listener.connect(trusting))

    listeners.run(test)


def test_before_the_handshake_one_makes_room_as_well(
    serving: ssl.SSLContext, bundle: Bundle
) -> None:
    async def test() -> None:
        async with listeners.opened(patient(connections=3), serving) as listener:
            mute = [await listener.connect() for _ in range(10)]
            for one in mute[:7]:
                assert await hangs_up(one)
            trusting = ssl.create_default_context(cadata=bundle.trust.decode())
            assert await is_answered(await listener.connect(trusting))
            assert len(listener.table) <= 3

    listeners.run(test)


@pytest.mark.slow
def test_a_thousand_connections_without_a_handshake_stall_no_review(
    serving: ssl.SSLContext, bundle: Bundle
) -> None:
    async def test() -> None:
        async with listeners.opened(SOON, serving) as listener:
            mute = [await listener.connect() for _ in range(1_000)]
            trusting = ssl.create_default_context(cadata=bundle.trust.decode())
            for _ in range(10):
                assert await is_answered(await listener.connect(trusting))
            assert not any(reader.at_eof() for reader, _ in mute)

    listeners.run(test)


@pytest.mark.laws
def test_a_thousand_silent_connections_stall_no_review(tmp_path: Path) -> None:
    async def test(served: wire.Process) -> None:
        async with AsyncExitStack() as silent:
            connections = [served.connection(source=f"127.0.0.{2 + n % 3}") for n in range(1_000)]
            for some in range(0, 1_000, 50):
                entered = map(silent.enter_async_context, connections[some : some + 50])
                await asyncio.gather(*entered)
            for number in range(20):
                async with served.connection() as connection:
                    answered = await connection.ask("POST", "/mutate", body(number))
                assert reviews.response(answered.body)["uid"] == str(number)
            assert not any(one.reader.at_eof() for one in connections)

    with wire.webhook(tmp_path) as served:
        asyncio.run(test(served))


def body(number: int) -> bytes:
    return reviews.review(reviews.job(framework="none"), uid=str(number))
