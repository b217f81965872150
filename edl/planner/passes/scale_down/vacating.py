"""Replicas above the minimum leave nodes that nothing else needs, and grow only where nodes stay.

What leaves: the highest indexes of a role, as many as it has extras there. Where others of its
replicas are on the node, these move to the room on needed nodes that is kept for them: pods that
the plan places at once, others when the autoscaler drains the node.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from edl import reasons
from edl.feasibility.eligibility import Mask
from edl.planner.packing.pod_class import PodClass
from edl.planner.passes.drain import quota_allows_replacement, roles_with_movable_pods
from edl.planner.passes.scale_down.needed_nodes import given_up, only_needed, required, unneeded
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.decisions import Decisions, ReplicaMove, record_eviction
from edl.planner.snapshot.role_allocation import NO_NODE, Placement, RoleAllocation


@dataclass(slots=True)
class Vacating:
    """Of one decision; it does nothing where extras may run on any node."""

    board: Snapshot
    ledger: Decisions
    unneeded: Mask = field(init=False)
    """Nodes that nothing but extras needs, before anything is decided; bool[nodes]."""
    _given_up: Mask = field(init=False)
    """Nodes that no autoscaler has removed in time: they may be used."""
    _narrow: dict[PodClass, tuple[PodClass, PodClass]] = field(default_factory=dict)
    """By shape: on the nodes that stay, and on the others."""

    def __post_init__(self) -> None:
        none = np.zeros(len(self.board.capacity.index), dtype=np.bool_)
        self.unneeded = self._given_up = none
        if only_needed(self.board):
            self.unneeded, self._given_up = unneeded(self.board), given_up(self.board)

    @property
    def names(self) -> tuple[str, ...]:
        """Those that nothing but extras needs."""
        names = self.board.capacity.node_names
        return tuple(names[node] for node in np.flatnonzero(self.unneeded).tolist())

    def vacate(self) -> None:
        """Take extras off the nodes whose time is over, whom it costs least first.

        A restart costs work: of nodes that cost one, the cheapest goes when no other has to.
        """
        found = {node: self._extras(node) for node in self._due()}
        found = {node: reclaimable for node, reclaimable in found.items() if reclaimable}
        cheap = [node for node in found if not any(one.restarts_to_resize for one in found[node])]
        dear = sorted(found.keys() - set(cheap), key=lambda node: (_cost(found[node]), node))
        for node in cheap or dear[:1]:
            for allocation in found[node]:
                self._leave(allocation, node)

    def keep_growth_to_needed_nodes(self) -> None:
        """Extras that come in this plan come where nodes stay.

        kube-scheduler knows nothing of that: pods that it places come when no other node is left.
        """
        free = (
            self.unneeded & unneeded(self.board) & ~self._given_up & self.board.capacity.schedulable
        )
        if not free.any():
            return
        for allocation in self.board.allocations:
            if allocation.size < required(allocation):
                allocation.max_replicas = min(allocation.max_replicas, required(allocation))
            elif allocation.size < allocation.max_replicas:
                self._confine(allocation, free)

    def _confine(self, allocation: RoleAllocation, free: Mask) -> None:
        pod_class = allocation.pod_class
        if not (pod_class.eligible & free).any():
            return
        if pod_class not in self._narrow:
            self._narrow[pod_class] = pod_class.within(~free), pod_class.within(free)
        stays, others = self._narrow[pod_class]
        elsewhere = others.future_idle.find() != NO_NODE
        if elsewhere and (not allocation.role.gated or stays.future_idle.find() == NO_NODE):
            allocation.hold_reason = allocation.hold_reason or reasons.NEEDED_NODES_ONLY
            allocation.reserves_capacity = False
        allocation.pod_class = stays

    def _due(self) -> Iterator[int]:
        nodes, snapshot = self.board.capacity.index, self.board
        since = dict(snapshot.state.unneeded_since)
        for name in self.names:
            moment = since.get(name, snapshot.observed_at)
            if (
                snapshot.has_passed(moment, snapshot.limits.idle_node_after)
                and not self._given_up[nodes[name]]
            ):
                yield nodes[name]

    def _extras(self, node: int) -> list[RoleAllocation]:
        """The roles with replicas there; none while one of them may not take a new size."""
        found = [
            one for one in self.board.allocations if any(s.node == node for s in one.placements)
        ]
        return [] if any(one.restarts_to_resize and one.cooling_down for one in found) else found

    def _leave(self, allocation: RoleAllocation, node: int) -> None:
        for position in reversed(range(required(allocation), allocation.size)):
            if position < allocation.size and allocation.placements[position].node == node:
                self._take_off(allocation, position)

    def _take_off(self, allocation: RoleAllocation, position: int) -> None:
        last = position == allocation.size - 1
        to = (
            None
            if allocation.restarts_to_resize or (last and not allocation.role.gated)
            else self._to(allocation)
        )
        if to is not None:
            self._move(allocation, position, to)
            return
        placements = allocation.placements
        placements[position], placements[-1] = placements[-1], placements[position]
        allocation.evict(self.board.capacity)
        allocation.unscheduled = [
            one for one in allocation.unscheduled if one.position < allocation.size
        ]
        record_eviction([allocation], reasons.NODE_UNNEEDED)

    def _move(self, allocation: RoleAllocation, position: int, to: Placement) -> None:
        placement, capacity = allocation.placements[position], self.board.capacity
        capacity.release(placement.node, allocation.pod_class, now=placement.holds_idle)
        capacity.reserve(to.node, allocation.pod_class, now=to.holds_idle)
        allocation.assign(position, to)
        known = position not in {one.position for one in allocation.unscheduled}
        if allocation.role.gated and known:
            self.ledger.moves.append(
                ReplicaMove(allocation, placement.node, to.holds_idle, reasons.NODE_UNNEEDED)
            )

    def _to(self, allocation: RoleAllocation) -> Placement | None:
        """Room on a node that is needed."""
        snapshot, role = self.board, allocation.role
        if role.gated and role not in roles_with_movable_pods(allocation.job):
            return None
        if not quota_allows_replacement(snapshot, allocation.job, role):
            return None
        pod_class = allocation.pod_class.within(~self.unneeded)
        for now, cursor in ((True, pod_class.idle), (False, pod_class.future_idle)):
            if (node := cursor.find()) != NO_NODE:
                return Placement(node, holds_idle=now, is_new=False)
        return None


def _cost(reclaimable: list[RoleAllocation]) -> int:
    """The pods that stop."""
    return sum(role.size for one in reclaimable for role in one.job.live if one.restarts_to_resize)
