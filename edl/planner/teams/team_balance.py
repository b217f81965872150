"""Borrowing, lending and shares of teams while a plan is made."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import TypeAlias

from edl.model import Reclaim, Teams
from edl.planner.teams.kept_capacity import Amounts
from edl.planner.teams.team_charge import TeamCharge, charge_of
from edl.planner.teams.team_guarantees import TeamUsage
from edl.quantities import Resources

Parts: TypeAlias = tuple[tuple[int, int, float], ...]
"""Per resource: its index, the team's guarantee, and the share that one more unit adds."""


def dominant_share(used: Sequence[int], parts: Parts) -> float:
    """The largest weighted fraction of any resource that is used beyond the guarantee; from 0."""
    share = 0.0
    for index, guaranteed, weight in parts:
        if (part := (used[index] - guaranteed) * weight) > share:
            share = part
    return share


class TeamBalance(TeamUsage):
    """Compares the usage of teams with their guarantees, and with each other."""

    def __init__(
        self,
        teams: Teams,
        usage: Mapping[str, Resources],
        totals: Mapping[str, int],
        asked: Callable[[], Mapping[str, int]] = dict,
    ) -> None:
        """`usage`: what other workloads use, by team. The rest is as for `TeamUsage`."""
        super().__init__(teams, totals, asked)
        self._charges: dict[tuple[int, Amounts], TeamCharge] = {}
        self.nothing = (0,) * len(self.resources)
        self._common: dict[tuple[int, int], tuple[int, ...]] = {}
        self._borrowers: dict[tuple[int, ...], tuple[list[bool], int]] = {}
        """By scarce resources, the teams that borrow them, and the length of `charged` then."""
        self._less: dict[tuple[int, int], bool] = {}
        """`has_less`, by pair of teams, while the length of `charged` is `_compared`."""
        self._compared = 0
        self.reclaims_jobs = frozenset(
            number for number, name in enumerate(self.names) if teams[name].reclaim is Reclaim.JOBS
        )
        """Teams whose claims may preempt whole jobs of borrowers."""
        self._guaranteed_dense = [
            [named.get(index, 0) for index in range(len(self.resources))]
            for named in self.guaranteed
        ]
        self.parts: list[Parts] = [
            tuple(
                (index, guaranteed, 1 / (total * teams[name].weight) if total > 0 else 0.0)
                for index, (guaranteed, total) in enumerate(zip(amounts, self._totals, strict=True))
            )
            for name, amounts in zip(self.names, self._guaranteed_dense, strict=True)
        ]
        self.others = [
            self.charge(self.number(name), amounts) for name, amounts in sorted(usage.items())
        ]
        """What other workloads use, by team."""
        for charge in self.others:
            charge.reserve(1)

    def charge(self, team: int, amounts: Iterable[tuple[str, int]]) -> TeamCharge:
        return self.charge_at(team, self.placed(amounts))

    def charge_at(self, team: int, amounts: Mapping[int, int]) -> TeamCharge:
        """`charge` of amounts by resource index. Equal charges are one object."""
        key = team, tuple(sorted(amounts.items()))
        if key not in self._charges:
            self._charges[key] = charge_of(self, *key, self.nothing)
        return self._charges[key]

    def below(self, team: int) -> Iterable[int]:
        """The team itself and all teams below it."""
        return (number for number, path in enumerate(self.paths) if team in path)

    def below_common(self, team: int, other: int) -> tuple[int, ...]:
        """The teams on the path of `other` below the lowest common ancestor of both teams."""
        teams = self._common.get((team, other))
        if teams is None:
            teams = tuple(above for above in self.paths[other] if above not in self.paths[team])
            self._common[team, other] = teams
        return teams

    def common_levels(self, teams: Iterable[int]) -> int:
        """The number of levels, from the top, at which all of these teams share their path."""
        levels = zip(*(reversed(self.paths[team]) for team in teams), strict=False)
        return next((depth for depth, level in enumerate(levels) if len(set(level)) > 1), 0)

    def all_borrow(self, team: int, other: int, scarce: Sequence[int] = ()) -> bool:
        """Whether all teams on the path of `other` below the common ancestor borrow."""
        return all(self.borrows(borrower, scarce) for borrower in self.below_common(team, other))

    def borrowing_beside(self, team: int, scarce: tuple[int, ...]) -> list[bool]:
        """`all_borrow` for every team, by number."""
        path, beside_all, borrowing = self.paths[team], list[bool](), self._borrowing(scarce)
        for number, parent in enumerate(self._parents):
            beside = borrowing[number] and (parent < 0 or beside_all[parent])
            beside_all.append(beside or number in path)
        return beside_all

    def _borrowing(self, scarce: tuple[int, ...]) -> list[bool]:
        """`borrows` for every team; only teams whose usage has changed are read again."""
        borrowing, since = self._borrowers.get(scarce, ([], 0))
        if borrowing:
            changed = {self.paths[team] for team in self.charged[since:]}
            for team in set(chain.from_iterable(changed)):
                borrowing[team] = self.borrows(team, scarce)
        else:
            borrowing = [self.borrows(team, scarce) for team in range(len(self.names))]
        self._borrowers[scarce] = borrowing, len(self.charged)
        return borrowing

    def borrows(self, team: int, scarce: Sequence[int] = ()) -> bool:
        """Whether a team uses more than its guarantee of any of these resources.

        Without `scarce`: of any resource of its guarantee; True if it has none. The guarantee of a
        resource that it does not name is 0, so any use of that is borrowed.
        """
        used, guaranteed = self.used[team], self._guaranteed_dense[team]
        named = scarce or self.guaranteed[team]
        return not named or any(used[index] > guaranteed[index] for index in named)

    def has_left(self, team: int, scarce: Sequence[int] = (), freed: Sequence[int] = ()) -> bool:
        """Whether any part of its guarantee is unused once it uses `freed` less, by resource.

        Only of the resources `scarce`, if any are.
        """
        used, freed = self.used[team], freed or self.nothing
        return any(
            used[index] - freed[index] < most
            for index, most in self.guaranteed[team].items()
            if not scarce or index in scarce
        )

    def share(self, team: int) -> float:
        """The largest fraction of any resource that it uses beyond its guarantee, by weight."""
        return dominant_share(self.used[team], self.parts[team])

    def share_without(self, team: int, amounts: Amounts) -> float:
        """`share` without a pod of these amounts."""
        used = self.used[team].copy()
        for index, amount in amounts:
            used[index] -= amount
        return dominant_share(used, self.parts[team])

    def has_less(self, team: int, other: int) -> bool:
        """Whether a team's share is at most another's, compared just below the common ancestor."""
        if self._compared != len(self.charged):  # thousands of roles of few teams ask
            self._less, self._compared = {}, len(self.charged)
        if (team, other) not in self._less:
            mine, theirs = self.below_common(other, team), self.below_common(team, other)
            less = bool(mine and theirs) and self.share(mine[-1]) <= self.share(theirs[-1])
            self._less[team, other] = less
        return self._less[team, other]

    def shares(self, team: int) -> tuple[float, ...]:
        """Shares of the teams on its path, top first: teams are compared level by level."""
        return tuple(map(self.share, reversed(self.paths[team])))
