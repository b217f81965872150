"""Whether a role may grow in this plan, and why not."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from edl.model import Reason


@dataclass(slots=True)
class GrowthHold:
    """Whether a role may grow in this plan: it may unless there is a reason."""

    reason: Reason | None = None
    """Why it may not grow; None if it may."""
    until: datetime | None = None
    """When the hold ends, if time alone ends it."""
    reserves_capacity: bool = True
    """While held, capacity for its growth stays reserved (a cooldown ends soon)."""
    cooling_down: bool = False
    """It donates no replica to rebalancing either."""
    patience: timedelta = timedelta()
    """How long growth into idle capacity still waits to be one step with its pipelined part."""
    nearly_done: bool = False
    """Its job is nearly finished: it keeps its size unless a higher priority needs capacity."""

    def deny(self, reason: Reason | None, until: datetime | None = None) -> None:
        """No growth, and no capacity is reserved for it."""
        self.reason, self.until, self.reserves_capacity = reason, until, False

    def deny_as_well(self, reason: Reason) -> None:
        """`deny`, but an earlier reason stays."""
        self.deny(self.reason or reason, self.until)

    def defer(self, reason: Reason) -> None:
        """Growth waits, with capacity reserved unless it was denied; an earlier reason stays."""
        self.reason = self.reason or reason

    def cool_down(self, reason: Reason | None, until: datetime | None) -> None:
        """It donates no replica; growth is deferred, or allowed if `reason` is None."""
        self.reason, self.until, self.cooling_down = reason, until if reason else None, True
