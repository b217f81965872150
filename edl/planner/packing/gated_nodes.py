"""The nodes of gated pods, and which other ones they could use if kube-scheduler took these.

It binds ungated pods of the same plan to any node, and does not know what gated pods were given.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from edl.feasibility.horizon import Horizon
from edl.planner.packing.pod_class import PodClass

if TYPE_CHECKING:
    from edl.feasibility.eligibility import Ints, Mask


@dataclass(slots=True)
class GatedNodes:
    """Compares gated pods, by class, with the capacity beside them."""

    room: "Ints"
    """Capacity without any unbound pod, then beside the gated ones; int64[resources, nodes]."""
    given: Mapping[PodClass, Sequence[int]]
    """The nodes that the plan chose for gated pods."""
    _per_node: dict[PodClass, "Ints"] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for pod_class, nodes in self.given.items():
            pod_class.reserve_in(self.room, nodes)

    def spare(self, pod_class: PodClass, pods: int) -> int:
        """How many more than these gated pods of a class fit beside those of other classes."""
        per_node = self.pods_per_node(pod_class)
        if self._keeps(pod_class):
            return int((per_node - self._given_per_node(pod_class)).sum())
        return int(per_node.sum()) - pods

    def pods_per_node(self, pod_class: PodClass) -> "Ints":
        """How many pods of a class fit beside gated ones of other classes; int64[its nodes].

        With rules between pods: those that it was given, and what surely fits elsewhere.
        """
        if pod_class not in self._per_node:
            count = self._count_by_rules if self._keeps(pod_class) else self._count
            self._per_node[pod_class] = count(pod_class)
        return self._per_node[pod_class]

    def disturbed(
        self,
        pod_class: PodClass,
        coming: Iterable[tuple[PodClass, int]],
        takes_one: Callable[[PodClass], "Mask"],
    ) -> "Mask | None":
        """Where gated pods with rules may not run beside all coming pods that fit there.

        bool[nodes of the class]; None without rules: then amounts alone decide. `takes_one`: the
        nodes to which a pod of a class may be bound, bool[nodes].
        """
        if not self._keeps(pod_class):
            return None
        nodes = pod_class.nodes
        left = self.room[:, nodes].copy()
        more = self.pods_per_node(pod_class) - self._given_per_node(pod_class)
        pod_class.subtract(left, more, nodes)
        excluded = False
        for other, count in coming:
            excluded = excluded or excludes(pod_class, other)
            other.subtract(left, count * takes_one(other)[nodes], nodes)
        disturbed: Mask = np.logical_or((left < 0).any(axis=0), excluded)
        return disturbed

    def _keeps(self, pod_class: PodClass) -> bool:
        """Whether rules between pods decide on which other nodes its gated pods may run."""
        return pod_class.constraints is not None and bool(self.given.get(pod_class))

    def _given_per_node(self, pod_class: PodClass) -> "Ints":
        """How many gated pods of a class each node was given; int64[its nodes]."""
        counts = np.bincount(self.given[pod_class], minlength=self.room.shape[1])
        given: Ints = counts[pod_class.nodes]
        return given

    def _count(self, pod_class: PodClass) -> "Ints":
        nodes, given = pod_class.nodes, self.given.get(pod_class, ())
        pod_class.release_in(self.room, given)
        fitting: Ints = pod_class.pods_by_capacity(self.room, Horizon.EMPTY)[nodes]
        pod_class.reserve_in(self.room, given)
        return fitting

    def _count_by_rules(self, pod_class: PodClass) -> "Ints":
        elsewhere = pod_class.pods_by_capacity(self.room, Horizon.EMPTY)
        rules = pod_class.constraints
        surely = rules.surely(elsewhere) if rules else elsewhere
        counted: Ints = surely[pod_class.nodes] + self._given_per_node(pod_class)
        return counted


def excludes(pod_class: PodClass, other: PodClass) -> bool:
    """Whether a pod of the other class may keep one of this class from its node by a rule."""
    rules = pod_class.constraints
    counted = other.constraints.carried if other.constraints else ()
    return rules is not None and not rules.counts.isdisjoint(counted)
