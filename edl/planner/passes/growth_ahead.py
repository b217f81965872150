"""The order of growth between teams if each replica finds capacity, computed at once.

A large release adds 100,000 replicas, and nearly each turn belongs to another team than the one
before it. Until a replica is refused, a team's turns depend on nothing outside of the team.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from edl.feasibility.eligibility import Ints
from edl.planner.policies import Policy
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.team_balance import NO_TEAM, TeamBalance, dominant_share

_Floats: TypeAlias = npt.NDArray[np.float64]
_Bools: TypeAlias = npt.NDArray[np.bool_]

COVERED: Final = -1.0
"""In the place of a share, before all shares: a guarantee covers the replica."""


class _Turns(NamedTuple):
    """Turns in order, one replica each."""

    share: _Floats
    """The share of the compared team at this turn, or COVERED."""
    place: Ints
    """Among all turns of all roles, by satisfaction; unique."""
    role: Ints
    """Its index."""

    def take(self, indexes: Ints) -> "_Turns":
        return _Turns(self.share[indexes], self.place[indexes], self.role[indexes])


def order_ahead(
    balance: TeamBalance, policy: Policy, asking: Sequence[RoleAllocation]
) -> list[RoleAllocation]:
    """Each role once per replica below its max, in the order of `team_growth.growth_order`.

    All roles are below their max.
    """
    branches = _Branches(balance, asking, _own_turns(policy, asking))
    return [asking[role] for role in branches.below(NO_TEAM).role.tolist()]


def _own_turns(policy: Policy, asking: Sequence[RoleAllocation]) -> dict[int, _Turns]:
    """By team, the turns of its own roles: satisfaction does not fall with more replicas."""
    satisfaction = [
        policy.satisfaction(role, size)
        for role in asking
        for size in range(len(role.placements), role.max_replicas)
    ]
    columns = ((role.rank, role.team, role.max_replicas - len(role.placements)) for role in asking)
    rank, team, count = np.array([*columns], int).reshape(-1, 3).T
    role = np.repeat(np.arange(len(asking)), count)
    order = np.lexsort((rank[role], np.array(satisfaction, float)))
    role, place = role[order], np.arange(len(order))
    by_team = np.argsort(team[role], kind="stable")
    teams, starts = np.unique(team[role[by_team]], return_index=True)
    parts = np.split(by_team, starts)[1:]
    return {
        number: _Turns(np.zeros(len(part)), place[part], role[part])
        for number, part in zip(teams.tolist(), parts, strict=True)
    }


@dataclass(slots=True, eq=False)
class _Branches:
    """The teams with roles that could grow in them, or in the teams below them."""

    balance: TeamBalance
    asking: Sequence[RoleAllocation]
    own: dict[int, _Turns]
    children: defaultdict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    amounts: Ints = field(init=False)
    """By role and resource of the balance, what one replica is charged; 0 if not charged."""

    def __post_init__(self) -> None:
        self.amounts = np.zeros((len(self.asking), len(self.balance.resources)), int)
        for index, role in enumerate(self.asking):
            charge = role.quota_request.team
            for resource, amount in charge.amounts if charge else ():
                self.amounts[index, resource] = amount
        for team in self.own:
            for child, parent in pairwise((*self.balance.paths[team], NO_TEAM)):
                self.children[parent].add(child)

    def below(self, team: int) -> _Turns:
        """The turns of all branches below a team: the smallest next turn comes first."""
        if team not in self.children:
            return _NONE
        branches = [self._branch(child) for child in self.children[team]]
        turns = _concatenated(branches)
        # Complex numbers are ordered by both parts, faster than `lexsort` where runs are in order.
        order = np.argsort(turns.share + 1j * turns.place, kind="stable")
        position = np.empty_like(order)
        position[order] = np.arange(len(order))
        # A turn waits for larger ones before it in its branch.
        for branch in np.split(position, np.cumsum([len(branch.role) for branch in branches])):
            np.maximum.accumulate(branch, out=branch)
        return turns.take(np.argsort(position, kind="stable"))

    def _branch(self, team: int) -> _Turns:
        """A team's own turns and those below it, with the team's share at each turn.

        It recurs as deep as teams do, at most 32 levels (`edl.parsing.team_document`).
        """
        own, below = self.own.get(team, _NONE), self.below(team)
        turns = _concatenated([own, below]).take(self._interleaved(team, own, below))
        amounts = self.amounts[turns.role]
        used = np.cumsum(amounts, axis=0) - amounts + self.balance.used[team]
        parts = ((used[:, at] - owed) * weight for at, owed, weight in self.balance.parts[team])
        share = np.max([np.zeros(len(used)), *parts], axis=0)
        covered = (turns.share == COVERED) | self._covered(team, turns, used)
        return turns._replace(share=np.where(covered, COVERED, share))

    def _interleaved(self, team: int, own: _Turns, below: _Turns) -> Ints:
        """The order of a team's own turns, whose share is the team's, and of those below it."""
        if not (len(own.role) and len(below.role)):
            return np.arange(len(own.role) + len(below.role))
        used, parts = self.balance.used[team], self.balance.parts[team]
        charges = self.amounts[np.concatenate((own.role, below.role))].tolist()
        places = own.place.tolist()
        keys_below = [*zip(below.share.tolist(), below.place.tolist(), strict=True)]
        order, mine, theirs = list[int](), 0, 0
        while mine < len(places) and theirs < len(keys_below):
            if (dominant_share(used, parts), places[mine]) < keys_below[theirs]:
                order.append(mine)
                mine += 1
            else:
                order.append(len(places) + theirs)
                theirs += 1
            used = [sum(pair) for pair in zip(used, charges[order[-1]], strict=True)]
        rest = range(mine, len(places)), range(len(places) + theirs, len(charges))
        return np.array([*order, *rest[0], *rest[1]])

    def _covered(self, team: int, turns: _Turns, used: Ints) -> _Bools:
        """`TeamCharge.is_within` for each turn; no extras yield to a role that grows."""
        owed, amounts = self.balance.owed[team], self.amounts[turns.role]
        if not owed:
            return np.zeros(len(used), bool)
        named, others = [*owed], [*self.balance.contended.difference(owed)]
        charged = amounts > 0
        exceeded = used[:, named] + amounts[:, named] > np.array([*owed.values()])
        refused = (charged[:, named] & exceeded).any(axis=1) | charged[:, others].any(axis=1)
        return np.logical_and(charged[:, named].any(axis=1), ~refused)


def _concatenated(branches: Sequence[_Turns]) -> _Turns:
    share, place, role = map(np.concatenate, zip(*branches, strict=True))
    return _Turns(share, place, role)


_NONE: Final = _Turns(np.empty(0), np.empty(0, int), np.empty(0, int))
