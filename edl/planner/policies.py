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
        """The job's place in the total order: priority, then first come first served."""

    @property
    def cluster_fraction(self) -> float:
        """The fraction of the cluster that one replica uses, 0..1, averaged over resources."""


Satisfaction = Callable[[Claimant, int], float]
"""How satisfied a role is with a number of replicas. It must not fall with more replicas."""


class Policy(msgspec.Struct, frozen=True):
    """Which role grows next, which yields next, and how soon.

    The least satisfied role grows next, the most satisfied yields next. Among equals the total
    order decides: priority, then first come first served. Capacity, gangs, limits and reasons are
    the same under every policy.
    """

    name: str
    satisfaction: Satisfaction
    balances: bool = True
    """Whether replicas move between roles in a full cluster. A donor must stay more satisfied than
    the recipient was before, so no move is ever undone."""
    rebalance_code: Code = Code.FAIR_SHARING
    """The reason code of a role that donates a replica to another job."""
    only_if_larger: bool = False
    """Rebalance only if the new replica uses more capacity than the donated ones did."""
    reclaim_delay: timedelta = timedelta()
    """How long a job must have been queued before running jobs of equal priority scale down for
    it."""
    quiet_period: timedelta = timedelta()
    """Growth starts once no job has waited, started or been resized for this long."""
    colocate: bool = False
    """Pods of a job share one node if possible: a job starts and grows on the nodes of its servers
    and leader, and a role whose highest index is on another node yields first."""


def fulfilment(claimant: Claimant, size: int) -> float:
    """(size - min) / (max - min), Fluid's fulfilment; size - min if min = max.

    Negative if the minimum was raised above the current size: such a role comes first.
    """
    spec = claimant.role.spec
    return (size - spec.min) / (spec.max - spec.min or 1)


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
"""Most throughput with few interruptions: the rules and figures of DRAGON's scheduler
(`SchedulingAlgorithm`).

Speed grows more slowly than the number of workers, so another worker helps the smallest job most.
DRAGON gave it to the oldest job instead: one job had 13 workers and another 1.
"""

FIFO: Final = Policy(
    "fifo", lambda claimant, _size: claimant.queue_rank, rebalance_code=Code.FIFO_ORDER
)
"""First come, first served within a priority: the oldest job grows to its max, then the next one.

Satisfaction does not depend on the size, so the order of the jobs alone decides.
"""

_TIE: Final = 1e-9
"""Far less than one pod of 10 m CPU in a cluster of 100,000 nodes."""


def large_first(claimant: Claimant, size: int) -> float:
    """Larger pods first; pods of one size share equally, as that leaves no capacity unused."""
    return _TIE * fulfilment(claimant, size) - claimant.cluster_fraction


UTILISATION: Final = Policy(
    "utilisation", large_first, rebalance_code=Code.UTILIZATION, only_if_larger=True
)
"""Most used capacity: large pods first, then small pods in the gaps."""

POLICIES: Final[Mapping[str, Policy]] = MappingProxyType(
    {policy.name: policy for policy in (FAIR, THROUGHPUT, FIFO, UTILISATION)}
)
"""The first is the default."""


def weighted(policy: Policy, weights: Mapping[int, float]) -> Policy:
    """The policy with weights by priority (the value of a PriorityClass).

    A role of twice the weight is as satisfied with twice as much. A weight applies from its
    priority up to the next one that has a weight; below the first, the weight is 1.
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
        satisfied = policy.satisfaction(claimant, size)
        # Below 0 the minimum is not met: a larger weight makes the role less satisfied.
        factor = factors[bisect_right(bounds, claimant.job.priority)]
        return satisfied / factor if satisfied > 0 else satisfied * factor

    return replace(policy, satisfaction=share)
