"""The future event list; events of one instant run in the order in which they were added."""

from collections.abc import Callable
from heapq import heappop, heappush
from math import ceil, inf
from typing import Final

_TICKS: Final = 1000
"""Instants per second: events within one millisecond are simultaneous."""


def instant(seconds: float) -> float:
    """`seconds`, rounded up to the next instant."""
    return ceil(seconds * _TICKS - 1e-6) / _TICKS


class EventQueue:
    """Actions by time."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._serial = 0

    def add(self, time: float, action: Callable[[], None]) -> None:
        self._serial += 1
        if time < inf:
            heappush(self._heap, (instant(time), self._serial, action))

    @property
    def next(self) -> float:
        """The time of the next action; inf if there is none."""
        return self._heap[0][0] if self._heap else inf

    def run(self, now: float) -> None:
        """Run all actions up to `now`."""
        while self._heap and self._heap[0][0] <= now:
            heappop(self._heap)[2]()
