"""Warnings about requests that are none: so many a minute, for a stranger decides how many come."""

import logging
import time
from collections.abc import Callable
from typing import Final

_MOST: Final = 20
_SECONDS: Final = 60.0
_log: Final = logging.getLogger(__name__)


class Complaints:
    """Says the first ones of each minute, then how many were left out. The metrics count all."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun = clock()
        self._said = 0

    def say(self, client: str, line: str) -> None:
        if self._clock() - self._begun >= _SECONDS:
            if self._said > _MOST:
                _log.warning("and rejected %d more requests", self._said - _MOST)
            self._begun, self._said = self._clock(), 0
        self._said += 1
        if self._said <= _MOST:
            _log.warning("rejected a request from %s: %s", client, line)
