"""Extras of other teams that a gang's claim does not get because a guarantee covers them."""

from collections import defaultdict
from collections.abc import Iterable
from itertools import chain

from edl.feasibility.horizon import FUTURE_IDLE
from edl.planner.packing.node_capacity import Ints
from edl.planner.packing.pack_order import pack_in_best_order
from edl.planner.passes.admission.claim_sources import ClaimSources
from edl.planner.passes.admission.gang import Gang
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.reclaim_priority import Reach


def keeping_teams(sources: ClaimSources, gang: Gang) -> tuple[str, ...]:
    """Teams whose guarantee covers some of the extras that the gang could take from borrowers."""
    balance, teams = sources.snapshot.teams, sources.keeping_teams(sources.full_scope(gang))
    return tuple(balance.names[team] for team in teams) if balance else ()


def covered_teams(sources: ClaimSources, gang: Gang, room: Ints) -> tuple[str, ...]:
    """Teams that do not borrow, and whose extras would make room for more pods of the gang.

    Only extras whose priority is not higher: without teams, they would yield. `room`: what the gang
    gets; int64[resources, nodes].
    """
    scope = sources.full_scope(gang)
    if (right := scope.right) is None:
        return ()
    extras = defaultdict[int, list[RoleAllocation]](list)
    for one in sources.reclaimable.allocations:
        yields = one.extras and one.reclaim_priority <= scope.priority
        if yields and scope.reach(one.team) is Reach.NONE:
            extras[one.team].append(one)

    def fitting(teams: Iterable[int]) -> int:
        found = room.copy()
        for one in chain.from_iterable(extras[team] for team in teams):
            nodes = (placement.node for placement in one.placements[one.min_replicas :])
            one.pod_class.release_from(found, nodes)
        return sum(pack_in_best_order(found, gang.requests, FUTURE_IDLE))

    teams, most = sorted(extras), fitting(extras)
    for team in sorted(extras, reverse=True):
        if fitting(others := [one for one in teams if one != team]) == most:
            teams = others
    paths = chain.from_iterable(right.balance.below_common(right.team, team) for team in teams)
    return tuple(
        right.balance.names[one] for one in paths if not right.balance.borrows(one, right.scarce)
    )
