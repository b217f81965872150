"""The trace of submissions, the speed of jobs, and the limit on Karpenter's nodes."""

from random import Random
from typing import Final, NamedTuple

from sandbox.objects.node_pools import NodePool

NAMESPACE: Final = "jobs"
JOBS: Final = 40
WITHIN: Final = 360.0
"""The seconds in which all jobs are submitted, half of them in two bursts."""
BURSTS: Final = (30.0, 200.0)
LEAST: Final = 2
MAX_PODS: Final = 8
"""The maximum pods of a job; it makes progress with `LEAST` or more."""
WORK: Final = 300.0
"""The mean of the seconds that one pod needs for a job's work; exponentially distributed."""
SERIAL: Final = 0.05
"""The share of a job's work that its pods cannot share (Amdahl's law)."""
STALL: Final = 2.0
"""The seconds without progress after each change in the number of running pods."""
NODES: Final = 16
PODS: Final = 4
"""Pods that fit on a node."""
CPU: Final = "3900m"
POOL: Final = NodePool(
    sizes=(16,), cpu_limit=str(NODES * 16), node_delay="10s", consolidate_after="10s"
)
QUOTA: Final = 3.9 * PODS * NODES
"""The CPUs of the pods that fit on all nodes of the pool."""


class Submission(NamedTuple):
    """`at`: seconds since the trace began; `work`: seconds that one pod needs for it."""

    at: float
    name: str
    work: float


def trace(seed: int) -> tuple[Submission, ...]:
    random = Random(seed)  # noqa: S311 - no secret depends on it
    arrivals = [random.uniform(0, WITHIN) for _ in range(JOBS // 2)]
    for burst in BURSTS:
        arrivals += [burst + random.uniform(0, 5) for _ in range(JOBS // 4)]
    return tuple(
        Submission(at, f"job-{number:02}", max(20.0, random.expovariate(1 / WORK)))
        for number, at in enumerate(sorted(arrivals))
    )


def speed(pods: int) -> float:
    """The speed of a job with this many running pods, relative to one pod."""
    return 1 / (SERIAL + (1 - SERIAL) / pods) if pods else 0.0
