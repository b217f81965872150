"""Whose turn it is to grow, against the plain reference, which keeps no heaps."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import cast

from msgspec.structs import replace

from edl.model import Team, Teams
from edl.planner.passes.team_growth import growth_order
from edl.planner.policies import POLICIES, Claimant
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.team_balance import TeamBalance
from edl.planner.teams.team_charge import TeamCharge
from edl.quantities import Resources
from tests.edl.planner.reference_growth import next_role

KINDS = ("cpu", "memory")


@dataclass(frozen=True)
class Request:
    """What one replica counts in its team."""

    team: TeamCharge


@dataclass(eq=False)
class Growing:
    """A role: what the order of growth reads of an allocation."""

    team: int
    rank: int
    quota_request: Request
    max_replicas: int
    placements: list[int] = field(default_factory=list)


def satisfaction(claimant: Claimant, size: int) -> float:
    return size / cast("Growing", claimant).max_replicas


POLICY = replace(POLICIES["fair"], satisfaction=satisfaction)


def amounts(random: Random, kinds: Sequence[str]) -> Resources:
    return Resources.of({kind: random.randint(1, 4) for kind in kinds if random.random() < 0.8})


def drawn_balance(random: Random, kinds: Sequence[str]) -> TeamBalance:
    """Up to seven teams below one another, most with a guarantee."""
    teams = list[Team]()
    for number in range(random.randint(1, 7)):
        parent = random.choice(["", *(team.name for team in teams)])
        guaranteed = amounts(random, kinds) if random.random() < 0.6 else Resources()
        weight = random.choice((1.0, 2.0))
        teams.append(Team(f"t{number}", parent, guaranteed=guaranteed, weight=weight))
    return TeamBalance(Teams.of(tuple(teams)), {}, dict.fromkeys(kinds, 40))


def drawn_roles(random: Random, balance: TeamBalance, kinds: Sequence[str]) -> list[RoleAllocation]:
    roles = list[Growing]()
    for rank in range(random.randint(1, 8)):
        team = random.randrange(len(balance.names))
        charge = balance.charge(team, amounts(random, kinds))
        roles.append(Growing(team, rank, Request(charge), random.randint(1, 5)))
    return cast("list[RoleAllocation]", roles)


def grow(role: RoleAllocation) -> None:
    cast("Growing", role).placements.append(0)
    assert role.quota_request.team
    role.quota_request.team.reserve(1)


def test_each_turn_is_that_of_the_reference() -> None:
    """Roles that do not grow are dropped; where usage fell, all turns are computed anew."""
    turns = 0
    for seed in range(300):
        random = Random(seed)  # noqa: S311 - it only mixes
        kinds = KINDS[: random.randint(1, 2)]
        balance = drawn_balance(random, kinds)
        roles = drawn_roles(random, balance, kinds)
        order = growth_order(balance, POLICY, roles)
        while expected := next_role(balance, POLICY, roles):
            assert next(order) is expected, (seed, turns)
            turns += 1
            if random.random() < 0.8:
                grow(expected)
            else:
                roles.remove(expected)
            if len(expected.placements) == expected.max_replicas and expected in roles:
                roles.remove(expected)
            if random.random() < 0.1:
                gone = balance.charge(random.randrange(len(balance.names)), {"cpu": 1}.items())
                gone.reserve(random.choice((-1, 1)))
                balance.note_fall()
        assert next(order, None) is None
    assert turns > 2000
