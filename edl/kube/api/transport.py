"""HTTP requests to one API server: credentials, timeouts, errors."""

import re
import time
import zlib
from collections.abc import Iterator
from http import HTTPStatus
from typing import Final, NamedTuple

import urllib3
from urllib3.exceptions import HTTPError, ProtocolError

from edl import contract
from edl.errors import Unreachable
from edl.kube.api.server_clock import ServerClock
from edl.kube.auth.credentials import ClientConfig

_CONNECT_SECONDS: Final = 5.0
_LEAST_SECONDS: Final = 0.05
_CHUNK: Final = 2**20
_SLOWEST: Final = 2**16
"""Bytes of an answer for which it may take a second longer."""
_JSON: Final = "application/json"
_PATCHES: Final = {
    "PATCH": "application/merge-patch+json",
    "APPLY": "application/apply-patch+yaml",  # JSON is YAML
    "MERGE_BY_KEY": "application/strategic-merge-patch+json",
}
"""Pseudo-methods for the kinds of PATCH, by their content type."""
_GZIP: Final = zlib.MAX_WBITS | 16
UNBOUNDED: Final = 2**62
"""More bytes than any answer has."""
_WARNING: Final = re.compile(r'299 [^ "]+ "((?:[^"\\]|\\.)*)"')
"""A warning in a Warning header, as RFC 7234 writes it; the API server sends code 299 only."""
_ESCAPED: Final = re.compile(r"\\(.)")
_NO_HEADER: Final = (
    "the token of the kubeconfig contains a line break or another character that a header cannot "
    "have: write it on one line, without a final line break"
)
_CONNECTION: Final = re.compile(r"^HTTPS?Connection(Pool)?\([^)]*\): ")


class AnswerTooLong(Unreachable):
    """An answer has more bytes than the request allows; the rest of it was not read."""


class ApiResponse(NamedTuple):
    """An HTTP status and the whole body. `retry_after` is the number of seconds to wait."""

    status: int
    data: bytes
    retry_after: float = 0.0
    warnings: tuple[str, ...] = ()
    """For the user: from admission webhooks and policies, Pod Security, deprecated versions."""


class Transport:
    """Sends requests to one API server. Thread-safe; connections are kept and shared."""

    def __init__(self, login: ClientConfig) -> None:
        self._login = login
        self.server_clock = ServerClock()

    def send(
        self,
        method: str,
        path: str,
        seconds: float,
        body: bytes | None = None,
        longest: int = UNBOUNDED,
    ) -> ApiResponse:
        """The whole answer, of any status, within this many seconds; a long one may take longer.

        Raises Unreachable if there is none, AnswerTooLong if it has more than `longest` bytes.
        """
        try:
            return self._request(method, path, seconds, body, longest)
        except (HTTPError, zlib.error) as error:
            raise self._no_answer(error) from error

    def close(self) -> None:
        """Closes the kept connections."""
        self._login.pool.clear()

    def stream(self, path: str, silence: float) -> urllib3.BaseHTTPResponse:
        """An answer to read as a stream. It may be silent for this many seconds."""
        timeout = urllib3.Timeout(connect=_CONNECT_SECONDS, read=silence)
        try:
            return self._once("GET", path, None, timeout)
        except HTTPError as error:
            raise self._no_answer(error) from error

    def _request(
        self, method: str, path: str, seconds: float, body: bytes | None, longest: int
    ) -> ApiResponse:
        ends = time.monotonic() + seconds
        try:
            return _whole(self._once(method, path, body, _timeout(seconds)), ends, longest)
        except ProtocolError:
            if method != "GET":
                raise
            # The server may have closed a kept connection: a new one is tried once.
            left = _timeout(ends - time.monotonic())
            return _whole(self._once(method, path, body, left), ends, longest)

    def _once(
        self, method: str, path: str, body: bytes | None, timeout: urllib3.Timeout
    ) -> urllib3.BaseHTTPResponse:
        """One request; repeated after a 401, which had no effect, if there are new credentials."""
        token = self._login.authorization()
        response = self._asked(method, path, body, timeout, token)
        if response.status == HTTPStatus.UNAUTHORIZED and self._login.refused(token):
            response.close()
            response = self._asked(method, path, body, timeout, self._login.authorization())
        return response

    def _asked(
        self,
        method: str,
        path: str,
        body: bytes | None,
        timeout: urllib3.Timeout,
        token: str | None,
    ) -> urllib3.BaseHTTPResponse:
        if token and not (token.isascii() and token.isprintable()):
            raise Unreachable(_NO_HEADER)  # urllib3's error would show it
        # As kubectl: compressed, a list of a thousand objects has a tenth of the size.
        headers = urllib3.HTTPHeaderDict(
            {"Accept": _JSON, "Accept-Encoding": "gzip", "User-Agent": contract.MANAGED_BY}
        )
        for name, value in self._login.impersonation:
            headers.add(name, value)
        if body is not None:
            headers["Content-Type"] = _PATCHES.get(method, _JSON)
        if token:
            headers["Authorization"] = token
        sent = self.server_clock.elapsed()
        response = self._login.pool.request(
            "PATCH" if method in _PATCHES else method,
            self._login.server + path,
            body=body,
            headers=headers,
            timeout=timeout,
            preload_content=False,
            retries=False,
        )
        self.server_clock.answered(response.headers.get("Date", ""), sent)
        return response

    def _no_answer(self, error: HTTPError | zlib.error) -> Unreachable:
        return Unreachable(
            f"no answer from the API server {self._login.server}: "
            f"{_CONNECTION.sub('', str(error))}; "
            "check that it is reachable, or select another with --kubeconfig or --context"
        )


def _timeout(seconds: float) -> urllib3.Timeout:
    left = max(seconds, _LEAST_SECONDS)
    return urllib3.Timeout(total=left, connect=min(_CONNECT_SECONDS, left))


def _whole(response: urllib3.BaseHTTPResponse, ends: float, longest: int) -> ApiResponse:
    """The body, unpacked while it is read: a short one may unpack to a thousand times its size.

    urllib3 limits each read of the socket only: a server that sends a byte now and then would keep
    a thread, also if nothing can be unpacked yet.
    """
    packed = response.headers.get("Content-Encoding") == "gzip"
    unpacker = zlib.decompressobj(_GZIP) if packed else None
    parts, size, received = [], 0, 0
    while part := response.read1(_CHUNK, decode_content=False):
        received += len(part)
        parts.append(unpacker.decompress(part, longest - size + 1) if unpacker else part)
        size += len(parts[-1])
        if size > longest:
            response.close()
            raise AnswerTooLong(f"an answer of the API server has more than {longest} bytes")
        if time.monotonic() > ends + received / _SLOWEST:
            response.close()
            raise HTTPError("the answer takes too long")
    if unpacker and not unpacker.eof:
        raise HTTPError("the packed answer has no end")
    later = response.headers.get("Retry-After", "")
    return ApiResponse(
        response.status,
        b"".join(parts),
        float(later) if later.isascii() and later.isdecimal() else 0.0,
        tuple(_warnings(response.headers)),
    )


def _warnings(headers: urllib3.HTTPHeaderDict) -> Iterator[str]:
    for header in headers.getlist("Warning"):
        for quoted in _WARNING.findall(header):
            # Headers are decoded as Latin-1, and Kubernetes writes UTF-8.
            yield _ESCAPED.sub(r"\1", quoted).encode("latin-1", "replace").decode(errors="replace")
