"""First come, first served: the oldest gets its max, then the next one; priorities first."""

from edl.model import Code
from edl.planner.policies.policy import Claimant, Policy


def arrival_rank(claimant: Claimant, _size: int) -> float:
    """The same at every size: replicas go to the role that came first, however many it has."""
    return claimant.queue_rank


FIFO = Policy("fifo", arrival_rank, rebalance_code=Code.FIFO_ORDER)
