"""Usage, borrowing and lending of teams while a plan is made.

Terminating pods do not count. A team's figures include those of the teams below it. Only resources
that are guaranteed to some team are compared; if none is, all resources of the nodes.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final, TypeAlias

import msgspec

from edl.model import Quota, Reclaim, Teams
from edl.planner.teams.kept_capacity import Amounts, KeptCapacity, LendingBound
from edl.quantities import PODS, Resources

NO_TEAM: Final = -1

Parts: TypeAlias = tuple[tuple[int, int, float], ...]
"""Per resource: its index, the team's guarantee, and the share that one more unit adds."""


def dominant_share(used: Sequence[int], parts: Parts) -> float:
    """The largest weighted fraction of any resource that is used beyond the guarantee; from 0."""
    found = 0.0
    for at, owed, weight in parts:
        if (part := (used[at] - owed) * weight) > found:
            found = part
    return found


class TeamCharge(msgspec.Struct, frozen=True, eq=False):
    """What one pod of a role, or a whole gang, counts in its team and the teams above."""

    balance: "TeamBalance"
    team: int
    amounts: Amounts
    accounts: tuple[tuple[list[int], int, int], ...]
    """(`used` of a team on its path, index of a charged resource, amount)."""
    yielding: Sequence[int]
    """By resource, what extras of the team use that yield to it: guarantees cover it first."""

    def reserve(self, pods: int) -> None:
        balance = self.balance
        balance.charged.append(self.team)
        for used, at, amount in self.accounts:
            used[at] += amount * pods
        if balance.keepers:
            balance.kept.count(self.team, self.amounts, pods)

    def is_within(self, team: int, pods: int = 1) -> bool:
        """Whether the guarantee of a team on its path covers `pods` more.

        False if they need a contended resource that the guarantee does not name.
        """
        owed, used, named = self.balance.owed[team], self.balance.used[team], False
        for at, amount in self.amounts:
            if at in owed:
                if used[at] - self.yielding[at] + amount * pods > owed[at]:
                    return False
                named = True
            elif owed and at in self.balance.contended:
                return False
        return named

    def pods_within(self, team: int) -> int:
        """How many more pods the guarantee of a team on its path covers."""
        owed, used = self.balance.owed[team], self.balance.used[team]
        named = ((at, amount) for at, amount in self.amounts if at in owed)
        left = (max(owed[at] - used[at] + self.yielding[at], 0) // amount for at, amount in named)
        return min(left, default=0) if self.is_within(team) else 0

    def is_borrowed(self, team: int) -> bool:
        """Whether a team's guarantee covers no contended resource of one more.

        A pod that it covers in part is neither `is_within` nor `is_borrowed`.
        """
        owed, used = self.balance.owed[team], self.balance.used[team]
        beyond = named = False
        for at, _ in self.amounts:
            if at not in owed:
                beyond = beyond or not owed or at in self.balance.contended
                continue
            named = True
            if used[at] - self.yielding[at] >= owed[at]:
                beyond = True
            elif at in self.balance.contended:
                return False
        return beyond or not named

    def covered_by(self, pods: int = 1) -> int:
        """The lowest team on its path whose guarantee covers `pods` more, or NO_TEAM."""
        teams = (team for team in self.balance.paths[self.team] if self.is_within(team, pods))
        return next(teams, NO_TEAM)

    def places(self, resources: Container[str]) -> tuple[int, ...]:
        """Indexes in the balance of the charged resources among these."""
        return tuple(at for at, _ in self.amounts if self.balance.resources[at] in resources)

    def lending_bound(self, pods: int = 1) -> LendingBound | None:
        """What bounds `pods` more; None if a guarantee covers them, or if all teams lend."""
        if not self.balance.keepers or self.covered_by(pods) != NO_TEAM:
            return None
        return self.balance.kept.bound(self.amounts, lambda: self.covered_by(0) != NO_TEAM)

    def lends(self, pods: int = 1) -> bool:
        """Whether `pods` more stay clear of the capacity that teams do not lend."""
        bound = self.lending_bound(pods)
        if bound is None:
            return True
        self.reserve(pods)
        holds = bound.holds()
        self.reserve(-pods)
        return holds

    def unlent(self) -> Quota:
        """The capacity that teams do not keep, as a quota that one more exceeds."""
        short = [at for at, amount in self.amounts if self.balance.kept.left(at) < amount]
        return self.balance.unlent((short or self.amounts[0])[0])

    def in_unlent(self, quota: Quota) -> int:
        """What it counts in a quota that `unlent` has made; 0 for any other quota."""
        names, keepers = self.balance.resources, self.balance.keepers
        if not keepers or quota.source != self.balance.unlent_source:
            return 0
        return next((amount for at, amount in self.amounts if names[at] == quota.resource), 0)


class TeamBalance:
    """Teams by number, parents before their children."""

    def __init__(
        self,
        teams: Teams,
        usage: Mapping[str, Resources],
        totals: Mapping[str, int],
        asked: Callable[[], Mapping[str, int]] = dict,
    ) -> None:
        """`usage`: what other workloads use, by team; `totals`: sums of schedulable nodes.

        `asked` tells the least demand of all training jobs and pods, including waiting ones.
        """
        self.names = teams.top_down
        self.numbers = {name: number for number, name in enumerate(self.names)}
        self.paths = [tuple(self.numbers[one] for one in teams.path(name)) for name in self.names]
        self._parents = [path[1] if len(path) > 1 else NO_TEAM for path in self.paths]
        governed = {resource for owed in teams.guaranteed.values() for resource, _ in owed}
        self.resources = tuple(sorted(governed or set(totals) - {PODS}))
        self._totals = [totals.get(resource, 0) for resource in self.resources]
        self._places = {resource: at for at, resource in enumerate(self.resources)}
        self.owed = [self._placed(teams.guaranteed[name]) for name in self.names]
        """By team, its guarantee by resource index; resources without one are absent."""
        self._owed = [[owed.get(at, 0) for at in range(len(self.resources))] for owed in self.owed]
        self.used = [[0] * len(self.resources) for _ in self.names]
        self._charges: dict[tuple[int, Amounts], TeamCharge] = {}
        self.charged: list[int] = []
        """The teams whose usage has changed, in order."""
        self._asked = asked
        self._read(teams)
        self.changes = 0
        """Incremented when a claim or a move takes replicas; in between, usage only grows."""
        self._common: dict[tuple[int, int], tuple[int, ...]] = {}
        self._borrowers: dict[tuple[int, ...], tuple[list[bool], int]] = {}
        """By scarce resources, the teams that borrow them, and the length of `charged` then."""
        for name, amounts in sorted(usage.items()):
            self.charge(self.number(name), amounts).reserve(1)

    def _read(self, teams: Teams) -> None:
        self.nothing = (0,) * len(self.resources)
        self.keepers = tuple(
            number for number, name in enumerate(self.names) if not teams[name].lend
        )
        """Teams with `lend: false`."""
        self.kept = KeptCapacity(self.paths, self.keepers, self.owed, self.used, self._totals)
        self.reclaims_jobs = frozenset(
            number for number, name in enumerate(self.names) if teams[name].reclaim is Reclaim.JOBS
        )
        """Teams whose claims may preempt whole jobs of borrowers."""
        self.parts: list[Parts] = [
            tuple(
                (at, owed, 1 / (total * teams[name].weight) if total > 0 else 0.0)
                for at, (owed, total) in enumerate(zip(amounts, self._totals, strict=True))
            )
            for name, amounts in zip(self.names, self._owed, strict=True)
        ]

    @cached_property
    def contended(self) -> frozenset[int]:
        """Resources of which the least demand exceeds the nodes: independent of what runs."""
        asked = self._asked()
        pairs = enumerate(zip(self.resources, self._totals, strict=True))
        return frozenset(at for at, (name, most) in pairs if asked.get(name, 0) > most)

    @property
    def unlent_source(self) -> str:
        return f"capacity beside what team {self.names[self.keepers[0]]} keeps"

    def unlent(self, at: int) -> Quota:
        """A quota of what nodes have of a resource, less what teams keep; all usage is counted."""
        used = sum(self.used[one][at] for one, parent in enumerate(self._parents) if parent < 0)
        most = max(self.kept.left(at) + used, 0)
        kept_by = self.names[self.keepers[0]]
        return Quota("", self.unlent_source, self.resources[at], most, used, kept_by=kept_by)

    def number(self, name: str) -> int:
        """The number of a team; an unknown team counts as `default`."""
        return self.numbers.get(name, self.numbers["default"])

    def charge(self, team: int, amounts: Iterable[tuple[str, int]]) -> TeamCharge:
        return self.charge_at(team, self._placed(amounts))

    def charge_at(self, team: int, amounts: Mapping[int, int]) -> TeamCharge:
        """`charge` of amounts by resource index. Equal charges are one object."""
        key = team, tuple(sorted(amounts.items()))
        if key not in self._charges:
            path = self.paths[team]
            accounts = tuple([(self.used[one], *charged) for one in path for charged in key[1]])
            self._charges[key] = TeamCharge(self, *key, accounts, self.nothing)
        return self._charges[key]

    def _placed(self, amounts: Iterable[tuple[str, int]]) -> dict[int, int]:
        return {self._places[name]: amount for name, amount in amounts if name in self._places}

    def below(self, team: int) -> Iterable[int]:
        """The team itself and all teams below it."""
        return (one for one, path in enumerate(self.paths) if team in path)

    def below_common(self, team: int, other: int) -> tuple[int, ...]:
        """The teams on the path of `other` below the lowest common ancestor of both teams."""
        found = self._common.get((team, other))
        if found is None:
            found = tuple(one for one in self.paths[other] if one not in self.paths[team])
            self._common[team, other] = found
        return found

    def common_levels(self, teams: Iterable[int]) -> int:
        """The number of levels, from the top, at which all of these teams share their path."""
        levels = zip(*(reversed(self.paths[team]) for team in teams), strict=False)
        return next((at for at, level in enumerate(levels) if len(set(level)) > 1), 0)

    def all_borrow(self, team: int, other: int, scarce: Sequence[int] = ()) -> bool:
        """Whether all teams on the path of `other` below the common ancestor borrow."""
        return all(self.borrows(one, scarce) for one in self.below_common(team, other))

    def borrowing_beside(self, team: int, scarce: tuple[int, ...]) -> list[bool]:
        """`all_borrow` for every team, by number."""
        path, found, borrowing = self.paths[team], list[bool](), self._borrowing(scarce)
        for one, parent in enumerate(self._parents):
            beside = borrowing[one] and (parent < 0 or found[parent])
            found.append(beside or one in path)
        return found

    def _borrowing(self, scarce: tuple[int, ...]) -> list[bool]:
        """`borrows` for every team; only teams whose usage has changed are read again."""
        found, since = self._borrowers.get(scarce, ([], 0))
        if found:
            for one in {one for team in set(self.charged[since:]) for one in self.paths[team]}:
                found[one] = self.borrows(one, scarce)
        else:
            found = [self.borrows(team, scarce) for team in range(len(self.names))]
        self._borrowers[scarce] = found, len(self.charged)
        return found

    def borrows(self, team: int, scarce: Sequence[int] = ()) -> bool:
        """Whether a team uses more than its guarantee of any of these resources.

        Without `scarce`: of any resource of its guarantee; True if it has none. The guarantee of a
        resource that it does not name is 0, so any use of that is borrowed.
        """
        used, owed, named = self.used[team], self._owed[team], scarce or self.owed[team]
        return not named or any(used[at] > owed[at] for at in named)

    def has_left(self, team: int, scarce: Sequence[int] = (), freed: Sequence[int] = ()) -> bool:
        """Whether any part of its guarantee is unused once it uses `freed` less, by resource.

        Only of the resources `scarce`, if any are.
        """
        used, owed, freed = self.used[team], self.owed[team].items(), freed or self.nothing
        return any(used[at] - freed[at] < most for at, most in owed if not scarce or at in scarce)

    def share(self, team: int) -> float:
        """The largest fraction of any resource that it uses beyond its guarantee, by weight."""
        return dominant_share(self.used[team], self.parts[team])

    def share_with(self, team: int, amounts: Amounts, pods: int) -> float:
        """`share` with `pods` more pods of these amounts each."""
        used = self.used[team].copy()
        for at, amount in amounts:
            used[at] += amount * pods
        return dominant_share(used, self.parts[team])

    def has_less(self, team: int, other: int) -> bool:
        """Whether a team's share is at most another's, compared just below the common ancestor."""
        mine, theirs = self.below_common(other, team), self.below_common(team, other)
        return bool(mine and theirs) and self.share(mine[-1]) <= self.share(theirs[-1])

    def shares(self, team: int) -> tuple[float, ...]:
        """Shares of the teams on its path, top first: teams are compared level by level."""
        return tuple(map(self.share, reversed(self.paths[team])))
