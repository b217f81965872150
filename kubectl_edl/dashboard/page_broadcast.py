"""The newest page state for all connected browsers, encoded once, without a queue per connection.

A slow connection skips intermediate states, never the last one, and needs no extra memory.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from threading import Condition
from typing import Final

BEAT_SECONDS: Final = 10.0
"""Seconds between heartbeats, by which each end notices that the other is gone."""
_BEAT: Final = b"event: beat\ndata:\n\n"
_RETRY: Final = b"retry: 2000\n\n"


@dataclass(frozen=True, slots=True)
class PageVersion:
    """A page state; `body` is JSON on one line. Numbers start at 1."""

    number: int
    body: bytes


class PageBroadcast:
    """Holds the newest state. Thread-safe."""

    def __init__(self) -> None:
        self._turned = Condition()
        self._version: PageVersion | None = None
        self._closed = False

    @property
    def closed(self) -> bool:
        return self._closed

    def show(self, body: bytes) -> None:
        """Publish a new state, unless it equals the last one."""
        with self._turned:
            last = self._version
            if last is None or last.body != body:
                self._version = PageVersion(last.number + 1 if last else 1, body)
                self._turned.notify_all()

    def after(self, number: int, seconds: float) -> PageVersion | None:
        """The newest state, once its number exceeds `number`; None after `seconds`."""
        with self._turned:
            self._turned.wait_for(lambda: self._closed or self._newer(number), seconds)
            return self._version if self._newer(number) else None

    def close(self) -> None:
        """End all streams."""
        with self._turned:
            self._closed = True
            self._turned.notify_all()

    def _newer(self, number: int) -> bool:
        return self._version is not None and self._version.number > number


def stream(broadcast: PageBroadcast, beat: float = BEAT_SECONDS) -> Iterator[bytes]:
    """Server-sent events: `state` for each new state, starting with the newest, or else `beat`."""
    yield _RETRY
    number = 0
    while not broadcast.closed:
        version = broadcast.after(number, beat)
        if version is not None:
            number = version.number
            yield b"event: state\ndata: " + version.body + b"\n\n"
        elif not broadcast.closed:
            yield _BEAT
