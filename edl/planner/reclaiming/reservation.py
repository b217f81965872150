"""Reclaim: extras that roles give up for a claim.

Extras yield to claims of their own priority and above, in the order of
`edl.planner.snapshot.extras.reclaimable`. Afterwards every evicted replica whose capacity no pod of
the claim uses is restored (reprieved), even on an overcommitted node, or if constraints that are
newer than its pod forbid it.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from edl.feasibility.horizon import FUTURE_IDLE
from edl.planner.packing.best_fit import CursorPosition
from edl.planner.packing.missing_pods import still_missing
from edl.planner.packing.node_capacity import NO_NODE, NodeCapacity
from edl.planner.packing.placement import Placement
from edl.planner.packing.pod_class import PodClass, PodSetRequest
from edl.planner.reclaiming.removal_choice import RemovalChoice, TakenNodes
from edl.planner.snapshot.extras.minimum_nodes import any_may_leave
from edl.planner.snapshot.extras.node_search import NodeSearch
from edl.planner.snapshot.extras.reclaimable import Reclaimable
from edl.planner.snapshot.quota_balance import NOT_COUNTED, QuotaRequest
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.kept_capacity import LendingBound
from edl.planner.teams.reclaim_priority import ReclaimScope, TeamRight
from edl.planner.teams.team_charge import TeamCharge

if TYPE_CHECKING:
    from edl.feasibility.eligibility import Ints, Mask


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
    uncounted: TeamCharge | None = None
    """What each pod counts in its team, unless that is counted otherwise."""
    preempts: bool = False
    """Whether jobs are preempted for it."""
    nodes: list[list[int]] = field(init=False)
    """For each request, the nodes of its pods."""
    evicted: dict[RoleAllocation, list[Placement]] = field(default_factory=dict)
    """Evicted placements by role, in the order of eviction: the last replica first."""
    _unplaced: list[Counter[int]] | None = None
    """For each request, the nodes of pods that are not placed yet, with repeats; None: any."""
    _positions: list[CursorPosition] = field(init=False)
    _lending: LendingBound | None = field(init=False)
    _right: TeamRight | None = None
    """Its right to take from other teams; None unless extras of its own team yield before that."""

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
        return lent and self.quota_request.within_quota() and self.condition() and self._is_owed()

    def _is_owed(self) -> bool:
        """Whether it takes nothing from other teams beyond what the guarantee covers."""
        right = self._right
        if right is None or not self._exceeds(right):
            return True
        return not (self.preempts or any(role.team != right.team for role in self.evicted))

    def _exceeds(self, right: TeamRight) -> bool:
        pods = sum(request.pods for request in self.requests) if self.uncounted else 0
        return right.exceeds_guarantee(self.uncounted, pods)

    def claim_by(self, right: TeamRight | None) -> None:
        self._right = right if right and self._exceeds(right) else None

    def reclaim(self, reclaimable: Reclaimable, scope: ReclaimScope, reach: "Ints") -> None:
        """Evict extras until the reservation is complete or none is left.

        First extras of its own team beyond the guarantee that covers the claim, and those that
        relieve an exceeded quota, then those on nodes where missing pods would fit, then any other.
        `reach`: what is idle if all within the scope are evicted; int64[resources, nodes].
        """
        quota, least = self.quota_request, reclaimable.min_replicas
        self._reclaim_own(reclaimable, scope)
        if not quota.within_quota():
            search = NodeSearch(reclaimable, scope, quota.is_relieved_by)
            self._pass(search, quota.within_quota)
        if not self.all_placed():
            room = reclaimable.capacity.with_idle(scope) if self.evicted else reach
            nodes = reduce(
                np.logical_or, (pod_class.nodes_for_one(room) for pod_class in self._lacking())
            )
            frees: Sequence[bool] = memoryview(nodes)  # type: ignore[arg-type]

            def is_useful(allocation: RoleAllocation) -> bool:
                node, minimum = allocation.placements[-1].node, allocation.min_replicas
                if node != NO_NODE and not any_may_leave(allocation):
                    return frees[node]
                if node == NO_NODE and any(
                    placement.node == NO_NODE for placement in allocation.placements[:minimum]
                ):
                    return False  # its extras stand in for its minimum
                return _on(allocation, least(allocation), frees)  # missing pods leave first

            search = NodeSearch(reclaimable, scope, is_useful, nodes, self._first_missing)
            self._pass(search, self.complete, RemovalChoice(self.capacity, reclaimable, scope))
        if not self.complete():
            self._pass(self._in_the_way(reclaimable, scope), self.complete)
        self._reprieve(reclaimable)

    def _reclaim_own(self, reclaimable: Reclaimable, scope: ReclaimScope) -> None:
        """Evict extras of its own team until the guarantee covers the claim."""
        queue, right = reclaimable.queue, self._right
        while right and self._exceeds(right) and not self.complete():
            if not (allocation := queue.next_of(right.team, scope)):
                break
            self._place_missing(self._evict(reclaimable, allocation).node)
            queue.requeue(allocation)

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
        return NodeSearch(reclaimable, scope, lambda role: _on(role, least(role), usable), nodes)

    def _pass(
        self, search: NodeSearch, done: Callable[[], bool], choice: RemovalChoice | None = None
    ) -> None:
        while not done():
            if not (allocation := search.next()):
                break
            if choice and any_may_leave(allocation) and (missing := self._first_missing()):
                choice.bring_last(allocation, missing)
            placement = self._evict(search.reclaimable, allocation)
            placed = self._place_missing(placement.node)
            search.evicted(allocation, placement.node, placed=placed)
        search.close()

    def _evict(self, reclaimable: Reclaimable, allocation: RoleAllocation) -> Placement:
        placement = reclaimable.evict(allocation)
        self.evicted.setdefault(allocation, []).append(placement)
        return placement

    def _first_missing(self) -> PodSetRequest | None:
        return next((request for request in self.missing if request.pods), None)

    def _lacking(self) -> list[PodClass]:
        return [request.pod_class for request in self.missing if request.pods]

    def _place_missing(self, node: int) -> bool:
        """Place missing pods on a node from which a replica was evicted; whether any fits."""
        placed = False
        for index, ((pod_class, count), nodes) in enumerate(
            zip(self.requests, self.nodes, strict=True)
        ):
            if node == NO_NODE or not pod_class.eligible[node]:
                continue
            most = self._unplaced[index][node] if self._unplaced else count - len(nodes)
            added = 0
            while added < most and pod_class.future_idle.fits(node):
                pod_class.future_idle.reserve(node)
                added += 1
            nodes.extend([node] * added)
            placed |= added > 0
            if self._unplaced:
                self._unplaced[index][node] -= added
        return placed

    def place_on(self, chosen: Sequence[Sequence[int]]) -> None:
        """Restrict the pods, none of which is placed, to these nodes; place those that fit now."""
        self._unplaced = [*map(Counter, chosen)]
        for node in sorted(set().union(*chosen)) * len(chosen):  # some pods follow others
            self._place_missing(node)
        lacking = (sorted(+unplaced) for unplaced in self._unplaced)
        self.requests = [
            PodSetRequest(pod_class.on(np.array(nodes, dtype=np.int64)), pods)
            for (pod_class, pods), nodes in zip(self.requests, lacking, strict=True)
        ]

    def forget_choice(self, requests: list[PodSetRequest]) -> None:
        """Lift the restriction of `place_on`."""
        self.requests, self._unplaced = requests, None

    def _reprieve(self, reclaimable: Reclaimable) -> None:
        """Restore evicted replicas that the claim does not need, last evicted role first."""
        met, taken = self.complete(), TakenNodes(self.requests, self.nodes)
        for allocation, placements in reversed(list(self.evicted.items())):
            while placements and self._reprieves(reclaimable, allocation, taken, met=met):
                placements.pop()
            reclaimable.queue.requeue(allocation)
            if not placements:
                del self.evicted[allocation]

    def _reprieves(
        self, reclaimable: Reclaimable, allocation: RoleAllocation, taken: TakenNodes, *, met: bool
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


def _on(allocation: RoleAllocation, first: int, useful: Sequence[bool]) -> bool:
    """Whether a replica from position `first` on is on a useful node."""
    nodes = (allocation.placements[position].node for position in range(first, allocation.size))
    return any(node != NO_NODE and useful[node] for node in nodes)
