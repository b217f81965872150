"""What a pod or a gang counts in its team, and whether a guarantee covers it."""

from collections.abc import Container, Iterable, Mapping, Sequence

import msgspec

from edl.model import Quota
from edl.planner.teams.kept_capacity import Amounts, LendingBound
from edl.planner.teams.team_guarantees import NO_TEAM, TeamUsage


class TeamCharge(msgspec.Struct, frozen=True, eq=False):
    """What one unit of a claim counts in its team and the teams above: a pod, or a whole gang."""

    balance: TeamUsage
    team: int
    amounts: Amounts
    accounts: tuple[tuple[list[int], int, int], ...]
    """(`used` of a team on its path, index of a charged resource, amount)."""
    yielding: Sequence[int]
    """By resource, what extras of the team use that yield to it: guarantees cover it first."""

    def with_amounts(self, amounts: Iterable[tuple[str, int]]) -> "TeamCharge":
        """What other amounts count in the same team."""
        placed = tuple(sorted(self.balance.placed(amounts).items()))
        return charge_of(self.balance, self.team, placed, self.yielding)

    def reserve(self, pods: int) -> None:
        balance = self.balance
        balance.charged.append(self.team)
        for used, index, amount in self.accounts:
            used[index] += amount * pods
        if balance.keepers:
            balance.kept.count(self.team, self.amounts, pods)

    def is_within(self, team: int, pods: int = 1, ahead: Mapping[int, int] | None = None) -> bool:
        """Whether the guarantee of a team on its path covers `pods` more.

        False if they need a contended resource that the guarantee does not name. `ahead`: what the
        guarantee covers before; None: all that is used.
        """
        guaranteed, named = self.balance.guaranteed[team], False
        used = self.balance.used[team] if ahead is None else ahead
        for index, amount in self.amounts:
            if index in guaranteed:
                if used[index] - self.yielding[index] + amount * pods > guaranteed[index]:
                    return False
                named = True
            elif guaranteed and index in self.balance.contended:
                return False
        return named

    def pods_within(self, team: int) -> int:
        """How many more pods the guarantee of a team on its path covers."""
        guaranteed, used = self.balance.guaranteed[team], self.balance.used[team]
        if not self.is_within(team):
            return 0
        return min(
            (guaranteed[index] - used[index] + self.yielding[index]) // amount
            for index, amount in self.amounts
            if index in guaranteed
        )

    def is_borrowed(self, team: int, ahead: Mapping[int, int] | None = None) -> bool:
        """Whether a team's guarantee covers no contended resource of one more.

        A pod that it covers in part is neither `is_within` nor `is_borrowed`. `ahead`: as there.
        """
        guaranteed = self.balance.guaranteed[team]
        used = self.balance.used[team] if ahead is None else ahead
        beyond = named = False
        for index, _ in self.amounts:
            if index not in guaranteed:
                beyond = beyond or not guaranteed or index in self.balance.contended
                continue
            named = True
            if used[index] - self.yielding[index] >= guaranteed[index]:
                beyond = True
            elif index in self.balance.contended:
                return False
        return beyond or not named

    def covered_by(self, pods: int = 1) -> int:
        """The lowest team on its path whose guarantee covers `pods` more, or NO_TEAM."""
        teams = (team for team in self.balance.paths[self.team] if self.is_within(team, pods))
        return next(teams, NO_TEAM)

    def places(self, resources: Container[str]) -> tuple[int, ...]:
        """Indexes in the balance of the charged resources among these."""
        return tuple(
            index for index, _ in self.amounts if self.balance.resources[index] in resources
        )

    def lending_bound(self, pods: int = 1) -> LendingBound | None:
        """What bounds `pods` more; None if a guarantee covers them, or if all teams lend."""
        if not self.balance.keepers or self.covered_by(pods) != NO_TEAM:
            return None
        return self.balance.kept.bound(self.amounts, lambda: self.covered_by(0) != NO_TEAM)

    def lends(self, pods: int = 1) -> bool:
        """Whether `pods` more stay clear of the capacity that teams do not lend."""
        bound = self.lending_bound(pods)
        return bound is None or bound.holds_with(self.team, self.amounts, pods)

    def exceeded(self) -> tuple[int, ...]:
        """The resources, by index, of which one more takes what teams do not lend."""
        capacity = self.balance.kept
        return tuple(
            index
            for index, amount in self.amounts
            if capacity.taken_with(self.team, index, amount) > capacity.most(index)
        )

    def unlent(self, short: Sequence[int]) -> Quota:
        """What nodes have of one of these resources, of which teams lend too little for one more.

        Of one that a team keeps, if there is any.
        """
        amounts, unlent = dict(self.amounts), self.balance.unlent
        quotas = [unlent(self.team, index, amounts[index]) for index in short]
        return next((quota for quota in quotas if quota.kept_by), quotas[0])

    def in_unlent(self, quota: Quota) -> int:
        """What it counts in a quota that `unlent` has made; 0 for any other quota."""
        names = self.balance.resources
        if not quota.lendable:
            return 0
        return next((amount for index, amount in self.amounts if names[index] == quota.resource), 0)


def charge_of(
    balance: TeamUsage, team: int, amounts: Amounts, yielding: Sequence[int]
) -> TeamCharge:
    path = balance.paths[team]
    accounts = tuple([(balance.used[above], *charged) for above in path for charged in amounts])
    return TeamCharge(balance, team, amounts, accounts, yielding)
