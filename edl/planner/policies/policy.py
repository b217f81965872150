"""A policy is a value: `decide` reads its fields and never its name."""

from collections.abc import Callable
from datetime import timedelta
from typing import Protocol

import msgspec

from edl.model import Code, Role, TrainingJob


class Claimant(Protocol):
    """A role that may be larger or smaller, as policies see it."""

    @property
    def job(self) -> TrainingJob: ...

    @property
    def role(self) -> Role: ...

    @property
    def queue_rank(self) -> int:
        """Its job's place in the total order: priority, then first come first served."""

    @property
    def cluster_fraction(self) -> float:
        """The part of the cluster that one replica takes, 0..1, averaged over its resources."""


Satisfaction = Callable[[Claimant, int], float]
"""How satisfied a role is with a number of replicas. It must not fall as their number grows."""


class Policy(msgspec.Struct, frozen=True):
    """Which role grows, which yields, and how soon; not room, gangs, limits or reasons.

    The least satisfied role grows next, the most satisfied yields next. Among equals the total
    order decides: priority, then first come first served.
    """

    name: str
    satisfaction: Satisfaction
    balances: bool = True
    """In a full cluster replicas move from one role to another. Only if the giver stays more
    satisfied than the taker was before: so no move is ever undone."""
    rebalance_code: Code = Code.FAIR_SHARING
    """The reason of a role that gives a replica to another job."""
    only_if_larger: bool = False
    """One replica moves only where the one that comes takes more room than those that go."""
    reclaim_delay: timedelta = timedelta()
    """So long a queued job waits before running ones of its own priority shrink for it."""
    quiet_period: timedelta = timedelta()
    """No job may have waited, started or changed its size for this long before any role grows."""
    colocate: bool = False
    """All pods of a job on one node if possible: it starts and grows near what it cannot do
    without, and a role with its highest index elsewhere yields first."""
