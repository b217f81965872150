"""A guarantee covers the jobs and pods of its team that wait before the team's own extras."""

from collections import Counter

import pytest
from msgspec.structs import replace

from edl.model import ClusterState, Code, JobKey, Reclaim, TrainingJob
from edl.planner.explain.explanation import explain
from edl.planner.explain.what_if_state import DecisionInput
from edl.planner.plan import Plan
from edl.planner.policies import POLICIES
from edl.quantities import Resources
from tests.edl.planner import teams
from tests.edl.planner.acting import act, quiet
from tests.edl.planner.plans import ALL, plan_for, sizes, started, wait_reasons
from tests.edl.planner.states import cluster, demand, node, shape, worker
from tests.edl.planner.teams import of, team, with_teams
from tests.edl.planner.ways import wait


def owner(own: int = 21, priority: int = 0, queued: int = 10) -> list[TrainingJob]:
    """`s1` has extras beyond 20 replicas; with `s2` its team has 30 replicas without them."""
    s1 = worker("s1", 20, 25, on=["n"] * own, queued=-900, priority=priority)
    waiting = [worker("s2", queued, queued)] if queued else []
    return of("spe", s1, *waiting)


def beside(
    jobs: list[TrainingJob], idle: int = 0, reclaim: Reclaim = Reclaim.REPLICAS
) -> ClusterState:
    """The nodes hold `jobs` and are guaranteed: 30 CPU to `spe`, 10 to `vis`, none to `ven`."""
    used = sum(role.status.size for job in jobs for role in job.roles if not role.status.suspended)
    owed = (team("spe", 30, reclaim=reclaim), team("vis", 10), team("ven"))
    return with_teams(cluster(node("n", used + idle), *jobs), *owed)


def at_minimums() -> list[TrainingJob]:
    """Borrowers without extras."""
    return [
        *of("vis", worker("v2", 20, 20, on=["n"] * 20, queued=-800)),
        *of("ven", worker("l1", 5, 5, on=["n"] * 5, queued=-700)),
    ]


def suspended(plan: Plan) -> set[str]:
    return {one.job.name for one in plan.suspensions}


@pytest.mark.parametrize("own", [21, 22, 25])
def test_a_job_is_covered_beside_its_teams_extras_and_may_stop_a_borrower(own: int) -> None:
    state = beside([*owner(own), *at_minimums()], idle=25 - own, reclaim=Reclaim.JOBS)
    plan = plan_for(state)
    assert (suspended(plan), sizes(plan)) == ({"l1"}, {"s1": 20} if own > 20 else {})
    assert wait_reasons(plan)["s2"].code is Code.PODS_TERMINATING


def test_its_team_takes_no_more_from_others_than_the_guarantee_leaves_beside_its_minimums() -> None:
    borrower = of("ven", worker("l1", 1, 40, on=["n"] * 40, priority=9))
    state = beside([*owner(23), *borrower])
    plan = plan_for(state)
    assert sizes(plan) == {"s1": 20, "l1": 33}
    assert wait_reasons(plan)["s2"].code is Code.PODS_TERMINATING


def test_extras_that_do_not_yield_to_the_claim_count_before_it() -> None:
    borrower = of("ven", worker("l1", 1, 40, on=["n"] * 40, priority=9))
    state = beside([*owner(25, priority=1), *borrower])
    assert sizes(plan_for(state)) == {}


def test_a_claim_that_takes_nothing_from_others_leaves_its_team_the_extras() -> None:
    plan = plan_for(beside([*owner(25), *at_minimums()], idle=10, reclaim=Reclaim.JOBS))
    assert (started(plan), sizes(plan)) == ({"s2": {"worker": 10}}, {})


def test_a_job_covered_beside_extras_starts_before_borrowers_of_any_priority() -> None:
    waiting = of("ven", worker("l2", 10, 10, priority=9, queued=-500))
    plan = plan_for(beside([*owner(21), *at_minimums(), *waiting], idle=10))
    assert started(plan) == {"s2": {"worker": 10}}


def test_pods_of_other_owners_are_covered_beside_extras_of_their_team_on_other_nodes() -> None:
    card = shape(8, gpu=1)
    jobs = [
        *owner(25, queued=0),
        *of("ven", worker("l1", 1, 2, on=["gpus"] * 2, shape=card, priority=9)),
    ]
    owed = Resources.parse({"cpu": 30, "nvidia.com/gpu": 2})
    state = cluster(node("n", 25), node("gpus", 16, gpu=2), *jobs)
    state = with_teams(state, replace(team("spe"), guaranteed=owed), team("ven"))
    plan = plan_for(replace(state, demands=(replace(demand("web-1", card), team="spe"),)))
    assert sizes(plan) == {"s1": 22, "l1": 1}


def test_pods_of_other_owners_that_fit_in_part_take_what_that_part_needs() -> None:
    borrower = of("ven", worker("l1", 38, 40, on=["n"] * 40, priority=9))
    state = beside([*owner(25, queued=0), *borrower])
    web = replace(demand("web-1", shape(1), 10), team="spe")
    assert sizes(plan_for(replace(state, demands=(web,)))) == {"s1": 20, "l1": 38}


def test_a_raised_minimum_is_covered_beside_extras_of_its_team() -> None:
    raised = worker("s3", 8, 9, on=["n"] * 2, queued=-600)
    borrower = of("ven", worker("l1", 1, 40, on=["n"] * 40, priority=9))
    state = beside([*owner(23, queued=0), *of("spe", raised), *borrower])
    assert sizes(plan_for(state)) == {"s1": 22, "l1": 35}


@pytest.mark.parametrize("lingering", [False, True])
@pytest.mark.parametrize("own", [21, 25])
def test_neither_the_extras_nor_the_borrower_come_back_for_the_job(
    own: int,
    lingering: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    state = beside([*owner(own), *at_minimums()], idle=25 - own, reclaim=Reclaim.JOBS)
    kept = {name: getattr(state, name) for name in ("teams", "namespace_teams")}
    stops, changes = Counter[str](), Counter[str]()
    for _ in range(20):
        plan = plan_for(state)
        if quiet(plan) and plan.recheck_after is None:
            break
        stops.update(one.job.name for one in plan.suspensions)
        changes.update(one.job.name for one in plan.resizes)
        state = replace(act(state, plan, after=wait(plan), lingering=lingering), **kept)
    assert quiet(plan)
    assert (stops, changes) == ({"l1": 1}, {"s1": 1})
    assert teams.before(state)["spe"].get("cpu") == 30_000


def test_explain_names_the_team_that_would_get_room_by_stopping_borrowers() -> None:
    state = beside([*owner(21), *at_minimums()], idle=4)
    found = explain(DecisionInput(state, POLICIES["fair"], ALL), JobKey("spe", "s2"))
    assert found is not None
    assert found.trials.reclaiming_team == "spe"
