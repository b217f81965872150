"""The order of growth between teams, as plainly as possible: every turn is computed each time.

`edl/planner/passes/team_growth.py` keeps heaps, and computes only what a turn may have changed.
"""

from collections.abc import Collection

from edl.planner.policies import Policy
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.team_balance import TeamBalance

Turn = tuple[float, tuple[float, int], RoleAllocation]
"""(share, or -1 if a guarantee covers the replica; satisfaction and rank; the role)"""


def next_role(
    balance: TeamBalance, policy: Policy, roles: Collection[RoleAllocation]
) -> RoleAllocation | None:
    """The role that may grow next, of these."""
    top = [team for team, path in enumerate(balance.paths) if len(path) == 1]
    turns = [turn for team in top if (turn := _turn(balance, policy, roles, team))]
    return min(turns, key=lambda turn: turn[:2])[2] if turns else None


def _turn(
    balance: TeamBalance, policy: Policy, roles: Collection[RoleAllocation], team: int
) -> Turn | None:
    """The turn of a team: that of the first team directly below it, or of its own first role."""
    share = balance.share(team)
    children = [child for child, path in enumerate(balance.paths) if path[1:2] == (team,)]
    turns = [turn for child in children if (turn := _turn(balance, policy, roles, child))]
    for role in roles:
        if role.team == team:
            satisfied = policy.satisfaction(role, len(role.placements))
            turns.append((share, (satisfied, role.rank), role))
    if not turns:
        return None
    before, order, role = min(turns, key=lambda turn: turn[:2])
    charge = role.quota_request.team
    covered = before == -1 or (charge is not None and charge.is_within(team))
    return (-1 if covered else share), order, role
