"""The teams from which borrowed capacity comes.

A team's own guarantee is its guarantee less those of the teams below it; its own namespaces borrow
what they use beyond that. Teams of one parent borrow first from the idle part of the parent's own
guarantee (at the top: from capacity that is guaranteed to no team), then from those siblings that
lend, in proportion to what each leaves idle, and last from the sources of the parent itself. Every
borrower gets a proportional part of each source.
"""

from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from heapq import nsmallest
from typing import Final

from edl.model import Teams

NO_OWNER: Final = ""
"""The source of capacity that is guaranteed to no team."""


def apportion(amount: int, weights: Mapping[str, int]) -> dict[str, int]:
    """Split `amount` in proportion to `weights`, whose sum must not be smaller; zeros are left out.

    The rest from rounding goes to the largest remainders, among equals by name, so that parts sum
    up to `amount` and none exceeds its weight.
    """
    total = sum(weights.values())
    if not amount or not total:
        return {}
    parts = {name: divmod(amount * weight, total) for name, weight in weights.items()}
    shares = {name: part for name, (part, _) in parts.items()}
    missing = amount - sum(shares.values())
    for name in nsmallest(missing, parts, key=lambda name: (-parts[name][1], name)):
        shares[name] += 1
    return {name: part for name, part in shares.items() if part}


class ResourceLending:
    """Lending between all teams, of one resource."""

    def __init__(
        self, teams: Teams, owed: Mapping[str, int], used: Mapping[str, int], capacity: int
    ) -> None:
        """By team, with the teams below it, `owed`: its guarantee; `used`: its usage."""
        self._teams, self._owed, self._used, self._capacity = teams, owed, used, capacity
        self._sources: dict[str, Mapping[str, int]] = {}

    def own_guarantee(self, team: str) -> int:
        """The guarantee of its own namespaces, without the teams below it."""
        return max(self._owed[team] - sum(map(self._owed.__getitem__, self._children(team))), 0)

    def own_borrowed(self, team: str) -> int:
        """What its own namespaces use beyond `own_guarantee`."""
        return max(self._own_usage(team) - self.own_guarantee(team), 0)

    @cached_property
    def lent(self) -> Mapping[str, int]:
        """By team, how much of its guarantee other teams use."""
        amounts: dict[str, int] = {}
        for parent in (NO_OWNER, *self._teams.top_down):
            needed = sum(self._borrowers(parent).values()) + amounts.get(parent, 0)
            left = max(needed - self._idle(parent), 0)
            lendable = {name: self._lendable[name] for name in self._children(parent)}
            parts = apportion(min(left, sum(lendable.values())), lendable)
            amounts |= {name: parts.get(name, 0) for name in lendable}
        return amounts

    def own_sources(self, team: str) -> Mapping[str, int]:
        """What the team's own namespaces borrow, by source: a team or NO_OWNER."""
        return self._split(team, team)

    def _children(self, parent: str) -> tuple[str, ...]:
        return self._teams.children.get(parent, ())

    def _borrowed(self, team: str) -> int:
        return max(self._used[team] - self._owed[team], 0)

    def _own_usage(self, team: str) -> int:
        """What its own namespaces use."""
        return self._used[team] - sum(map(self._used.__getitem__, self._children(team)))

    def _idle(self, parent: str) -> int:
        """The unused part of the parent's own guarantee; at the top, what no team is guaranteed."""
        if parent == NO_OWNER:
            owed = sum(self._owed[name] for name in self._children(parent))
            return max(self._capacity - owed, 0)
        return max(self.own_guarantee(parent) - self._own_usage(parent), 0)

    def _borrowers(self, parent: str) -> dict[str, int]:
        """Amounts borrowed by the parent's own namespaces and by its child teams."""
        loan = self.own_borrowed(parent) if parent else 0
        loans = {parent: loan} | {name: self._borrowed(name) for name in self._children(parent)}
        return {name: amount for name, amount in loans.items() if amount > 0}

    @cached_property
    def _lendable(self) -> Mapping[str, int]:
        """By team, the idle guarantee that it lends to teams outside its subtree."""
        lendable: dict[str, int] = {}
        for name in reversed(self._teams.top_down):
            left = self._idle(name) + sum(lendable[child] for child in self._children(name))
            left -= sum(self._borrowers(name).values())
            lendable[name] = max(left, 0) if self._teams[name].lend else 0
        return lendable

    def _split(self, parent: str, borrower: str) -> Mapping[str, int]:
        """The sources of what one of the parent's borrowers borrows."""
        borrowers = self._borrowers(parent)
        if borrower not in borrowers:
            return {}
        sources = Counter(self._level_sources(parent))
        for name, amount in borrowers.items():
            part = apportion(amount, sources)
            if name == borrower:
                return part
            sources.subtract(part)
        return {}

    def _level_sources(self, parent: str) -> Mapping[str, int]:
        """By source, what all borrowers below one parent take together."""
        sources = self._sources.get(parent)
        if sources is None:
            sources = self._sources[parent] = self._found_sources(parent)
        return sources

    def _found_sources(self, parent: str) -> Mapping[str, int]:
        borrowed = sum(self._borrowers(parent).values())
        outside = self.lent.get(parent, 0)
        sources: Counter[str] = Counter()
        sources[parent] += min(self._idle(parent), borrowed + outside)
        sources.update({name: self.lent[name] for name in self._children(parent)})
        if parent != NO_OWNER:
            sources.update(self._split(self._teams[parent].parent, parent))
        sources[NO_OWNER] += max(borrowed + outside - sources.total(), 0)
        return sources
