"""When waiting jobs start, worked out now and then: it takes long, and tells little news."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from edl.forecast.estimate import Estimate
from edl.forecast.forecast import forecast
from edl.model import ClusterState, JobKey
from edl.planner.settings import Settings

_PATIENCE: Final = 1.0
"""Seconds that one may take: what is not known by then is called unknown."""
_FRESH: Final = 20.0


class Estimates:
    """`monotonic` gives seconds. Used by one thread."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._asked: tuple[JobKey, ...] = ()
        self._until = float("-inf")
        self._found: Mapping[JobKey, Estimate] = {}

    def of(
        self, state: ClusterState, settings: Settings, waiting: Sequence[JobKey]
    ) -> Mapping[JobKey, Estimate]:
        """The same as before, unless others wait now or some time has passed."""
        now, asked = self._monotonic(), tuple(waiting)
        if asked != self._asked or now >= self._until:
            late = now + _PATIENCE
            found = forecast(state, settings, asked, lambda: self._monotonic() > late)
            self._asked, self._found = asked, found.starts
            self._until = self._monotonic() + _FRESH
        return self._found
