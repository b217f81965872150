"""Guaranteed capacity is lent while it is idle, and returns to its owner without killing jobs."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from edl import reasons
from edl.messages import message
from edl.model import (
    ClusterState,
    Code,
    JobKey,
    Quota,
    QuotaCharge,
    Reclaim,
    ResizePolicy,
    Team,
    TrainingJob,
)
from edl.planner.decide import decide
from edl.planner.decision_limits import Limits
from edl.planner.plan import Plan
from edl.planner.policies import POLICIES
from edl.quantities import Resources
from tests.edl.planner import teams
from tests.edl.planner.acting import act
from tests.edl.planner.plans import ALL, plan_for, sizes, started, wait_reasons
from tests.edl.planner.states import at, cluster, demand, node, shape, worker
from tests.edl.planner.teams import of, team, with_teams
from tests.reasons import invalid

GPU = "nvidia.com/gpu"


def running(name: str, low: int, high: int, on: list[str], **fields: object) -> TrainingJob:
    return worker(name, low, high, on=on, **fields)


def suspended(plan: Plan) -> set[str]:
    return {one.job.name for one in plan.suspensions}


def borrowing(reclaim: Reclaim = Reclaim.REPLICAS, **fields: object) -> ClusterState:
    """Eight cores of which `a` is owed four; `b` holds all of them, and a gang of `a` waits."""
    jobs = [
        *of("b", running("b1", 1, 4, ["n1"] * 4), running("b2", 2, 4, ["n2"] * 4)),
        *of("a", worker("a1", 3, 4, **{"queued": -5, **fields})),
    ]
    state = cluster(node("n1"), node("n2"), *jobs)
    return with_teams(state, team("a", 4, reclaim=reclaim), team("b"))


def test_borrowed_replicas_return_to_their_owner_within_one_decision() -> None:
    plan = plan_for(borrowing())
    assert wait_reasons(plan)["a1"].code is Code.PODS_TERMINATING
    assert sum(sizes(plan).values()) == 5
    assert suspended(plan) == set()


def test_an_owner_comes_whatever_the_borrowers_priority_is() -> None:
    state = borrowing()
    high = [replace(job, priority=9 if job.key.namespace == "b" else 0) for job in state.jobs]
    plan = plan_for(replace(state, jobs=tuple(high)))
    assert sum(sizes(plan).values()) == 5


def test_without_a_guarantee_a_higher_priority_keeps_its_replicas() -> None:
    state = borrowing()
    high = [replace(job, priority=9 if job.key.namespace == "b" else 0) for job in state.jobs]
    plan = plan_for(with_teams(replace(state, jobs=tuple(high)), team("a"), team("b")))
    assert sizes(plan) == {}
    assert wait_reasons(plan)["a1"].code is Code.INSUFFICIENT_CAPACITY


def test_what_a_team_is_owed_is_not_taken_by_any_priority() -> None:
    jobs = [
        *of("b", running("b1", 1, 4, ["n1"] * 4)),
        *of("a", worker("a1", 2, 2, queued=-5, priority=9)),
    ]
    state = with_teams(cluster(node("n1"), *jobs), team("b", 4), team("a"))
    for limits in (ALL, replace(ALL, preempt=True)):
        plan = plan_for(state, limits)
        assert sizes(plan) == {}
        assert suspended(plan) == set()


def test_the_team_furthest_above_its_guarantee_gives_first() -> None:
    jobs = [
        *of("b", running("b1", 1, 4, ["n1"] * 4)),
        *of("c", running("c1", 1, 4, ["n2"] * 4)),
        *of("a", worker("a1", 1, 1, queued=-5)),
    ]
    state = cluster(node("n1"), node("n2"), *jobs)
    plan = plan_for(with_teams(state, team("a", 1), team("b", 2), team("c", 1)))
    assert sizes(plan) == {"c1": 3}
    plan = plan_for(with_teams(state, team("a", 1), team("b", 1), team("c", 2)))
    assert sizes(plan) == {"b1": 3}


def fixed(reclaim: Reclaim) -> ClusterState:
    jobs = [
        *of("b", running("b1", 2, 2, ["n1"] * 2, queued=-900)),
        *of("b", running("b2", 2, 2, ["n1"] * 2, queued=-800)),
        *of("a", worker("a1", 2, 2, queued=-5)),
    ]
    return with_teams(cluster(node("n1"), *jobs), team("a", 2, reclaim=reclaim), team("b", 1))


def test_whole_jobs_go_only_where_the_owner_says_so_and_only_as_many_as_needed() -> None:
    assert suspended(plan_for(fixed(Reclaim.REPLICAS))) == set()
    plan = plan_for(fixed(Reclaim.JOBS))
    assert suspended(plan) == {"b2"}
    assert wait_reasons(plan)["a1"].code is Code.PODS_TERMINATING


def test_a_job_that_a_guarantee_covers_once_a_borrower_has_gone_comes_before_borrowers() -> None:
    jobs = [
        *of("b", running("b1", 4, 4, ["n1"] * 4, queued=-900), worker("b2", 2, 2, queued=-5)),
        *of("a", worker("a1", 2, 2, queued=-9)),
        *of("c", worker("c1", 2, 2, queued=-60)),
    ]
    owners = (team("a", 2, reclaim=Reclaim.JOBS), team("b", 2), team("c"))
    plan = plan_for(with_teams(cluster(node("n1"), *jobs), *owners))
    assert suspended(plan) == {"b1"}
    assert {name: reason.code for name, reason in wait_reasons(plan).items()} == {
        "a1": Code.PODS_TERMINATING,
        "b2": Code.PODS_TERMINATING,
        "c1": Code.INSUFFICIENT_CAPACITY,
    }


def test_a_borrower_that_goes_whole_hears_of_the_guarantee_and_not_of_a_priority() -> None:
    jobs = [
        *of("b", running("b1", 2, 2, ["n1"] * 2, priority=9)),
        *of("a", worker("a1", 2, 2)),
    ]
    state = cluster(node("n1", 2), *jobs)
    plan = plan_for(with_teams(state, team("a", 2, reclaim=Reclaim.JOBS), team("b")))
    assert [message(one.reason) for one in plan.suspensions] == [
        "requeued to make room for a/a1: its team borrows from another team's guarantee"
    ]


@pytest.mark.parametrize(
    ("owed", "preempt", "code"),
    [
        (0, True, Code.PREEMPTED),
        (1, True, Code.GUARANTEE_RECLAIMED),
        (0, False, Code.GUARANTEE_RECLAIMED),
    ],
)
def test_a_job_that_its_guarantee_covers_in_part_goes_for_no_priority(
    owed: int, code: Code, *, preempt: bool
) -> None:
    """A lower priority loses only what is borrowed as a whole; a guarantee takes this, too."""
    jobs = [
        *of("b", running("b1", 2, 2, ["n1"] * 2)),
        *of("a", worker("a1", 2, 2, priority=9)),
    ]
    owners = team("a", 2, reclaim=Reclaim.JOBS), team("b", owed)
    state = with_teams(cluster(node("n1", 2), *jobs), *owners)
    plan = plan_for(state, replace(ALL, preempt=preempt))
    assert [one.reason.code for one in plan.suspensions] == [code]


def test_a_guarantee_takes_nearly_finished_jobs_of_borrowers_last() -> None:
    jobs = [
        *of("b", running("late", 2, 2, ["n1"] * 2, queued=-300, progress=0.95)),
        *of("b", running("fresh", 2, 2, ["n1"] * 2, queued=-900)),
        *of("a", worker("a1", 2, 2)),
    ]
    state = cluster(node("n1", 4), *jobs)
    plan = plan_for(with_teams(state, team("a", 2, reclaim=Reclaim.JOBS), team("b")))
    assert suspended(plan) == {"fresh"}


def test_an_owner_that_preempts_none_takes_only_extras_of_borrowers() -> None:
    jobs = [
        *of("b", running("b1", 1, 2, ["n1"] * 2), running("b2", 2, 2, ["n1"] * 2)),
        *of("a", worker("a1", 2, 2, preempts=False), worker("a2", 1, 1, preempts=False)),
    ]
    state = cluster(node("n1", 4), *jobs)
    plan = plan_for(with_teams(state, team("a", 4, reclaim=Reclaim.JOBS), team("b")))
    assert (suspended(plan), sizes(plan)) == (set(), {"b1": 1})


def test_no_job_is_taken_of_a_team_within_its_guarantee() -> None:
    state = fixed(Reclaim.JOBS)
    state = with_teams(state, team("a", 2, reclaim=Reclaim.JOBS), team("b", 4))
    assert suspended(plan_for(state)) == set()


def test_an_owner_starts_before_a_borrower_of_a_higher_priority() -> None:
    jobs = [
        *of("b", worker("b1", 3, 3, priority=9)),
        *of("a", worker("a1", 3, 3)),
    ]
    state = with_teams(cluster(node("n1"), *jobs), team("a", 4), team("b"))
    assert started(plan_for(state)) == {"a1": {"worker": 3}}


def test_inside_a_team_priority_decides() -> None:
    jobs = of("a", worker("a1", 3, 3, queued=-900), worker("a2", 3, 3, priority=1))
    state = with_teams(cluster(node("n1"), *jobs), team("a", 4))
    assert started(plan_for(state)) == {"a2": {"worker": 3}}


def test_of_borrowers_the_team_furthest_below_its_share_starts_first() -> None:
    jobs = [
        *of("b", running("b1", 1, 1, ["n1"]), worker("b2", 1, 1, queued=-900)),
        *of("c", worker("c1", 1, 1, queued=-5)),
    ]
    state = with_teams(cluster(node("n1", 2), *jobs), team("a", 0), team("b"), team("c"))
    assert started(plan_for(state)) == {"c1": {"worker": 1}}


def test_a_gang_may_start_on_borrowed_capacity() -> None:
    state = with_teams(cluster(node("n1"), *of("b", worker("b1", 4, 4))), team("a", 4), team("b"))
    assert started(plan_for(state)) == {"b1": {"worker": 4}}


def test_what_is_not_lent_is_kept_for_its_team() -> None:
    mine = team("a", 3, lend=False)
    jobs = [*of("b", worker("b1", 1, 4)), *of("a")]
    state = with_teams(cluster(node("n1"), *jobs), mine, team("b"))
    assert started(plan_for(state)) == {"b1": {"worker": 1}}
    jobs = of("a", worker("a1", 3, 4))
    assert started(plan_for(with_teams(cluster(node("n1"), *jobs), mine, team("b")))) == {
        "a1": {"worker": 4}
    }


def test_a_limit_holds_a_start_and_growth_and_says_so() -> None:
    jobs = of("a", running("a1", 1, 8, ["n1"]), worker("a2", 3, 3))
    mine = team("a", 0, limit=(("cpu", 3000),))
    plan = plan_for(with_teams(cluster(node("n1", 8), *jobs), mine))
    assert sizes(plan) == {"a1": 3}
    reason = wait_reasons(plan)["a2"]
    assert reason.code is Code.QUOTA_EXCEEDED
    text = "exceeded limit of team a, requested: cpu=3, limited: cpu=3; used: cpu=1"
    assert message(reason) == text


def test_a_limit_counts_the_teams_below() -> None:
    jobs = [*of("a", running("a1", 2, 8, ["n1"] * 2)), *of("b", worker("b1", 1, 8))]
    top = team("top", limit=(("cpu", 3000),))
    state = cluster(node("n1", 8), *jobs)
    plan = plan_for(with_teams(state, top, team("a", parent="top"), team("b", parent="top")))
    assert (started(plan), sizes(plan)) == ({"b1": {"worker": 1}}, {})


def test_a_lowered_limit_takes_extras_back_and_no_minimum() -> None:
    jobs = of("a", running("a1", 2, 4, ["n1"] * 4))
    for cores, size in ((3, 3), (1, 2)):
        mine = team("a", 0, limit=(("cpu", cores * 1000),))
        assert sizes(plan_for(with_teams(cluster(node("n1"), *jobs), mine))) == {"a1": size}


def test_idle_capacity_is_shared_by_weight() -> None:
    jobs = [*of("a", running("a1", 1, 20, ["n1"])), *of("b", running("b1", 1, 20, ["n1"]))]
    state = cluster(node("n1", 12), *jobs)
    plan = plan_for(with_teams(state, team("a", weight=2.0), team("b")))
    assert sizes(plan) == {"a1": 8, "b1": 4}


def test_growth_within_a_guarantee_comes_before_any_that_borrows() -> None:
    jobs = [*of("a", running("a1", 1, 20, ["n1"])), *of("b", running("b1", 1, 20, ["n1"]))]
    state = cluster(node("n1", 12), *jobs)
    assert sizes(plan_for(with_teams(state, team("a", 9), team("b")))) == {"a1": 10, "b1": 2}


def test_idle_capacity_is_shared_at_each_level() -> None:
    jobs = [
        *of("a", running("a1", 1, 20, ["n1"])),
        *of("b", running("b1", 1, 20, ["n1"])),
        *of("c", running("c1", 1, 20, ["n1"])),
    ]
    tree = (team("x"), team("a", parent="x"), team("b", parent="x"), team("c"))
    plan = plan_for(with_teams(cluster(node("n1", 12), *jobs), *tree))
    assert sizes(plan) == {"a1": 3, "b1": 3, "c1": 6}


def test_growth_within_a_guarantee_takes_borrowed_replicas_back() -> None:
    jobs = [*of("a", running("a1", 1, 4, ["n1"])), *of("b", running("b1", 1, 7, ["n1"] * 7))]
    state = with_teams(cluster(node("n1", 8), *jobs), team("a", 4), team("b"))
    assert sizes(plan_for(state)) == {"b1": 4}


def test_all_that_a_guarantee_covers_returns_to_growth_within_one_decision() -> None:
    jobs = [
        *of("b", running("b1", 2, 20, ["n1"] * 10 + ["n2"] * 9)),
        *of("a", running("a1", 1, 20, ["n2"])),
    ]
    state = cluster(node("n1", 10), node("n2", 10), *jobs)
    plan = plan_for(with_teams(state, team("a", 12), team("b", 8)))
    assert sizes(plan) == {"b1": 8}


def test_a_decision_moves_a_bounded_number_of_replicas_and_the_next_one_continues() -> None:
    first, *others = on = [f"n{at // 100}" for at in range(2000)]
    jobs = [
        *of("b", running("b1", 2, 2000, others)),
        *of("a", running("a1", 1, 2000, [first])),
    ]
    state = cluster(*(node(name, 100) for name in dict.fromkeys(on)), *jobs)
    plan = plan_for(with_teams(state, team("a", 1800), team("b")))
    assert 500 < 1999 - sizes(plan)["b1"] < 1000


@pytest.mark.parametrize(("above", "own"), [(None, None), (80, None), (None, 20)])
def test_fewer_replicas_even_out_shares_per_decision_than_return_to_guarantees(
    above: float | None, own: float | None
) -> None:
    """Neither a guarantee that siblings share nor one that does not name the GPUs changes that."""
    gpu = shape(1, gpu=1)
    jobs = [
        *of("a", running("a1", 1, 200, ["n1"], shape=gpu)),
        *of("b", running("b1", 1, 200, ["n1"] * 79 + ["n2"] * 80, shape=gpu)),
    ]
    state = cluster(node("n1", 800, gpu=80), node("n2", 800, gpu=80), *jobs)
    tree = (team("top", above), team("a", own, "top"), team("b", None, "top"), gpus("c", 1))
    plan = plan_for(with_teams(state, *tree))
    assert 50 < 159 - sizes(plan)["b1"] < 60


def test_shares_of_a_few_roles_are_evened_out_in_one_decision() -> None:
    """In a later one, donors of this one would be in their cooldown, and others donate more."""
    jobs = [
        *of("a", running("a1", 1, 60, ["n1"])),
        *of("b", running("b1", 1, 60, ["n1"] * 20), running("b2", 1, 60, ["n1"] * 19)),
    ]
    plan = plan_for(with_teams(cluster(node("n1", 40), *jobs), team("a"), team("b")))
    assert sizes(plan) == {"b1": 10, "b2": 10}


def test_moves_in_a_team_hold_back_no_growth_of_one_that_uses_no_more_of_its_share() -> None:
    """However satisfied its job is: the capacity may have been freed for it."""
    gave = {"resized_at": at(-2), "last": reasons.gave(Code.FAIR_SHARING, JobKey("b", "takes"))}
    jobs = [
        *of("b", running("gives", 1, 20, ["n1"] * 5, **gave), running("takes", 1, 20, ["n1"] * 4)),
        *of("a", running("grows", 1, 8, ["n1"] * 4)),
    ]
    state = cluster(node("n1", 16), *jobs)
    owner, borrower = team("a", 8), team("b")
    assert sizes(plan_for(with_teams(state, owner, borrower)))["grows"] == 7
    same = of("b", *(replace(job, key=JobKey("b", job.key.name)) for job in jobs))
    plan = plan_for(with_teams(cluster(node("n1", 16), *same), owner, borrower))
    assert "grows" not in sizes(plan)


def test_a_replica_that_another_team_gives_has_the_guarantee_or_the_share_as_its_reason() -> None:
    jobs = [*of("a", running("a1", 1, 4, ["n1"])), *of("b", running("b1", 1, 7, ["n1"] * 7))]
    state = cluster(node("n1", 8), *jobs)
    for owed, why in (
        (4, "to make room for a/a1, which the guarantee of its team covers"),
        (None, "equal share with a/a1"),
    ):
        (resize,) = plan_for(with_teams(state, team("a", owed), team("b"))).resizes
        assert (resize.reason.code, message(resize.reason)) == (Code.FAIR_SHARING, why)


def test_growth_within_a_guarantee_takes_the_last_borrowed_replica_of_another_owner() -> None:
    jobs = [*of("a", running("a1", 1, 8, ["n1"] * 3)), *of("b", running("b1", 1, 8, ["n1"] * 5))]
    state = with_teams(cluster(node("n1", 8), *jobs), team("a", 4), team("b", 4))
    assert sizes(plan_for(state)) == {"b1": 4}


def test_jobs_that_restart_for_their_size_take_borrowed_replicas_as_others_do() -> None:
    restarts = running("a1", 1, 4, ["n1"], resizing=ResizePolicy.RESTART)
    jobs = [*of("a", restarts), *of("b", running("b1", 1, 7, ["n1"] * 7))]
    state = cluster(node("n1", 8), *jobs)
    for owed in (4, None):
        assert sizes(plan_for(with_teams(state, team("a", owed), team("b")))) == {"b1": 4}


def test_teams_are_evened_out_until_one_more_replica_would_only_turn_them_round() -> None:
    for a, b, after in ((6, 4, {"b1": 5}), (5, 4, {})):
        jobs = [
            *of("a", running("a1", 1, 8, ["n1"] * b)),
            *of("b", running("b1", 1, 8, ["n1"] * a)),
        ]
        state = with_teams(cluster(node("n1", a + b), *jobs), team("a"), team("b"))
        assert sizes(plan_for(state)) == after


def one_given() -> ClusterState:
    """`b` gives a replica to `a`, which has a smaller share than `d`, but a larger one than `c`."""
    jobs = [
        *of("a", running("a1", 1, 4, ["n1"] * 3, shape=shape(1, gpu=1))),
        *of("b", running("b1", 1, 40, ["n1"] * 9)),
        *of("c", running("c1", 1, 2, ["n2"])),
        *of("d", running("d1", 5, 6, ["n3"] * 5)),
    ]
    state = cluster(node("n1", 12, gpu=40), node("n2", 2), node("n3", 6), *jobs)
    return with_teams(state, team("a"), team("b"), team("c"), team("d"))


def test_growth_of_a_team_with_a_larger_share_waits_for_what_this_plan_moves_to_another() -> None:
    plan = plan_for(one_given())
    codes = {name: reason.code for name, reason in wait_reasons(plan).items()}
    assert codes == {"a1": Code.PODS_TERMINATING, "d1": Code.REBALANCING}


def test_what_another_team_gave_comes_before_other_growth_however_satisfied_its_job_is() -> None:
    state = one_given()
    found = []
    for seconds in (2, 2, 10, 2):
        plan = plan_for(state)
        found.append(sizes(plan))
        after = act(state, plan, after=timedelta(seconds=seconds), lingering=True)
        state = replace(after, teams=state.teams, namespace_teams=state.namespace_teams)
    assert found == [{"b1": 8, "c1": 2}, {}, {"a1": 4}, {"d1": 6}]


def test_growth_that_waits_for_another_team_names_its_job_beside_moves_inside_a_team() -> None:
    gave = [
        {"resized_at": at(-2), "last": reasons.gave(Code.FAIR_SHARING, JobKey(*to))}
        for to in (("a", "a1"), ("b", "b3"))
    ]
    jobs = [
        *of("a", running("a1", 1, 4, ["n1"] * 3, shape=shape(1, gpu=1))),
        *of("b", running("b1", 1, 40, ["n1"] * 8, **gave[0])),
        *of("b", running("b2", 1, 40, ["n4"] * 2, **gave[1]), running("b3", 1, 2, ["n4"])),
        *of("d", running("d1", 5, 6, ["n3"] * 5)),
    ]
    state = cluster(node("n1", 12, gpu=40), node("n3", 6), node("n4", 4), *jobs)
    plan = plan_for(with_teams(state, team("a"), team("b"), team("d")))
    assert wait_reasons(plan)["d1"] == reasons.moving(JobKey("a", "a1"), JobKey("d", "d1"))


def test_moves_inside_a_team_hold_back_no_growth_of_another_team() -> None:
    zones = {
        name: shape(cpu, node_selector=(("zone", name),)) for name, cpu in (("a", 1), ("b", 2))
    }
    state = cluster(
        node("a", 6, labels={"zone": "a"}),
        node("b", 8, labels={"zone": "b"}),
        *of("one", running("gives", 1, 6, ["a"] * 5, shape=zones["a"])),
        *of("one", running("takes", 1, 2, ["a"], shape=zones["a"])),
        *of("two", running("grows", 1, 4, ["b"] * 3, shape=zones["b"])),
    )
    plan = plan_for(with_teams(state, team("one"), team("two")), Limits(load_ceiling=1))
    assert sizes(plan) == {"gives": 4, "grows": 4}


def test_a_queued_job_starts_on_what_moves_to_another_team_beyond_its_guarantee() -> None:
    state = with_teams(
        cluster(
            node("n", 12),
            *of("a", running("high", 1, 13, ["n"] * 8, priority=1), worker("queued", 1, 1)),
            *of("b", running("owner", 1, 13, ["n"] * 4)),
        ),
        Team("top"),
        Team("both", parent="top"),
        team("a", 4, "both"),
        team("b", 6, "both"),
        team("c", 4, "top"),
    )
    plan = plan_for(state)
    assert sizes(plan) == {"high": 5}
    later = act(state, plan, after=timedelta(seconds=2))
    plan = plan_for(later)
    assert started(plan) == {"queued": {"worker": 1}}
    assert sizes(plan) == {"owner": 6}


def test_a_team_gives_no_replica_that_its_guarantee_covers_for_one_that_it_borrows() -> None:
    gpu = shape(1, gpu=1)
    jobs = [
        *of("a", running("a1", 1, 8, ["n1"], shape=gpu)),
        *of("b", running("b1", 1, 4, ["n1"] * 4), running("b2", 1, 1, ["n2"], shape=gpu)),
    ]
    state = cluster(node("n1", 5, gpu=4), node("n2", 4, gpu=1), *jobs)
    owner = replace(team("a"), guaranteed=Resources.parse({GPU: 2}))
    for cpu, given in ((8, {}), (0, {"b1": 2})):
        assert sizes(plan_for(with_teams(state, owner, team("b", cpu)))) == given


def test_an_ancestors_unused_guarantee_covers_against_others_but_not_against_a_sibling() -> None:
    tree = (team("x", 8), team("a", 4, "x"), team("b", 2, "x"), team("c"))
    jobs = [*of("b", worker("b1", 4, 4)), *of("c", running("c1", 1, 8, ["n1"] * 8, priority=9))]
    state = with_teams(cluster(node("n1", 8), *jobs), *tree)
    assert sizes(plan_for(state)) == {"c1": 4}
    jobs = [
        *of("b", worker("b1", 4, 4)),
        *of("a", running("a1", 1, 4, ["n1"] * 4)),
        *of("c", running("c1", 4, 4, ["n1"] * 4, priority=9)),
    ]
    state = with_teams(cluster(node("n1", 8), *jobs), *tree)
    assert sizes(plan_for(state)) == {}


def test_pods_of_others_count_and_claim_for_their_team() -> None:
    ask = replace(demand("web-1", shape(2)), team="a")
    jobs = of("b", running("b1", 1, 4, ["n1"] * 4, priority=9))
    state = with_teams(cluster(node("n1"), ask, *jobs), team("a", 2), team("b"))
    assert sizes(plan_for(state)) == {"b1": 2}
    used = {"a": shape(2).requests}
    full = replace(state, team_usage=used)
    assert sizes(plan_for(full)) == {}


def test_pods_of_others_get_what_their_team_is_guaranteed_where_they_ask_for_more() -> None:
    asks = replace(demand("web-1", shape(1), 6), team="a")
    jobs = of("b", running("b1", 1, 8, ["n1"] * 8, priority=9))
    state = with_teams(cluster(node("n1", 8), asks, *jobs), team("a", 4), team("b"))
    assert sizes(plan_for(state)) == {"b1": 4}
    tree = (team("x", 6), team("a", 4, "x"), team("b"))
    assert sizes(plan_for(with_teams(state, *tree))) == {"b1": 2}


def test_a_shared_limit_keeps_no_owner_from_what_a_sibling_borrows() -> None:
    tree = (team("x", 8, limit=(("cpu", 8000),)), team("a", 4, "x"), team("b", 4, "x"))
    jobs = [*of("a", running("a1", 1, 8, ["n1"])), *of("b", running("b1", 1, 8, ["n1"] * 7))]
    assert sizes(plan_for(with_teams(cluster(node("n1", 16), *jobs), *tree))) == {"b1": 4}
    other = (*tree[1:], team("x", 8, limit=(("cpu", 16000),)))
    grown = sizes(plan_for(with_teams(cluster(node("n1", 16), *jobs), *other)))
    assert grown == {"a1": 8, "b1": 8}


def test_whole_jobs_of_a_sibling_go_for_an_owner_where_the_limit_above_both_is_used_up() -> None:
    jobs = [
        *of("b", running("b1", 4, 4, ["n1"] * 4, queued=-900)),
        *of("b", running("b2", 4, 4, ["n1"] * 4, queued=-800)),
        *of("a", worker("a1", 4, 4, queued=-5)),
    ]
    for reclaim, gone in ((Reclaim.JOBS, {"b2"}), (Reclaim.REPLICAS, set())):
        top = team("x", 8, limit=(("cpu", 8000),))
        tree = (top, team("a", 4, "x", reclaim=reclaim), team("b", 4, "x"))
        plan = plan_for(with_teams(cluster(node("n1", 16), *jobs), *tree))
        assert suspended(plan) == gone
        code = Code.PODS_TERMINATING if gone else Code.QUOTA_EXCEEDED
        assert wait_reasons(plan)["a1"].code is code


def test_moving_a_namespace_or_lowering_a_guarantee_kills_nothing() -> None:
    state = borrowing()
    for tree in ((team("a", 2), team("b")), (team("b", 8),), ()):
        plan = plan_for(with_teams(state, *tree))
        assert suspended(plan) == set()


def test_a_guarantee_beyond_the_nodes_is_accepted() -> None:
    plan = plan_for(with_teams(borrowing(), team("a", 4000), team("b")))
    assert wait_reasons(plan)["a1"].code is Code.PODS_TERMINATING


@pytest.mark.parametrize("policy", POLICIES)
def test_an_owner_gets_its_room_under_every_policy(policy: str) -> None:
    limits = Limits(load_ceiling=1, queue_patience=timedelta(hours=9))
    state = borrowing()
    state = replace(
        state,
        jobs=tuple(
            replace(job, queued_at=job.queued_at - timedelta(minutes=5)) for job in state.jobs
        ),
    )
    plan = decide(state, POLICIES[policy], limits)
    assert teams.after(state, plan)["b"].get("cpu") == 5000


def gpus(name: str, amount: int, **owed: int) -> Team:
    """A team that is guaranteed so many GPUs, and other amounts."""
    return replace(team(name), guaranteed=Resources.parse({GPU: amount, **owed}))


def test_what_a_guarantee_does_not_name_is_borrowed() -> None:
    card = shape(1, gpu=1)
    jobs = [
        *of("a", running("a1", 1, 8, ["n1"] * 8, shape=card)),
        *of("b", worker("b1", 4, 4, shape=card)),
    ]
    state = cluster(node("n1", 64, gpu=8), *jobs)
    assert sizes(plan_for(with_teams(state, team("a", 40), gpus("b", 8)))) == {"a1": 4}


def test_an_owner_takes_nothing_back_that_its_guarantee_does_not_name() -> None:
    card = shape(1, gpu=1)
    jobs = [
        *of("c", running("c1", 4, 8, ["n1"] * 8, shape=card, priority=9)),
        *of("a", worker("a1", 4, 4, shape=card)),
    ]
    state = cluster(node("n1", 64, gpu=8), *jobs)
    tree = (team("a", 40, reclaim=Reclaim.JOBS), gpus("b", 8), team("c"))
    plan = plan_for(with_teams(state, *tree))
    assert (suspended(plan), sizes(plan)) == (set(), {})


def test_a_team_with_its_first_claim_covered_precedes_a_team_with_a_later_one_covered() -> None:
    jobs = [
        *of("a", worker("big", 10, 10, queued=-900), worker("small", 2, 2, queued=-800)),
        *of("b", worker("b1", 8, 8, queued=-700)),
    ]
    state = with_teams(cluster(node("n1", 12), *jobs), team("a", 4), team("b", 8))
    assert set(started(plan_for(state))) == {"b1", "small"}


def test_a_job_that_made_room_for_an_owner_does_not_come_back_before_it() -> None:
    jobs = [
        *of("a", running("a1", 3, 3, ["n1"] * 3), worker("own", 1, 1)),
        *of("b", running("big", 3, 3, ["n1"] * 3, queued=-5000), worker("small", 1, 1)),
    ]
    state = with_teams(
        cluster(node("n1", 6), *jobs), team("a", 4, reclaim=Reclaim.JOBS), team("b", 2)
    )
    kept = {name: getattr(state, name) for name in ("teams", "namespace_teams")}
    stops = 0
    for _ in range(6):
        plan = plan_for(state)
        stops += len(plan.suspensions)
        state = replace(act(state, plan, after=timedelta(minutes=1)), **kept)
    assert stops == 1


def test_a_job_that_made_room_for_one_of_its_team_does_not_come_back_before_it() -> None:
    """`high` borrows a GPU, `low` is within the guarantee: only one node has room for either."""
    jobs = [
        *of("a", running("low", 1, 1, ["n"], shape=shape(2))),
        *of("a", worker("high", 1, 1, shape=shape(2, gpu=1), priority=1)),
        *of("b", worker("other", 1, 1, shape=shape(1, gpu=1))),
    ]
    small = [node(f"s{number}", 1) for number in range(5)]
    gpus = replace(team("c"), guaranteed=Resources.of({GPU: 1}))
    state = with_teams(cluster(node("n", 3, gpu=1), *small, *jobs), team("a", 4), team("b"), gpus)
    limits = replace(ALL, preempt=True)
    plan = plan_for(state, limits)
    assert suspended(plan) == {"low"}
    kept = {name: getattr(state, name) for name in ("teams", "namespace_teams")}
    state = replace(act(state, plan, after=timedelta(minutes=1)), **kept)
    assert set(started(plan_for(state, limits))) == {"high"}


def test_capacity_that_a_team_keeps_holds_back_no_owner() -> None:
    jobs = [*of("b", running("b1", 1, 12, ["n1"] * 8)), *of("c", worker("c1", 4, 4)), *of("k")]
    state = cluster(node("n1", 12), *jobs)
    plan = plan_for(with_teams(state, team("k", 4, lend=False), team("c", 4), team("b")))
    assert started(plan) == {"c1": {"worker": 4}}


def owing(*borrowers: TrainingJob) -> ClusterState:
    """Of 20 cores `a` and `b` are owed 10 each; `b` holds 12, and `c` the rest."""
    jobs = [
        *of("b", running("b1", 1, 12, ["n1"] * 12)),
        *of("c", *borrowers),
        *of("a", worker("a1", 10, 10)),
    ]
    tree = (team("a", 10, reclaim=Reclaim.JOBS), team("b", 10), team("c"))
    return with_teams(cluster(node("n1", 20), node("n2", 0.5), *jobs), *tree)


def test_an_owner_takes_jobs_where_borrowers_extras_alone_do_not_suffice() -> None:
    state = owing(
        running("c1", 4, 4, ["n1"] * 4),
        running("c2", 4, 4, ["n1"] * 4),
        running("c3", 1, 1, ["n2"], shape=shape(0.5), queued=-1),
    )
    plan = plan_for(state)
    assert suspended(plan) == {"c1", "c2"}
    assert teams.after(state, plan)["b"].get("cpu") == 10_000


def test_a_team_that_has_no_budget_left_stops_no_other_from_growing() -> None:
    full = QuotaCharge("q", "pods", 1)
    jobs = [
        *of("a", running("a1", 1, 8, ["n1"], charges=(full,))),
        *of("b", running("b1", 1, 6, ["n1"])),
        *of("c", running("c1", 1, 14, ["n1"] * 14)),
    ]
    state = with_teams(cluster(node("n1", 16), *jobs), team("a", 4), team("b", 6), team("c"))
    state = replace(state, quotas=(Quota("a", "q", "pods", 1),))
    assert sizes(plan_for(state)).get("c1", 14) < 14


PREEMPTING = replace(ALL, preempt=True)


def test_a_job_partly_within_its_teams_guarantee_is_stopped_by_no_priority_of_others() -> None:
    jobs = [
        *of("a", running("large", 2, 2, ["n1"] * 2)),
        *of("b", worker("high", 2, 2, priority=9)),
    ]
    state = cluster(node("n1", 2), *jobs)
    assert suspended(plan_for(with_teams(state, team("a", 1), team("b")), PREEMPTING)) == set()
    assert suspended(plan_for(with_teams(state, team("a"), team("b")), PREEMPTING)) == {"large"}


def test_a_covered_job_is_not_stopped_in_place_of_one_that_exceeds_the_guarantee() -> None:
    """`low` is younger, so the guarantee covers `high` first and 2 of the 6 pods of `low`."""
    jobs = [
        *of("a", running("high", 2, 2, ["n1"] * 2, priority=1)),
        *of("a", running("low", 6, 6, ["n1"] * 6)),
        *of("b", worker("asks", 2, 2, priority=5)),
    ]
    state = with_teams(cluster(node("n1", 8), *jobs), team("a", 4), team("b"))
    assert suspended(plan_for(state, PREEMPTING)) == set()


def test_a_job_that_cannot_be_stopped_comes_after_those_of_a_higher_priority_too() -> None:
    high = running("high", 2, 2, ["n1"] * 2, priority=1)
    asks = worker("asks", 2, 2, priority=5)
    for priority, gone in ((0, set[str]()), (7, {"high"})):
        low = running("low", 6, 6, ["n1"] * 6, priority=priority)
        low = replace(low, problem=invalid("no such class"))
        jobs = [*of("a", high, low), *of("b", asks)]
        state = with_teams(cluster(node("n1", 8), *jobs), team("a", 4), team("b"))
        assert suspended(plan_for(state, PREEMPTING)) == gone


def test_an_owner_stops_the_job_that_borrows_all_before_one_that_borrows_a_part() -> None:
    """Without both, the guarantee would cover `low`: so not both, and `high` for three pods."""
    low = running("low", 2, 2, ["n1"] * 2)
    high = running("high", 6, 6, ["n1"] * 6, priority=1)
    owner = team("b", 4, reclaim=Reclaim.JOBS)
    for pods, gone in ((1, {"low"}), (2, {"low"}), (3, {"high"}), (4, {"high"})):
        jobs = [*of("a", low, high), *of("b", worker("asks", pods, pods))]
        state = with_teams(cluster(node("n1", 8), *jobs), team("a", 4), owner)
        assert suspended(plan_for(state)) == gone


def test_an_owner_stops_no_two_jobs_of_which_the_guarantee_then_covers_one() -> None:
    """The nodes have less than both teams are guaranteed."""
    jobs = [
        *of("a", running("low", 2, 2, ["n1"] * 2)),
        *of("a", running("high", 4, 4, ["n1"] * 4, priority=1)),
        *of("b", worker("asks", 5, 5)),
    ]
    owner = team("b", 5, reclaim=Reclaim.JOBS)
    state = with_teams(cluster(node("n1", 6), *jobs), team("a", 3), owner)
    assert suspended(plan_for(state)) == set()


def test_what_a_team_below_is_guaranteed_comes_before_borrowers_of_a_higher_priority() -> None:
    jobs = [
        *of("a", running("owed", 2, 2, ["n1"] * 2)),
        *of("b", running("borrower", 2, 2, ["n1"] * 2, priority=1)),
        *of("c", worker("asks", 2, 2, priority=5)),
    ]
    teams = (team("top", 2), team("a", 2, parent="top"), team("b", parent="top"), team("c"))
    state = with_teams(cluster(node("n1", 4), *jobs), *teams)
    assert suspended(plan_for(state, PREEMPTING)) == {"borrower"}


def test_a_job_of_the_team_itself_comes_before_borrowers_in_the_teams_below() -> None:
    jobs = [
        *of("top", running("own", 2, 2, ["n1"] * 2)),
        *of("b", running("borrower", 2, 2, ["n1"] * 2, priority=1)),
        *of("c", worker("asks", 2, 2, priority=5)),
    ]
    teams = (team("top", 2), team("b", parent="top"), team("c"))
    state = with_teams(cluster(node("n1", 4), *jobs), *teams)
    assert suspended(plan_for(state, PREEMPTING)) == {"borrower"}


def test_extras_of_its_team_make_no_job_a_borrower() -> None:
    jobs = [
        *of("a", running("elastic", 1, 3, ["n2"] * 3), running("fixed", 2, 2, ["n1"] * 2)),
        *of("b", worker("high", 1, 1, priority=9, shape=shape(2))),
    ]
    state = cluster(node("n1", 2), node("n2", 3.5), *jobs)
    plan = plan_for(with_teams(state, team("a", 3), team("b")), PREEMPTING)
    assert (suspended(plan), sizes(plan)) == (set(), {"elastic": 1})


def test_a_claim_that_borrows_a_part_waits_while_others_wait_within_their_guarantee() -> None:
    jobs = [
        *of("a", worker("large", 3, 3, priority=2), worker("small", 1, 1)),
        *of("b", worker("wide", 3, 3, priority=1), worker("own", 2, 2)),
    ]
    state = with_teams(cluster(node("n1", 4), *jobs), team("a", 2), team("b", 2))
    assert set(started(plan_for(state))) == {"small", "wide"}
    alone = replace(state, jobs=tuple(of("a", jobs[0], jobs[1])))
    assert set(started(plan_for(alone))) == {"large", "small"}


def test_a_claim_within_the_guarantee_of_two_teams_comes_before_one_that_borrows() -> None:
    """The other team's claim has a higher priority, so it would be that team's turn."""
    jobs = [
        *of("a", worker("plain", 1, 1, priority=1, shape=shape(2))),
        *of("b", worker("owed", 1, 1, shape=shape(2, gpu=1))),
    ]
    both = Team("both", guaranteed=Resources.parse({GPU: 1}))
    below = [Team(name, "both", namespaces=(name,)) for name in ("a", "b")]
    state = with_teams(cluster(node("n1", 3, gpu=1), *jobs), both, *below)
    assert set(started(plan_for(state))) == {"owed"}


@pytest.mark.parametrize(
    "hopeless",
    [
        worker("hopeless", 1, 1, shape=shape(1_000_000)),
        worker("hopeless", 1000, 1000, shape=shape(8)),
        replace(worker("hopeless", 1, 1), problem=invalid("no such class")),
    ],
    ids=["a pod for no node", "more than all nodes have", "a problem"],
)
def test_a_job_that_can_never_run_takes_no_guarantee_away(hopeless: TrainingJob) -> None:
    card = shape(1, gpu=1)
    jobs = [
        *of("b", running("borrower", 2, 2, ["n1"] * 2, shape=card)),
        *of("a", worker("owner", 1, 1, shape=card)),
        *of("c", hopeless),
    ]
    state = cluster(node("n1", 8, gpu=2), *jobs)
    reclaiming = replace(gpus("a", 1), reclaim=Reclaim.JOBS)
    assert suspended(plan_for(with_teams(state, reclaiming, team("b", 4), team("c", 1)))) == {
        "borrower"
    }


def test_what_is_lacked_is_read_from_nodes_that_are_large_enough() -> None:
    card = shape(2, gpu=1)
    jobs = [
        *of("b", running("b1", 1, 4, ["n1"] * 4, priority=9)),
        *of("a", worker("a1", 1, 1, shape=card)),
    ]
    state = cluster(node("n1", 4, gpu=1), node("n2", 64), *jobs)
    assert sizes(plan_for(with_teams(state, gpus("a", 1), team("b", 1)))) == {}
    assert sizes(plan_for(with_teams(state, gpus("a", 1, cpu=2), team("b", 1)))) == {"b1": 2}


@pytest.mark.parametrize(("kept", "moved"), [(4, {"b1": 4}), (5, {})])
def test_borrowers_are_evened_out_beside_a_team_that_does_not_lend(
    kept: int, moved: dict[str, int]
) -> None:
    """Not while it lacks some of its guarantee: what a borrower gives up would be kept for it."""
    jobs = [
        *of("b", running("b1", 1, 8, ["n1"] * 6)),
        *of("c", running("c1", 1, 8, ["n1"] * 2)),
    ]
    keeper = team("k", kept, lend=False)
    plan = plan_for(with_teams(cluster(node("n1", 12), *jobs), keeper, team("b"), team("c")))
    assert sizes(plan) == moved


def test_a_team_that_does_not_lend_keeps_no_borrower_from_the_extras_of_another() -> None:
    """Team k uses all of its guarantee, so nothing idle of it is kept; b1 holds all the rest."""
    jobs = [
        *of("k", running("k1", 2, 2, ["n1"] * 2)),
        *of("b", running("b1", 2, 20, ["n1"] * 10)),
        *of("c", worker("c1", 4, 4)),
    ]
    tree = team("k", 2, lend=False), team("b"), team("c")
    state = with_teams(cluster(node("n1", 12), *jobs), *tree)
    plan = plan_for(state)
    assert (sizes(plan), plan.waiting[0].reason.code) == ({"b1": 6}, Code.PODS_TERMINATING)


def test_extras_above_a_guarantee_that_is_not_lent_yield_down_to_it() -> None:
    """Team k has 8 of 4 guaranteed CPUs; below 4 its guarantee would keep what its job gave."""
    jobs = [*of("k", running("k1", 1, 20, ["n1"] * 8)), *of("c", worker("c1", 4, 4))]
    state = with_teams(cluster(node("n1", 8), *jobs), team("k", 4, lend=False), team("c"))
    assert sizes(plan_for(state)) == {"k1": 4}
    more = [*of("k", running("k1", 1, 20, ["n1"] * 8)), *of("c", worker("c1", 5, 5))]
    refused = with_teams(cluster(node("n1", 8), *more), team("k", 4, lend=False), team("c"))
    plan = plan_for(refused)
    assert (sizes(plan), started(plan)) == ({}, {})
    assert message(plan.waiting[0].reason) == (
        "Insufficient cpu: needs 5 x 1 CPU (worker); 4 of 5 pods fit"
    )


def test_idle_capacity_that_is_not_lent_keeps_a_borrower_waiting() -> None:
    jobs = [*of("k", running("k1", 2, 2, ["n1"] * 2)), *of("c", worker("c1", 4, 4))]
    state = with_teams(cluster(node("n1", 8), *jobs), team("k", 5, lend=False), team("c"))
    plan = plan_for(state)
    assert (sizes(plan), started(plan)) == ({}, {})
    assert message(plan.waiting[0].reason) == (
        "exceeded capacity beside what team k keeps, requested: cpu=4, limited: cpu=5; used: cpu=2"
    )


@pytest.mark.parametrize(("kept", "idle", "most"), [(4, 0, 6), (9, 1, 4)])
def test_a_team_that_keeps_too_little_is_not_named_for_a_full_cluster(
    kept: int, idle: int, most: int
) -> None:
    """Team k uses 8 CPUs, beyond its guarantee or all but one that it keeps; b1 may grow."""
    jobs = [
        *of("k", running("k1", 8, 8, ["n1"] * 8), worker("k2", 4, 4)),
        *of("b", running("b1", 4, most, ["n1"] * 4)),
        *of("c", worker("c1", 4, 4)),
    ]
    state = cluster(node("n1", 12 + idle), *jobs)
    plan = plan_for(with_teams(state, team("k", kept, lend=False), team("b"), team("c")))
    lent = plan_for(with_teams(state, team("k", kept), team("b"), team("c")))
    for queued in ("k2", "c1"):
        assert wait_reasons(plan)[queued] == wait_reasons(lent)[queued]


def test_capacity_that_a_team_needs_once_its_node_drains_is_not_lent() -> None:
    """k1 uses the guarantee, so that team k keeps nothing, but its node is about to go."""
    jobs = [*of("k", running("k1", 4, 4, ["n1"] * 4)), *of("b", worker("b1", 4, 4))]
    nodes = (node("n1", 4, cordoned=True), node("n2", 4))
    teams = team("k", 4, lend=False), team("b")
    plan = plan_for(with_teams(cluster(*nodes, *jobs), *teams))
    assert started(plan) == {}
    assert message(wait_reasons(plan)["b1"]) == (
        "exceeded capacity of the schedulable nodes for all running pods, requested: cpu=4, "
        "limited: cpu=4; used: cpu=4"
    )


def test_a_team_that_keeps_nothing_is_not_named_before_jobs_yield() -> None:
    """Under this policy b1 yields once c1 has waited for half a minute."""
    jobs = [
        *of("k", running("k1", 4, 4, ["n1"] * 4)),
        *of("b", running("b1", 1, 4, ["n1"] * 4)),
        *of("c", worker("c1", 2, 2, queued=-5)),
    ]
    state, given = cluster(node("n1", 8), *jobs), (POLICIES["throughput"], ALL)
    plan, lent = (
        decide(with_teams(state, team("k", 4, lend=lend), team("b"), team("c")), *given)
        for lend in (False, True)
    )
    assert wait_reasons(plan) == wait_reasons(lent)
    assert wait_reasons(plan)["c1"].code is Code.INSUFFICIENT_CAPACITY


def test_a_job_that_fits_idle_nodes_lacks_what_a_team_keeps_though_jobs_will_yield() -> None:
    """Under this policy b1 yields 3 CPU later, but 2 are idle, which team k keeps."""
    jobs = [
        *of("k", running("k1", 4, 4, ["n1"] * 4)),
        *of("b", running("b1", 1, 4, ["n1"] * 4)),
        *of("c", worker("c1", 2, 2, queued=-5)),
    ]
    teams = team("k", 6, lend=False), team("b"), team("c")
    state = with_teams(cluster(node("n1", 10), *jobs), *teams)
    plan = decide(state, POLICIES["throughput"], ALL)
    assert message(wait_reasons(plan)["c1"]) == (
        "exceeded capacity beside what team k keeps, requested: cpu=2, limited: cpu=8; used: cpu=8"
    )


def test_a_job_for_which_jobs_of_its_team_will_yield_is_not_called_never_admitted() -> None:
    """Team c would keep all of n1, but the guarantee of team a covers a2 once a1 has yielded."""
    jobs = of("a", running("a1", 1, 6, ["old"] * 6), worker("a2", 1, 1, queued=-5))
    teams = team("a", 2, lend=False), team("c", 4, lend=False)
    state = with_teams(cluster(node("old", 6, cordoned=True), node("n1", 2), *jobs), *teams)
    (waits,) = (
        one for one in decide(state, POLICIES["throughput"], ALL).waiting if one.job.name == "a2"
    )
    assert (waits.never, waits.reason.code) == (False, Code.INSUFFICIENT_CAPACITY)


def test_a_job_is_not_told_that_its_own_team_keeps_the_most() -> None:
    """Its gang would use what team k keeps, 4 CPU, and 2 of the 3 that team j keeps."""
    jobs = of("k", running("k1", 2, 2, ["n1"] * 2), worker("k2", 6, 6))
    state, keepers = cluster(node("n1", 10), *jobs), (team("j", 3), team("k", 6))
    plan = plan_for(with_teams(state, *(replace(one, lend=False) for one in keepers)))
    assert message(wait_reasons(plan)["k2"]) == (
        "exceeded capacity beside what team j keeps, requested: cpu=6, limited: cpu=7; used: cpu=2"
    )


def test_the_team_is_named_that_keeps_the_resource_which_is_short() -> None:
    """Extras of b1 make room for the CPU, but team g keeps the GPUs."""
    wide = shape(1, gpu=1)
    jobs = [*of("b", running("b1", 1, 4, ["n1"] * 4)), *of("c", worker("c1", 2, 2, shape=wide))]
    owed = Resources.parse({GPU: 2})
    keepers = team("k", 1, lend=False), Team("g", guaranteed=owed, lend=False)
    state = cluster(node("n1", 5, gpu=2), *jobs)
    plan = plan_for(with_teams(state, *keepers, team("b"), team("c")))
    assert message(wait_reasons(plan)["c1"]) == (
        f"exceeded capacity beside what team g keeps, requested: {GPU}=2, limited: {GPU}=0, "
        f"never allowed: {GPU}=2; used: {GPU}=0"
    )


def test_a_role_that_lacks_room_is_not_told_what_a_team_keeps() -> None:
    """Team k keeps 1 CPU, which no node has."""
    jobs = [*of("k", running("k1", 2, 2, ["n1"] * 2)), *of("b", running("b1", 2, 9, ["n1"] * 2))]
    state = cluster(node("n1", 4), *jobs)
    plan = plan_for(with_teams(state, team("k", 3, lend=False), team("b")))
    assert message(wait_reasons(plan)["b1"]) == "Insufficient cpu for one more pod of 1 CPU"


def test_the_team_that_keeps_the_most_is_named() -> None:
    jobs = [*of("j", running("j1", 2, 2, ["n1"] * 2)), *of("c", worker("c1", 2, 2))]
    keepers = team("j", 2, lend=False), team("k", 5, lend=False)
    plan = plan_for(with_teams(cluster(node("n1", 8), *jobs), *keepers, team("c")))
    assert message(plan.waiting[0].reason) == (
        "exceeded capacity beside what team k keeps, requested: cpu=2, limited: cpu=3; used: cpu=2"
    )


def test_a_new_job_of_a_borrower_takes_extras_of_its_team_beside_what_another_team_keeps() -> None:
    jobs = [
        *of("k", running("k1", 2, 2, ["n1"] * 2)),
        *of("b", running("b1", 1, 8, ["n1"] * 3), worker("b2", 2, 2)),
    ]
    state = with_teams(cluster(node("n1", 8), *jobs), team("k", 5, lend=False), team("b"))
    assert sizes(plan_for(state)) == {"b1": 1}


@pytest.mark.parametrize(("most", "after"), [(2, {}), (3, {}), (5, {"large": 4})])
def test_a_team_gives_no_more_for_its_own_job_than_its_jobs_can_use(
    most: int, after: dict[str, int]
) -> None:
    """Else it has less than the other team, which gives it a replica and takes one back."""
    jobs = (
        *of("a", running("large", 1, 6, ["n1"] * 5, shape=shape(4))),
        *of("a", running("small", 1, most, ["n1"])),
        *of("c", running("other", 1, 30, ["n1"] * 22)),
    )
    state = with_teams(cluster(node("n1", 43), *jobs), team("a"), team("c"))
    assert sizes(plan_for(state)) == after


def test_what_a_plan_adds_for_one_team_and_moves_to_another_is_created_at_once() -> None:
    """Else each plan adds the replica of `small` again, and `other` waits for no pod."""
    jobs = (
        *of("a", running("small", 1, 2, ["n1"], shape=shape(0.5))),
        *of("a", running("large", 1, 9, ["n1"] * 4, shape=shape(2))),
        *of("c", running("other", 1, 30, ["n1"] * 9)),
        *of("c", running("fixed", 1, 1, ["n1"], shape=shape(0.2))),
    )
    state = with_teams(cluster(node("n1", 21.1), *jobs), team("a"), team("c"))
    assert sizes(plan_for(state)) == {"other": 10}


def test_a_team_takes_nothing_from_replicas_whose_nodes_are_gone() -> None:
    """No node is left in the cluster."""
    jobs = [
        *of("c", worker("c1", 2, 6, shape=shape(3), on=["n1"] * 6)),
        *of("b", worker("b1", 1, 3, shape=shape(3), on=["n1"])),
    ]
    state = with_teams(cluster(*jobs), team("b", 12), team("c", 2))
    for policy in POLICIES.values():
        assert decide(state, policy, Limits()).resizes == ()
