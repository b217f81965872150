"""What is served to probes, and to those who do not wait for it."""

import socket
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Semaphore
from threading import enumerate as threads
from urllib.request import urlopen

import pytest

from reconciler.probes import CONNECTIONS, Page, Pages, Scrape, serve

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


def test_a_probe_that_hangs_up_is_not_logged(
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


def test_connections_that_say_nothing_neither_pile_up_nor_keep_a_probe_away(
    served: Callable[[Pages], int],
) -> None:
    port = served({"/healthz": lambda: Page(b"ok")})
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(4 * CONNECTIONS)]
    try:
        for _ in range(3):
            with urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
                assert answer.read() == b"ok"
        serving = [thread for thread in threads() if "process_request_thread" in thread.name]
        assert len(serving) <= CONNECTIONS
    finally:
        for client in silent:
            client.close()


def test_a_page_that_takes_its_time_is_given_to_no_more_clients_at_once_than_there_are_places(
    served: Callable[[Pages], int],
) -> None:
    gone, busy = Event(), Semaphore(0)

    def slow() -> Page:
        busy.release()
        gone.wait(10)
        return Page(b"late")

    port = served({"/healthz": slow})
    asked = [socket.create_connection(("127.0.0.1", port)) for _ in range(2 * CONNECTIONS)]
    try:
        for client in asked:
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: us\r\n\r\n")
        for _ in range(CONNECTIONS):
            assert busy.acquire(timeout=10)
        assert not busy.acquire(timeout=0.2)
    finally:
        gone.set()
        for client in asked:
            client.close()


def test_metrics_are_gathered_once_a_second_for_however_many_ask() -> None:
    now = 0.0
    made: list[bytes] = []

    def make() -> Page:
        made.append(b"%d" % len(made))
        return Page(made[-1])

    scrape = Scrape(make, lambda: now)
    with ThreadPoolExecutor(16) as clients:
        assert {page.body for page in clients.map(lambda _: scrape(), range(100))} == {b"0"}
    now = 0.9
    assert scrape().body == b"0"
    now = 1.0
    assert scrape().body == b"1"


def test_a_scrape_that_failed_is_tried_again() -> None:
    pages = [Page(b"good")]

    def make() -> Page:
        if pages:
            return pages.pop()
        raise ValueError("no such figure")

    times = iter([0.0, 2.0, 2.0])
    scrape = Scrape(make, lambda: next(times))
    assert scrape().body == b"good"
    for _ in range(2):
        with pytest.raises(ValueError, match="no such figure"):
            scrape()


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
@pytest.mark.parametrize("address", ["127.0.0.1", "[::1]"])
def test_the_address_of_all_answers_probes_of_both_families(address: str) -> None:
    server = serve("::", 0, {"/healthz": lambda: Page(b"ok\n")})
    try:
        with urlopen(f"http://{address}:{server.server_port}/healthz") as answer:
            assert answer.read() == b"ok\n"
    finally:
        server.shutdown()
        server.server_close()
