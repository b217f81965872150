"""Limits per client: time, bytes and connections."""

from typing import Final

import msgspec

LIMIT: Final = 7 * 1024 * 1024
"""Bytes of a body: the API server's own limit for an object is 3 MiB, and an update carries two."""
KEEP_ALIVE_SECONDS: Final = 120.0
"""More than the 90 s after which Go's client drops an idle connection: the client closes first."""


class ConnectionLimits(msgspec.Struct, frozen=True):
    """Limits of one listener, in seconds, bytes and counts.

    An API server needs milliseconds where these limits allow seconds, and a dozen connections.
    """

    connections: int = 1_100
    """Open connections, about 120 KiB each. One more closes a connection of the client with the
    most."""
    each: int = 500
    """Open connections per client; an API server under full load has fewer."""
    handshake: float = 10.0
    head: float = 10.0
    """From the first byte of a request to the end of its headers."""
    body: float = 30.0
    """From the end of the headers to the end of the body: the API server gives up much earlier."""
    body_bytes: int = LIMIT
    idle: float = KEEP_ALIVE_SECONDS
    answer: float = 60.0
    """From the end of the request until the client has read the answer."""
    head_bytes: int = 32 * 1024
    look: float = 0.5
    """Seconds between two checks for connections past their timeout."""
