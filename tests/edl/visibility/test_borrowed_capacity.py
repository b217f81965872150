"""What part of a training job is guaranteed, what is borrowed, and from which teams."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from edl.model import ClusterState, JobKey, Team, Teams, TrainingJob
from edl.quantities import Resources
from edl.visibility.borrowed_capacity import JobCapacity, job_capacity
from edl.visibility.team_figures import team_figures
from tests.edl.planner.states import cluster, node, shape, worker

GPU = "nvidia.com/gpu"
NAMESPACES = ("vision", "speech", "deals")


def gpus(count: int) -> Resources:
    return Resources.of({GPU: count})


def job(namespace: str, name: str, low: int, pods: int, **fields: object) -> TrainingJob:
    """A job with so many pods of one GPU and one core each."""
    on = [f"{namespace}-{name}-{index}" for index in range(pods)]
    found = worker(name, low, low + 20, on=on, shape=shape(cpu=1, gpu=1), **fields)
    return replace(found, key=JobKey(namespace, name))


def state(*jobs: TrainingJob, teams: list[Team], gpu: int = 0, **used: int) -> ClusterState:
    """`gpu`: what nodes have; `used`: GPUs of pods of other owners, by team."""
    named = {name: name for name in (*NAMESPACES, "lab")}
    return replace(
        cluster(node("n", gpu=gpu, cpu=64), *jobs),
        teams=Teams.of(teams),
        namespace_teams=named,
        team_usage={name: gpus(count) for name, count in used.items()},
    )


def capacity(found: ClusterState, one: TrainingJob) -> JobCapacity:
    part = job_capacity(found, one)
    assert part is not None
    return part


VISION = Team("vision", guaranteed=gpus(4))
SPEECH = Team("speech", guaranteed=gpus(4))


def test_a_job_within_its_teams_guarantee_borrows_nothing() -> None:
    one = job("vision", "a", 1, 4)
    assert capacity(state(one, teams=[VISION, SPEECH]), one) == JobCapacity("vision", gpus(4))


def test_what_the_guarantee_does_not_cover_is_borrowed_from_its_lenders() -> None:
    one = job("vision", "a", 1, 7)
    found = capacity(state(one, teams=[VISION, SPEECH], gpu=9), one)
    assert found.guaranteed == gpus(4)
    assert found.borrowed == (("", gpus(1)), ("speech", gpus(2)))


def test_minimums_are_covered_before_replicas_above_them_and_others_pods_before_both() -> None:
    low, high = job("vision", "low", 2, 3), job("vision", "high", 1, 4, priority=1)
    found = state(low, high, teams=[VISION, SPEECH], vision=1)
    assert capacity(found, low).guaranteed == gpus(2)
    assert capacity(found, high).guaranteed == gpus(1)
    both = [capacity(found, one).borrowed for one in (low, high)]
    assert both == [(("speech", gpus(1)),), (("speech", gpus(3)),)]


def test_resources_that_no_team_is_guaranteed_are_left_out() -> None:
    one = job("deals", "a", 1, 2)
    found = capacity(state(one, teams=[VISION, Team("deals")]), one)
    assert (found.guaranteed, found.borrowed) == (gpus(0), (("vision", gpus(2)),))


def test_there_is_nothing_to_say_without_guarantees_or_of_a_job_without_pods() -> None:
    one = job("vision", "a", 1, 2)
    waiting = job("vision", "b", 1, 0)
    assert job_capacity(state(one, teams=[Team("vision")]), one) is None
    assert job_capacity(state(one, teams=[]), one) is None
    assert job_capacity(state(one, waiting, teams=[VISION]), waiting) is None


@st.composite
def states(draw: st.DrawFn) -> ClusterState:
    owed = [draw(st.integers(0, 6)) for _ in NAMESPACES]
    parent = draw(st.sampled_from(["", "lab"]))
    teams = [
        Team(name, parent if place else "", guaranteed=gpus(owed[place]))
        for place, name in enumerate(NAMESPACES)
    ]
    lab = [Team("lab", guaranteed=gpus(sum(owed[1:]) + draw(st.integers(0, 3))))] if parent else []
    jobs = [
        job(
            draw(st.sampled_from([*NAMESPACES, *(team.name for team in lab)])),
            f"j{number}",
            draw(st.integers(1, 3)),
            draw(st.integers(0, 5)),
            priority=draw(st.integers(0, 1)),
        )
        for number in range(draw(st.integers(1, 5)))
    ]
    others = {name: draw(st.integers(0, 3)) for name in NAMESPACES}
    gpu = draw(st.integers(0, 30))
    return state(*jobs, teams=[*teams, *lab], gpu=gpu, **others)


@pytest.mark.slow
@given(states())
def test_what_is_guaranteed_and_borrowed_sums_up_to_what_a_job_holds(found: ClusterState) -> None:
    for one in found.jobs:
        held = gpus(sum(bool(pod.node) for role in one.roles for pod in role.status.pods))
        part = job_capacity(found, one)
        if part is None:
            assert not any(owed for owed in found.teams.guaranteed.values()) or not held
            continue
        assert part.guaranteed + sum((one for _, one in part.borrowed), Resources()) == held


@pytest.mark.slow
@given(states())
def test_what_jobs_borrow_is_what_their_team_borrows_besides_other_pods(
    found: ClusterState,
) -> None:
    figures = {one.team.name: one for one in team_figures(found, ())}
    owed = {name: amounts.get(GPU) for name, amounts in found.teams.guaranteed.items()}
    for name in figures.keys() - {"default"} if any(owed.values()) else ():
        below = found.teams.children.get(name, ())
        jobs = [one for one in found.jobs if one.key.namespace == name]
        parts = [part for one in jobs if (part := job_capacity(found, one))]
        borrowed = sum(amount.get(GPU) for part in parts for _, amount in part.borrowed)
        guarantee = owed[name] - sum(owed[child] for child in below)
        others = max(found.team_usage.get(name, Resources()).get(GPU) - guarantee, 0)
        figure = figures[name].borrowed.get(GPU)
        assert borrowed == figures[name].own_borrowed.get(GPU) - others
        assert figure >= borrowed + others if below else figure == borrowed + others
