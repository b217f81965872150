"""`ServerClock`: an API server's clock, from the Date headers of its answers to any request."""

import time
from collections import deque
from collections.abc import Callable
from datetime import timedelta
from email.utils import parsedate_to_datetime
from threading import Lock
from typing import Final

_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_ANSWERS: Final = 9
"""The last answers that count: the estimate moves once most of them require it."""
_LONGEST_LEAD: Final = 86_400.0
"""Seconds. A date further off is ignored: rather a stored answer's than that of a clock."""


def awake_or_not() -> float:
    """Seconds that also pass while the machine sleeps."""
    return time.clock_gettime(_CLOCK)


class ServerClock:
    """How far an API server's clock is ahead of this machine's. Thread-safe.

    The server writes its date, in whole seconds, between a request and the answer: that bounds its
    time from below and from above. The estimate moves only as far as the medians of the last bounds
    require. So it stays zero while the clocks agree, and wrong dates, such as those of a proxy's
    stored answers, do not move it if right ones are more. The server's time is counted in
    `elapsed` seconds, which a step of this machine's clock does not change.
    """

    def __init__(
        self, now: Callable[[], float] = time.time, elapsed: Callable[[], float] = awake_or_not
    ) -> None:
        self._now = now
        """Seconds since 1970."""
        self.elapsed = elapsed
        self._bounds: deque[tuple[float, float]] = deque(maxlen=_ANSWERS)
        self._zero = now() - elapsed()
        """The server's time when `elapsed` was zero."""
        self._lock = Lock()

    def answered(self, date: str, sent: float) -> None:
        """Takes the Date header of an answer to a request that was sent when `elapsed` was `sent`.

        An answer without a date, or without the date's zone, counts for nothing.
        """
        try:
            moment = parsedate_to_datetime(date)
        except (ValueError, TypeError):
            return
        if moment.tzinfo is None or abs(moment.timestamp() - self._now()) > _LONGEST_LEAD:
            return
        received = self.elapsed()
        with self._lock:
            self._bounds.append((moment.timestamp() - received, moment.timestamp() + 1 - sent))
            lows, highs = map(sorted, zip(*self._bounds, strict=True))
            count = len(self._bounds)
            self._zero = min(max(self._zero, lows[(count - 1) // 2]), highs[count // 2])

    def ahead(self) -> timedelta:
        """The lead; zero before the first date."""
        if not self._bounds:
            return timedelta()
        return timedelta(seconds=self._zero + self.elapsed() - self._now())
