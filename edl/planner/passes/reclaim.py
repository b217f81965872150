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

    grid: NodeCapacity
    wants: list[PodSetRequest]
    enough: Callable[[], bool] = _always
    bill: QuotaRequest | None = None
    placed: list[list[int]] = field(init=False)
    """For each want, the nodes of its pods."""
    risen: dict[RoleAllocation, list[Placement]] = field(default_factory=dict)
    """Who yielded, and which seats, the last one first."""
    _marks: list[CursorPosition] = field(init=False)

    def __post_init__(self) -> None:
        self._marks = [want.fit.soon.mark() for want in self.wants]
        self.placed = [reserve_pods(self.grid, want, now=False) for want in self.wants]
        if self.bill:
            self.bill.take(now=False)

    @property
    def missing(self) -> list[PodSetRequest]:
        pairs = zip(self.wants, self.placed, strict=True)
        return [PodSetRequest(want.fit, want.pods - len(rows)) for want, rows in pairs]

    def seated(self) -> bool:
        pairs = zip(self.wants, self.placed, strict=True)
        return all(len(rows) >= want.pods for want, rows in pairs)

    def complete(self) -> bool:
        return self.seated() and self._allowed()

    def _allowed(self) -> bool:
        return self._paid() and self.enough()

    def _paid(self) -> bool:
        return self.bill is None or self.bill.met()

    def take(self, extras: Reclaimable, level: float) -> None:
        """Take extras until all is placed or nothing is left; first those that help."""
        if self.bill and not self._paid():
            self._pass(extras, level, self.bill.relieved, self._paid)
        if not self.seated():
            room = extras.spare.room(level)
            helps = [
                want.fit.capacity(room, Horizon.EMPTY) > 0 for want in self.missing if want.pods
            ]
            useful = reduce(np.logical_or, helps).tolist()
            self._pass(extras, level, lambda found: _on(found, useful), self.complete)
        if not self.complete():
            self._pass(extras, level, self._in_the_way(), self.complete)
        self._put_back_unused(extras)

    def _in_the_way(self) -> Callable[[RoleAllocation], bool]:
        """Whether a role has extras on nodes that its pods may use.

        All have where rules about other pods decide, or sums over the cluster.
        """
        missing = [want.fit for want in self.missing if want.pods]
        if not self._allowed() or any(fit.binding for fit in missing):
            return lambda _: True
        usable = reduce(np.logical_or, (fit.eligible for fit in missing)).tolist()
        return lambda one: any(
            seat.row != NO_NODE and usable[seat.row] for seat in one.seats[one.floor :]
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
            seat = extras.rise(standing)
            self.risen.setdefault(standing, []).append(seat)
            self._settle(seat.row)
            extras.back(standing)
        for standing in aside:
            extras.back(standing)

    def _settle(self, row: int) -> None:
        """Place what is missing where room came back."""
        for (fit, count), rows in zip(self.wants, self.placed, strict=True):
            if row == NO_NODE or not fit.eligible[row]:
                continue
            while len(rows) < count and fit.fits(row, now=False):
                self.grid.take(row, fit, now=False)
                rows.append(row)

    def _put_back_unused(self, extras: Reclaimable) -> None:
        """Whoever yielded last gets back first; of each role the lowest replica."""
        met, taken = self.complete(), _Taken(self.wants, self.placed)
        for standing, seats in reversed(list(self.risen.items())):
            while seats and self._puts_back(extras, standing, taken, met=met):
                seats.pop()
            extras.back(standing)
            if not seats:
                del self.risen[standing]

    def _puts_back(
        self, extras: Reclaimable, standing: RoleAllocation, taken: "_Taken", *, met: bool
    ) -> bool:
        seat = self.risen[standing][-1]
        if taken.keeps_off(standing.fit, seat):
            return False
        extras.stay(standing, seat)
        if met and not self._allowed():
            extras.rise(standing)
            return False
        return True

    def undo(self, extras: Reclaimable) -> None:
        """All as it was before the claim."""
        for want, rows, mark in zip(self.wants, self.placed, self._marks, strict=True):
            unreserve_pods(self.grid, want.fit, rows, now=False)
            want.fit.soon.back_to(mark)
            rows.clear()
        if self.bill:
            self.bill.give(now=False)
        for standing, seats in reversed(self.risen.items()):
            for seat in reversed(seats):
                extras.stay(standing, seat)
            extras.back(standing)
        self.risen.clear()


class _Taken:
    """The places of a claim's pods: nothing else has come since its first replica yielded."""

    def __init__(self, wants: Sequence[PodSetRequest], placed: Sequence[Sequence[int]]) -> None:
        self._rows = {row for rows in placed for row in rows}
        self._domains: defaultdict[ConstraintCount, set[int]] = defaultdict(set)
        for want, rows in zip(wants, placed, strict=True):
            for count in want.fit.binding.carried if want.fit.binding else ():
                self._domains[count].update(at for row in rows if (at := count.of[row]) >= 0)

    def keeps_off(self, fit: PodClass, seat: Placement) -> bool:
        """Whether a replica that has yielded may not come back to its node."""
        if seat.row == NO_NODE:
            return False
        if fit.binding is not None and fit.binding.keeps_off(seat.row, self._domains):
            return True
        return seat.row in self._rows and not fit.returns(
            seat.row, now=seat.now, bound=not (seat.fresh or seat.now)
        )


def _on(standing: RoleAllocation, useful: Sequence[bool]) -> bool:
    row = standing.seats[-1].row
    return row != NO_NODE and useful[row]


def reserve_capacity(claim: Reservation, extras: Reclaimable, level: float, *, whole: bool) -> bool:
    """Reserve room on `soon` for a claim, if need be taking extras within its level.

    `whole`: all pods or none (a gang), and whether it was all; else as many as can be had.
    """
    if claim.complete():
        return True
    missing = claim.missing
    reachable = pack(extras.spare.room(level), missing, Horizon.EMPTY)
    if not whole:
        claim.wants = [
            PodSetRequest(want.fit, len(rows) + found)
            for want, rows, found in zip(claim.wants, claim.placed, reachable, strict=True)
        ]
    elif reachable != [want.pods for want in missing]:
        claim.undo(extras)
        return False
    claim.take(extras, level)
    if whole and not claim.complete():
        claim.undo(extras)
        return False
    return True
