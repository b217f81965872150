"""Extras of other teams that a gang's claim does not get because a guarantee covers them."""

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping
from itertools import chain
from typing import NamedTuple

import numpy as np

from edl.feasibility.eligibility import Ints
from edl.feasibility.horizon import FUTURE_IDLE
from edl.planner.gangs.gang import Gang
from edl.planner.packing.pack_order import pack_in_best_order
from edl.planner.packing.placement import Placement, release_in, reserve_in
from edl.planner.packing.pod_class import PodClass
from edl.planner.passes.admission.claim_sources import ClaimSources
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.reclaim_priority import Reach, ReclaimScope, TeamRight


class KeptExtras(NamedTuple):
    """Extras that would make room for more pods of a gang; `teams`: whose guarantee covers them."""

    teams: tuple[str, ...] = ()
    of_borrowers: bool = False
    """Whether some are of teams that borrow: these yield only part of their extras."""


def kept_extras(sources: ClaimSources, gang: Gang, room: Ints) -> KeptExtras:
    """The extras that the gang would get if there were no guarantees; only those that it needs.

    `room`: what the gang gets; int64[resources, nodes].
    """
    scope = sources.full_scope(gang)
    if (right := scope.right) is None:
        return KeptExtras()
    keeping = sources.keeping_teams(scope)
    extras = _extras(sources, scope)
    lent = {team for team in extras if scope.reach(team) is not Reach.NONE}
    guarantors = {team: _guarantors(right, team, keeping, lent) for team in extras}
    idle = sources.reclaimable.capacity.with_idle(scope) if keeping else room.copy()

    def fitting(offered: Ints) -> int:
        return sum(pack_in_best_order(offered, gang.requests, FUTURE_IDLE))

    def change(by: Callable[[PodClass, Ints, Iterable[Placement]], None], team: int) -> None:
        for role in extras[team]:
            by(role.pod_class, idle, role.placements[role.min_replicas :])

    for team in extras.keys() - lent:
        change(release_in, team)
    needed, most = list[int](), fitting(np.maximum(idle, room))
    if most <= fitting(room):
        return KeptExtras()
    # Extras of borrowers are dropped last, as the claim gets some of them.
    for team in sorted(
        filter(guarantors.get, extras), key=lambda lender: (lender in lent, -lender)
    ):
        change(reserve_in, team)
        if fitting(np.maximum(idle, room)) < most:  # `room` has what a borrower yields
            change(release_in, team)
            needed.insert(0, team)
    named = dict.fromkeys(chain.from_iterable(guarantors[team] for team in needed))
    return KeptExtras(
        tuple(right.balance.names[team] for team in named), not lent.isdisjoint(needed)
    )


def _extras(sources: ClaimSources, scope: ReclaimScope) -> Mapping[int, list[RoleAllocation]]:
    """By team, the roles with extras that would yield to a claim if there were no guarantees."""
    by_team = defaultdict[int, list[RoleAllocation]](list)
    for allocation in sources.reclaimable.allocations:
        if allocation.extras and (
            allocation.reclaim_priority <= scope.priority
            or scope.includes(allocation.team, allocation.reclaim_priority)
        ):
            by_team[allocation.team].append(allocation)
    return by_team


def _guarantors(
    right: TeamRight, team: int, keeping: Container[int], lent: Container[int]
) -> list[int]:
    """Teams whose guarantee keeps extras of a team from the claim; `lent`: teams that borrow."""
    above, balance = right.balance.below_common(right.team, team), right.balance
    if team in lent:
        return [guarantor for guarantor in above if guarantor in keeping]
    return [guarantor for guarantor in above if not balance.borrows(guarantor, right.scarce)]
