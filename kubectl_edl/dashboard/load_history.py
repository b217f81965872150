"""Past load of the cluster: a ring of samples since the dashboard started, one hour at most."""

from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

SPACING: Final = timedelta(seconds=10)
MOST: Final = 360


@dataclass(frozen=True, slots=True)
class Sample:
    """`shares` in percent of what the nodes offer, by resource; `running` and `queued` are jobs."""

    at: datetime
    shares: tuple[tuple[str, int], ...]
    running: int
    queued: int


class Samples:
    """The latest samples, `SPACING` apart; older ones are dropped."""

    def __init__(self, most: int = MOST) -> None:
        self._kept: deque[Sample] = deque(maxlen=most)

    def put(self, sample: Sample) -> None:
        """Within `SPACING` of the last one it changes nothing."""
        if not self._kept or sample.at - self._kept[-1].at >= SPACING:
            self._kept.append(sample)

    def values(self) -> tuple[Sample, ...]:
        """The oldest first."""
        return tuple(self._kept)
