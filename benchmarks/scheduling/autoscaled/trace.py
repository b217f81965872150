"""What users submit, what a job's work is, and what Karpenter may make for it."""

from random import Random
from typing import Final, NamedTuple

from sandbox.objects.node_pools import NodePool

NAMESPACE: Final = "jobs"
JOBS: Final = 40
WITHIN: Final = 360.0
"""Seconds in which they come; half of them in two bursts."""
BURSTS: Final = (30.0, 200.0)
LEAST: Final = 2
MOST: Final = 8
"""Pods of a job; it makes progress with the least."""
WORK: Final = 300.0
"""Mean seconds that a job's work takes one pod; exponential."""
SERIAL: Final = 0.05
"""The part of a job's work that its pods do not share (Amdahl's law)."""
STALL: Final = 2.0
"""Seconds without progress after each change of how many pods run."""
NODES: Final = 16
PODS: Final = 4
"""On a node."""
CPU: Final = "3900m"
POOL: Final = NodePool(
    sizes=(16,), cpu_limit=str(NODES * 16), node_delay="10s", consolidate_after="10s"
)
QUOTA: Final = 3.9 * PODS * NODES
"""CPUs of the pods that the pool's nodes hold."""


class Submission(NamedTuple):
    """`at`: seconds since the trace began; `work`: seconds that it takes one pod."""

    at: float
    name: str
    work: float


def trace(seed: int) -> tuple[Submission, ...]:
    random = Random(seed)  # noqa: S311 (no secret depends on it)
    arrivals = [random.uniform(0, WITHIN) for _ in range(JOBS // 2)]
    for burst in BURSTS:
        arrivals += [burst + random.uniform(0, 5) for _ in range(JOBS // 4)]
    return tuple(
        Submission(at, f"job-{number:02}", max(20.0, random.expovariate(1 / WORK)))
        for number, at in enumerate(sorted(arrivals))
    )


def speed(pods: int) -> float:
    """The speed of a job by how many of its pods run; one pod alone has 1."""
    return 1 / (SERIAL + (1 - SERIAL) / pods) if pods else 0.0
