"""Who gives up replicas for whom.

Extras yield to claims of their own priority and above, in their order
(`edl.planner.snapshot.reclaimable`). No replica yields in vain: one whose place no pod of the claim
has taken is put back, also on a node that has too many pods, and where rules came later than the
pods that they forbid.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from edl.feasibility.gpu_shares import Horizon
from edl.planner.packing.best_fit import CursorPosition
from edl.planner.packing.node_capacity import NodeCapacity
from edl.planner.packing.pod_class import (
    PodClass,
    PodSetRequest,
    pack,
    reserve_pods,
    unreserve_pods,
)
from edl.planner.snapshot.quota_balance import QuotaRequest
from edl.planner.snapshot.reclaimable import Reclaimable
from edl.planner.snapshot.role_allocation import NO_NODE, Placement, RoleAllocation

if TYPE_CHECKING:
    from edl.feasibility.constraints import ConstraintCount


def _always() -> bool:
    return True


@dataclass(slots=True)
class Reservation:
    """Pods that want room on `soon`: placed as far as they fit, then by taking extras.

    `enough` is a further condition for being complete (the load ceiling). `bill` is what all of
    them count in budgets: taken at once, and met when enough has been given back.
    """

    capacity: NodeCapacity
    requests: list[PodSetRequest]
    condition: Callable[[], bool] = _always
    quota_request: QuotaRequest | None = None
    nodes: list[list[int]] = field(init=False)
    """For each want, the nodes of its pods."""
    evicted: dict[RoleAllocation, list[Placement]] = field(default_factory=dict)
    """Who yielded, and which seats, the last one first."""
    _positions: list[CursorPosition] = field(init=False)

    def __post_init__(self) -> None:
        self._positions = [want.pod_class.future_idle.position() for want in self.requests]
        self.nodes = [reserve_pods(self.capacity, want, now=False) for want in self.requests]
        if self.quota_request:
            self.quota_request.reserve(now=False)

    @property
    def missing(self) -> list[PodSetRequest]:
        pairs = zip(self.requests, self.nodes, strict=True)
        return [PodSetRequest(want.pod_class, want.pods - len(rows)) for want, rows in pairs]

    def all_placed(self) -> bool:
        pairs = zip(self.requests, self.nodes, strict=True)
        return all(len(rows) >= want.pods for want, rows in pairs)

    def complete(self) -> bool:
        return self.all_placed() and self._allowed()

    def _allowed(self) -> bool:
        return self._within_quota() and self.condition()

    def _within_quota(self) -> bool:
        return self.quota_request is None or self.quota_request.within_quota()

    def reclaim(self, extras: Reclaimable, level: float) -> None:
        """Take extras until all is placed or nothing is left; first those that help."""
        if self.quota_request and not self._within_quota():
            self._pass(extras, level, self.quota_request.is_relieved_by, self._within_quota)
        if not self.all_placed():
            room = extras.capacity.with_idle(level)
            helps = [
                want.pod_class.pods_per_node(room, Horizon.EMPTY) > 0
                for want in self.missing
                if want.pods
            ]
            useful = reduce(np.logical_or, helps).tolist()
            self._pass(extras, level, lambda found: _on(found, useful), self.complete)
        if not self.complete():
            self._pass(extras, level, self._in_the_way(), self.complete)
        self._reprieve(extras)

    def _in_the_way(self) -> Callable[[RoleAllocation], bool]:
        """Whether a role has extras on nodes that its pods may use.

        All have where rules about other pods decide, or sums over the cluster.
        """
        missing = [want.pod_class for want in self.missing if want.pods]
        if not self._allowed() or any(fit.constraints for fit in missing):
            return lambda _: True
        usable = reduce(np.logical_or, (fit.eligible for fit in missing)).tolist()
        return lambda one: any(
            seat.node != NO_NODE and usable[seat.node]
            for seat in one.placements[one.min_replicas :]
        )

    def _pass(
        self,
        extras: Reclaimable,
        level: float,
        useful: Callable[[RoleAllocation], bool],
        done: Callable[[], bool],
    ) -> None:
        aside = []
        while not done() and (standing := extras.next(level)):
            if not useful(standing):
                aside.append(standing)
                continue
            seat = extras.evict(standing)
            self.evicted.setdefault(standing, []).append(seat)
            self._place_missing(seat.node)
            extras.requeue(standing)
        for standing in aside:
            extras.requeue(standing)

    def _place_missing(self, row: int) -> None:
        """Place what is missing where room came back."""
        for (fit, count), rows in zip(self.requests, self.nodes, strict=True):
            if row == NO_NODE or not fit.eligible[row]:
                continue
            while len(rows) < count and fit.fits(row, now=False):
                self.capacity.reserve(row, fit, now=False)
                rows.append(row)

    def _reprieve(self, extras: Reclaimable) -> None:
        """Whoever yielded last gets back first; of each role the lowest replica."""
        met, taken = self.complete(), _Taken(self.requests, self.nodes)
        for standing, seats in reversed(list(self.evicted.items())):
            while seats and self._reprieves(extras, standing, taken, met=met):
                seats.pop()
            extras.requeue(standing)
            if not seats:
                del self.evicted[standing]

    def _reprieves(
        self, extras: Reclaimable, standing: RoleAllocation, taken: "_Taken", *, met: bool
    ) -> bool:
        seat = self.evicted[standing][-1]
        if taken.keeps_off(standing.pod_class, seat):
            return False
        extras.restore(standing, seat)
        if met and not self._allowed():
            extras.evict(standing)
            return False
        return True

    def discard(self, extras: Reclaimable) -> None:
        """All as it was before the claim."""
        for want, rows, mark in zip(self.requests, self.nodes, self._positions, strict=True):
            unreserve_pods(self.capacity, want.pod_class, rows, now=False)
            want.pod_class.future_idle.restore(mark)
            rows.clear()
        if self.quota_request:
            self.quota_request.release(now=False)
        for standing, seats in reversed(self.evicted.items()):
            for seat in reversed(seats):
                extras.restore(standing, seat)
            extras.requeue(standing)
        self.evicted.clear()


class _Taken:
    """The places of a claim's pods: nothing else has come since its first replica yielded."""

    def __init__(self, wants: Sequence[PodSetRequest], placed: Sequence[Sequence[int]]) -> None:
        self._nodes = {row for rows in placed for row in rows}
        self._domains: defaultdict[ConstraintCount, set[int]] = defaultdict(set)
        for want, rows in zip(wants, placed, strict=True):
            for count in want.pod_class.constraints.carried if want.pod_class.constraints else ():
                self._domains[count].update(at for row in rows if (at := count.of[row]) >= 0)

    def keeps_off(self, fit: PodClass, seat: Placement) -> bool:
        """Whether a replica that has yielded may not come back to its node."""
        if seat.node == NO_NODE:
            return False
        if fit.constraints is not None and fit.constraints.is_repelled_by(seat.node, self._domains):
            return True
        return seat.node in self._nodes and not fit.readmits(
            seat.node, now=seat.holds_idle, bound=not (seat.is_new or seat.holds_idle)
        )


def _on(standing: RoleAllocation, useful: Sequence[bool]) -> bool:
    row = standing.placements[-1].node
    return row != NO_NODE and useful[row]


def reserve_capacity(claim: Reservation, extras: Reclaimable, level: float, *, whole: bool) -> bool:
    """Reserve room on `soon` for a claim, if need be taking extras within its level.

    `whole`: all pods or none (a gang), and whether it was all; else as many as can be had.
    """
    if claim.complete():
        return True
    missing = claim.missing
    reachable = pack(extras.capacity.with_idle(level), missing, Horizon.EMPTY)
    if not whole:
        claim.requests = [
            PodSetRequest(want.pod_class, len(rows) + found)
            for want, rows, found in zip(claim.requests, claim.nodes, reachable, strict=True)
        ]
    elif reachable != [want.pods for want in missing]:
        claim.discard(extras)
        return False
    claim.reclaim(extras, level)
    if whole and not claim.complete():
        claim.discard(extras)
        return False
    return True
