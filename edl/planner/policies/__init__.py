"""The policies by name. A new one is a file beside this one and a line in POLICIES."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from edl.planner.policies.fair import FAIR
from edl.planner.policies.fifo import FIFO
from edl.planner.policies.policy import Claimant, Policy, Satisfaction
from edl.planner.policies.throughput import THROUGHPUT
from edl.planner.policies.utilisation import UTILISATION
from edl.planner.policies.weighted import weighted

__all__ = ["POLICIES", "Claimant", "Policy", "Satisfaction", "weighted"]

POLICIES: Final[Mapping[str, Policy]] = MappingProxyType(
    {policy.name: policy for policy in (FAIR, THROUGHPUT, FIFO, UTILISATION)}
)
"""The first is the default."""
