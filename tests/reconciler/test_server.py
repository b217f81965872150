"""What is served to probes, and to those who do not wait for it."""

import socket
import struct
from collections.abc import Callable, Iterator
from threading import Event
from threading import enumerate as threads
from urllib.request import urlopen

import pytest

from reconciler.server import Page, Pages, serve

AT_ONCE = struct.pack("ii", 1, 0)
"""SO_LINGER: close() breaks the connection."""


@pytest.fixture
def served() -> Iterator[Callable[[Pages], int]]:
    """Serves pages; the port."""
    servers = []

    def begin(pages: Pages) -> int:
        servers.append(serve("127.0.0.1", 0, pages))
        return int(servers[-1].server_port)

    yield begin
    for server in servers:
        server.shutdown()
        server.server_close()


def hang_up(port: int, path: str, asked: Event) -> None:
    """Ask, and be gone before the answer."""
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: us\r\n\r\n".encode())
        asked.wait(10)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)


def join_requests() -> None:
    for thread in threads():
        if "process_request_thread" in thread.name:
            thread.join(10)


def test_a_probe_that_hangs_up_is_no_news(
    served: Callable[[Pages], int], capfd: pytest.CaptureFixture[str]
) -> None:
    asked, gone = Event(), Event()

    def slow() -> Page:
        asked.set()
        gone.wait(10)
        return Page(b"late" * 100_000)

    port = served({"/healthz": slow})
    hang_up(port, "/healthz", asked)
    gone.set()
    join_requests()
    assert capfd.readouterr().err == ""
    with urlopen(f"http://127.0.0.1:{port}/healthz") as answer:
        assert answer.read(4) == b"late"


def test_what_is_wrong_with_a_page_is_told(
    served: Callable[[Pages], int], capfd: pytest.CaptureFixture[str]
) -> None:
    def broken() -> Page:
        raise ValueError("no such figure")

    port = served({"/metrics": broken})
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: us\r\n\r\n")
        assert client.recv(1) == b""
    join_requests()
    assert "no such figure" in capfd.readouterr().err
