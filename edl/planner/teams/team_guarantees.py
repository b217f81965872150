"""Guarantees and usage of teams while a plan is made.

Terminating pods do not count. A team's figures include those of the teams below it. Only resources
that are guaranteed to some team are compared; if none is, all resources of the nodes.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Final

from edl.model import Quota, Teams
from edl.planner.teams.kept_capacity import KeptCapacity
from edl.quantities import PODS

NO_TEAM: Final = -1
_FOR_ALL: Final = "of the schedulable nodes for all running pods"


class TeamUsage:
    """Teams by number, parents before their children."""

    def __init__(
        self, teams: Teams, totals: Mapping[str, int], asked: Callable[[], Mapping[str, int]]
    ) -> None:
        """`totals`: sums of schedulable nodes.

        `asked` tells the least demand of all training jobs and pods, including waiting ones.
        """
        self.names = teams.top_down
        self.numbers = {name: number for number, name in enumerate(self.names)}
        self.paths = [
            tuple(self.numbers[ancestor] for ancestor in teams.path(name)) for name in self.names
        ]
        self._parents = [path[1] if len(path) > 1 else NO_TEAM for path in self.paths]
        governed = {resource for amounts in teams.guaranteed.values() for resource, _ in amounts}
        self.resources = tuple(sorted(governed or set(totals) - {PODS}))
        self._totals = [totals.get(resource, 0) for resource in self.resources]
        self._places = {resource: index for index, resource in enumerate(self.resources)}
        self.guaranteed = [self.placed(teams.guaranteed[name]) for name in self.names]
        """By team, its guarantee by resource index; resources without one are absent."""
        self.used = [[0] * len(self.resources) for _ in self.names]
        self.charged: list[int] = []
        """The teams whose usage has changed, in order: the length is a version of all usage."""
        self.falls = 0
        """How often claims or moves have taken replicas; in between, usage only grows."""
        self._asked = asked
        self.keepers = tuple(
            number for number, name in enumerate(self.names) if not teams[name].lend
        )
        """Teams with `lend: false`."""
        self.kept = KeptCapacity(self.paths, self.keepers, self.guaranteed, self.used, self._totals)

    def note_fall(self) -> None:
        """Note that a claim or a move has taken replicas."""
        self.falls += 1

    @cached_property
    def contended(self) -> frozenset[int]:
        """Resources of which the least demand exceeds the nodes: independent of what runs."""
        asked = self._asked()
        pairs = enumerate(zip(self.resources, self._totals, strict=True))
        return frozenset(index for index, (name, most) in pairs if asked.get(name, 0) > most)

    def unlent(self, team: int, index: int, amount: int) -> Quota:
        """What nodes have of a resource beside what teams keep once a team uses so much more.

        All usage is counted, that of pods on nodes which are not schedulable, too.
        """
        used = sum(
            self.used[number][index] for number, parent in enumerate(self._parents) if parent < 0
        )
        others = self.kept.taken_with(team, index, amount) - amount - used
        most, owner = max(self._totals[index] - others, 0), self._keeps_most(team, index)
        beside = f"beside what team {owner} keeps" if owner else _FOR_ALL
        source = f"capacity {beside}"
        return Quota("", source, self.resources[index], most, used, lendable=True, kept_by=owner)

    def _keeps_most(self, team: int, index: int) -> str:
        """The team that keeps the most of a resource from a team; empty if none keeps any.

        What its own team and the teams above keep is what the team uses first.
        """
        others = (owner for owner in reversed(self.keepers) if owner not in self.paths[team])
        most = max(others, key=lambda owner: self.kept.of(owner, index), default=NO_TEAM)
        return self.names[most] if most != NO_TEAM and self.kept.of(most, index) else ""

    def number(self, name: str) -> int:
        """The number of a team; an unknown team counts as `default`."""
        return self.numbers.get(name, self.numbers["default"])

    def placed(self, amounts: Iterable[tuple[str, int]]) -> dict[int, int]:
        """Amounts by resource index, of the resources that count."""
        return {self._places[name]: amount for name, amount in amounts if name in self._places}
