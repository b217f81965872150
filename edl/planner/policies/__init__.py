"""The policies by name. A new one is a file beside this one and a line in POLICIES.

A policy says how satisfied a role is with `size` replicas. The least satisfied role grows next,
the most satisfied yields next, and a replica moves from one role to another only if the giver
is more satisfied before and not less satisfied afterwards, so that no move is ever undone.
It must not fall as `size` grows. Room, gangs, limits and reasons are not the policy's.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from edl.model import Role, TrainingJob
from edl.planner.policies.fair import fair

Policy = Callable[[TrainingJob, Role, int], float]

POLICIES: Final[Mapping[str, Policy]] = MappingProxyType({"fair": fair})
