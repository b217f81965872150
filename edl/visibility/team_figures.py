"""What each team is guaranteed, uses, borrows and lends in one state, for display."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

from edl.model import ClusterState, JobKey, Node, Team, Teams
from edl.quantities import Resources, amount_text
from edl.visibility.usage_by_team import lending, team_balance

_NONE: Final = Resources()


class TeamFigures(msgspec.Struct, frozen=True):
    """One team, including the teams below it. `level` is 0 at the top.

    Amounts are of resources guaranteed to some team; without guarantees, of all resources.
    """

    team: Team
    level: int
    guaranteed: Resources
    used: Resources
    waiting: int
    """The number of its queued training jobs."""
    lent: Resources = _NONE
    """The part of its guarantee that other teams use."""
    share: float = 0.0
    """Its weighted dominant share of borrowed capacity; the smallest is served next."""

    own_borrowed: Resources = _NONE
    """What its own namespaces borrow, also from the teams below it."""

    @property
    def borrowed(self) -> Resources:
        """Its usage beyond its guarantee; what its own namespaces borrow if that is more."""
        beyond = {name: max(amount - self.guaranteed.get(name), 0) for name, amount in self.used}
        loans = {name: max(amount, beyond.get(name, 0)) for name, amount in self.own_borrowed}
        return Resources.of(beyond | loans)


def team_figures(state: ClusterState, waiting: Iterable[JobKey]) -> tuple[TeamFigures, ...]:
    """All teams in depth-first order, parents first."""
    teams = state.teams
    balance = team_balance(state)
    loans = lending(state, balance)
    queued: Counter[str] = Counter()
    for key in waiting:
        for name in teams.path(state.team_of(key.namespace)):
            queued[name] += 1
    return tuple(
        TeamFigures(
            teams[name],
            len(teams.ancestors(name)),
            teams.guaranteed[name],
            Resources.of(dict(zip(balance.resources, balance.used[number], strict=True))),
            queued[name],
            Resources.of({resource: loan.lent[name] for resource, loan in loans.items()}),
            balance.share(number),
            Resources.of({resource: loan.own_borrowed(name) for resource, loan in loans.items()}),
        )
        for name in _in_tree(teams.children, "")
        for number in [balance.numbers[name]]
    )


def _in_tree(children: Mapping[str, tuple[str, ...]], parent: str) -> Iterator[str]:
    for name in children.get(parent, ()):
        yield name
        yield from _in_tree(children, name)


class ExcessGuarantee(NamedTuple):
    """A resource of which the teams are guaranteed more than the nodes have."""

    resource: str
    guaranteed: int
    allocatable: int

    def __str__(self) -> str:
        owed, have = (amount_text(self.resource, amount) for amount in self[1:])
        return f"teams are guaranteed {owed}, and the nodes have {have}"


def excess_guarantees(teams: Teams, nodes: Iterable[Node]) -> tuple[ExcessGuarantee, ...]:
    """The guarantees beyond the nodes, which may be temporary: nodes come and go."""
    owed = sum((teams.guaranteed[name] for name in teams.children.get("", ())), _NONE)
    there = sum((node.allocatable for node in nodes), _NONE)
    guarantees = (ExcessGuarantee(name, amount, there.get(name)) for name, amount in owed)
    return tuple(one for one in guarantees if one.guaranteed > one.allocatable)
