"""The largest sum of used capacity: large pods first, small ones into the gaps.

Pods of one size share equally: that costs no room.
"""

from typing import Final

from edl.model import Code
from edl.planner.policies.fair import fulfilment
from edl.planner.policies.policy import Claimant, Policy

_TIE: Final = 1e-9
"""Far less than one pod of 10 m CPU in a cluster of 100,000 nodes."""


def large_first(claimant: Claimant, size: int) -> float:
    return _TIE * fulfilment(claimant, size) - claimant.cluster_fraction


UTILISATION = Policy(
    "utilisation", large_first, rebalance_code=Code.UTILIZATION, only_if_larger=True
)
