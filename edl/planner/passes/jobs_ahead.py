"""Jobs whose pods take their nodes first, which reasons to wait name."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from edl import reasons
from edl.model import JobKey, Reason
from edl.planner.packing.pod_class import PodClass
from edl.planner.passes.displacement import Displacement
from edl.planner.snapshot.role_allocation import RoleAllocation

_NAMED: Final = 3
"""The most jobs that a reason to wait names."""


@dataclass(slots=True)
class JobsAhead:
    """Jobs with pods that come first and have no nodes yet, gated or not."""

    displacement: Displacement
    _jobs: defaultdict[PodClass, dict[JobKey, None]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    """By the class of their pods, in order; one more than a reason names, of maybe thousands."""
    _reasons: dict[frozenset[PodClass], Reason] = field(default_factory=dict)
    """By classes that wait, the reason, until other jobs come first."""

    def add(self, key: JobKey, classes: Iterable[PodClass]) -> None:
        """Add a job with pods of these classes."""
        for pod_class in classes:
            jobs = self._jobs[pod_class]
            if len(jobs) <= _NAMED:
                jobs[key] = None
                self._reasons.clear()

    def add_roles(self, allocations: Iterable[RoleAllocation]) -> None:
        for allocation in allocations:
            self.add(allocation.job.key, [allocation.pod_class])

    def remove(self, key: JobKey, classes: Iterable[PodClass]) -> None:
        for pod_class in classes:
            self._jobs[pod_class].pop(key, None)
        self._reasons.clear()

    def why_behind(self, waiting: Iterable[PodClass]) -> Reason:
        """The reason to wait, with jobs whose pods may use the same nodes and come first."""
        classes = frozenset(waiting)
        if classes not in self._reasons:
            ahead: dict[JobKey, None] = {}
            for other, jobs in self._jobs.items():
                if any(self.displacement.cost(other, pod_class) for pod_class in classes):
                    ahead |= jobs
            several = len(ahead) > _NAMED
            self._reasons[classes] = reasons.placed_after([*ahead][:_NAMED], others=several)
        return self._reasons[classes]
