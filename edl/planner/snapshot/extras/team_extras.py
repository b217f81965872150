"""What extras use of the guarantee of their team.

A guarantee covers claims of the team before the extras that yield to them, which are those of the
same or a lower reclaim priority. So coverage is judged both for the order of claims and for what
they may take from other teams, which they take once such extras beyond the guarantee are evicted.
"""

from collections import defaultdict
from collections.abc import Iterable
from operator import attrgetter

from edl.model import JobKey
from edl.planner.packing.placement import Placement
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.reclaim_priority import NONE_RECLAIMABLE, ReclaimPriority, ReclaimScope
from edl.planner.teams.team_balance import TeamBalance
from edl.planner.teams.team_charge import TeamCharge


class TeamExtras:
    """Sums over extras by team and reclaim priority, while claims evict and restore extras."""

    def __init__(self, balance: TeamBalance, allocations: Iterable[RoleAllocation]) -> None:
        self._first: JobKey | None = None
        self._resources = range(len(balance.resources))
        self._used: defaultdict[int, defaultdict[ReclaimPriority, list[int]]] = defaultdict(
            lambda: defaultdict(lambda: [0] * len(balance.resources))
        )
        """By team and reclaim priority, amounts by resource."""
        self._sums: defaultdict[int, dict[ReclaimPriority, list[int]]] = defaultdict(dict)
        """The same, of all extras up to a priority that was asked for."""
        for allocation in allocations:
            if extras := allocation.extras:
                counted = map(attrgetter("counts_in_quota"), allocation.placements[-extras:])
                self._count(allocation, sum(counted))

    def count(self, allocation: RoleAllocation, placement: Placement, pods: int) -> None:
        """Update the sums after an extra was restored (1) or evicted (-1)."""
        if placement.counts_in_quota:
            self._count(allocation, pods)

    def _count(self, allocation: RoleAllocation, pods: int) -> None:
        charge, priority = allocation.quota_request.team, allocation.reclaim_priority
        if charge is None:
            return
        sums = self._sums[charge.team].items()
        totals = [total for most, total in sums if priority <= most]
        for total in (self._used[charge.team][priority], *totals):
            for resource, amount in charge.amounts:
                total[resource] += amount * pods

    def with_yielding(self, charge: TeamCharge, priority: ReclaimPriority) -> TeamCharge:
        """The charge of a claim of this priority, with what extras of its team yield to it."""
        sums = self._sums[charge.team]
        if priority not in sums:
            sums[priority] = self._sum(charge.team, priority)
        return TeamCharge(
            charge.balance, charge.team, charge.amounts, charge.accounts, sums[priority]
        )

    def keeps_any_from(self, job: JobKey, scope: ReclaimScope) -> bool:
        """Whether guarantees keep extras from a job's claim; False for all but a plan's first job.

        A search reads all teams: one per refused claim would take longer than the decision.
        """
        self._first = self._first or job
        return job == self._first and bool(self.keeping_teams(scope))

    def keeping_teams(self, scope: ReclaimScope) -> list[int]:
        """Teams whose guarantee covers some of the extras within reach of a claim.

        As these yield only while their team borrows, a claim gets fewer than are within reach.
        """
        if (right := scope.right) is None:
            return []
        balance, highest = right.balance, right.highest(scope.priority)
        freed: dict[int, list[int]] = {}
        """By team, what all extras within reach use of it."""
        for team in self._used:
            if team != right.team and highest[team] != NONE_RECLAIMABLE:
                amounts = self._sum(team, highest[team])
                for above in balance.below_common(right.team, team):
                    before = freed.get(above, balance.nothing)
                    freed[above] = [sum(pair) for pair in zip(before, amounts, strict=True)]
        return [team for team in sorted(freed) if balance.has_left(team, right.scarce, freed[team])]

    def _sum(self, team: int, most: ReclaimPriority) -> list[int]:
        held = [used for priority, used in self._used[team].items() if priority <= most]
        return [sum(used[resource] for used in held) for resource in self._resources]
