"""Roles that may give a replica, as arrays over them: one look finds whoever helps a taker most."""

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from edl.planner.packing.node_capacity import Ints
from edl.planner.packing.pod_class import PodClass
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.quota_balance import QuotaLine, QuotaRequest
from edl.planner.snapshot.role_allocation import NO_NODE, RoleAllocation

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Donors:
    """Their shares, last nodes and needs; read again whenever one of them changes."""

    def __init__(self, board: Snapshot, standings: Sequence[RoleAllocation]) -> None:
        self._snapshot = board
        self.allocations = standings
        share, sizes = board.policy.satisfaction, [len(one.placements) for one in standings]
        gives = [size > one.min_replicas for one, size in zip(standings, sizes, strict=True)]
        self._share = np.array(list(map(share, standings, sizes)), dtype=np.float64)
        after = [share(one, size - 1) if may else -inf
                 for one, size, may in zip(standings, sizes, gives, strict=True)]  # fmt: skip
        self._after = np.array(after, dtype=np.float64)
        rows = [one.placements[-1].node if may else NO_NODE
                for one, may in zip(standings, gives, strict=True)]  # fmt: skip
        self._node = np.array(rows, dtype=np.int64)
        self._priority = np.array([found.job.priority for found in standings], dtype=np.int64)
        self._rank = np.array([found.rank for found in standings], dtype=np.int64)
        self._amounts = self._needs()
        self._by_quota: dict[QuotaLine, Ints] = {}
        self._places = {standing: place for place, standing in enumerate(standings)}
        self._ruled_out: set[RoleAllocation] = set()
        self._helpful: dict[PodClass, Ints] = {}
        self._most: dict[tuple[PodClass | None, int], float] = {}
        """How satisfied at most who helps a shape stays (None: anybody), by the priority asked."""

    def _needs(self) -> Ints:
        """What one replica of each takes; int64[resources, standings]."""
        numbers = {
            fit: number for number, fit in enumerate({one.pod_class for one in self.allocations})
        }
        table = np.zeros((len(self._snapshot.capacity.resources), len(numbers)), dtype=np.int64)
        for fit, number in numbers.items():
            for line, amount in fit.amounts:
                table[line, number] = amount
        return table[:, [numbers[one.pod_class] for one in self.allocations]]

    def refresh(self, standing: RoleAllocation) -> None:
        """Read a role again after its size changed."""
        place = self._places.get(standing)
        self.forget_searches()
        if place is not None:
            gives = standing.size > standing.min_replicas and standing not in self._ruled_out
            self._share[place] = self._snapshot.satisfaction(standing)
            self._after[place] = self._snapshot.satisfaction(standing, -1) if gives else -np.inf
            self._node[place] = standing.placements[-1].node if gives else NO_NODE

    def rule_out(self, standing: RoleAllocation) -> None:
        """It gives nothing more in this plan."""
        self._ruled_out.add(standing)
        self.refresh(standing)

    @property
    def ruled_out(self) -> int:
        """How many give nothing more in this plan."""
        return len(self._ruled_out)

    def forget_searches(self) -> None:
        """Room has moved: who helps whom is to be found out anew."""
        self._helpful.clear()
        self._most.clear()

    def any_for(self, taker: RoleAllocation, fit: PodClass | None = None) -> bool:
        """Whether somebody stays more satisfied than the taker is; of those who help this shape."""
        key = (fit, taker.job.priority)
        most = self._most.get(key)
        if most is None:
            after, priority = self._after, self._priority
            if fit is not None:
                places = self._helping(fit)
                after, priority = after[places], priority[places]
            most = float(np.max(after[priority <= taker.job.priority], initial=-np.inf))
            self._most[key] = most
        return most > self._snapshot.satisfaction(taker)

    def _helping(self, fit: PodClass) -> Ints:
        found = self._helpful.get(fit)
        if found is None:
            found = self.helpful(fit, np.arange(len(self.allocations)))
            self._helpful[fit] = found
        return found

    def candidates(self, taker: RoleAllocation) -> Ints:
        """Places of those who stay more satisfied than the taker is now."""
        fair = self._after > self._snapshot.satisfaction(taker)
        return np.flatnonzero(fair & (self._priority <= taker.job.priority))

    def helpful(self, fit: PodClass, places: Ints) -> Ints:
        """Those whose last replica leaves room for one pod of this shape on its node."""
        places = places[self._node[places] != NO_NODE]
        rows = self._node[places]
        helps: NDArray[np.bool_] = fit.eligible[rows]
        for line, amount in fit.amounts:
            helps = helps & (
                self._snapshot.capacity.future_idle[line, rows] + self._amounts[line, places]
                >= amount
            )
        return places[helps]

    def relieving_quotas(self, bill: QuotaRequest, places: Ints, *, together: bool) -> Ints:
        """Those whose last replica leaves enough of the budgets that are short; or helps to."""
        pays: NDArray[np.bool_] = np.ones(len(places), dtype=np.bool_)
        for line, cost in bill.amounts:
            if line.future_remaining < cost:
                least = 1 if together else cost - line.future_remaining
                pays = pays & (self._costs(line)[places] >= least)
        return places[pays]

    def _costs(self, line: QuotaLine) -> Ints:
        if line not in self._by_quota:
            bills = (standing.quota_request for standing in self.allocations)
            found = [bill.amount(line) if bill else 0 for bill in bills]
            self._by_quota[line] = np.array(found, dtype=np.int64)
        return self._by_quota[line]

    def most_satisfied(self, places: Ints) -> RoleAllocation:
        """Among equals the one that is last in the total order."""
        share = self._share[places]
        best = places[share == share.max()]
        return self.allocations[int(best[np.argmax(self._rank[best])])]
