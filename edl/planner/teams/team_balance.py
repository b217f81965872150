"""Usage, borrowing and lending of teams while a plan is made.

As quotas, they count on the future: pods that terminate count no more. A team's figures hold what
the teams below it use. Only resources that some team is guaranteed are compared; where none is,
those of all nodes.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from edl.model import Quota, Reclaim, Teams
from edl.planner.teams.kept_capacity import KeptCapacity
from edl.quantities import PODS, Resources

NO_TEAM: Final = -1

Amounts: TypeAlias = tuple[tuple[int, int], ...]
"""(place of the resource in a balance, amount)"""
Parts: TypeAlias = tuple[tuple[int, int, float], ...]
"""By resource: its place, what a team is guaranteed, and the share of one unit more."""


def dominant_share(used: Sequence[int], parts: Parts) -> float:
    """The largest part of the cluster of any resource that is used beyond a guarantee."""
    found = 0.0
    for at, owed, weight in parts:
        if (part := (used[at] - owed) * weight) > found:
            found = part
    return found


class TeamCharge(msgspec.Struct, frozen=True, eq=False):
    """What pods of one team count: one pod of a role, or a whole gang."""

    balance: "TeamBalance"
    team: int
    amounts: Amounts

    def reserve(self, pods: int) -> None:
        balance, amounts = self.balance, self.amounts
        balance.version += 1
        for used in balance.accounts[self.team]:
            for at, amount in amounts:
                used[at] += amount * pods
        if balance.keepers:
            balance.kept.count(self.team, amounts, pods)

    def is_within(self, team: int, pods: int = 1) -> bool:
        """Whether `pods` more stay within the guarantee of a team of its path.

        Contended resources that the guarantee does not name are borrowed.
        """
        owed, used = self.balance.owed[team], self.balance.used[team]
        if not owed:
            return False
        named = False
        for at, amount in self.amounts:
            if at in owed:
                if used[at] + amount * pods > owed[at]:
                    return False
                named = True
            elif at in self.balance.contended:
                return False
        return named

    def is_borrowed(self, team: int) -> bool:
        """Whether nothing of one more is within a team's guarantee of what is contended.

        Between the two are pods of which a part is within it.
        """
        owed, used = self.balance.owed[team], self.balance.used[team]
        beyond = named = False
        for at, _ in self.amounts:
            if at not in owed:
                beyond |= at in self.balance.contended
                continue
            named = True
            if used[at] >= owed[at]:
                beyond = True
            elif at in self.balance.contended:
                return False
        return beyond or not named

    def covered_by(self, pods: int = 1) -> int:
        """The lowest team within whose guarantee `pods` more stay; NO_TEAM if they borrow."""
        teams = (team for team in self.balance.paths[self.team] if self.is_within(team, pods))
        return next(teams, NO_TEAM)

    def is_covered(self) -> bool:
        """Whether as many more stay within the guarantee of a team of its path."""
        return self.covered_by() != NO_TEAM

    def places(self, resources: Container[str]) -> tuple[int, ...]:
        """Indexes in the balance of those of these resources that teams count."""
        names = self.balance.resources
        return tuple(at for at, _ in self.amounts if names[at] in resources)

    def lends(self, pods: int = 1) -> bool:
        """Whether `pods` more leave what teams keep that lend nothing."""
        return not self.balance.keepers or self.balance.lends(self, pods)


class TeamBalance:
    """Teams by number, parents before their children."""

    def __init__(
        self,
        teams: Teams,
        usage: Mapping[str, Resources],
        totals: Mapping[str, int],
        asked: Mapping[str, int] | None = None,
    ) -> None:
        """`usage`: what others hold, by team; `totals`: what schedulable nodes have.

        `asked`: what all training jobs and pods need at least, those that wait included.
        """
        self.names = teams.top_down
        self.numbers = {name: number for number, name in enumerate(self.names)}
        self.paths = [tuple(self.numbers[one] for one in teams.path(name)) for name in self.names]
        self._parents = [path[1] if len(path) > 1 else NO_TEAM for path in self.paths]
        governed = {resource for owed in teams.guaranteed.values() for resource, _ in owed}
        self.resources = tuple(sorted(governed or set(totals) - {PODS}))
        self._places = {resource: at for at, resource in enumerate(self.resources)}
        self.owed = [self._placed(teams.guaranteed[name]) for name in self.names]
        """By team, what it is guaranteed by the place of the resource."""
        self.contended = self._contended(asked or {}, totals)
        """Resources of which more is asked for than nodes have: the same however they are given."""
        self._owed = [[owed.get(at, 0) for at in range(len(self.resources))] for owed in self.owed]
        self.used = [[0] * len(self.resources) for _ in self.names]
        self.version = 0
        """How often what teams hold has changed."""
        self._totals = [totals.get(resource, 0) for resource in self.resources]
        self._read_tree(teams)
        self._read_shares(teams)
        self.changes = 0
        """How often replicas were taken for a claim: what teams hold only grows between."""
        self._common: dict[tuple[int, int], tuple[int, ...]] = {}
        for name, amounts in sorted(usage.items()):
            self.charge(self.number(name), amounts).reserve(1)

    def _read_tree(self, teams: Teams) -> None:
        self.keepers = tuple(
            number for number, name in enumerate(self.names) if not teams[name].lend
        )
        """Teams that lend nothing."""
        self.kept = KeptCapacity(self.paths, self.keepers, self.owed, self.used)
        self.reclaims_jobs = frozenset(
            number for number, name in enumerate(self.names) if teams[name].reclaim is Reclaim.JOBS
        )
        """Teams whose guarantee may take whole jobs of borrowers."""

    def _read_shares(self, teams: Teams) -> None:
        weights = [
            [1 / (total * teams[name].weight) if total > 0 else 0.0 for total in self._totals]
            for name in self.names
        ]
        self.parts: list[Parts] = [
            tuple(zip(range(len(self.resources)), *each, strict=True))
            for each in zip(self._owed, weights, strict=True)
        ]
        self.accounts = [tuple(self.used[one] for one in path) for path in self.paths]
        """By team, what each team of its path holds."""

    def _contended(self, asked: Mapping[str, int], totals: Mapping[str, int]) -> frozenset[int]:
        return frozenset(
            at
            for at, resource in enumerate(self.resources)
            if asked.get(resource, 0) > totals.get(resource, 0)
        )

    @property
    def unlent(self) -> Quota:
        """The quota that stands for capacity that teams do not lend."""
        kept = (at for team in self.keepers for at in self.owed[team])
        at = next(kept, 0)
        source = f"capacity that team {self.names[self.keepers[0]]} does not lend"
        return Quota("", source, self.resources[at], self._totals[at], self._totals[at])

    def number(self, name: str) -> int:
        """The number of a team; that of `default` for an unknown one."""
        return self.numbers.get(name, self.numbers["default"])

    def charge(self, team: int, amounts: Iterable[tuple[str, int]]) -> TeamCharge:
        return TeamCharge(self, team, tuple(sorted(self._placed(amounts).items())))

    def _placed(self, amounts: Iterable[tuple[str, int]]) -> dict[int, int]:
        places = self._places
        return {places[name]: amount for name, amount in amounts if name in places}

    def below(self, team: int) -> Iterable[int]:
        """The team itself, and those below it."""
        return (one for one, path in enumerate(self.paths) if team in path)

    def below_common(self, team: int, other: int) -> tuple[int, ...]:
        """The teams of the path of `other` below the lowest that both belong to."""
        found = self._common.get((team, other))
        if found is None:
            mine = set(self.paths[team])
            found = tuple(one for one in self.paths[other] if one not in mine)
            self._common[team, other] = found
        return found

    def common_levels(self, teams: Iterable[int]) -> int:
        """How many levels, from the top, are the same for all of these teams."""
        levels = zip(*(reversed(self.paths[team]) for team in teams), strict=False)
        return next((at for at, level in enumerate(levels) if len(set(level)) > 1), 0)

    def all_borrow(self, team: int, other: int, scarce: Sequence[int] = ()) -> bool:
        """Whether the path of `other` borrows below the lowest team that both belong to."""
        return all(self.borrows(one, scarce) for one in self.below_common(team, other))

    def borrowing_beside(self, team: int, scarce: Sequence[int]) -> list[bool]:
        """The same for every team."""
        path, found = self.paths[team], list[bool]()
        for one, parent in enumerate(self._parents):
            beside = parent == NO_TEAM or found[parent]
            found.append(one in path or (beside and self.borrows(one, scarce)))
        return found

    def borrows(self, team: int, scarce: Sequence[int] = ()) -> bool:
        """Whether a team holds more than its guarantee, of these resources if there are any.

        Of what its guarantee does not name it is guaranteed 0: all that it holds is borrowed.
        """
        used, owed = self.used[team], self._owed[team]
        if not (scarce or self.owed[team]):
            return True
        for at in scarce or self.owed[team]:  # noqa: SIM110 - asked of all teams for each claim
            if used[at] > owed[at]:
                return True
        return False

    def has_left(self, team: int) -> bool:
        """Whether anything of its guarantee is not used."""
        used = self.used[team]
        return any(used[at] < owed for at, owed in self.owed[team].items())

    def share(self, team: int) -> float:
        """Its weighted dominant share of what is borrowed.

        The largest part of the cluster of any resource that it uses beyond its guarantee.
        """
        return dominant_share(self.used[team], self.parts[team])

    def share_with(self, team: int, amounts: Amounts, pods: int) -> float:
        """The same, with `pods` more that count so much each."""
        used = self.used[team].copy()
        for at, amount in amounts:
            used[at] += amount * pods
        return dominant_share(used, self.parts[team])

    def shares(self, team: int) -> tuple[float, ...]:
        """Shares of the teams on its path, the top first: the order in which teams are compared."""
        return tuple(map(self.share, reversed(self.paths[team])))

    def lends(self, charge: TeamCharge, pods: int) -> bool:
        """Whether what all use, and what is kept from others, stays below what nodes have."""
        before = self.kept.taken.copy()
        charge.reserve(pods)
        after = self.kept.taken.copy()
        charge.reserve(-pods)
        return all(after[at] <= max(self._totals[at], before[at]) for at, _ in charge.amounts)


def team_limits(teams: Teams, usage: Mapping[str, Resources]) -> Mapping[str, Sequence[Quota]]:
    """Each team's limits as quotas of all its namespaces, with what others hold in them."""
    held: dict[str, Resources] = {}
    for name, amounts in usage.items():
        for team in teams.path(name if name in teams else "default"):
            held[team] = held.get(team, Resources()) + amounts
    return {
        team.name: [
            Quota(
                namespace="",
                source=f"limit of team {team.name}",
                resource=resource,
                hard=most,
                others=held.get(team.name, Resources()).get(resource),
                takes_back=True,
            )
            for resource, most in team.limit
        ]
        for team in teams
    }
