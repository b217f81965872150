"""Reclaim: extras that roles give up for a claim.

Extras yield to claims of their own priority and above, in the order of
`edl.planner.snapshot.extras.reclaimable`. Afterwards every evicted replica whose capacity no pod of
the claim uses is restored (reprieved), even on an overcommitted node, or if constraints that are
newer than its pod forbid it.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from edl.feasibility.horizon import FUTURE_IDLE, Horizon
from edl.planner.packing.best_fit import CursorPosition
from edl.planner.packing.node_capacity import NodeCapacity
from edl.planner.packing.pod_class import PodClass, PodSetRequest, pack, still_missing
from edl.planner.passes.reclaim_choice import RemovalChoice
from edl.planner.snapshot.extras.minimum_nodes import leaves_by_name
from edl.planner.snapshot.extras.node_search import NodeSearch, nodes_for_one
from edl.planner.snapshot.extras.reclaimable import Reclaimable
from edl.planner.snapshot.quota_balance import NOT_COUNTED, QuotaRequest
from edl.planner.snapshot.role_allocation import NO_NODE, Placement, RoleAllocation
from edl.planner.teams.kept_capacity import LendingBound
from edl.planner.teams.reclaim_priority import ReclaimScope

if TYPE_CHECKING:
    from edl.feasibility.constraints import ConstraintCount
    from edl.feasibility.eligibility import Mask


def _always() -> bool:
    return True


@dataclass(slots=True)
class Reservation:
    """Future idle capacity for the pods of one claim, completed by reclaiming replicas.

    Pods that fit are placed at once. `condition` must hold too (the load ceiling). `quota_request`,
    of all pods together, is reserved at once even if it exceeds a quota: reclaiming releases it.
    """

    capacity: NodeCapacity
    requests: list[PodSetRequest]
    condition: Callable[[], bool] = _always
    quota_request: QuotaRequest = NOT_COUNTED
    nodes: list[list[int]] = field(init=False)
    """For each request, the nodes of its pods."""
    evicted: dict[RoleAllocation, list[Placement]] = field(default_factory=dict)
    """Evicted placements by role, in the order of eviction: the last replica first."""
    _positions: list[CursorPosition] = field(init=False)
    _lending: LendingBound | None = field(init=False)

    def __post_init__(self) -> None:
        self._lending = self.quota_request.lending_bound()
        self._positions = [request.pod_class.future_idle.position() for request in self.requests]
        self.nodes = [
            request.pod_class.future_idle.reserve_pods(request.pods) for request in self.requests
        ]
        self.quota_request.reserve(FUTURE_IDLE)

    @property
    def missing(self) -> list[PodSetRequest]:
        return still_missing(self.requests, self.nodes)

    def all_placed(self) -> bool:
        pairs = zip(self.requests, self.nodes, strict=True)
        return all(len(nodes) >= request.pods for request, nodes in pairs)

    def complete(self) -> bool:
        return self.all_placed() and self._allowed()

    def _allowed(self) -> bool:
        lent = self._lending is None or self._lending.holds()
        return lent and self.quota_request.within_quota() and self.condition()

    def reclaim(self, reclaimable: Reclaimable, scope: ReclaimScope) -> None:
        """Evict extras until the reservation is complete or none is left.

        First extras that relieve an exceeded quota, then those on nodes where missing pods would
        fit, then any other.
        """
        quota, least = self.quota_request, reclaimable.min_replicas
        if not quota.within_quota():
            search = NodeSearch(reclaimable, scope, quota.is_relieved_by)
            self._pass(search, quota.within_quota)
        if not self.all_placed():
            room = reclaimable.capacity.with_idle(scope)
            helps = (nodes_for_one(one, room) for one in self._lacking())
            nodes: Mask = reduce(np.logical_or, helps)
            frees: Sequence[bool] = memoryview(nodes)  # type: ignore[arg-type]

            def is_useful(one: RoleAllocation) -> bool:
                if leaves_by_name(one):
                    return _on(one, least(one), frees)
                node = one.placements[-1].node
                return node != NO_NODE and frees[node]

            search = NodeSearch(reclaimable, scope, is_useful, nodes, self._first_missing)
            self._pass(search, self.complete, RemovalChoice(self.capacity, reclaimable, scope))
        if not self.complete():
            self._pass(self._in_the_way(reclaimable, scope), self.complete)
        self._reprieve(reclaimable)

    def _in_the_way(self, reclaimable: Reclaimable, scope: ReclaimScope) -> NodeSearch:
        """Searches roles with extras on nodes that are eligible for missing pods.

        All roles count if placement constraints, quotas or the load ceiling block the claim.
        """
        missing = self._lacking()
        if not self._allowed() or any(pod_class.constraints for pod_class in missing):
            return NodeSearch(reclaimable, scope, lambda _: True)
        nodes: Mask = reduce(np.logical_or, (pod_class.eligible for pod_class in missing))
        usable: Sequence[bool] = memoryview(nodes)  # type: ignore[arg-type]
        least = reclaimable.min_replicas
        return NodeSearch(reclaimable, scope, lambda one: _on(one, least(one), usable), nodes)

    def _pass(
        self, search: NodeSearch, done: Callable[[], bool], choice: RemovalChoice | None = None
    ) -> None:
        while not done() and not (choice and self._clears_a_node(search)):
            if not (allocation := search.next()):
                break
            if choice and leaves_by_name(allocation) and (missing := self._first_missing()):
                choice.bring_last(allocation, missing)
            placement = self._evict(search.reclaimable, allocation)
            placed = self._place_missing(placement.node)
            search.evicted(allocation, placement.node, placed=placed)
        search.close()

    def _evict(self, reclaimable: Reclaimable, allocation: RoleAllocation) -> Placement:
        placement = reclaimable.evict(allocation)
        self.evicted.setdefault(allocation, []).append(placement)
        return placement

    def _clears_a_node(self, search: NodeSearch) -> bool:
        """Place the last missing pod on the node that the search would choose; whether it did so.

        Of the replicas that the search would evict, only those are evicted which the reservation
        would keep. If it stops before a node is cleared, all are, and it goes on.
        """
        if not (search.is_fresh and search.nodes is not None and self._lacks_one_plain_pod()):
            return False
        compared = search.compared(search.nodes, self._lacking()[0])
        node, steps = compared.run(), compared.ahead.steps
        compared.ahead.undo()
        used = {node, *chain.from_iterable(self.nodes)}
        last = {
            allocation: number
            for number, (allocation, placement) in enumerate(steps)
            if node == NO_NODE or placement.node in used
        }
        for number, (allocation, placement) in enumerate(steps):
            if number <= last.get(allocation, -1):
                self._evict(search.reclaimable, allocation)
                search.evicted(allocation, placement.node, placed=False)
            else:
                allocation.changed = True
                self.capacity.freed_nodes += [placement.node] if placement.node != NO_NODE else []
        search.resume(compared)
        return node != NO_NODE and self._place_missing(node)

    def _lacks_one_plain_pod(self) -> bool:
        """Whether only capacity for one more pod is missing, which amounts alone decide.

        Not if replicas were evicted that a quota may keep from returning: which of them, may depend
        on what else is evicted.
        """
        if self.evicted and self.quota_request.is_bounded:
            return False
        missing = [one for one in self.missing if one.pods]
        return (
            [one.pods for one in missing] == [1]
            and missing[0].pod_class.is_unconstrained
            and self.condition is _always
            and self._allowed()
        )

    def _first_missing(self) -> PodSetRequest | None:
        return next((request for request in self.missing if request.pods), None)

    def _lacking(self) -> list[PodClass]:
        return [request.pod_class for request in self.missing if request.pods]

    def _place_missing(self, node: int) -> bool:
        """Place missing pods on a node from which a replica was evicted; whether any fits."""
        placed = False
        for (pod_class, count), nodes in zip(self.requests, self.nodes, strict=True):
            if node == NO_NODE or not pod_class.eligible[node]:
                continue
            while len(nodes) < count and pod_class.future_idle.fits(node):
                pod_class.future_idle.reserve(node)
                nodes.append(node)
                placed = True
        return placed

    def _reprieve(self, reclaimable: Reclaimable) -> None:
        """Restore evicted replicas that the claim does not need, last evicted role first."""
        met, taken = self.complete(), _Taken(self.requests, self.nodes)
        for allocation, placements in reversed(list(self.evicted.items())):
            while placements and self._reprieves(reclaimable, allocation, taken, met=met):
                placements.pop()
            reclaimable.queue.requeue(allocation)
            if not placements:
                del self.evicted[allocation]

    def _reprieves(
        self, reclaimable: Reclaimable, allocation: RoleAllocation, taken: "_Taken", *, met: bool
    ) -> bool:
        placement = self.evicted[allocation][-1]
        if taken.keeps_off(allocation.pod_class, placement):
            return False
        reclaimable.restore(allocation, placement)
        if met and not self._allowed():
            reclaimable.evict(allocation)
            return False
        return True

    def discard(self, reclaimable: Reclaimable) -> None:
        """Undo the reservation: release its pods and restore all evicted replicas."""
        for request, nodes, mark in zip(self.requests, self.nodes, self._positions, strict=True):
            request.pod_class.future_idle.unreserve_pods(nodes)
            request.pod_class.future_idle.restore(mark)
            nodes.clear()
        self.quota_request.release(FUTURE_IDLE)
        for allocation, placements in reversed(self.evicted.items()):
            for placement in reversed(placements):
                reclaimable.restore(allocation, placement)
            reclaimable.queue.requeue(allocation)
        self.evicted.clear()


class _Taken:
    """The nodes and domains that the claim's pods use."""

    def __init__(self, requests: Sequence[PodSetRequest], placed: Sequence[Sequence[int]]) -> None:
        self._nodes = {node for nodes in placed for node in nodes}
        self._domains: defaultdict[ConstraintCount, set[int]] = defaultdict(set)
        for request, nodes in zip(requests, placed, strict=True):
            for count in (
                request.pod_class.constraints.carried if request.pod_class.constraints else ()
            ):
                self._domains[count].update(at for node in nodes if (at := count.of[node]) >= 0)

    def keeps_off(self, pod_class: PodClass, placement: Placement) -> bool:
        """Whether the claim's pods prevent restoring an evicted replica on its node."""
        if placement.node == NO_NODE:
            return False
        if pod_class.constraints is not None and pod_class.constraints.is_repelled_by(
            placement.node, self._domains
        ):
            return True
        return placement.node in self._nodes and not pod_class.at(placement.horizon).readmits(
            placement.node, bound=not (placement.is_new or placement.holds_idle)
        )


def _on(allocation: RoleAllocation, first: int, useful: Sequence[bool]) -> bool:
    """Whether a replica from position `first` on is on a useful node."""
    nodes = (allocation.placements[position].node for position in range(first, allocation.size))
    return any(node != NO_NODE and useful[node] for node in nodes)


def reserve_capacity(
    reservation: Reservation, reclaimable: Reclaimable, scope: ReclaimScope, *, whole: bool
) -> bool:
    """Complete a reservation, if necessary by reclaiming replicas within `scope`.

    `whole`: place all pods, or discard the reservation and return False. Otherwise as many pods as
    possible are placed, and the result is True.
    """
    if reservation.complete():
        return True
    missing = reservation.missing
    wanted = [request.pods for request in missing]
    reachable = pack(reclaimable.capacity.with_idle(scope), missing, Horizon.EMPTY)
    if reachable != wanted:
        reachable = reclaimable.gather_minimums(missing, scope) or reachable
    if not whole:
        found = zip(reservation.requests, reservation.nodes, reachable, strict=True)
        reservation.requests = [
            PodSetRequest(request.pod_class, len(nodes) + more) for request, nodes, more in found
        ]
    elif reachable != wanted:
        reservation.discard(reclaimable)
        return False
    reservation.reclaim(reclaimable, scope)
    if whole and not reservation.complete():
        reservation.discard(reclaimable)
        return False
    return True
