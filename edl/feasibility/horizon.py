"""When capacity is counted: now, or once all terminating pods are gone (Volcano's two words)."""

from enum import Enum, auto
from typing import Final


class Horizon(Enum):
    """The state of the cluster in which capacity is counted."""

    OBSERVED = auto()
    """Idle before this plan reserved anything."""
    IDLE = auto()
    """Idle now. A reservation of idle capacity also reserves it at FUTURE_IDLE."""
    FUTURE_IDLE = auto()
    """Idle once all terminating and evicted pods are gone."""
    EMPTY = auto()
    """Idle once terminating pods are gone, if no training job ran: the most that can get free."""


IDLE: Final = Horizon.IDLE
FUTURE_IDLE: Final = Horizon.FUTURE_IDLE
