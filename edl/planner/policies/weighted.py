"""Shares by priority class: a class with twice the weight is as satisfied with twice as much."""

from bisect import bisect_right
from collections.abc import Mapping

from msgspec.structs import replace

from edl.planner.policies.policy import Claimant, Policy


def weighted(policy: Policy, weights: Mapping[int, float]) -> Policy:
    """The policy with weights by priority, a PriorityClass's value.

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
