"""Shows the progress of long tasks: a live line on a terminal, occasional lines elsewhere."""

import time
from collections.abc import Callable
from typing import TextIO

EVERY = 20.0  # seconds between two lines if the output is not a terminal
WIDTH = 100


class Progress:
    """A progress line. `show` may be called at any rate; `end` finishes the line."""

    def __init__(
        self, title: str, stream: TextIO, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._title = title
        self._stream = stream
        self._clock = clock
        self._begun = self._said = clock()
        self._live = stream.isatty()

    def show(self, what: str) -> None:
        """Show the current step."""
        now = self._clock()
        line = f"{self._title}: {elapsed(now - self._begun)}, {what}"[:WIDTH]
        if self._live:
            self._stream.write(f"\r\x1b[K{line}")
        elif now - self._said >= EVERY:
            self._said = now
            self._stream.write(f"{line}\n")
        self._stream.flush()

    def end(self, how: str) -> None:
        """Print the final line."""
        line = f"{self._title}: {how} after {elapsed(self._clock() - self._begun)}"
        self._stream.write(f"\r\x1b[K{line}\n" if self._live else f"{line}\n")
        self._stream.flush()


def elapsed(seconds: float) -> str:
    """A duration such as "45 s" or "4 min 05 s"."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
