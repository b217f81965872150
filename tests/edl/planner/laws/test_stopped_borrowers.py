"""A claim of another team stops only jobs that borrow, as `explain` tells their users."""

import pytest
from hypothesis import example
from hypothesis import strategies as st
from msgspec.structs import replace

from edl.model import ClusterState, JobKey, Reason, Reclaim, Team, Teams, TrainingJob
from edl.planner.plan import Plan
from edl.quantities import Resources
from edl.visibility.borrowed_capacity import job_capacity
from tests.edl.packed_draws import Draw, packed
from tests.edl.planner.plans import ALL, plan_for
from tests.edl.planner.states import cluster, node, shape, worker
from tests.edl.planner.teams import of
from tests.edl.reached import Reached, drawn

pytestmark = pytest.mark.laws

GPU = "nvidia.com/gpu"
NAMES = ("a", "b", "top")


def in_teams(state: ClusterState, *teams: Team) -> ClusterState:
    return replace(state, teams=Teams.of(teams), namespace_teams={name: name for name in NAMES})


def owed(name: str, gpus: int, parent: str = "", reclaim: Reclaim = Reclaim.REPLICAS) -> Team:
    guaranteed = Resources.parse({GPU: gpus} if gpus else {})
    return Team(name, parent, namespaces=(name,), guaranteed=guaranteed, reclaim=reclaim)


@packed
def full(draw: Draw) -> ClusterState:
    """Jobs of two teams fill a node; those of a third team, and perhaps of theirs, wait."""
    card, room, jobs = shape(0, gpu=1), draw.between(4, 10), list[TrainingJob]()
    for number in range(5):
        low = draw.between(1, 4)
        size = min(low + draw.one_of(0, 0, 1), room)
        if low <= room:
            on, room = ["n"] * size, room - size
            fields = {"priority": draw.one_of(0, 0, 1, 2), "queued": -draw.between(100, 9000)}
            runs = worker(f"runs-{number}", low, size, shape=card, on=on, **fields)
            jobs += of(draw.one_of("a", "a", "b", "top"), runs)
    gpus = sum(job.roles[0].status.size for job in jobs)
    for number in range(draw.between(1, 2)):
        low, first = draw.between(1, 3), draw.between(0, 99)
        waits = worker(f"asks-{number}", low, low, shape=card, priority=5, queued=-first)
        jobs += of("c" if number == 0 else draw.one_of("a", "b", "c"), waits)
    parent, part = draw.one_of("", "top"), draw.between(0, gpus // 2)
    below = [draw.between(0, part), draw.between(0, part)]
    above = sum(below) + draw.one_of(0, 1, 2) if parent else draw.between(0, 2)
    reclaim = draw.one_of(Reclaim.JOBS, Reclaim.REPLICAS)
    teams = Teams.of(
        (
            owed("top", above),
            owed("a", below[0], parent, reclaim),
            owed("b", below[1], parent, reclaim),
            owed("c", draw.one_of(0, 1, 2, 3), reclaim=reclaim),
        )
    )
    state = cluster(node("n", 64, gpu=gpus), *jobs)
    return replace(state, teams=teams, namespace_teams={name: name for name in (*NAMES, "c")})


def covered_job_beside_one_that_exceeds_the_guarantee() -> ClusterState:
    card = shape(0, gpu=1)
    high = worker("high", 2, 2, shape=card, on=["n"] * 2, priority=1, queued=-900)
    low = worker("low", 6, 6, shape=card, on=["n"] * 6, queued=-800)
    asks = worker("asks", 2, 2, shape=card, priority=5)
    state = cluster(node("n", 64, gpu=8), *of("a", high, low), *of("b", asks))
    return in_teams(state, owed("a", 4), owed("b", 0), owed("top", 0))


def stopped_by_others(state: ClusterState, plan: Plan) -> list[TrainingJob]:
    """The jobs that claims of teams outside of their own teams stop."""
    jobs = {job.key: job for job in state.jobs}
    return [
        jobs[one.job]
        for one in plan.suspensions
        if (key := claimant(one.reason)) and not _is_above(state, jobs[one.job].key, key)
    ]


def claimant(reason: Reason) -> JobKey | None:
    key = getattr(reason.about, "job", None)
    return key if isinstance(key, JobKey) else None


def _is_above(state: ClusterState, victim: JobKey, key: JobKey) -> bool:
    mine = state.team_of(victim.namespace)
    return mine in state.teams.path(state.team_of(key.namespace))


@example(state=covered_job_beside_one_that_exceeds_the_guarantee(), preempt=True)
@drawn(state=full(), preempt=st.sampled_from([True, True, True, False]))
def test_a_claim_of_another_team_stops_no_job_that_its_teams_guarantee_covers(
    reached: Reached,
    state: ClusterState,
    preempt: bool,  # noqa: FBT001 - drawn
) -> None:
    stopped = stopped_by_others(state, plan_for(state, replace(ALL, preempt=preempt)))
    reached(stopped)
    for job in stopped:
        capacity = job_capacity(state, job)
        assert capacity is None or capacity.borrowed
