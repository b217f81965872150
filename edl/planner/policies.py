"""The policies by name. A policy is a value: `decide` reads its fields and never its name."""

from bisect import bisect_right
from collections.abc import Callable, Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Final, Protocol

import msgspec
from msgspec.structs import replace

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
    """In a full cluster replicas move from one role to another. Only if the donor stays more
    satisfied than the recipient was before: so no move is ever undone."""
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


def fulfilment(claimant: Claimant, size: int) -> float:
    """(size - min) / (max - min), Fluid's fulfilment; at one size the distance to it.

    Below 0 under a minimum that was raised: it comes first.
    """
    role = claimant.role
    return (size - role.spec.min) / (role.spec.max - role.spec.min or 1)


FAIR: Final = Policy("fair", fulfilment)
"""Equal fulfilment: each role gets the same fraction of `max - min`."""

THROUGHPUT: Final = Policy(
    "throughput",
    lambda _claimant, size: size,
    balances=False,
    reclaim_delay=timedelta(seconds=30),
    quiet_period=timedelta(seconds=60),
    colocate=True,
)
"""As much work as possible, with few interruptions: the rules and the figures of DRAGON's
scheduler (`SchedulingAlgorithm`).

Speed grows more slowly than the number of workers, so that the next one helps the smallest job
most. Where DRAGON gave it to the oldest, one job had 13 workers and another 1.
"""

FIFO: Final = Policy(
    "fifo", lambda claimant, _size: claimant.queue_rank, rebalance_code=Code.FIFO_ORDER
)
"""First come, first served: the oldest gets its max, then the next one; priorities first.

The same at every size: replicas go to the role that came first, however many it has.
"""

_TIE: Final = 1e-9
"""Far less than one pod of 10 m CPU in a cluster of 100,000 nodes."""


def large_first(claimant: Claimant, size: int) -> float:
    """Pods of one size share equally: that costs no room."""
    return _TIE * fulfilment(claimant, size) - claimant.cluster_fraction


UTILISATION: Final = Policy(
    "utilisation", large_first, rebalance_code=Code.UTILIZATION, only_if_larger=True
)
"""The largest sum of used capacity: large pods first, small ones into the gaps."""

POLICIES: Final[Mapping[str, Policy]] = MappingProxyType(
    {policy.name: policy for policy in (FAIR, THROUGHPUT, FIFO, UTILISATION)}
)
"""The first is the default."""


def weighted(policy: Policy, weights: Mapping[int, float]) -> Policy:
    """The policy with weights by priority, a PriorityClass's value.

    A class with twice the weight is as satisfied with twice as much.

    Each holds from its own priority up to the next one; below the first it is 1.
    Raises ValueError for a weight that is not above 0.
    """
    if not weights:
        return policy
    wrong = [f"{priority}={weight:g}" for priority, weight in weights.items() if not weight > 0]
    if wrong:
        raise ValueError(f"priority weight {wrong[0]}: a number above 0")
    steps = sorted(weights.items())
    bounds = [priority for priority, _ in steps]
    factors = [1.0, *(weight for _, weight in steps)]

    def share(claimant: Claimant, size: int) -> float:
        found = policy.satisfaction(claimant, size)
        # Below 0 a minimum is not met: the heavier, the more it lacks.
        factor = factors[bisect_right(bounds, claimant.job.priority)]
        return found / factor if found > 0 else found * factor

    return replace(policy, satisfaction=share)
