"""Requests to one API server, whatever they mean: who we are, how long we wait, what went wrong."""

import re
from typing import Final

import urllib3
from urllib3.exceptions import HTTPError, ProtocolError

from edl import contract
from edl.errors import Unreachable
from edl.kube.login import Login

_CONNECT_SECONDS: Final = 5.0
_CONTENT_TYPES: Final = {"PATCH": "application/merge-patch+json"}
_CONNECTION: Final = re.compile(r"^HTTPS?Connection(Pool)?\([^)]*\): ")


class Transport:
    """Thread-safe; connections are kept and shared. `seconds`: how long an answer may take."""

    def __init__(self, login: Login, seconds: float) -> None:
        self._login = login
        self._timeout = urllib3.Timeout(connect=min(_CONNECT_SECONDS, seconds), read=seconds)

    def send(self, method: str, path: str, body: bytes | None = None) -> urllib3.BaseHTTPResponse:
        """The whole answer, whatever its status. Raises Unreachable when there is none."""
        try:
            return self._request(method, path, body)
        except HTTPError as error:
            raise self._no_answer(error) from error

    def stream(self, path: str, silence: float) -> urllib3.BaseHTTPResponse:
        """An answer that is read while it comes; it may be silent for so many seconds."""
        timeout = urllib3.Timeout(connect=_CONNECT_SECONDS, read=silence)
        try:
            return self._once("GET", path, None, timeout)
        except HTTPError as error:
            raise self._no_answer(error) from error

    def _request(self, method: str, path: str, body: bytes | None) -> urllib3.BaseHTTPResponse:
        try:
            response = self._once(method, path, body, self._timeout)
            response.read(cache_content=True)
        except ProtocolError:
            if method != "GET":
                raise
            # A kept connection that the server had closed meanwhile: a new one may do.
            response = self._once(method, path, body, self._timeout)
            response.read(cache_content=True)
        return response

    def _once(
        self, method: str, path: str, body: bytes | None, timeout: urllib3.Timeout
    ) -> urllib3.BaseHTTPResponse:
        headers = {"Accept": "application/json", "User-Agent": contract.MANAGED_BY}
        if body is not None:
            headers["Content-Type"] = _CONTENT_TYPES.get(method, "application/json")
        if token := self._login.authorization():
            headers["Authorization"] = token
        return self._login.pool.request(
            method,
            self._login.server + path,
            body=body,
            headers=headers,
            timeout=timeout,
            preload_content=False,
            retries=False,
        )

    def _no_answer(self, error: HTTPError) -> Unreachable:
        return Unreachable(
            f"no answer from the API server {self._login.server}: "
            f"{_CONNECTION.sub('', str(error))}; "
            "is it up? another one is chosen with --kubeconfig or --context"
        )
