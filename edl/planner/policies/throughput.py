"""As much work as possible, with few interruptions: DRAGON's rules.

Speed grows more slowly than the number of workers, so that the next one helps the smallest job
most. Where DRAGON gave it to the oldest, one job had 13 workers and another 1.
"""

from datetime import timedelta

from edl.planner.policies.policy import Claimant, Policy


def replicas(_claimant: Claimant, size: int) -> float:
    return size


THROUGHPUT = Policy(
    "throughput",
    replicas,
    balances=False,
    reclaim_delay=timedelta(seconds=30),
    quiet_period=timedelta(seconds=60),
    colocate=True,
)
"""The figures are those of its scheduler (DRAGON, `SchedulingAlgorithm`)."""
