"""A proxy that speaks HTTP/1.1 over TLS on both sides, and strikes requests on their way.

What is armed waits for the first request that it is meant for. It counts as struck when the client
that asked has seen it, never when it was only intended.
"""

import asyncio
import ssl
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import Final, Protocol
from weakref import WeakSet

import h11

from tests.torture.wire import Peer, Request, Vanished, read

_STARTS_WITHIN: Final = 10.0
_NOBODY: Final = (OSError, h11.RemoteProtocolError, asyncio.IncompleteReadError)
_LAST_BREATH: Final = 0.05
"""Seconds in which broken connections are given back to the system."""


class Blow(Protocol):
    """What happens to one request, instead of its being passed on."""

    async def strike(self, exchange: "Exchange") -> str:
        """What the client saw. Raises Vanished when it was not there to see it."""
        ...


@dataclass(frozen=True, slots=True)
class Armed:
    """A blow that waits for a request. `struck` says what the client saw of it."""

    blow: Blow
    meant_for: Callable[[Request], bool]
    struck: "Future[str]" = field(default_factory=Future)


class Exchange:
    """A request of a client, on its way to a server that is dialled for it alone."""

    def __init__(self, proxy: "Proxy", client: Peer, request: Request) -> None:
        self.client = client
        self.request = request
        self._proxy = proxy

    async def ask(self) -> Peer:
        """The server, asked. Raises OSError when nobody listens."""
        server = await self._proxy.dial()
        await server.send(self.request.head)
        if self.request.body:
            await server.send(h11.Data(data=self.request.body))
        await server.send(h11.EndOfMessage())
        return server

    async def forward(self) -> None:
        """Ask, and pass the answer on while it comes."""
        server = await self.ask()
        try:
            await (self._follow(server) if self.request.watches else self._relay(server))
        except _NOBODY as error:
            raise Vanished(str(error)) from error
        finally:
            server.abort()

    async def _follow(self, server: Peer) -> None:
        """A watch that nobody follows any more ends with its client."""
        relay = asyncio.ensure_future(self._relay(server))
        left = asyncio.ensure_future(self.client.closed())
        try:
            await asyncio.wait((relay, left), return_when=asyncio.FIRST_COMPLETED)
            if not relay.done():
                raise Vanished("the client is gone")
            await relay
        finally:
            relay.cancel()
            left.cancel()
            await asyncio.gather(relay, left, return_exceptions=True)

    async def _relay(self, server: Peer) -> None:
        while True:
            event = await server.next()
            if isinstance(event, h11.ConnectionClosed):
                raise Vanished("the server closed the connection")
            await self.client.send(event)
            if isinstance(event, h11.EndOfMessage):
                return

    async def answer(self, status: int, body: bytes, headers: Sequence[tuple[str, str]]) -> None:
        """Answer in the server's place. Raises Vanished when the client is gone."""
        named = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        await self.client.send(h11.Response(status_code=status, headers=[*named, *headers]))
        await self.client.send(h11.Data(data=body))
        await self.client.send(h11.EndOfMessage())
        if self.client.gone:
            raise Vanished("the client is gone")


class Proxy:
    """Listens on 127.0.0.1:`port`, and passes on to the first of `servers` that listens."""

    def __init__(
        self, ports: Sequence[int], listens: ssl.SSLContext, trusts: ssl.SSLContext
    ) -> None:
        """`ports`: its own first, then those of the servers."""
        self.port, *self._servers = ports
        self._listens = listens
        self._trusts = trusts
        self._lock = Lock()
        self._armed: list[Armed] = []
        self._watches: dict[Exchange, float] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name=f"proxy-{self.port}", daemon=True)
        self._peers: WeakSet[Peer] = WeakSet()
        self._tasks: set[asyncio.Task[None] | None] = set()
        """A loop alone does not keep them from being collected."""
        self.requests = 0
        self.begun: Counter[str] = Counter()
        """Watches, by path."""

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def start(self) -> None:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(_STARTS_WITHIN)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(
            self._serve, "127.0.0.1", self.port, ssl=self._listens, backlog=512
        )

    def stop(self) -> None:
        """Break every connection, and end."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(_STARTS_WITHIN)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_STARTS_WITHIN)
        self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for peer in tuple(self._peers):
            peer.abort()
        await asyncio.sleep(_LAST_BREATH)

    def arm(self, armed: Armed) -> None:
        with self._lock:
            self._armed.append(armed)

    def disarm(self, armed: Armed) -> bool:
        """Whether it had not been taken by any request yet."""
        with self._lock:
            found = armed in self._armed
            if found:
                self._armed.remove(armed)
        return found

    def watches(self, lived: float) -> list[Exchange]:
        """Those that have been followed for so many seconds, and still are."""
        since = time.monotonic() - lived
        found = tuple(self._watches.items())
        return [one for one, begun in found if begun < since and not one.client.gone]

    def cut(self, exchange: Exchange) -> None:
        """Break the connection of a watch, in the middle of it."""
        self._loop.call_soon_threadsafe(exchange.client.abort)

    async def dial(self) -> Peer:
        problem: OSError = ConnectionRefusedError("no server")
        for _ in range(len(self._servers)):
            self._servers.append(self._servers.pop(0))
            try:
                streams = await asyncio.open_connection(
                    "127.0.0.1", self._servers[-1], ssl=self._trusts
                )
            except OSError as error:
                problem = error
            else:
                self._peers.add(server := Peer(*streams, h11.CLIENT))
                return server
        raise problem

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._peers.add(client := Peer(reader, writer, h11.SERVER))
        self._tasks.add(task := asyncio.current_task())
        try:
            while request := await read(client):
                self.requests += 1
                await self._pass(Exchange(self, client, request))
                if client.state.our_state is not h11.DONE:
                    break
                client.state.start_next_cycle()
        except (*_NOBODY, Vanished, h11.LocalProtocolError, asyncio.CancelledError):
            client.abort()
        finally:
            client.close()
            self._tasks.discard(task)

    async def _pass(self, exchange: Exchange) -> None:
        armed = self._take(exchange.request)
        if armed is None:
            await self._forward(exchange)
            return
        try:
            saw = await armed.blow.strike(exchange)
        except (*_NOBODY, Vanished) as error:
            armed.struck.set_exception(Vanished(f"{exchange.request}: {error}"))
            raise
        armed.struck.set_result(f"{exchange.request}: {saw}")

    async def _forward(self, exchange: Exchange) -> None:
        if exchange.request.watches:
            self._watches[exchange] = time.monotonic()
            self.begun[exchange.request.path] += 1
        try:
            await exchange.forward()
        finally:
            self._watches.pop(exchange, None)

    def _take(self, request: Request) -> Armed | None:
        with self._lock:
            found = next(self._meant_for(request), None)
            if found:
                self._armed.remove(found)
            return found

    def _meant_for(self, request: Request) -> Iterator[Armed]:
        return (armed for armed in self._armed if armed.meant_for(request))
