"""`Alarm`: what wakes the loop. Many rings shortly after each other wake it once."""

import time
from collections.abc import Callable
from threading import Condition
from typing import Final

GATHERING: Final = 0.05
"""Seconds from the first ring to the wake-up: one act of a user is many events."""


class Alarm:
    """Rung by any thread, waited for by one."""

    def __init__(self, gathering: float = GATHERING) -> None:
        self._gathering = gathering
        self._condition = Condition()
        self._rung = False
        self._stopped = False

    def ring(self) -> None:
        with self._condition:
            self._rung = True
            self._condition.notify_all()

    def stop(self) -> None:
        """End every wait, also those to come."""
        with self._condition:
            self._stopped = True
            self._condition.notify_all()

    @property
    def stopped(self) -> bool:
        return self._stopped

    def wait(self, seconds: float, rest: float = 0.0) -> bool:
        """Return after a ring and a moment to gather more, or after `seconds`: whether it rang.

        A ring does not end the wait before `rest` is over, seconds from its beginning.
        """
        begun = time.monotonic()
        with self._condition:
            self._wait(lambda: self._rung or self._stopped, seconds)
            if self._rung:
                # A fixed moment, not quiet: a stream of events must not starve the loop.
                left = rest - (time.monotonic() - begun)
                self._wait(lambda: self._stopped, max(self._gathering, left))
            rung, self._rung = self._rung, False
            return rung

    def _wait(self, condition: Callable[[], bool], seconds: float) -> None:
        self._condition.wait_for(condition, seconds)
