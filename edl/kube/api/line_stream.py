"""Streams of lines from the API server: the events of a watch, or the log of a pod."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Final, Generic, Literal, TypeVar, cast

import msgspec
import urllib3
from urllib3.exceptions import HTTPError

from edl.errors import Unreachable
from edl.kube.api.api_errors import ApiCall, refusal, status_of
from edl.kube.cluster import RawEvent

T = TypeVar("T")

LONGEST: Final = 2**20
"""The longest piece of a log line, in bytes: a progress bar may never end its line."""
LONGEST_EVENT: Final = 16 * 2**20
"""The longest line of a watch. An object has less than 3 MiB, the most that an API server
accepts."""
_CHUNK: Final = 2**16
_STAMP: Final = 64


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


_decoder: Final = msgspec.json.Decoder(_Event)


class LineStream(Generic[T]):
    """Yields the lines of a response as they arrive, each decoded. `close` works from any thread.

    `pieces`: a line longer than LONGEST is split, each piece begins with the line's first word (its
    time), and a last line without newline counts too.
    """

    def __init__(
        self,
        response: urllib3.BaseHTTPResponse,
        what: str,
        decode: Callable[[bytes], T],
        *,
        pieces: bool = False,
    ) -> None:
        self._response = response
        self._what = what
        self._decode = decode
        self._pieces = pieces
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
        rest, size = [b""], 0
        for chunk in self._response.stream(_CHUNK):
            for number, part in enumerate(chunk.split(b"\n")):
                if number:  # the previous line ends here
                    if line := b"".join(rest):
                        yield line
                    rest, size = [], 0
                rest.append(part)
                size += len(part)
                if size >= self._most:
                    *whole, last = self._cut(b"".join(rest))
                    yield from whole
                    rest, size = [last], len(last)
        if self._pieces and (line := b"".join(rest)):
            yield line

    @property
    def _most(self) -> int:
        return LONGEST if self._pieces else LONGEST_EVENT

    def _cut(self, line: bytes) -> Iterator[bytes]:
        """Splits a line into pieces below LONGEST; the last one may continue.

        Raises ValueError unless `pieces`.
        """
        if not self._pieces:
            raise ValueError(f"a line of more than {LONGEST_EVENT} bytes")
        first, blank, _ = line[:_STAMP].partition(b" ")
        stamp = first + blank if blank else b""
        yield line[: LONGEST - 1]
        step = LONGEST - 1 - len(stamp)
        for start in range(LONGEST - 1, len(line), step):
            yield stamp + line[start : start + step]


def events(response: urllib3.BaseHTTPResponse, request: ApiCall) -> LineStream[RawEvent]:
    """The events of a watch: each is one line of JSON."""

    def decode(line: bytes) -> RawEvent:
        event = _decoder.decode(line)
        body = bytes(event.object)
        if event.type == "ERROR":
            raise refusal(request, status_of(body), body)
        kind = cast('Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]', event.type)
        return RawEvent(kind, body)

    return LineStream(response, f"the watch of {request.resource}", decode)


def text(response: urllib3.BaseHTTPResponse, request: ApiCall) -> LineStream[str]:
    """The lines of a log; bytes that are not UTF-8 become replacement characters."""
    what = f"the log of {request.name}"
    return LineStream(response, what, lambda line: line.decode(errors="replace"), pieces=True)
