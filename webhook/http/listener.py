"""Accepts connections: each is counted before its TLS handshake, which has a timeout.

With uvicorn's own TLS a client is unknown until its handshake ends, which may take 60 s. So uvicorn
accepts plain TCP, and TLS starts on that socket through asyncio's public interface.
"""

import asyncio
import logging
import ssl
from functools import partial
from http import HTTPStatus
from socket import socket
from typing import Any, Final, cast

import uvicorn

from edl.kube.listening_socket import client_address
from webhook.http.connection import Endpoint, LimitedConnection
from webhook.http.wsgi_bridge import WsgiBridge

_GRACE_SECONDS: Final = 15
"""Seconds for pending requests at shutdown, unless their connections are closed earlier."""
AT_ONCE: Final = 4
"""Connections past their timeout that are closed before other connections are served again."""
_BREATH_SECONDS: Final = 0.02
"""So 200 are closed per second, and that many clients may reconnect: handshakes cost most."""
_log: Final = logging.getLogger(__name__)
_NO_CERTIFICATE: Final = ("PEER_DID_NOT_RETURN_A_CERTIFICATE", "CERTIFICATE_VERIFY_FAILED")
"""OpenSSL's reasons worth logging. Other failed handshakes are port scans or TCP probes."""


def server_of(endpoint: Endpoint) -> uvicorn.Server:
    config = uvicorn.Config(
        WsgiBridge(endpoint),
        http=cast("type[asyncio.Protocol]", partial(AcceptedConnection, endpoint)),
        ws="none",
        lifespan="off",
        interface="asgi3",
        proxy_headers=False,
        server_header=False,
        access_log=False,
        log_config=None,
        log_level="error",  # clients choose how many warnings there are: ours are rate-limited
        timeout_keep_alive=int(endpoint.limits.idle) + 1,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    return uvicorn.Server(config)


class AcceptedConnection(asyncio.Protocol):
    """An accepted TCP connection, whose socket is passed on to a `LimitedConnection` at once."""

    def __init__(self, endpoint: Endpoint, **of_uvicorn: Any) -> None:  # noqa: ANN401
        self._endpoint = endpoint
        self._of_uvicorn = of_uvicorn

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        accepted, context = cast("asyncio.Transport", transport), self._endpoint.context
        address = accepted.get_extra_info("peername")
        try:
            # The loop continues to read after this method returns, so `start_tls` would be too
            # late.
            plain = accepted.get_extra_info("socket").dup() if context and address else None
        except OSError as error:  # out of file descriptors
            _log.warning("cannot accept a connection: %s", error)
            address = None
        if address is None:  # the client has left, or there is no descriptor for it
            accepted.abort()
            return
        connection = LimitedConnection(self._endpoint, client_address(address[0]), self._of_uvicorn)
        if plain is None:
            accepted.set_protocol(connection)
            connection.connection_made(accepted)
        else:
            accepted.abort()
            shaking = _shake(self._endpoint, plain, connection)
            connection.handshake = asyncio.get_running_loop().create_task(shaking)


async def _shake(endpoint: Endpoint, accepted: socket, connection: LimitedConnection) -> None:
    try:
        await asyncio.get_running_loop().connect_accepted_socket(
            lambda: connection, accepted, ssl=endpoint.context
        )
    except ssl.SSLError as error:
        if error.reason in _NO_CERTIFICATE:
            what = f"its certificate: {error}"
            endpoint.rejected(connection.client, what, HTTPStatus.FORBIDDEN)
    except OSError:
        pass  # the client has left
    finally:
        if connection.transport is None:
            endpoint.table.leave(connection)


async def watch(endpoint: Endpoint) -> None:
    """Closes connections past their timeout periodically, a few at a time.

    If a thousand were opened together, each is closed with an answer over TLS, and its client
    reconnects: reviews are answered in between.
    """
    loop, ended = asyncio.get_running_loop(), 0
    while True:
        await asyncio.sleep(endpoint.limits.look)
        for connection in endpoint.table.connections():
            ended += connection.check(loop.time())
            if ended >= AT_ONCE:
                ended = 0
                await asyncio.sleep(_BREATH_SECONDS)
