"""Which pods kube-scheduler may leave pending as it binds others first, and whose these are."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import numpy as np

from edl import reasons
from edl.feasibility.eligibility import Ints, Mask
from edl.feasibility.horizon import Horizon
from edl.job_state import last_changes
from edl.model import JobKey, Reason
from edl.planner.packing.pod_class import PodClass
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.role_allocation import RoleAllocation

_NAMED: Final = 3
"""The most jobs that a reason to wait names."""
_MAX_DISPLACED: Final = 2**31
"""More pods than a cluster has: one pod that displaces more may as well displace this many."""
_MAX_CLASSES_KEPT: Final = 64
"""Classes for which arrays are kept: usual decisions have fewer."""


@dataclass(slots=True)
class Displacement:
    """Compares pods by class."""

    snapshot: Snapshot
    _costs: dict[tuple[PodClass, PodClass], int] = field(default_factory=dict)

    def cost(self, pod_class: PodClass, other: PodClass) -> int:
        """The most pods of a class that one pod of another class may displace."""
        pair = (pod_class, other)
        if pair not in self._costs:
            meet = (pod_class.eligible & other.eligible).any()
            most = most_displaced(amounts(pod_class), amounts(other)).item() if meet else 0
            self._costs[pair] = 1 if pod_class is other else most
        return self._costs[pair]

    def in_turn(
        self, growing: Sequence[RoleAllocation], unbound: "UnboundPods"
    ) -> list[RoleAllocation]:
        """The order of growth: first roles whose pods may not fit beside all others.

        Among these the least satisfied comes first, as rebalancing would give it replicas in the
        next plan. Roles that have just donated a replica come last, after their recipients.
        """
        policy, coming = self.snapshot.policy, Counter[PodClass]()
        for allocation in growing:
            coming[allocation.pod_class] += allocation.created
        scarce = unbound.scarce_beside(coming)

        def turn(allocation: RoleAllocation) -> tuple[bool, bool, float, float, int]:
            gave = last_changes.gave_replica(policy.rebalance_code, allocation.role)
            fits = allocation.pod_class not in scarce
            share = policy.satisfaction(allocation, allocation.allocated - allocation.growth)
            return gave, fits, share, -allocation.cluster_fraction, allocation.rank

        return sorted(growing, key=turn)


class UnboundPods:
    """Pods that kube-scheduler has yet to bind, on the capacity that the cluster shows idle.

    Thousands of classes may start at once, and each may displace all others: arrays have one entry
    per class.
    """

    def __init__(
        self, snapshot: Snapshot, ahead: Counter[PodClass], later: Iterable[PodClass]
    ) -> None:
        """`ahead`: by class, kept up to date; `later`: classes of pods that may be added."""
        self._capacity, self._ahead = snapshot.capacity, ahead
        self._classes = [*dict.fromkeys((*ahead, *later))]
        self._places = {pod_class: place for place, pod_class in enumerate(self._classes)}
        none = np.zeros((2, len(self._capacity.resources), 0), np.int64)
        self._amounts = np.concatenate([none, *map(amounts, self._classes)], axis=2)
        """`amounts` of all classes; int64[2, resources, classes]."""
        masks = {id(pod_class.eligible): pod_class.eligible for pod_class in self._classes}
        groups = {mask: group for group, mask in enumerate(masks)}
        self._groups = [groups[id(pod_class.eligible)] for pod_class in self._classes]
        """By class, the number of its set of eligible nodes."""
        self._nodes = np.array([np.packbits(mask) for mask in masks.values()])
        self._room = np.full(len(self._classes), -1)
        """How many pods fit if no other pods are created; -1 until that is asked."""
        self._displaced = lru_cache(_MAX_CLASSES_KEPT)(self._displaced_by)
        self._pods, self._harm = np.zeros((2, len(self._classes)), np.int64)
        """Pods, and how many of a class all pods of other classes may displace."""
        self._count(ahead, 1)

    def add(self, pods: Counter[PodClass]) -> None:
        self._ahead.update(+pods)
        self._count(pods, 1)

    def remove(self, pods: Counter[PodClass]) -> None:
        self._count(pods & self._ahead, -1)
        self._ahead -= pods

    def _count(self, pods: Mapping[PodClass, int], times: int) -> None:
        for pod_class, count in pods.items():
            self._pods[self._places[pod_class]] += count * times
            self._harm += self._displaced(pod_class) * count * times

    def kept_harm(self, pod_class: PodClass, ahead: Mapping[PodClass, int]) -> int | None:
        """How many pods of a class these may displace; None unless they are the pods kept here."""
        if ahead is not self._ahead or pod_class not in self._places:
            return None
        place = self._places[pod_class]
        return int(self._harm[place] + self._pods[place])

    def collide(self, pods: Mapping[PodClass, int]) -> bool:
        """Whether more pods, or pods that they may displace, may stay pending."""
        affected = sum(map(self._displaced, pods), self._pods * 0) > 0
        affected[[self._places[pod_class] for pod_class in pods]] = True
        return bool((affected & self._scarce(pods)).any())

    def scarce_beside(self, pods: Mapping[PodClass, int]) -> set[PodClass]:
        """Classes whose pods may find no node once all other pods, these included, have theirs."""
        return {self._classes[place] for place in self._scarce(pods).nonzero()[0]}

    def _scarce(self, more: Mapping[PodClass, int]) -> Mask:
        pods, harm = self._pods.copy(), self._harm.copy()
        for pod_class, count in more.items():
            pods[self._places[pod_class]] += count
            harm += self._displaced(pod_class) * count
        contested = (pods > 0) & (harm > 0)
        for place in (contested & (self._room < 0)).nonzero()[0]:
            observed = self._capacity.observed_idle
            room = self._classes[place].pods_by_capacity(observed, Horizon.OBSERVED)
            self._room[place] = room.sum()
        scarce: Mask = contested & (self._room - harm < pods)
        return scarce

    def _displaced_by(self, other: PodClass) -> Ints:
        """How many pods of each other class one pod may displace."""
        place = self._places[other]
        meets = (self._nodes & self._nodes[self._groups[place]]).any(axis=1)
        most = most_displaced(self._amounts, amounts(other))
        displaced: Ints = most * meets[self._groups]
        displaced[place] = 0
        return displaced


def amounts(pod_class: PodClass) -> Ints:
    """What one pod requests, and the most that it takes; int64[2, resources, 1]."""
    of_pod = np.zeros((2, len(pod_class.resources), 1), np.int64)
    for row, amount in pod_class.amounts:
        of_pod[:, row] = amount
    for row, more in pod_class.beside.items():
        of_pod[1, row] = max(of_pod[1, row], more.max())
    return of_pod


def most_displaced(of_classes: Ints, of_one: Ints) -> Ints:
    """How many pods of each class one pod of another displaces at most; from their `amounts`."""
    most = np.zeros_like(requested := of_classes[0])
    np.floor_divide(-of_one[1], requested, out=most, where=requested > 0)
    pods: Ints = np.minimum(-most.min(axis=0, initial=0), _MAX_DISPLACED)
    return pods


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
                if len(ahead) > _NAMED:
                    break
            several = len(ahead) > _NAMED
            self._reasons[classes] = reasons.placed_after([*ahead][:_NAMED], others=several)
        return self._reasons[classes]
