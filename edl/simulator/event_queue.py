"""What happens when: things of one instant happen in the order in which they were planned."""

from collections.abc import Callable
from heapq import heappop, heappush
from math import ceil, inf
from typing import Final

_TICKS: Final = 1000
"""Instants are milliseconds: what happens within one happens at once."""


def instant(seconds: float) -> float:
    """Not before `seconds`."""
    return ceil(seconds * _TICKS - 1e-6) / _TICKS


class EventQueue:
    """Actions by their time."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._serial = 0

    def add(self, at: float, action: Callable[[], None]) -> None:
        self._serial += 1
        if at < inf:
            heappush(self._heap, (instant(at), self._serial, action))

    @property
    def next(self) -> float:
        """The time of what comes next, `inf` when nothing does."""
        return self._heap[0][0] if self._heap else inf

    def due(self, now: float) -> bool:
        """Do all that is to happen until now; whether there was something."""
        found = False
        while self._heap and self._heap[0][0] <= now:
            heappop(self._heap)[2]()
            found = True
        return found
