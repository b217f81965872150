"""The events of one watch, read from an open answer of the API server."""

import contextlib
from collections.abc import Iterator
from typing import Final, Literal, cast

import msgspec
import urllib3
from urllib3.exceptions import HTTPError

from edl.errors import Unreachable
from edl.kube.cluster import RawEvent
from edl.kube.refusals import Request, refusal, status_of


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


_decoder: Final = msgspec.json.Decoder(_Event)


class EventStream:
    """One watch: a line of JSON an event. `close` may be called by another thread."""

    def __init__(self, response: urllib3.BaseHTTPResponse, request: Request) -> None:
        self._response = response
        self._request = request
        self._closed = False

    def __iter__(self) -> Iterator[RawEvent]:
        try:
            for line in self._lines():
                yield self._event(line)
        except (HTTPError, OSError, ValueError) as error:
            if not self._closed:
                raise Unreachable(
                    f"the watch of {self._request.resource} broke: {error}"
                ) from error
        finally:
            self._response.close()

    def close(self) -> None:
        self._closed = True
        with contextlib.suppress(ValueError, RuntimeError, OSError):  # it has ended by itself
            self._response.shutdown()

    def _lines(self) -> Iterator[bytes]:
        rest = b""
        for chunk in self._response.stream(None):
            *lines, rest = (rest + chunk).split(b"\n")
            yield from (line for line in lines if line)

    def _event(self, line: bytes) -> RawEvent:
        event = _decoder.decode(line)
        body = bytes(event.object)
        if event.type == "ERROR":
            raise refusal(self._request, status_of(body), body)
        kind = cast('Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]', event.type)
        return RawEvent(kind, body)
