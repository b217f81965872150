"""Builders for tests with teams: whose namespaces jobs are in, and what their teams hold."""

from collections import Counter
from collections.abc import Mapping

from msgspec.structs import replace

from edl.model import ClusterState, JobKey, Role, Team, Teams, TrainingJob
from edl.planner.plan import Plan
from edl.quantities import Resources


def team(name: str, cpu: float | None = None, parent: str = "", **fields: object) -> Team:
    """A team that is guaranteed so many cores; its namespace has its name."""
    owed = Resources.parse({"cpu": cpu} if cpu is not None else {})
    return Team(name, parent, namespaces=(name,), guaranteed=owed, **fields)  # type: ignore[arg-type]


def of(owner: str, *jobs: TrainingJob) -> list[TrainingJob]:
    """Jobs in the namespace of a team."""
    return [replace(job, key=JobKey(owner, job.key.name)) for job in jobs]


def with_teams(state: ClusterState, *teams: Team) -> ClusterState:
    found = Teams.of(teams)
    names = {one.key.namespace for one in state.jobs}
    return replace(
        state, teams=found, namespace_teams={name: found.team_of(name, {}) for name in names}
    )


def after(state: ClusterState, plan: Plan) -> Mapping[str, Resources]:
    """What each team's training jobs hold once the plan is done, with the teams below it."""
    resized = {(one.job, one.role): one.after for one in plan.resizes}
    started = {one.job: dict(one.sizes) for one in plan.admissions}
    gone = {one.job for one in plan.suspensions}
    return _held(
        state,
        {
            (job.key, role.name): resized.get(
                (job.key, role.name), started.get(job.key, {}).get(role.name, _size(role))
            )
            * (job.key not in gone)
            for job in state.jobs
            for role in job.roles
        },
    )


def before(state: ClusterState) -> Mapping[str, Resources]:
    """What each team's training jobs hold, with the teams below it."""
    sizes = {(job.key, role.name): _size(role) for job in state.jobs for role in job.roles}
    return _held(state, sizes)


def _size(role: Role) -> int:
    return 0 if role.status.suspended or role.status.ending else role.status.size


def _held(state: ClusterState, sizes: Mapping[tuple[JobKey, str], int]) -> Mapping[str, Resources]:
    found: dict[str, Counter[str]] = {team.name: Counter() for team in state.teams}
    for job in state.jobs:
        for role in job.roles:
            for team_name in state.teams.path(state.team_of(job.key.namespace)):
                for name, amount in role.template.shape.requests:
                    found[team_name][name] += amount * sizes[job.key, role.name]
    return {name: Resources.of(amounts) for name, amounts in found.items()}
