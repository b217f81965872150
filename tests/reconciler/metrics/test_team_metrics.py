"""Gauges of teams: bounded, whole, and absent where there are no teams."""

from msgspec.structs import replace
from prometheus_client import generate_latest

from edl.model import ClusterState, JobKey, Team, Teams
from edl.planner.plan import Plan, WaitingJob
from edl.quantities import Resources
from reconciler.metrics.counters import Metrics
from reconciler.metrics.state_metrics import LastDecision
from reconciler.metrics.team_metrics import MAX_TEAMS
from tests.edl.planner.states import cluster, node
from tests.reasons import because


def served(state: ClusterState, plan: Plan | None = None) -> list[str]:
    metrics = Metrics()
    metrics.latest.decided = LastDecision(state, plan or Plan())
    lines = generate_latest(metrics.registry).decode().splitlines()
    return [line for line in lines if line.startswith("edl_team_")]


def gpus(count: int) -> Resources:
    return Resources.of({"nvidia.com/gpu": count})


def test_without_teams_there_are_no_series() -> None:
    assert served(cluster()) == []


def test_each_team_has_what_it_is_owed_uses_borrows_and_lends() -> None:
    teams = Teams.of([Team("owner", guaranteed=gpus(2)), Team("other")])
    nodes = (node("a", gpu=1), node("b", gpu=1))
    state = replace(cluster(*nodes), teams=teams, team_usage={"other": gpus(1)})
    state = replace(state, namespace_teams={"ns": "other"})
    plan = Plan(waiting=(WaitingJob(JobKey("ns", "a"), because("waits"), 1),))
    found = served(state, plan)
    name = 'edl_team_resources{resource="nvidia.com/gpu",state='
    for part, team, value in (
        *(("guaranteed", "owner", 2), ("used", "owner", 0), ("lent", "owner", 1)),
        *(("guaranteed", "other", 0), ("borrowed", "other", 1), ("lent", "other", 0)),
    ):
        assert f'{name}"{part}",team="{team}"}} {value:.1f}' in found
    assert 'edl_team_queued_jobs{team="other"} 1.0' in found
    assert 'edl_team_queued_jobs{team="owner"} 0.0' in found


def test_of_many_teams_the_first_are_told() -> None:
    teams = Teams.of([Team(f"t{number:04}") for number in range(5 * MAX_TEAMS)])
    assert len(served(replace(cluster(), teams=teams))) == MAX_TEAMS
