"""`DebouncedTrigger` wakes the loop; several rings within a moment wake it once."""

import time
from collections.abc import Callable
from threading import Condition
from typing import Final

GATHERING: Final = 0.05
"""Seconds from the first ring to the wake-up: one user action causes many events."""


class DebouncedTrigger:
    """A wake-up call: any thread rings, a single thread waits."""

    def __init__(
        self, gathering: float = GATHERING, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._gathering = gathering
        self._monotonic = monotonic
        self._condition = Condition()
        self._rung = False
        self._rung_at = 0.0
        self._heard_at: float | None = None
        self._stopped = False

    def ring(self) -> None:
        if self._rung:  # The waiting thread will see this ring: no need to take the lock.
            return
        with self._condition:
            if not self._rung:
                self._rung, self._rung_at = True, self._monotonic()
            self._condition.notify_all()

    def stop(self) -> None:
        """Ends every wait, including later ones."""
        with self._condition:
            self._stopped = True
            self._condition.notify_all()

    def since_ring(self) -> float | None:
        """Seconds since the first ring that ended the last wait; None if no ring ended it."""
        return None if self._heard_at is None else self._monotonic() - self._heard_at

    @property
    def stopped(self) -> bool:
        return self._stopped

    def wait(self, seconds: float, rest: float = 0.0) -> bool:
        """Waits for a ring plus the debounce time, or for `seconds`; returns whether it rang.

        A ring does not end the wait before `rest` seconds are over.
        """
        begun = self._monotonic()
        with self._condition:
            self._wait(lambda: self._rung or self._stopped, seconds)
            if self._rung:
                # A fixed time rather than silence: a stream of events must not starve the loop.
                left = rest - (self._monotonic() - begun)
                self._wait(lambda: self._stopped, max(self._gathering, left))
            rung, self._rung = self._rung, False
            self._heard_at = self._rung_at if rung else None
            return rung

    def _wait(self, condition: Callable[[], bool], seconds: float) -> None:
        self._condition.wait_for(condition, seconds)
