"""Sockets that notice when their peer is gone."""

import socket
from typing import Final

from urllib3.connection import HTTPConnection

_SECONDS: Final = 30
_PROBES: Final = 3
_OPTIONS: Final = (
    ("TCP_KEEPIDLE", _SECONDS),
    ("TCP_KEEPALIVE", _SECONDS),  # the same on macOS
    ("TCP_KEEPINTVL", _SECONDS),
    ("TCP_KEEPCNT", _PROBES),
)


def keep_alive() -> list[tuple[int, int, int | bytes]]:
    """TCP keep-alive, where the system has it: a watch may be silent for minutes."""
    options = [
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in _OPTIONS
        if hasattr(socket, name)
    ]
    return [
        *HTTPConnection.default_socket_options,
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        *options,
    ]
