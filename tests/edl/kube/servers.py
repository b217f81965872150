"""A loopback HTTP server that answers what a test tells it to."""

import base64
import json
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Final

import urllib3

from certs.bundle import Bundle
from certs.issue import issue
from certs.subject_names import SubjectNames
from edl.kube.api.client import ApiClient, RetryPolicy
from edl.kube.auth.credentials import ClientConfig
from edl.kube.auth.tls import identify
from edl.writes import Json


@dataclass(frozen=True, slots=True)
class Answer:
    """A body as an API server sends it; text is sent as it is, and bytes as what was packed."""

    status: int
    body: Mapping[str, Any] | str | bytes
    headers: Mapping[str, str] = field(default_factory=dict)


CUT = Answer(0, "")
"""No answer: the connection is closed."""


@dataclass(frozen=True, slots=True)
class Asked:
    method: str
    path: str
    content_type: str | None
    body: str
    headers: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Script:
    """Answers in order; the last one is repeated."""

    answers: list[Answer]
    asked: list[Asked] = field(default_factory=list)

    def next(self) -> Answer:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def status(code: int, message: str, reason: str = "") -> Answer:
    body = {"kind": "Status", "status": "Failure", "code": code, "message": message}
    return Answer(code, body | {"reason": reason})


def _sent(body: Mapping[str, Any] | str | bytes) -> bytes:
    if isinstance(body, bytes):
        return body
    return (body if isinstance(body, str) else json.dumps(body)).encode()


def _certified() -> Bundle:
    names = SubjectNames(("localhost",), ("127.0.0.1",))
    return issue(names, datetime.now(UTC))


_BUNDLE: Final = _certified()
TRUST: Final[Json] = {
    "certificate-authority-data": base64.b64encode(_BUNDLE.authority.certificate).decode()
}
"""The authority of secure servers, as a kubeconfig's cluster names it."""


@contextmanager
def serving(*answers: Answer, secure: bool = False) -> Iterator[tuple[Script, str]]:
    """The script and the server's address; a `secure` server has a certificate of `TRUST`."""
    script = Script(list(answers))

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            text = self.rfile.read(length).decode()
            kind, headers = self.headers.get("Content-Type"), tuple(self.headers.items())
            script.asked.append(Asked(self.command, self.path, kind, text, headers))
            answer = script.next()
            if answer is CUT:
                return
            body = _sent(answer.body)
            if "Date" in answer.headers:
                self.send_response_only(answer.status)
            else:
                self.send_response(answer.status)
            self.send_header("Content-Length", str(len(body)))
            for name, value in answer.headers.items():
                self.send_header(name, value)
            if isinstance(answer.body, bytes):
                self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PATCH = do_DELETE = _answer  # noqa: N815 - http.server's names

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if secure:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        identify(context, _BUNDLE.pair.certificate, _BUNDLE.pair.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield script, f"http{'s' if secure else ''}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def api(
    address: str,
    pauses: list[float] | None = None,
    on_warning: Callable[[str], None] | None = None,
) -> ApiClient:
    """A client of it; `pauses` records the waits instead of waiting."""
    login = ClientConfig(address, "default", urllib3.PoolManager(), lambda: "Bearer secret")
    clock = Clock(pauses if pauses is not None else [])
    waits = RetryPolicy(sleep=clock.sleep, monotonic=clock.monotonic)
    return ApiClient(login, waits, on_warning=on_warning)


class Clock:
    """Time passes by pauses alone."""

    def __init__(self, pauses: list[float]) -> None:
        self._pauses = pauses

    def sleep(self, seconds: float) -> None:
        self._pauses.append(seconds)

    def monotonic(self) -> float:
        return sum(self._pauses)
