"""Current usage by team, without terminating pods, and the loans and shares that follow from it."""

from collections.abc import Mapping
from typing import Final

from edl.model import ClusterState, Role
from edl.planner.teams.team_balance import TeamBalance
from edl.quantities import PODS, Resources
from edl.visibility.team_lending import TeamLending

_NONE: Final = Resources()


def running_pods(role: Role) -> int:
    """The number of bound pods that are neither terminating nor ended."""
    return sum(1 for one in role.status.pods if one.node and one.active)


def own_usage(state: ClusterState) -> Mapping[str, Resources]:
    """Usage in each team's own namespaces, without the teams below it."""
    own: dict[str, Resources] = dict(state.team_usage)
    for job in state.jobs:
        team = state.team_of(job.key.namespace)
        for role in job.roles:
            if pods := running_pods(role):
                own[team] = own.get(team, _NONE) + role.template.shape.requests * pods
    return own


def compared(state: ClusterState, amounts: Resources) -> Resources:
    """The amounts of resources guaranteed to some team; without guarantees, all amounts."""
    governed = {name for owed in state.teams.guaranteed.values() for name, _ in owed}
    return Resources.of(
        {name: one for name, one in amounts if (name in governed if governed else name != PODS)}
    )


def lending(state: ClusterState, own: Mapping[str, Resources]) -> TeamLending:
    """The loans between teams; `own` is the usage of each team's own namespaces."""
    capacity = sum((one.allocatable for one in state.nodes), _NONE)
    return TeamLending(state.teams, own, capacity)


def weighted_shares(state: ClusterState, own: Mapping[str, Resources]) -> Mapping[str, float]:
    """By team, its weighted dominant share of borrowed capacity; the smallest comes first.

    That is the largest fraction of the cluster, over resources, that it borrows, divided by its
    weight.
    """
    if not state.teams:
        return {}
    ready = (one.allocatable for one in state.nodes if one.schedulable)
    balance = TeamBalance(state.teams, own, dict(sum(ready, _NONE)))
    return {name: balance.share(balance.numbers[name]) for name in balance.names}
