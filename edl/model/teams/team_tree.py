"""Teams: their namespaces, guaranteed capacity and limits.

The figures of a team include those of all teams below it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cached_property
from typing import Final

import msgspec

from edl.model.selectors import Requirement
from edl.model.teams.namespace_pattern import NamespacePattern
from edl.quantities import Amount, Resources

DEFAULT_TEAM: Final = "default"
"""The team of all other namespaces; it has no guarantee."""


class Reclaim(StrEnum):
    """What a team within its guarantee may reclaim from borrowers."""

    REPLICAS = "replicas"
    """Replicas above a job's minimum."""
    JOBS = "jobs"
    """Replicas above a job's minimum first, then whole jobs."""


class Team(msgspec.Struct, frozen=True):
    """One team as its cluster's administrators describe it; `parent` is empty at the top.

    Its namespaces are those that `namespaces` names, exactly or by patterns with `*`, and those
    whose labels meet every requirement of `selector`, if it has any.
    """

    name: str
    parent: str = ""
    namespaces: tuple[str, ...] = ()
    """Sorted."""
    selector: tuple[Requirement, ...] = ()
    """Sorted by key."""
    guaranteed: Resources = Resources()
    limit: tuple[tuple[str, Amount], ...] = ()
    """Sorted (resource, limit) pairs; borrowed capacity counts. Other resources have no limit."""
    weight: float = 1.0
    """Its share of idle capacity relative to its siblings; above 0."""
    lend: bool = True
    """Whether other teams may borrow its unused guarantee."""
    reclaim: Reclaim = Reclaim.REPLICAS

    @property
    def namespace_patterns(self) -> Iterator[NamespacePattern]:
        return map(NamespacePattern.of, self.namespaces)


class Teams(msgspec.Struct, frozen=True, dict=True):
    """All teams of a cluster as a forest. Empty where no teams are configured.

    Make one with `Teams.of`. Parents exist, and no team is its own ancestor:
    `edl.parsing.team_document` refuses anything else.
    """

    items: tuple[Team, ...] = ()
    """Sorted by name, the team `default` among them."""

    @classmethod
    def of(cls, teams: Iterable[Team]) -> "Teams":
        """From teams in any order; adds the team `default` unless there are none."""
        named = {team.name: team for team in teams}
        if named:
            named.setdefault(DEFAULT_TEAM, Team(DEFAULT_TEAM))
        return cls(tuple(named[name] for name in sorted(named)))

    def __iter__(self) -> Iterator[Team]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __contains__(self, name: object) -> bool:
        return name in self.by_name

    def __getitem__(self, name: str) -> Team:
        """Raises KeyError."""
        return self.by_name[name]

    @cached_property
    def by_name(self) -> Mapping[str, Team]:
        return {team.name: team for team in self.items}

    @cached_property
    def children(self) -> Mapping[str, tuple[str, ...]]:
        """Sorted names of teams by their parent's name; top-level teams are under ""."""
        children: defaultdict[str, list[str]] = defaultdict(list)
        for team in self.items:
            children[team.parent].append(team.name)
        return {parent: tuple(names) for parent, names in children.items()}

    def path(self, name: str) -> tuple[str, ...]:
        """The team and its ancestors, the top last; empty for an unknown name."""
        return self._paths.get(name, ())

    def ancestors(self, name: str) -> tuple[str, ...]:
        """Its parent first, the top last."""
        return self.path(name)[1:]

    @cached_property
    def _paths(self) -> Mapping[str, tuple[str, ...]]:
        paths: dict[str, tuple[str, ...]] = {"": ()}
        for name in self.top_down:
            paths[name] = (name, *paths[self.by_name[name].parent])
        return paths

    @cached_property
    def top_down(self) -> tuple[str, ...]:
        """Every name once, parents before their children; by name within a level."""
        names: list[str] = []
        level = list(self.children.get("", ()))
        while level:
            names += level
            level = [child for name in level for child in self.children.get(name, ())]
        return tuple(names)

    @cached_property
    def guaranteed(self) -> Mapping[str, Resources]:
        """The guarantee of each team: its own, else the sum of its children's, by resource."""
        owed: dict[str, Resources] = {}
        for name in reversed(self.top_down):
            sums: defaultdict[str, int] = defaultdict(int)
            for child in self.children.get(name, ()):
                for resource, amount in owed[child]:
                    sums[resource] += amount
            owed[name] = Resources.of(sums | dict(self.by_name[name].guaranteed))
        return owed

    def matches(self, namespace: str, labels: Mapping[str, str]) -> tuple[str, ...]:
        """The sorted teams that match a namespace best: one, unless the document is ambiguous.

        Exact names come before patterns, and patterns before label selectors.
        """
        named = self._named.get(namespace)
        if named:
            return named
        names = [
            name
            for name, patterns in self.patterns
            if any(pattern.matches(namespace) for pattern in patterns)
        ]
        names = names or [team.name for team in self._selecting if _selects(team, labels)]
        return tuple(names) or ((DEFAULT_TEAM,) if self.items else ())

    def team_of(self, namespace: str, labels: Mapping[str, str]) -> str:
        """The first of `matches` by name; empty where no teams are configured."""
        return next(iter(self.matches(namespace, labels)), "")

    @cached_property
    def _named(self) -> Mapping[str, tuple[str, ...]]:
        teams: defaultdict[str, list[str]] = defaultdict(list)
        for team in self.items:
            for pattern in team.namespace_patterns:
                if pattern.is_name:
                    teams[pattern.text].append(team.name)
        return {namespace: tuple(names) for namespace, names in teams.items()}

    @cached_property
    def patterns(self) -> tuple[tuple[str, tuple[NamespacePattern, ...]], ...]:
        """The teams that have patterns with an asterisk, with these."""
        pairs = (
            (team.name, tuple(one for one in team.namespace_patterns if not one.is_name))
            for team in self.items
        )
        return tuple((name, patterns) for name, patterns in pairs if patterns)

    @cached_property
    def _selecting(self) -> tuple[Team, ...]:
        return tuple(team for team in self.items if team.selector)


def _selects(team: Team, labels: Mapping[str, str]) -> bool:
    return all(requirement.holds(labels.get(requirement.key)) for requirement in team.selector)
