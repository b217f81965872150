"""When capacity is counted: now, or once all pods that leave are gone (Volcano's two words)."""

from enum import Enum, auto
from typing import Final


class Horizon(Enum):
    """A moment at which capacity is counted."""

    OBSERVED = auto()
    """Idle before this plan placed anything."""
    IDLE = auto()
    """Idle now: it is idle once pods have left, too, and whatever is taken is taken from both."""
    FUTURE_IDLE = auto()
    """Idle once all pods that leave are gone."""
    EMPTY = auto()
    """If no training job held anything: the most that taking replicas off nodes can free."""


IDLE: Final = Horizon.IDLE
FUTURE_IDLE: Final = Horizon.FUTURE_IDLE
