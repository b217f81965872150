"""What is armed is what a client sees: through a real proxy, over TLS, on this machine."""

import datetime as dt
import http.client
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from certs.issue import issue
from certs.subject_names import SubjectNames
from sandbox.layout import free_ports
from tests.torture.proxy import Armed, Blow, Proxy
from tests.torture.proxy_faults import Delay, Refusal, Silence
from tests.torture.wire import Request


class Server(ThreadingHTTPServer):
    """Counts what it is asked. A watch says a line, and then nothing until it is released."""

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.daemon_threads = True
        self.asked: list[str] = []
        self.released = threading.Event()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if "watch=true" in self.path:
            self._watch()
        else:
            self._say(b"here")

    def do_PATCH(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append(body.decode())
        self._say(body)

    def _say(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _watch(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"5\r\nfirst\r\n")
        self.server.released.wait(20)
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_: object) -> None: ...


class Way:
    """A client's connection, the proxy, and the server behind it."""

    def __init__(self, proxy: Proxy, server: Server, trusts: ssl.SSLContext) -> None:
        self.proxy = proxy
        self.server = server
        self._trusts = trusts
        self._connections: list[http.client.HTTPSConnection] = []

    def connect(self) -> http.client.HTTPSConnection:
        made = http.client.HTTPSConnection(
            "127.0.0.1", self.proxy.port, timeout=10, context=self._trusts
        )
        self._connections.append(made)
        return made

    def ask(self, method: str = "GET", path: str = "/", body: str = "") -> http.client.HTTPResponse:
        self.connection = self.connect()
        self.connection.request(method, path, body or None)
        return self.connection.getresponse()

    def close(self) -> None:
        for connection in self._connections:
            connection.close()

    def arm(self, blow: Blow, meant_for: Callable[[Request], bool] = lambda _: True) -> Armed:
        self.proxy.arm(armed := Armed(blow, meant_for))
        return armed


@pytest.fixture
def way(tmp_path: Path) -> Iterator[Way]:
    serves, trusts = contexts(tmp_path)
    port, own = free_ports(2)
    with serving(Server(port), serves) as server:
        proxy = Proxy((own, port), serves, trusts)
        proxy.start()
        made = Way(proxy, server, trusts)
        yield made
        made.close()
        proxy.stop()


def test_what_nothing_is_meant_for_passes_as_it_is(way: Way) -> None:
    assert way.ask().read() == b"here"
    assert way.ask("PATCH", "/jobs", "new").read() == b"new"
    assert way.server.asked == ["/", "new"]


def test_a_connection_is_used_again(way: Way) -> None:
    way.ask().read()
    way.connection.request("GET", "/again")
    assert way.connection.getresponse().read() == b"here"
    assert way.server.asked == ["/", "/again"]


def test_a_refusal_is_what_the_client_sees_and_the_server_is_not_asked(way: Way) -> None:
    armed = way.arm(Refusal(429, retry_after=2))
    answer = way.ask("PATCH", "/jobs", "new")
    assert (answer.status, answer.headers["Retry-After"]) == (429, "2")
    assert json.loads(answer.read())["reason"] == "TooManyRequests"
    assert armed.struck.result(5) == "PATCH /jobs: answered 429"
    assert way.server.asked == []


def test_a_blow_waits_for_the_request_that_it_is_meant_for(way: Way) -> None:
    armed = way.arm(Refusal(500), lambda request: request.method == "PATCH")
    assert way.ask().status == 200
    assert not armed.struck.done()
    assert way.ask("PATCH", "/jobs", "new").status == 500
    assert not way.proxy.disarm(armed)


def test_a_disarmed_fault_strikes_no_request(way: Way) -> None:
    armed = way.arm(Refusal(500))
    assert way.proxy.disarm(armed)
    assert way.ask().status == 200


@pytest.mark.parametrize(("asks", "asked"), [("never", []), ("first", ["new"]), ("late", ["new"])])
def test_silence_breaks_the_connection_and_the_server_is_asked_as_told(
    way: Way, asks: str, asked: list[str]
) -> None:
    armed = way.arm(Silence(0.1, asks))
    with pytest.raises((OSError, http.client.HTTPException)):
        way.ask("PATCH", "/jobs", "new")
    assert armed.struck.result(5).startswith("PATCH /jobs: cut off unanswered")
    assert way.server.asked == asked


def test_a_client_that_gives_up_has_seen_the_silence(way: Way) -> None:
    armed = way.arm(Silence(60.0))
    connection = way.connect()
    connection.request("GET", "/")
    connection.sock.settimeout(1)  # of the answer alone: a handshake may take its time
    with pytest.raises(TimeoutError):
        connection.getresponse()
    connection.close()
    assert armed.struck.result(5).startswith("GET /: gave up unanswered")


def test_a_delay_is_answered_after_all(way: Way) -> None:
    armed = way.arm(Delay(0.2))
    assert way.ask().read() == b"here"
    assert armed.struck.result(5) == "GET /: answered after 0.2 s"


def test_a_watch_is_cut_in_the_middle(way: Way) -> None:
    answer = way.ask(path="/jobs?watch=true")
    assert answer.read(5) == b"first"
    (watch,) = way.proxy.watches(lived=0)
    assert (str(watch.request), way.proxy.begun["/jobs"]) == ("WATCH /jobs", 1)
    way.proxy.cut(watch)
    with pytest.raises((OSError, http.client.HTTPException)):
        answer.read()


def test_a_watch_is_forgotten_after_its_client_closed(way: Way) -> None:
    way.ask(path="/jobs?watch=true").read(5)
    way.connection.close()
    deadline = time.monotonic() + 5
    while way.proxy.watches(lived=0) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert way.proxy.watches(lived=0) == []


def test_a_server_that_is_away_breaks_the_connection(way: Way) -> None:
    way.server.server_close()
    with pytest.raises((OSError, http.client.HTTPException)):
        way.ask()


@contextmanager
def serving(server: Server, context: ssl.SSLContext) -> Iterator[Server]:
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.released.set()
    server.shutdown()
    server.server_close()
    thread.join()


def contexts(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """One who serves on 127.0.0.1, and one who trusts him."""
    bundle = issue(SubjectNames(dns=(), ips=("127.0.0.1",)), dt.datetime.now(dt.UTC))
    (folder / "tls.crt").write_bytes(bundle.pair.certificate)
    (folder / "tls.key").write_bytes(bundle.pair.key)
    serves = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serves.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    return serves, ssl.create_default_context(cadata=bundle.trust.decode())
