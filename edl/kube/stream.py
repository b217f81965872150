"""What an open answer of the API server says, line by line: the events of a watch, a pod's log."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Final, Generic, Literal, TypeVar, cast

import msgspec
import urllib3
from urllib3.exceptions import HTTPError

from edl.errors import Unreachable
from edl.kube.cluster import RawEvent
from edl.kube.refusals import Request, refusal, status_of

T = TypeVar("T")


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


_decoder: Final = msgspec.json.Decoder(_Event)


class LineStream(Generic[T]):
    """The lines of an answer while they come, each decoded. `close` may be called by any thread.

    `unfinished`: a last line without its end counts, too.
    """

    def __init__(
        self,
        response: urllib3.BaseHTTPResponse,
        what: str,
        decode: Callable[[bytes], T],
        *,
        unfinished: bool = False,
    ) -> None:
        self._response = response
        self._what = what
        self._decode = decode
        self._unfinished = unfinished
        self._closed = False

    def __iter__(self) -> Iterator[T]:
        try:
            for line in self._lines():
                yield self._decode(line)
        except (HTTPError, OSError, ValueError) as error:
            if not self._closed:
                raise Unreachable(f"{self._what} broke: {error}") from error
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
        if rest and self._unfinished:
            yield rest


def events(response: urllib3.BaseHTTPResponse, request: Request) -> LineStream[RawEvent]:
    """One watch: a line of JSON an event."""

    def decode(line: bytes) -> RawEvent:
        event = _decoder.decode(line)
        body = bytes(event.object)
        if event.type == "ERROR":
            raise refusal(request, status_of(body), body)
        kind = cast('Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]', event.type)
        return RawEvent(kind, body)

    return LineStream(response, f"the watch of {request.resource}", decode)


def text(response: urllib3.BaseHTTPResponse, request: Request) -> LineStream[str]:
    """One log: bytes that are no UTF-8 become marks."""
    what = f"the log of {request.name}"
    return LineStream(response, what, lambda line: line.decode(errors="replace"), unfinished=True)
