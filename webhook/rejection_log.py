"""Rate-limited warnings about malformed requests: the client controls how many arrive."""

import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import Final

_MAX_CLIENT_LINES: Final = 20
"""Lines per client and minute, so that one client does not hide the others."""
_MAX_LINES: Final = 400
_SECONDS: Final = 60.0
_log: Final = logging.getLogger(__name__)


class RateLimitedLog:
    """Logs the first warnings of each minute, then the number of those dropped.

    The metrics count all of them.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun = clock()
        self._lines: Counter[str] = Counter()
        """Lines by client; there are never more clients than lines."""
        self._left_out = 0

    def say(self, client: str, line: str) -> None:
        if self._clock() - self._begun >= _SECONDS:
            if self._left_out:
                _log.warning("rejected %d more requests", self._left_out)
            self._begun, self._left_out = self._clock(), 0
            self._lines.clear()
        if self._lines[client] >= _MAX_CLIENT_LINES or self._lines.total() >= _MAX_LINES:
            self._left_out += 1
            return
        self._lines[client] += 1
        _log.warning("rejected a request from %s: %s", client, line)
