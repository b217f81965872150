"""Jobs that start after a claim do not take the capacity that the claim waits for.

A claim has no pods yet, so kube-scheduler does not know of it and may bind newly started pods to
its capacity, wherever the plan places them. With preemption this could repeat for ever: another
gang is preempted for the claim, while the first victim starts elsewhere and is bound to the claim's
capacity.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from edl.feasibility.horizon import Horizon
from edl.planner.packing.gated_nodes import GatedNodes, excludes
from edl.planner.packing.node_capacity import NO_NODE
from edl.planner.packing.pod_class import PodClass, PodSetRequest
from edl.planner.pass_results import PipelinedPods
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.role_allocation import RoleAllocation

if TYPE_CHECKING:
    from edl.feasibility.eligibility import Ints, Mask


@dataclass(slots=True)
class Precedence:
    """Checks starts against the reservations of one plan, once all replicas have placements.

    Pods hinder others if they take what is reserved for a claim, whose pods do not exist yet, or
    displace gated pods, which exist and have a node. Their harm to a class is an upper bound of how
    many of its pods they push out.
    """

    snapshot: Snapshot
    reserved: list[PipelinedPods]
    """What claims and deferred starts wait for; an appended one counts for all later checks."""
    gated: Counter[PodClass]
    """Gated pods that are not bound yet, by class."""
    cost: Callable[[PodClass, PodClass], int]
    """The harm to the first class that one pod of the second class does."""
    kept_harm: Callable[[PodClass, Mapping[PodClass, int]], int | None] = lambda *_: None
    """The harm to a class that these pods do, if it is kept for them; None: it is to be summed."""
    leaving: AbstractSet[RoleAllocation] = frozenset()
    """Gated roles whose pods this plan stops; they come back to the nodes of their placements."""
    _open: "Ints" = field(init=False)
    """Future idle capacity if no unbound pod were placed; int64[resources, nodes]."""
    _gated_nodes: GatedNodes = field(init=False)
    _unreserved: "Ints" = field(init=False)
    """The same without any reservation, of which kube-scheduler knows nothing."""
    _capacities: dict[int, list[int]] = field(default_factory=dict)
    _spare: dict[PodClass, dict[PodClass, int]] = field(default_factory=lambda: defaultdict(dict))
    """By pod class, and by its restriction to some domain, how many more than the gated pods fit.
    """
    _reached: dict[tuple[PodClass, PodClass], int] = field(default_factory=dict)
    _nodes_for_one: dict[PodClass, "Mask"] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._open = self.snapshot.capacity.future_idle.copy()
        nodes: defaultdict[PodClass, list[int]] = defaultdict(list)
        given: defaultdict[PodClass, list[int]] = defaultdict(list)
        for allocation in self.snapshot.allocations:
            leaves = allocation in self.leaving
            unbound = (_all_nodes if leaves else _unbound_nodes)(allocation)
            nodes[allocation.pod_class] += unbound
            if unbound and allocation.role.template.gated:
                given[allocation.pod_class] += (node for node in unbound if node != NO_NODE)
        for pod_class, unbound in nodes.items():
            pod_class.release_in(self._open, unbound)
        self._gated_nodes = GatedNodes(self._open.copy(), given)
        capacity = self.snapshot.capacity
        unreserved = self._open.copy()
        for claim in self.reserved:
            for request, there in zip(claim.requests, claim.nodes, strict=False):
                request.pod_class.release_in(unreserved, there)
        self._unreserved = np.maximum(unreserved, capacity.observed_idle + capacity.releasing)
        for pod_class, pods in self.gated.items():
            spare = self._gated_nodes.spare(pod_class, pods)
            self._spare[self.snapshot.pod_class(pod_class.shape)][pod_class] = spare

    def hinders(self, pods: Mapping[PodClass, int], ahead: Mapping[PodClass, int]) -> bool:
        """Whether growth by these pods, by class, takes from a claim, or displaces gated pods.

        `ahead`: ungated pods by class that are not bound yet.
        """
        claims = range(len(self.reserved))
        takes = any(self.takes(index, pods, ahead, self.gated) for index in claims)
        return takes or next(self.displaced(pods, ahead), None) is not None

    def harmless(self, pod_class: PodClass, pods: int, ahead: Mapping[PodClass, int]) -> int:
        """How many of these pods may be created without hindering others."""

        def hinders(count: int) -> bool:
            return self.hinders({pod_class: count}, ahead)

        return bisect_left(range(1, pods + 1), 1, key=hinders)

    def takes_any_before(
        self, number: int, starts: Mapping[PodClass, int], ahead: Mapping[PodClass, int]
    ) -> bool:
        """Whether these pods of the start with this number take from any claim served before it."""
        return any(
            claim.admitted_before <= number and self.takes(index, starts, ahead, self.gated)
            for index, claim in enumerate(self.reserved)
        )

    def displaced(
        self, starts: Mapping[PodClass, int], ahead: Mapping[PodClass, int]
    ) -> Iterator[PodClass]:
        """Classes of gated pods that these starts, beside pods ahead, may leave without a node."""
        for whole, spares in self._spare.items():
            if not (harm := self._harm(whole, starts.items())):
                continue
            # Fast path: no node is looked at where the amounts alone leave enough for all of them.
            if harm + self._harm(whole, ahead.items()) <= min(spares.values()):
                continue
            for pod_class, spare in spares.items():
                coming = chain(starts.items(), ahead.items())
                disturbed = self._gated_nodes.disturbed(pod_class, coming, self._takes_one)
                harm = self._harm_within_reach(pod_class, starts, disturbed)
                if harm and harm + self._harm_within_reach(pod_class, ahead, disturbed) > spare:
                    yield pod_class

    def leave_out(self, gated: Mapping[PodClass, int]) -> None:
        """Count these gated pods no longer: their start is deferred."""
        for pod_class, pods in gated.items():
            self.gated[pod_class] -= pods
            self._spare[self.snapshot.pod_class(pod_class.shape)][pod_class] += pods

    def takes(
        self,
        index: int,
        pods: Mapping[PodClass, int],
        ahead: Mapping[PodClass, int],
        gated: Mapping[PodClass, int] = MappingProxyType({}),
    ) -> bool:
        """Whether these pods, beside those ahead and gated ones, may take what one claim waits for.

        Gated pods take their own nodes, or others if those are taken.
        """
        requests = self.reserved[index].requests
        for position, request in enumerate(requests):
            if harm := self._harm(request.pod_class, pods.items()):
                others = (other for other in requests if other is not request)
                harm += self._harm(request.pod_class, chain(others, gated.items()))
                harm += self._harm_ahead(request.pod_class, ahead)
                if self._capacity(index)[position] - harm < request.pods:
                    return not self._fit_beside(index, [*pods.items(), *ahead.items()])
        return False

    def _fit_beside(self, index: int, pods: Iterable[tuple[PodClass, int]]) -> bool:
        """Whether each node of a reservation has enough left over for those that may use it."""
        requests = self.reserved[index].requests
        nodes = np.array([*chain(*self.reserved[index].nodes)], dtype=np.int64)
        if not nodes.size:
            return False
        left = self.snapshot.capacity.future_idle[:, nodes]
        for pod_class, count in pods:
            may = self._takes_one(pod_class)[nodes]
            classes = [pod_class, *(request.pod_class for request in requests)]
            if may.any() and not all(other.is_unconstrained for other in classes):
                return False
            pod_class.subtract(left, count * may, nodes)
        return not (left < 0).any()

    def _harm(
        self, pod_class: PodClass, pods: Iterable[tuple[PodClass, int] | PodSetRequest]
    ) -> int:
        return sum(count * self.cost(pod_class, other) for other, count in pods)

    def _harm_ahead(self, pod_class: PodClass, ahead: Mapping[PodClass, int]) -> int:
        harm = self.kept_harm(pod_class, ahead)
        return self._harm(pod_class, ahead.items()) if harm is None else harm

    def _harm_within_reach(
        self, pod_class: PodClass, pods: Mapping[PodClass, int], disturbed: "Mask | None"
    ) -> int:
        """`_harm`, but no more than fit on the nodes to which these pods may be bound.

        `disturbed`: the only nodes that count; None: all; bool[nodes of the class].
        """

        def reach(other: PodClass) -> int:
            if disturbed is None:
                return self._reach(pod_class, other)
            may = disturbed
            if not excludes(pod_class, other):
                may = disturbed & self._takes_one(other)[pod_class.nodes]
            return int(self._gated_nodes.pods_per_node(pod_class)[may].sum())

        return sum(
            min(count * self.cost(pod_class, other), reach(other)) for other, count in pods.items()
        )

    def _reach(self, pod_class: PodClass, other: PodClass) -> int:
        """How many pods of a class fit on the nodes that one pod of another class may take."""
        pair = (pod_class, other)
        if pair not in self._reached:
            may = self._takes_one(other)[pod_class.nodes]
            self._reached[pair] = int(self._gated_nodes.pods_per_node(pod_class)[may].sum())
        return self._reached[pair]

    def _takes_one(self, pod_class: PodClass) -> "Mask":
        """The nodes to which kube-scheduler may bind a pod of a class; bool[nodes]."""
        if pod_class not in self._nodes_for_one:
            fitting = pod_class.pods_by_resources(self._unreserved)
            if pod_class.constraints is not None:
                fitting = pod_class.constraints.beside_others(fitting)
            self._nodes_for_one[pod_class] = fitting > 0
        return self._nodes_for_one[pod_class]

    def _capacity(self, index: int) -> list[int]:
        """By request of a reservation, how many pods fit if no other unbound pod is placed."""
        if index not in self._capacities:
            pipelined, room = self.reserved[index], self._open.copy()
            for request, nodes in zip(pipelined.requests, pipelined.nodes, strict=False):
                request.pod_class.release_in(room, nodes)
            capacities = [
                int(request.pod_class.pods_by_capacity(room, Horizon.EMPTY).sum())
                for request in pipelined.requests
            ]
            self._capacities[index] = capacities
        return self._capacities[index]


def _all_nodes(allocation: RoleAllocation) -> list[int]:
    return [placement.node for placement in allocation.placements]


def _unbound_nodes(allocation: RoleAllocation) -> list[int]:
    """The nodes of replicas whose pods are not bound yet."""
    placements, size = allocation.placements, allocation.size
    unbound = (replica.position for replica in allocation.unscheduled)
    waiting = [placements[position].node for position in unbound if position < size]
    return waiting + [
        placement.node for placement in placements if placement.is_new and placement.holds_idle
    ]
