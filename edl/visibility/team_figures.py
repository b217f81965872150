"""What each team is guaranteed, uses, borrows and lends: figures for people, of one state."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from edl.model import ClusterState, JobKey, Team
from edl.quantities import PODS, Resources

_NONE: Final = Resources()


class TeamFigures(msgspec.Struct, frozen=True):
    """One team, with the teams below it counted in. `level` is 0 at the top.

    Amounts are of the resources that some team is guaranteed; where none is, of all.
    """

    team: Team
    level: int
    guaranteed: Resources
    used: Resources
    waiting: int
    """Its queued training jobs."""
    lent: Resources = _NONE
    """Its part of what others use beyond their guarantees and beyond what no team is owed."""

    @property
    def borrowed(self) -> Resources:
        """What it uses beyond its guarantee."""
        return _above(self.used, self.guaranteed)


def team_figures(state: ClusterState, waiting: Iterable[JobKey]) -> tuple[TeamFigures, ...]:
    """Every team, parents before their children, each child below its parent."""
    teams = state.teams
    used = _used(state)
    queued: Counter[str] = Counter()
    for key in waiting:
        for name in teams.path(state.team_of(key.namespace)):
            queued[name] += 1
    found = {
        name: TeamFigures(
            teams[name],
            len(teams.ancestors(name)),
            teams.guaranteed[name],
            used.get(name, _NONE),
            queued[name],
        )
        for name in _in_tree(teams.children, "")
    }
    lent = dict(_lent(found, teams.children, "", _allocatable(state), _NONE))
    return tuple(msgspec.structs.replace(one, lent=lent[name]) for name, one in found.items())


def _in_tree(children: Mapping[str, tuple[str, ...]], parent: str) -> Iterator[str]:
    for name in children.get(parent, ()):
        yield name
        yield from _in_tree(children, name)


def _used(state: ClusterState) -> dict[str, Resources]:
    """What pods hold until they terminate, rolled up."""
    own: dict[str, Resources] = dict(state.team_usage)
    for job in state.jobs:
        team = state.team_of(job.key.namespace)
        for role in job.roles:
            held = (
                one
                for one in role.status.pods
                if one.node and not one.terminating and not one.ended
            )
            if pods := sum(1 for _ in held):
                own[team] = own.get(team, _NONE) + role.template.shape.requests * pods
    governed = {name for owed in state.teams.guaranteed.values() for name, _ in owed}
    total: defaultdict[str, Resources] = defaultdict(Resources)
    for team, amounts in own.items():
        told = {
            name: amount
            for name, amount in amounts
            if (name in governed if governed else name != PODS)
        }
        for name in state.teams.path(team):
            total[name] += Resources.of(told)
    return dict(total)


def _allocatable(state: ClusterState) -> Resources:
    return sum((one.allocatable for one in state.nodes), Resources())


def _lent(
    found: Mapping[str, TeamFigures],
    children: Mapping[str, tuple[str, ...]],
    parent: str,
    capacity: Resources,
    outside: Resources,
) -> Iterator[tuple[str, Resources]]:
    """By team. `capacity` is what the teams below `parent` have together, `outside` lends of it.

    What siblings borrow comes first of what none of them is owed, then in equal parts of what
    each leaves unused.
    """
    siblings = [found[name] for name in children.get(parent, ())]
    owed = sum((one.guaranteed for one in siblings), Resources())
    borrowed = sum((one.borrowed for one in siblings), outside)
    unused = {one.team.name: _above(one.guaranteed, one.used) for one in siblings if one.team.lend}
    idle = sum(unused.values(), Resources())
    from_owners = _above(borrowed, _above(capacity, owed))
    for one in siblings:
        mine = {
            name: min(amount, from_owners.get(name) * amount // idle.get(name))
            for name, amount in unused.get(one.team.name, _NONE)
        }
        lent = Resources.of(mine)
        yield one.team.name, lent
        yield from _lent(found, children, one.team.name, one.guaranteed, lent)


def _above(some: Resources, others: Resources) -> Resources:
    """What is more of each resource."""
    return Resources.of({name: max(amount - others.get(name), 0) for name, amount in some})
