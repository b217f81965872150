"""Decides again as if a waiting job's team had `reclaim: jobs`, to see whether it would start."""

from msgspec.structs import replace

from edl import reasons
from edl.model import DEFAULT_TEAM, Reclaim, Teams, TrainingJob
from edl.planner.explain.what_if_state import DecisionInput
from edl.planner.passes.decision import Decision


def reclaiming_team(given: DecisionInput, decided: Decision, job: TrainingJob) -> str:
    """The job's team if only `reclaim: jobs` would give the job capacity, else "".

    `decided`: the decision on the unchanged input.
    """
    state, name = given.state, given.state.team_of(job.key.namespace)
    team = state.teams.by_name.get(name)
    if team is None or name == DEFAULT_TEAM or team.reclaim is Reclaim.JOBS:
        return ""
    if _gets_room(decided, job):
        return ""
    others = (one for one in state.teams if one is not team)
    teams = Teams.of((*others, replace(team, reclaim=Reclaim.JOBS)))
    return name if _gets_room(given.changed(teams=teams).decided(), job) else ""


def _gets_room(found: Decision, job: TrainingJob) -> bool:
    held = found.decisions.held.get(job.key)
    return job.key in found.decisions.admitted or (held is not None and reasons.promises(held))
