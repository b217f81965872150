"""Ways to see that a fault struck."""

import http.client
import socket
import ssl
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Final

from tests.torture.scene import Scene

_TICK: Final = 0.05
_ANSWERS_WITHIN: Final = 1.0


class Unproven(Exception):
    """Nobody noticed the fault: it does not count."""


def until(holds: Callable[[], bool], within: float, what: str) -> None:
    """Wait for it. Raises Unproven."""
    deadline = time.monotonic() + within
    while not holds():
        if time.monotonic() > deadline:
            raise Unproven(f"not within {within:.0f} s: {what}")
        time.sleep(_TICK)


def listens(port: int) -> bool:
    """Whether anybody takes a connection."""
    with socket.socket() as probe:
        probe.settimeout(_ANSWERS_WITHIN)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def shakes_hands(port: int) -> bool:
    """Whether a TLS server answers: a process that is stopped does not, though its port is open."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with socket.create_connection(("127.0.0.1", port), _ANSWERS_WITHIN) as plain:
            context.wrap_socket(plain).close()
    except OSError:
        return False
    return True


def is_stopped(pid: int) -> bool:
    """Whether the kernel says so (proc(5))."""
    stat = Path(f"/proc/{pid}/stat").read_text()
    return stat.rpartition(")")[2].split()[0] == "T"


def clock_of(scene: Scene, name: str) -> float | None:
    """How far a process's wall clock is ahead, in seconds, as it dates its answers, if it does."""
    connection = _connection(scene, name)
    try:
        connection.request("GET", "/healthz")
        dated = connection.getresponse().getheader("Date")
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    return parsedate_to_datetime(dated).timestamp() - time.time() if dated else None


def answers(scene: Scene, name: str) -> bool:
    return clock_of(scene, name) is not None


def _connection(scene: Scene, name: str) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", scene.ports[name], timeout=_ANSWERS_WITHIN)
