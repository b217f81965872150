"""HTTP requests to one API server: credentials, timeouts, errors."""

import re
import time
import zlib
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final, NamedTuple

import urllib3
from urllib3.exceptions import HTTPError, ProtocolError

from edl import contract
from edl.errors import Unreachable
from edl.kube.auth.credentials import ClientConfig

_CONNECT_SECONDS: Final = 5.0
_LEAST_SECONDS: Final = 0.05
_JSON: Final = "application/json"
_PATCHES: Final = {
    "PATCH": "application/merge-patch+json",
    "APPLY": "application/apply-patch+yaml",  # JSON is YAML
}
"""Ways to patch; HTTP knows them by their content."""
_HALF_A_SECOND: Final = timedelta(seconds=0.5)
_GZIP: Final = zlib.MAX_WBITS | 16
_CONNECTION: Final = re.compile(r"^HTTPS?Connection(Pool)?\([^)]*\): ")


class ApiResponse(NamedTuple):
    """An HTTP status, and the whole body. `retry_after`: seconds to wait before asking again."""

    status: int
    data: bytes
    retry_after: float = 0.0


class Transport:
    """Thread-safe; connections are kept and shared."""

    def __init__(self, login: ClientConfig) -> None:
        self._login = login
        self.clock_ahead = timedelta()
        """How far the server's clock was ahead of this machine's at the last answer."""

    def send(
        self, method: str, path: str, seconds: float, body: bytes | None = None
    ) -> ApiResponse:
        """The whole answer, of any status, if it begins within this many seconds.

        Raises Unreachable when there is none.
        """
        try:
            return self._request(method, path, seconds, body)
        except (HTTPError, zlib.error) as error:
            raise self._no_answer(error) from error

    def close(self) -> None:
        """Drop the kept connections."""
        self._login.pool.clear()

    def stream(self, path: str, silence: float) -> urllib3.BaseHTTPResponse:
        """An answer that is read as a stream; it may be silent for this many seconds."""
        timeout = urllib3.Timeout(connect=_CONNECT_SECONDS, read=silence)
        try:
            return self._once("GET", path, None, timeout)
        except HTTPError as error:
            raise self._no_answer(error) from error

    def _request(self, method: str, path: str, seconds: float, body: bytes | None) -> ApiResponse:
        ends = time.monotonic() + seconds
        try:
            return _whole(self._once(method, path, body, _timeout(seconds)))
        except ProtocolError:
            if method != "GET":
                raise
            # A kept connection that the server had closed meanwhile: a new one may do.
            return _whole(self._once(method, path, body, _timeout(ends - time.monotonic())))

    def _once(
        self, method: str, path: str, body: bytes | None, timeout: urllib3.Timeout
    ) -> urllib3.BaseHTTPResponse:
        """Twice where the credentials were refused, so that nothing was done, and new ones came."""
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
        # As kubectl: a list of a thousand objects is a tenth of its size on its way.
        headers = urllib3.HTTPHeaderDict(
            {"Accept": _JSON, "Accept-Encoding": "gzip", "User-Agent": contract.MANAGED_BY}
        )
        for name, value in self._login.impersonation:
            headers.add(name, value)
        if body is not None:
            headers["Content-Type"] = _PATCHES.get(method, _JSON)
        if token:
            headers["Authorization"] = token
        response = self._login.pool.request(
            "PATCH" if method in _PATCHES else method,
            self._login.server + path,
            body=body,
            headers=headers,
            timeout=timeout,
            preload_content=False,
            retries=False,
        )
        self.clock_ahead = _ahead(response.headers.get("Date", ""), datetime.now(UTC))
        return response

    def _no_answer(self, error: HTTPError | zlib.error) -> Unreachable:
        return Unreachable(
            f"no answer from the API server {self._login.server}: "
            f"{_CONNECTION.sub('', str(error))}; "
            "is it up? another one is chosen with --kubeconfig or --context"
        )


def _timeout(seconds: float) -> urllib3.Timeout:
    left = max(seconds, _LEAST_SECONDS)
    return urllib3.Timeout(total=left, connect=min(_CONNECT_SECONDS, left))


def _ahead(date: str, now: datetime) -> timedelta:
    """By an answer's Date, which counts whole seconds; zero where it has none."""
    try:
        return parsedate_to_datetime(date) + _HALF_A_SECOND - now
    except (ValueError, TypeError):  # no date, or one without a zone
        return timedelta()


def _whole(response: urllib3.BaseHTTPResponse) -> ApiResponse:
    """Unpacked at once: urllib3 would copy a long list several times."""
    data = response.read(decode_content=False)
    packed = response.headers.get("Content-Encoding") == "gzip"
    later = response.headers.get("Retry-After", "")
    return ApiResponse(
        response.status,
        zlib.decompress(data, _GZIP) if packed else data,
        float(later) if later.isascii() and later.isdecimal() else 0.0,
    )
