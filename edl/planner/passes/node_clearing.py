"""Extras are moved off chosen nodes for pods that have few eligible nodes.

A smaller Job loses its highest indexes, wherever they run, so freeing one node that way could evict
most of a role. Instead the plan moves a replica from the node to another node with capacity. If
there is none, the role gives up its highest index, and the replica moves to that capacity once it
is free. A role that restarts to resize is placed anew, so only its size matters.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from edl.annotations import cleared_nodes
from edl.feasibility.eligibility import Mask
from edl.feasibility.horizon import FUTURE_IDLE
from edl.model import JobKey, Reason
from edl.planner.packing.node_capacity import NO_NODE
from edl.planner.packing.placement import Placement, first_placement
from edl.planner.packing.pod_class import PodClass
from edl.planner.pass_results import ReplicaMove
from edl.planner.passes.drain import exceeded_by_replacement, is_movable, keeping_one_ready
from edl.planner.plan import Drain
from edl.planner.reclaiming.removal_choice import move_last
from edl.planner.reclaiming.reservation import Reservation
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.extras.node_search import clearing, lacking_least
from edl.planner.snapshot.extras.reclaimable import Reclaimable
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.reclaim_priority import ReclaimScope


@dataclass(slots=True)
class NodeClearing:
    """Clears nodes for one claim."""

    snapshot: Snapshot
    reclaimable: Reclaimable
    reservation: Reservation
    scope: ReclaimScope
    reason: Reason
    moves: list[ReplicaMove] = field(default_factory=list)

    def run(self) -> list[ReplicaMove]:
        """Place missing pods of the claim by clearing one node at a time. Returns the moves."""
        for (pod_class, count), nodes in zip(
            self.reservation.requests, self.reservation.nodes, strict=True
        ):
            while len(nodes) < count and _is_narrow(self.snapshot, pod_class):
                room = self.reclaimable.capacity.with_idle(self.scope)
                node = lacking_least(self.snapshot.capacity, room, pod_class)
                blocking = self._blocking(pod_class, node) if node != NO_NODE else []
                if not blocking:
                    break
                for allocation, position in blocking:
                    self._clear(pod_class, allocation, position)
                pod_class.future_idle.reserve(node)
                nodes.append(node)
        return self.moves

    def _blocking(self, pod_class: PodClass, node: int) -> list[tuple[RoleAllocation, int]]:
        """The extras to clear from this node, as (role, position); [] if they do not suffice."""
        seen, there = list[RoleAllocation](), np.zeros_like(pod_class.eligible)
        there[node] = True
        queue = self.reclaimable.queue_on(there)

        def extras() -> Iterator[tuple[RoleAllocation, int]]:
            while allocation := queue.next(self.scope):
                seen.append(allocation)
                for position in self._positions(allocation, node):
                    yield allocation, position

        blockers = clearing(self.snapshot.capacity, pod_class, node, extras())
        for allocation in seen:
            queue.requeue(allocation)
        return blockers

    def _positions(self, allocation: RoleAllocation, node: int) -> Iterator[int]:
        """Positions of a role's extras on this node that may leave it, highest first."""
        if not allocation.restarts_to_resize and not self._may_move(allocation, node):
            return
        for position in reversed(range(self.reclaimable.min_replicas(allocation), allocation.size)):
            if allocation.placements[position].node == node:
                yield position

    def _may_move(self, allocation: RoleAllocation, node: int) -> bool:
        """Whether its replicas may be moved off this node.

        Not if earlier moves were undone, because replacements were bound to the node again.
        """
        nodes = self.snapshot.capacity.index
        return is_movable(allocation) and all(
            nodes.get(entry.node) != node
            or self.snapshot.clock.elapsed_or_recheck(entry.at, cleared_nodes.REMEMBERED)
            for entry in cleared_nodes.exhausted(allocation.role)
        )

    def _clear(self, pod_class: PodClass, allocation: RoleAllocation, position: int) -> None:
        restarts = allocation.restarts_to_resize
        to = None if restarts else self._elsewhere(allocation, ~pod_class.eligible)
        if to is None:
            # The highest index is evicted, and this replica gets its placement.
            move_last(allocation, position)
            risen = self.reclaimable.evict(allocation)
            self.reservation.evicted.setdefault(allocation, []).append(risen)
            self.reclaimable.queue.requeue(allocation)
        elif (node := self.reclaimable.move(allocation, position, to)) != NO_NODE:
            self.moves.append(ReplicaMove(allocation, node, to.holds_idle, self.reason))

    def _elsewhere(self, allocation: RoleAllocation, allowed: Mask) -> Placement | None:
        """The fullest allowed node for this replica, idle capacity first; None if none fits."""
        if exceeded_by_replacement(allocation):
            return None
        pod_class = allocation.pod_class
        room = self.snapshot.capacity.future_idle
        capacity = pod_class.pods_per_node(room, FUTURE_IDLE)
        nodes = np.flatnonzero((capacity > 0) & allowed)
        return first_placement(
            pod_class, pod_class.fullest_first(nodes, capacity[nodes], room).tolist()
        )


def _is_narrow(snapshot: Snapshot, pod_class: PodClass) -> bool:
    """Whether only some schedulable nodes are eligible, and resource amounts alone decide there."""
    others = snapshot.capacity.schedulable & ~pod_class.eligible
    return pod_class.is_unconstrained and bool(others.any())


def drains_of_moves(
    snapshot: Snapshot, moves: Sequence[ReplicaMove], busy: frozenset[JobKey]
) -> tuple[Drain, ...]:
    """Evictions for moves onto idle capacity; those of `busy` jobs are left to later plans."""
    names = snapshot.capacity.node_names
    due: defaultdict[RoleAllocation, list[ReplicaMove]] = defaultdict(list)
    for move in moves:
        if move.at_once and move.allocation.job.key not in busy:
            due[move.allocation].append(move)
    leaving = (_drain(allocation, its, names) for allocation, its in due.items())
    return tuple(drain for drain in leaving if drain.pods)


def _drain(allocation: RoleAllocation, moves: Sequence[ReplicaMove], names: Sequence[str]) -> Drain:
    counts = Counter(names[move.node] for move in moves)
    clears, pods = tuple(sorted(counts)), []
    for pod in sorted(allocation.role.status.pods, key=lambda pod: (-pod.index, pod.name)):
        if counts[pod.node] > 0 and pod.active:
            counts[pod.node] -= 1
            pods.append(pod)
    leaving = tuple(pod.name for pod in keeping_one_ready(allocation.role, pods))
    return Drain(allocation.job.key, allocation.role.name, leaving, moves[0].reason, clears)
