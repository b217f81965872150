"""Accepts connections: each is counted, and may be ended, from before its TLS handshake on."""

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from webhook.connection import Connection, House

BACKLOG: Final = 2048
_AT_ONCE: Final = 64
_PAUSE_SECONDS: Final = 0.1
_TICK_SECONDS: Final = 0.02
_NO_CERTIFICATE: Final = ("PEER_DID_NOT_RETURN_A_CERTIFICATE", "CERTIFICATE_VERIFY_FAILED")
"""OpenSSL's names. Any other end of a handshake is noise: port scans, probes by TCP alone."""
_log: Final = logging.getLogger(__name__)


def bound(host: str, port: int) -> socket.socket:
    """A listening socket. Raises OSError where the address cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.create_server((host, port), family=family, backlog=BACKLOG)
    listening.settimeout(0)
    return listening


class Listener:
    """Listens until it is closed. Made on the running loop."""

    def __init__(
        self,
        listening: socket.socket,
        house: House,
        context: Callable[[], ssl.SSLContext] | None,
    ) -> None:
        """`context` is asked for each connection; None for plain HTTP."""
        self._socket = listening
        self._house = house
        self._context = context
        self._loop = asyncio.get_running_loop()
        self._handshakes: set[asyncio.Task[object]] = set()
        self._looking = self._loop.create_task(self._look())
        self._listen()

    @property
    def port(self) -> int:
        found: int = self._socket.getsockname()[1]
        return found

    async def close(self, grace: float) -> None:
        """Take no more connections; end each as soon as what has begun is answered, or then."""
        self._loop.remove_reader(self._socket)
        self._socket.close()
        for handshake in self._handshakes:
            handshake.cancel()
        room, end = self._house.room, self._loop.time() + grace
        while room and self._loop.time() < end:
            for connection in room.everybody():
                connection.retire()
            await asyncio.sleep(_TICK_SECONDS)
        for connection in room.everybody():
            connection.expel()
        self._looking.cancel()
        await asyncio.gather(*self._handshakes, self._looking, return_exceptions=True)

    def _listen(self) -> None:
        if self._socket.fileno() >= 0:
            self._loop.add_reader(self._socket, self._accept)

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                accepted, address = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                # Out of descriptors, most likely: trying again at once would only burn time.
                _log.warning("cannot accept connections for a moment: %s", error)
                self._loop.remove_reader(self._socket)
                self._loop.call_later(_PAUSE_SECONDS, self._listen)
                return
            self._welcome(accepted, address[0])

    def _welcome(self, accepted: socket.socket, client: str) -> None:
        accepted.settimeout(0)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(self._house, client)
        handshake = self._loop.create_task(self._shake(accepted, client, connection))
        connection.welcome(handshake)
        self._handshakes.add(handshake)
        handshake.add_done_callback(self._handshakes.discard)

    async def _shake(self, accepted: socket.socket, client: str, connection: Connection) -> None:
        context = self._context() if self._context else None
        seconds = self._house.limits.handshake if context else None
        try:
            await self._loop.connect_accepted_socket(
                lambda: connection, accepted, ssl=context, ssl_handshake_timeout=seconds
            )
        except OSError as error:  # ssl.SSLError is one; so is a timeout
            if getattr(error, "reason", "") in _NO_CERTIFICATE:
                self._house.rejected(client, f"its certificate: {error}", HTTPStatus.FORBIDDEN)
        finally:
            if not connection.shaken:
                self._house.room.leave(connection)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(self._house.limits.look)
            for connection in self._house.room.everybody():
                connection.check(self._loop.time())
