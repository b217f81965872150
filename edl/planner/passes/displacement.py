"""Which pods kube-scheduler may leave pending as it binds others first, and whose these are."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from edl import reasons
from edl.feasibility.horizon import Horizon
from edl.job_state import last_changes
from edl.model import JobKey, Reason
from edl.planner.packing.pod_class import PodClass
from edl.planner.passes.admission.precedence import max_displaced
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.role_allocation import RoleAllocation

_NAMED: Final = 3
"""The most jobs that a reason to wait names."""


@dataclass(slots=True)
class Displacement:
    """Compares pods by class, on the capacity that the cluster shows idle."""

    snapshot: Snapshot
    _capacity: dict[PodClass, int] = field(default_factory=dict)
    _costs: dict[tuple[PodClass, PodClass], int] = field(default_factory=dict)

    def cost(self, pod_class: PodClass, other: PodClass) -> int:
        """The most pods of a class that one pod of another class may displace."""
        pair = (pod_class, other)
        if pair not in self._costs:
            meet = pod_class is other or bool((pod_class.eligible & other.eligible).any())
            self._costs[pair] = max_displaced(pod_class, other) if meet else 0
        return self._costs[pair]

    def collides(self, pods: Counter[PodClass], ahead: Counter[PodClass]) -> bool:
        """Whether these pods, or pods ahead of them, may stay pending if all are created."""
        coming = ahead + pods
        affected = (
            pod_class for pod_class in coming if any(self.cost(pod_class, other) for other in pods)
        )
        return any(self.may_stay_pending(pod_class, coming) for pod_class in affected)

    def may_stay_pending(self, pod_class: PodClass, coming: Counter[PodClass]) -> bool:
        """Whether pods of a class may find no node once all other coming pods have theirs."""
        others = ((other, pods) for other, pods in coming.items() if other is not pod_class)
        harm = sum(pods * self.cost(pod_class, other) for other, pods in others)
        return harm > 0 and self._room(pod_class) - harm < coming[pod_class]

    def in_turn(
        self, growing: Sequence[RoleAllocation], ahead: Counter[PodClass]
    ) -> list[RoleAllocation]:
        """The order of growth: first roles whose pods may not fit beside all others.

        Among these the least satisfied comes first, as rebalancing would give it replicas in the
        next plan. Roles that have just donated a replica come last, after their recipients.
        `ahead`: pods, by class, that kube-scheduler has yet to bind.
        """
        policy, together = self.snapshot.policy, ahead.copy()
        for allocation in growing:
            together[allocation.pod_class] += allocation.created
        scarce = {pod_class for pod_class in together if self.may_stay_pending(pod_class, together)}

        def turn(allocation: RoleAllocation) -> tuple[bool, bool, float, float, int]:
            gave = last_changes.gave_replica(policy.rebalance_code, allocation.role)
            fits = allocation.pod_class not in scarce
            share = policy.satisfaction(allocation, allocation.allocated - allocation.growth)
            return gave, fits, share, -allocation.cluster_fraction, allocation.rank

        return sorted(growing, key=turn)

    def _room(self, pod_class: PodClass) -> int:
        """How many pods of a class fit if no other pods are created."""
        if pod_class not in self._capacity:
            room = pod_class.pods_by_capacity(
                self.snapshot.capacity.observed_idle, Horizon.OBSERVED
            )
            self._capacity[pod_class] = int(room.sum())
        return self._capacity[pod_class]


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
