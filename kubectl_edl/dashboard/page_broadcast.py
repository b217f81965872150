"""The newest page state for all connected browsers, encoded once, without a queue per connection.

A slow connection holds the state that it is sending, and continues with the newest one.
"""

from collections.abc import Iterator
from threading import Condition
from typing import Final

BEAT_SECONDS: Final = 10.0
"""Seconds between heartbeats, by which each end notices that the other is gone."""
_BEAT: Final = b"event: beat\ndata:\n\n"
_RETRY: Final = b"retry: 2000\n\n"


class PageBroadcast:
    """Holds the newest state, JSON on one line; empty before the first one. Thread-safe."""

    def __init__(self) -> None:
        self._turned = Condition()
        self._body = b""
        self._closed = False

    @property
    def closed(self) -> bool:
        return self._closed

    def show(self, body: bytes) -> None:
        with self._turned:
            self._body = body
            self._turned.notify_all()

    def after(self, last: bytes, seconds: float) -> bytes:
        """The newest state, once it differs from `last`; empty after `seconds`, or at the end."""
        with self._turned:
            self._turned.wait_for(lambda: self._closed or self._body != last, seconds)
            return b"" if self._body == last else self._body

    def close(self) -> None:
        """End all streams."""
        with self._turned:
            self._closed = True
            self._turned.notify_all()


def stream(broadcast: PageBroadcast, beat: float = BEAT_SECONDS) -> Iterator[bytes]:
    """Server-sent events until the end: `state` with the newest state, or else `beat`."""
    yield _RETRY
    last = b""
    while not broadcast.closed:
        if body := broadcast.after(last, beat):
            last = body
            yield b"event: state\ndata: " + body + b"\n\n"
        elif not broadcast.closed:
            yield _BEAT
