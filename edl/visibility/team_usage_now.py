"""What pods hold now, by team and by training job, until they terminate."""

from collections.abc import Mapping
from typing import Final

from edl.model import ClusterState, Role
from edl.planner.teams.team_lending import TeamLending
from edl.quantities import PODS, Resources

_NONE: Final = Resources()


def running_pods(role: Role) -> int:
    """Those that hold capacity on a node."""
    return sum(1 for one in role.status.pods if one.node and not one.terminating and not one.ended)


def own_usage(state: ClusterState) -> Mapping[str, Resources]:
    """What pods in each team's own namespaces hold: not those of the teams below it."""
    own: dict[str, Resources] = dict(state.team_usage)
    for job in state.jobs:
        team = state.team_of(job.key.namespace)
        for role in job.roles:
            if pods := running_pods(role):
                own[team] = own.get(team, _NONE) + role.template.shape.requests * pods
    return own


def compared(state: ClusterState, amounts: Resources) -> Resources:
    """Those of resources that some team is guaranteed; where none is, of all."""
    governed = {name for owed in state.teams.guaranteed.values() for name, _ in owed}
    return Resources.of(
        {name: one for name, one in amounts if (name in governed if governed else name != PODS)}
    )


def lending(state: ClusterState, own: Mapping[str, Resources]) -> TeamLending:
    """Who borrows from whom; `own` is the usage of each team's own namespaces."""
    capacity = sum((one.allocatable for one in state.nodes), _NONE)
    return TeamLending(state.teams, own, capacity)
