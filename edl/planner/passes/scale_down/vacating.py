"""Extras leave unneeded nodes, and grow only on needed ones.

A role gives up its highest indexes, as many as it has extras on such nodes. If the replicas on the
node are others, these move to capacity reserved on needed nodes: gated pods at once, other pods
when the autoscaler drains the node.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from edl import reasons
from edl.feasibility.eligibility import Ints, Mask
from edl.feasibility.horizon import FUTURE_IDLE
from edl.planner.packing.node_capacity import NO_NODE
from edl.planner.packing.placement import Placement, first_placement
from edl.planner.packing.pod_class import PodClass
from edl.planner.pass_results import PassResults, ReplicaMove, record_eviction
from edl.planner.passes.drain import exceeded_by_replacement, is_movable
from edl.planner.passes.scale_down.needed_nodes import (
    given_up,
    others,
    provisional,
    required,
    unneeded,
)
from edl.planner.reclaiming.removal_choice import move_last
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.role_allocation import RoleAllocation


@dataclass(slots=True)
class Vacating:
    """Mutable within one decision; made only if extras may run only on needed nodes."""

    snapshot: Snapshot
    results: PassResults
    unneeded: Mask = field(init=False)
    """Nodes that only extras use, before any decision of this plan; bool[nodes]."""
    _unrequested: Mask = field(init=False)
    """The same, where no request for nodes is kept."""
    _others: Ints = field(init=False)
    _given_up: Mask = field(init=False)
    """Nodes that no autoscaler has removed in time, which may be used."""
    _narrow: dict[PodClass, tuple[PodClass, bool]] = field(default_factory=dict)
    """The pod class restricted to nodes on which extras may grow, and whether others fit it."""
    _due: Mask = field(init=False)
    """Nodes that extras must leave now, with or without extras on them."""
    _needed: dict[PodClass, tuple[PodClass, PodClass]] = field(default_factory=dict)
    """The pod class restricted to needed nodes, and to all nodes that are not due."""

    def __post_init__(self) -> None:
        self._others = others(self.snapshot)
        self.unneeded = unneeded(self.snapshot, self._others)
        without = self._others - provisional(self.snapshot, kept_pods={})
        self._unrequested = unneeded(self.snapshot, without)
        self._given_up = given_up(self.snapshot)
        self._due = np.zeros_like(self.unneeded)
        names = self.snapshot.capacity.node_names
        indexes = np.flatnonzero(self.unneeded).tolist()
        self.results.unneeded = tuple(names[node] for node in indexes)

    def vacate(self) -> None:
        """Move extras off the nodes that are due.

        Restarts cost work: nodes that require none are vacated at once, and only if there are none
        of these, one node that does, the cheapest.
        """
        due = list(self._overdue())
        self._due[due] = True
        by_node = self._occupied(frozenset(due))
        cheap = [node for node, roles in by_node.items() if not _restarted(roles)]
        dear = sorted(by_node.keys() - set(cheap), key=lambda node: (_cost(by_node[node]), node))
        nodes = frozenset(cheap or dear[:1])
        leaving = dict.fromkeys(role for node in sorted(nodes) for role in by_node[node])
        for allocation in leaving:
            self._leave(allocation, nodes)

    def keep_growth_to_needed_nodes(self) -> None:
        """Restrict the growth of extras to needed nodes: not to those that requests give up.

        kube-scheduler knows neither this restriction nor what is reserved for lost pods and queued
        gangs, so ungated roles grow only while none of the other nodes fits their pods.
        """
        schedulable = self.snapshot.capacity.schedulable
        free = self._unrequested & ~self._given_up & schedulable
        if free.any():
            given_up_pods = provisional(self.snapshot, self.results.requests)
            free &= unneeded(self.snapshot, self._others - given_up_pods)
        if not free.any():
            return
        capacity = self.snapshot.capacity
        # With what is reserved for pods that do not exist, which kube-scheduler does not see.
        seen = np.maximum(capacity.future_idle, capacity.observed_idle + capacity.releasing)
        for allocation in self.snapshot.allocations:
            if allocation.size < required(allocation):
                allocation.max_replicas = min(allocation.max_replicas, required(allocation))
            elif allocation.size < allocation.max_replicas:
                self._confine(allocation, free, seen)

    def _confine(self, allocation: RoleAllocation, free: Mask, seen: Ints) -> None:
        pod_class = allocation.pod_class
        if not (pod_class.eligible & free).any():
            return
        if pod_class not in self._narrow:
            fitting = pod_class.within(free).pods_per_node(seen, FUTURE_IDLE)
            self._narrow[pod_class] = pod_class.within(~free), bool(fitting.any())
        stays, elsewhere = self._narrow[pod_class]
        if elsewhere and (
            not allocation.role.template.gated or stays.future_idle.find() == NO_NODE
        ):
            allocation.hold.deny_as_well(reasons.NEEDED_NODES_ONLY)
        allocation.pod_class = stays

    def _overdue(self) -> Iterator[int]:
        snapshot, since = self.snapshot, dict(self.snapshot.state.unneeded_since)
        for node in np.flatnonzero(self.unneeded & ~self._given_up).tolist():
            moment = since.get(snapshot.capacity.node_names[node], snapshot.clock.now)
            if snapshot.clock.elapsed_or_recheck(moment, snapshot.limits.idle_node_after):
                yield node

    def _occupied(self, nodes: frozenset[int]) -> dict[int, list[RoleAllocation]]:
        """By node, the roles on it; without nodes where a role that must restart cools down."""
        by_node: defaultdict[int, list[RoleAllocation]] = defaultdict(list)
        for allocation in self.snapshot.allocations if nodes else ():
            for node in sorted(
                nodes.intersection(placement.node for placement in allocation.placements)
            ):
                by_node[node].append(allocation)
        return {
            node: roles
            for node, roles in by_node.items()
            if not any(role.hold.cooling_down for role in _restarted(roles))
        }

    def _leave(self, allocation: RoleAllocation, nodes: frozenset[int]) -> None:
        for position in reversed(range(required(allocation), allocation.size)):
            if allocation.placements[position].node in nodes:
                self._take_off(allocation, position)

    def _take_off(self, allocation: RoleAllocation, position: int) -> None:
        """Move an extra off its node, or evict it if it cannot be moved.

        An ungated highest index is evicted, since kube-scheduler could bind it to the node again.
        """
        goes = allocation.restarts_to_resize or (
            position == allocation.size - 1 and not allocation.role.template.gated
        )
        to = None if goes else self._elsewhere(allocation)
        if to is None:
            move_last(allocation, position)
            allocation.evict()
            allocation.forget_evicted_pods()
            record_eviction([allocation], reasons.NODE_UNNEEDED)
        elif (node := allocation.move(position, to)) != NO_NODE and allocation.role.template.gated:
            move = ReplicaMove(allocation, node, to.holds_idle, reasons.NODE_UNNEEDED)
            self.results.moves.append(move)

    def _elsewhere(self, allocation: RoleAllocation) -> Placement | None:
        """A placement on a needed node, else on one that extras need not leave yet; or None."""
        if allocation.role.template.gated and not is_movable(allocation):
            return None
        if exceeded_by_replacement(allocation):
            return None
        pod_class = allocation.pod_class
        if pod_class not in self._needed:
            stays = ~self.unneeded
            self._needed[pod_class] = pod_class.within(stays), pod_class.within(~self._due)
        needed, others = self._needed[pod_class]
        return first_placement(needed) or first_placement(others)


def _restarted(roles: Iterable[RoleAllocation]) -> list[RoleAllocation]:
    return [role for role in roles if role.restarts_to_resize]


def _cost(roles: Iterable[RoleAllocation]) -> int:
    """The number of pods that restart."""
    return sum(role.status.size for allocation in _restarted(roles) for role in allocation.job.live)
