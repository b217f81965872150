"""What clients that hold connections cost a review.

`python -m benchmarks.webhook.idle_connections [--seconds 8]`

A process of its own holds 1,000 connections of one kind, from three addresses as three pods would,
and opens each anew that is closed: before the TLS handshake, silent after it, with a head that
never ends (a byte a second), or with a body that does not. Beside them reviews are asked at a
steady pace, 100 a second on kept connections and 10 on fresh ones, as an API server does; `alone`
before and after shows the machine's own noise.
"""

import argparse
import asyncio
import contextlib
import multiprocessing
import socket
import ssl
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, NamedTuple

import uvloop

from benchmarks.report.processor import memory_mib
from benchmarks.webhook.reviews import Server, http, job, percentile, review, webhook

HELD: Final = 1_000
HOLDERS: Final = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
KEPT: Final = 4
KEPT_RATE: Final = 100
FRESH_RATE: Final = 10
SETTLE_SECONDS: Final = 6.0
LIMIT_MS: Final = 50.0
ROW: Final = "{:<26}{:>8}{:>9}{:>9}{:>11}{:>11}{:>6}{:>7}"
QUESTION: Final = http("POST", "/mutate", review(job(framework="tensorflow", min="1", max="8")))
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Measured(NamedTuple):
    """Sorted latencies in seconds, and the number of reviews on new connections that failed."""

    kept: list[float]
    fresh: list[float]
    lost: int


def tls(trust: bytes) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=trust.decode())


async def opened(server: Server, context: ssl.SSLContext, source: str = "127.0.0.1") -> Streams:
    return await asyncio.open_connection(
        "127.0.0.1", server.port, ssl=context, server_hostname="localhost", local_addr=(source, 0)
    )


async def ask(streams: Streams) -> None:
    reader, writer = streams
    writer.write(QUESTION)
    head = await reader.readuntil(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise SystemExit(f"the webhook answered {head!r}")
    _, _, rest = head.partition(b"content-length: ")
    await reader.readexactly(int(rest.partition(b"\r\n")[0]))


async def paced(rate: float, seconds: float, one: Callable[[], Awaitable[None]]) -> list[float]:
    """The latencies of calls that start at fixed times, no matter how long earlier calls take."""
    loop, found = asyncio.get_running_loop(), []

    async def timed(at: float) -> None:
        await one()
        found.append(loop.time() - at)

    begun, tasks = loop.time(), []
    for number in range(int(rate * seconds)):
        at = begun + number / rate
        await asyncio.sleep(max(0.0, at - loop.time()))
        tasks.append(loop.create_task(timed(at)))
    await asyncio.gather(*tasks)
    return sorted(found)


async def measure(server: Server, seconds: float) -> Measured:
    context = tls(server.trust)
    kept: asyncio.Queue[Streams] = asyncio.Queue()
    for _ in range(KEPT):
        kept.put_nowait(await opened(server, context))

    async def on_kept() -> None:
        streams = await kept.get()
        await ask(streams)
        kept.put_nowait(streams)

    lost: list[Exception] = []

    async def on_fresh() -> None:
        try:
            streams = await opened(server, context)
            await ask(streams)
        except (OSError, EOFError) as error:
            lost.append(error)
        else:
            streams[1].transport.abort()

    found = await asyncio.gather(
        paced(KEPT_RATE, seconds, on_kept), paced(FRESH_RATE, seconds, on_fresh)
    )
    while not kept.empty():
        kept.get_nowait()[1].transport.abort()
    return Measured(*found, len(lost))


async def before_handshake(server: Server, _: ssl.SSLContext, source: str) -> None:
    loop = asyncio.get_running_loop()
    with socket.socket() as plain:
        plain.settimeout(0)
        plain.bind((source, 0))
        await loop.sock_connect(plain, ("127.0.0.1", server.port))
        await loop.sock_recv(plain, 1)


async def silent(server: Server, context: ssl.SSLContext, source: str) -> None:
    reader, _ = await opened(server, context, source)
    await reader.read()


async def dribbling(server: Server, context: ssl.SSLContext, source: str) -> None:
    reader, writer = await opened(server, context, source)
    writer.write(b"POST /mutate HTTP/1.1\r\nx: ")
    while not reader.at_eof():
        writer.write(b"x")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(reader.read(1_000), 1.0)


async def half_a_body(server: Server, context: ssl.SSLContext, source: str) -> None:
    reader, writer = await opened(server, context, source)
    writer.write(QUESTION[:-1])
    await reader.read()


KINDS: Final[dict[str, Callable[[Server, ssl.SSLContext, str], Awaitable[None]]]] = {
    "before the handshake": before_handshake,
    "silent after it": silent,
    "a head that never ends": dribbling,
    "a body that never ends": half_a_body,
}


def hold(kind: str, server: Server) -> None:
    """Hold the connections, in a process of its own, until it is terminated."""

    async def again_and_again(context: ssl.SSLContext, source: str) -> None:
        while True:
            with contextlib.suppress(OSError, EOFError):
                await KINDS[kind](server, context, source)
            await asyncio.sleep(0.05)

    async def all_of_them() -> None:
        context = tls(server.trust)
        sources = [HOLDERS[number % len(HOLDERS)] for number in range(HELD)]
        await asyncio.gather(*(again_and_again(context, source) for source in sources))

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
        loop.run(all_of_them())


def connections(pid: int) -> int:
    """The number of sockets that a process has open."""
    found = 0
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            found += str(file.readlink()).startswith("socket:")
    return found


def show(name: str, measured: Measured, server: Server, open_sockets: int) -> None:
    row = ROW.format(
        name,
        open_sockets,
        *(f"{percentile(measured.kept, share):.1f}" for share in (0.5, 0.99)),
        *(f"{percentile(measured.fresh, share):.1f}" for share in (0.5, 0.99)),
        measured.lost,
        f"{memory_mib(process=server.pid):.0f}",
    )
    print(row, flush=True)


def alone(server: Server, loop: asyncio.Runner, seconds: float) -> Measured:
    measured = loop.run(measure(server, seconds))
    show("alone", measured, server, connections(server.pid))
    return measured


def beside(kind: str, server: Server, loop: asyncio.Runner, seconds: float) -> Measured:
    holder = multiprocessing.get_context("spawn").Process(target=hold, args=(kind, server))
    holder.start()
    try:
        time.sleep(SETTLE_SECONDS)
        sockets = connections(server.pid)
        measured = loop.run(measure(server, seconds))
    finally:
        holder.terminate()
        holder.join()
    show(kind, measured, server, sockets)
    time.sleep(1)
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0, help="for each line")
    parser.add_argument("--port", type=int, default=18_444)
    given = parser.parse_args()
    print(
        f"{HELD} connections held by three clients; milliseconds of a review on a kept connection"
    )
    print("and on a fresh one, its handshake included")
    print(ROW.format("", "sockets", "p50", "p99", "fresh p50", "fresh p99", "lost", "MiB"))
    with webhook(given.port) as server, asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
        before = alone(server, loop, given.seconds)
        found = {kind: beside(kind, server, loop, given.seconds) for kind in KINDS}
        alone(server, loop, given.seconds)
    usual = percentile(before.kept, 0.99)
    worst = max(percentile(measured.kept, 0.99) - usual for measured in found.values())
    print(f"the p99 of a review grows by at most {worst:.1f} ms (limit: {LIMIT_MS:.0f} ms)")


if __name__ == "__main__":
    main()
