"""Whole gangs make room for a higher priority, only when switched on, and never in vain."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from edl import reasons
from edl.messages import message
from edl.model import ClusterState, JobKey, Node, ResizePolicy, TrainingJob
from edl.planner.plan import Plan
from tests.edl.planner.acting import act, quiet
from tests.edl.planner.plans import ALL, plan_for, sizes, started, told, wait_reasons
from tests.edl.planner.states import at, cluster, demand, job, node, pod, role, shape, worker

PREEMPT = replace(ALL, preempt=True)
SECOND = timedelta(seconds=1)


def fixed(name: str, count: int, **fields: Any) -> TrainingJob:  # noqa: ANN401 - a builder's fields
    return worker(name, count, count, **fields)


def suspended(plan: Plan) -> dict[str, str]:
    return {found.job.name: message(found.reason) for found in plan.suspensions}


def test_only_when_switched_on() -> None:
    state = cluster(node("a", 2), fixed("low", 2, on=["a"] * 2), fixed("high", 1, priority=1))
    assert suspended(plan_for(state)) == {}
    assert suspended(plan_for(state, PREEMPT)) == {
        "low": "requeued to make room for ns/high: its priority is lower"
    }


@pytest.mark.parametrize(
    ("framework", "over", "victims"),
    [("tensorflow", {1}, []), ("tensorflow", set(), ["low"]), ("horovod", {1}, ["low"])],
)
def test_no_job_is_stopped_that_would_come_back_without_a_rank(
    framework: str, over: set[int], victims: list[str]
) -> None:
    """Kubernetes recreates no pod of a rank that has succeeded, and the others wait for all."""
    low = fixed("low", 3, on=["a"] * 3, finished_indexes=frozenset(over))
    high = fixed("high", 1, priority=1)
    state = cluster(node("a", 3), replace(low, framework=framework), high)
    assert list(suspended(plan_for(state, PREEMPT))) == victims


def test_the_capacity_of_a_victim_is_kept_for_its_preemptor() -> None:
    state = cluster(node("a", 2), fixed("low", 2, on=["a"] * 2), fixed("high", 1, priority=1))
    plan = plan_for(state, PREEMPT)
    assert told(plan) == {"high": "1 pod waits for others to terminate: ns/low"}
    left = act(state, plan, after=SECOND, lingering=True)
    waiting = plan_for(left, PREEMPT)
    assert quiet(waiting)
    assert told(waiting)["high"] == "1 pod waits for others to terminate"
    gone = act(left, waiting, after=SECOND)
    assert started(plan_for(gone, PREEMPT)) == {"high": {"worker": 1}}


def test_the_victim_stays_away_while_there_is_no_room_for_both() -> None:
    state = cluster(node("a", 2), fixed("low", 2, on=["a"] * 2), fixed("high", 1, priority=1))
    for _ in range(8):
        plan = plan_for(state, PREEMPT)
        state = act(state, plan, after=SECOND, lingering=True)
    assert quiet(plan)
    assert [found.job.name for found in plan.waiting if found.position] == ["low"]


def test_no_job_is_placed_in_capacity_reserved_for_a_preemptor() -> None:
    """The scheduler prefers node a, wherever the plan places those that may use both.

    Else `small` would land there, then `low`, which fits b at first, then `small` again, for ever.
    """
    state = contested()
    plan = plan_for(state, PREEMPT)
    assert list(suspended(plan)) == ["low"]
    assert wait_reasons(plan) == {
        "high": reasons.leaving(2, [JobKey("ns", "low")]),
        "small": reasons.placed_after([JobKey("ns", "high")]),
    }
    stopped = list(suspended(plan))
    for _ in range(8):
        state = act(state, plan, after=SECOND)
        plan = plan_for(state, PREEMPT)
        stopped += suspended(plan)
    assert quiet(plan)
    assert stopped == ["low"]
    assert {one.key.name: nodes_of(one) for one in state.jobs} == {
        "high": ["a", "a"],
        "low": ["b", "b"],
        "small": [],
    }


def test_a_job_that_cannot_use_the_reserved_capacity_starts() -> None:
    elsewhere = fixed("small", 1, queued=-300, shape=shape(node_selector=(("zone", "b"),)))
    for state in (contested(small=elsewhere), contested(cpu=3)):
        plan = plan_for(state, PREEMPT)
        assert list(suspended(plan)) == ["low"]
        assert started(plan) == {"small": {"worker": 1}}


def contested(cpu: int = 2, small: TrainingJob | None = None) -> ClusterState:
    """`high` may only use node a, on which `low` runs; there is room for both on node b."""
    return cluster(
        node("a", cpu, labels={"zone": "a"}),
        node("b", 2, labels={"zone": "b"}),
        fixed("low", 2, on=["a", "a"], queued=-900),
        small or fixed("small", 1, queued=-300),
        fixed("high", 2, priority=1, shape=shape(node_selector=(("zone", "a"),))),
    )


def with_late_pod(one: TrainingJob) -> TrainingJob:
    """The job with a second pod that was created five seconds ago, and has no node yet."""
    (part,) = one.roles
    return replace(
        one, roles=(part.changed(pods=(part.status.pods[0], pod(1, created_at=at(-5)))),)
    )


def test_no_claim_waits_for_pods_of_its_own_victim() -> None:
    low = with_late_pod(fixed("low", 2, on=["a", "a"]))
    state = cluster(node("a", 2), low, fixed("high", 2, priority=1))
    plan = plan_for(state, PREEMPT)
    assert list(suspended(plan)) == ["low"]
    assert wait_reasons(plan)["high"] == reasons.leaving(2, [JobKey("ns", "low")])


def zones(a: int, b: int) -> Sequence[Node]:
    """Nodes a and b of zone a with these CPUs, and c of zone c with 3."""
    of_a = {"zone": "a"}
    return node("a", a, labels=of_a), node("b", b, labels=of_a), node("c", 3, labels={"zone": "c"})


def test_a_start_ahead_of_a_claim_leaves_its_node_to_a_victim_that_may_run_on() -> None:
    """If `small` started now, and `high` waited for it, `low` would run on without node c."""
    low = with_late_pod(fixed("low", 2, shape=shape(3), on=["a", "c"]))
    small = fixed("small", 1, priority=3, shape=shape(1))
    high = fixed("high", 1, priority=2, shape=shape(5, node_selector=(("zone", "a"),)))
    plan = plan_for(cluster(*zones(5, 1), low, small, high), PREEMPT)
    assert (started(plan), list(suspended(plan))) == ({}, ["low"])
    assert wait_reasons(plan)["small"] == reasons.placed_after([JobKey("ns", "low")])


def test_pods_of_a_victim_count_for_starts_behind_its_claim_if_that_waits() -> None:
    """A pod of `busy` may take what `low` would yield, so `low` runs on, and needs node c."""
    on_a, on_c = (("zone", "a"),), (("zone", "c"),)
    low = with_late_pod(fixed("low", 2, shape=shape(3), on=["a", "c"]))
    busy = fixed("busy", 2, priority=3, shape=shape(1, node_selector=on_a), on=["b", "b"])
    high = fixed("high", 1, priority=2, shape=shape(3, node_selector=on_a))
    other = fixed("other", 1, priority=1, shape=shape(1, node_selector=on_c))
    state = cluster(*zones(3, 2), low, with_late_pod(busy), high, other)
    plan = plan_for(state, PREEMPT)
    assert (started(plan), suspended(plan)) == ({}, {})
    assert wait_reasons(plan)["other"] == reasons.placed_after([JobKey("ns", "low")])


def nodes_of(one: TrainingJob) -> list[str]:
    return [found.node for found in one.roles[0].status.pods]


def test_it_keeps_its_place_in_the_queue() -> None:
    low = fixed("low", 2, on=["a"] * 2, queued=-9000)
    state = cluster(node("a", 2), low, fixed("high", 1, priority=1))
    after = act(state, plan_for(state, PREEMPT), after=SECOND)
    assert next(one for one in after.jobs if one.key.name == "low").queued_at == low.queued_at


def test_extras_go_before_gangs() -> None:
    low = worker("low", 1, 3, on=["a"] * 3)
    state = cluster(node("a", 3), low, fixed("high", 2, priority=1))
    plan = plan_for(state, PREEMPT)
    assert (suspended(plan), sizes(plan)) == ({}, {"low": 1})


def test_no_gang_is_suspended_for_a_preemptor_that_still_would_not_fit() -> None:
    state = cluster(node("a", 2), fixed("low", 2, on=["a"] * 2), fixed("high", 3, priority=1))
    assert quiet(plan_for(state, PREEMPT))


def test_the_lowest_priority_goes_first_then_the_youngest() -> None:
    low = fixed("low", 1, on=["a"], queued=-9000)
    young = fixed("young", 1, on=["a"], priority=1, queued=-300)
    old = fixed("old", 1, on=["a"], priority=1, queued=-900)
    jobs = [low, young, old]
    one = cluster(node("a", 3), *jobs, fixed("high", 1, priority=2))
    two = cluster(node("a", 3), *jobs, fixed("high", 2, priority=2))
    assert list(suspended(plan_for(one, PREEMPT))) == ["low"]
    assert sorted(suspended(plan_for(two, PREEMPT))) == ["low", "young"]


def test_nearly_finished_gangs_are_preempted_last_within_a_priority() -> None:
    late = fixed("late", 1, on=["a"], queued=-300, progress=0.95, resizing=ResizePolicy.LIVE)
    old = fixed("old", 1, on=["a"], queued=-900)
    state = cluster(node("a", 2), late, old, fixed("high", 1, priority=1))
    assert list(suspended(plan_for(state, PREEMPT))) == ["old"]


def test_nearly_finished_gangs_are_preempted_last_however_they_may_be_resized() -> None:
    chief, here = role("chief", on=["a"]), {"on": ["a"]}
    late = [
        fixed("fixed", 2, on=["a"] * 2, queued=-300, progress=0.95),
        job("two", chief, role("worker", 1, 3, progress=0.95, **here), queued=-300),
        job("chief", chief.changed(progress=0.95), role("worker", 1, 3, **here), queued=-300),
        worker("manual", 2, 3, on=["a"] * 2, queued=-300, progress=0.95, replicas=2),
        worker("raised", 3, 4, on=["a"] * 2, queued=-300, progress=0.95),
    ]
    old, high = fixed("old", 1, on=["a"], queued=-900), fixed("high", 1, priority=1)
    for one in late:
        state = cluster(node("a", 3), one, old, high)
        assert list(suspended(plan_for(state, PREEMPT))) == ["old"], one.key.name


def test_only_gangs_on_helpful_nodes_are_preempted() -> None:
    elsewhere = fixed("elsewhere", 1, on=["b"], queued=-300)
    here = fixed("here", 1, on=["a"], queued=-900)
    tall = fixed("tall", 1, shape=shape(2), priority=1)
    state = cluster(node("a", 2), node("b", 1), elsewhere, here, tall)
    assert list(suspended(plan_for(state, PREEMPT))) == ["here"]


def test_an_equal_priority_is_never_suspended() -> None:
    state = cluster(node("a", 2), fixed("one", 2, on=["a"] * 2), fixed("other", 2))
    assert quiet(plan_for(state, PREEMPT))


def test_all_roles_of_a_victim_leave_together() -> None:
    low = job("low", role("ps", 1, 1, on=["a"]), role("worker", 1, 3, on=["a", "b", "b"]))
    state = cluster(node("a", 2), node("b", 2), low, fixed("high", 3, priority=1))
    plan = plan_for(state, PREEMPT)
    assert list(suspended(plan)) == ["low"]
    assert sizes(plan) == {}
    after = act(state, plan, after=SECOND)
    assert all(
        part.status.suspended for one in after.jobs for part in one.roles if one.key.name == "low"
    )


def test_pods_of_others_of_a_higher_priority_take_gangs_too() -> None:
    low = fixed("low", 2, on=["a"] * 2)
    state = cluster(node("a", 2), low, demand("web", shape(1), 1, priority=1))
    assert suspended(plan_for(state, PREEMPT)) == {
        "low": "requeued to make room for web/web (priority 1): its priority is lower"
    }
    equal = cluster(node("a", 2), low, demand("web", shape(1), 1, priority=0))
    assert quiet(plan_for(equal, PREEMPT))


def test_pods_of_others_that_preempt_none_take_extras_alone() -> None:
    """Their class has `preemptionPolicy: Never`."""
    low, fixed_one = worker("low", 1, 2, on=["a"] * 2), fixed("fixed", 1, on=["a"])
    web = replace(demand("web", shape(1), 3, priority=1), preempts=False)
    plan = plan_for(cluster(node("a", 3), low, fixed_one, web), PREEMPT)
    assert (suspended(plan), sizes(plan)) == ({}, {"low": 1})


def test_a_job_that_preempts_none_takes_extras_alone() -> None:
    low, high = worker("low", 1, 3, on=["a"] * 3), {"priority": 1, "preempts": False}
    state = cluster(node("a", 3), low, fixed("high", 3, **high))
    assert quiet(plan_for(state, PREEMPT))
    two = cluster(node("a", 3), low, fixed("high", 2, **high))
    assert sizes(plan_for(two, PREEMPT)) == {"low": 1}
    lost = worker("high", 2, 2, on=["b", ""], started_at=at(-5), **high)
    state = cluster(node("a", 1), node("b", 1), fixed("low", 1, on=["a"]), lost)
    assert suspended(plan_for(state, PREEMPT)) == {}


def test_a_job_of_which_one_role_preempts_none_preempts_none() -> None:
    low = fixed("low", 2, on=["a"] * 2)
    chief, ps = role("chief", preempts=False), role("ps")
    assert (
        suspended(plan_for(cluster(node("a", 2), low, job("high", chief, ps, priority=1)), PREEMPT))
        == {}
    )


def test_a_gang_that_preempts_none_keeps_no_equal_gang_behind_it_from_room() -> None:
    low = fixed("low", 1, on=["a"])
    spares = fixed("spares", 1, priority=1, queued=-900, preempts=False)
    fresh = fixed("fresh", 1, priority=1, queued=-300)
    assert list(suspended(plan_for(cluster(node("a", 1), low, spares, fresh), PREEMPT))) == ["low"]


def test_a_minimum_that_lost_its_node_takes_gangs_too() -> None:
    low = fixed("low", 1, on=["a"])
    high = worker("high", 2, 2, on=["b", ""], priority=1, started_at=at(-5))
    plan = plan_for(cluster(node("a", 1), node("b", 1), low, high), PREEMPT)
    assert list(suspended(plan)) == ["low"]


def test_a_started_job_takes_gangs_only_for_all_that_its_minimum_lacks() -> None:
    low = fixed("low", 1, on=["a"])
    high = worker("high", 3, 3, on=["b", "", ""], priority=1, started_at=at(-5))
    assert suspended(plan_for(cluster(node("a", 1), node("b", 1), low, high), PREEMPT)) == {}


def lacking_in_two_roles() -> TrainingJob:
    roles = role("ps", 1, 1, on=[""]), role("worker", 2, 2, on=["b", ""])
    return job("high", *roles, priority=1, started_at=at(-5))


def test_it_takes_gangs_only_for_all_of_its_roles() -> None:
    low, high = fixed("low", 1, on=["a"]), lacking_in_two_roles()
    assert suspended(plan_for(cluster(node("a", 1), node("b", 1), low, high), PREEMPT)) == {}
    two = fixed("two", 1, on=["c"])
    state = cluster(node("a", 1), node("b", 1), node("c", 1), low, two, high)
    assert sorted(suspended(plan_for(state, PREEMPT))) == ["low", "two"]


def test_extras_of_others_stay_where_they_do_not_suffice_for_all_of_its_roles() -> None:
    low, high = worker("low", 1, 2, on=["a", "a"]), lacking_in_two_roles()
    assert sizes(plan_for(cluster(node("a", 2), node("b", 1), low, high))) == {}


def test_no_gang_is_preempted_for_a_job_with_another_role_in_back_off() -> None:
    lost = role("worker", 2, 2, pods=(pod(0, "b"),), suspended=False, size=2, failures=5)
    high = job("high", role("ps", 1, 1, on=[""]), lost, priority=1, started_at=at(-5))
    state = cluster(node("a", 2), node("b", 1), fixed("low", 2, on=["a"] * 2), high)
    assert suspended(plan_for(state, PREEMPT)) == {}


def test_a_claim_passes_over_work_items_that_were_preempted_before_it() -> None:
    items = worker("items", 1, 9, on=["a"] * 2, resizing=ResizePolicy.ITEMS, indexed=False)
    first, second = demand("first", shape(2), 2, priority=1), demand("second", shape(0.5), 2)
    state = cluster(node("a", 4), items, fixed("stays", 1, on=["a"], shape=shape(0.5)), first)
    plan = plan_for(replace(state, demands=(first, second)), PREEMPT)
    assert sorted(suspended(plan)) == ["items", "stays"]


def test_a_preemptor_that_failed_to_start_preempts_no_second_gang() -> None:
    low = fixed("low", 1, on=["a"])
    again = fixed("high", 1, priority=1, last=reasons.GANG_UNSCHEDULABLE)
    assert quiet(plan_for(cluster(node("a", 1), low, again), PREEMPT))


def test_a_gang_that_was_placed_otherwise_keeps_no_equal_gang_behind_it_from_room() -> None:
    low = fixed("low", 1, on=["a"])
    again = fixed("again", 1, priority=1, queued=-900, last=reasons.GANG_UNSCHEDULABLE)
    fresh = fixed("fresh", 1, priority=1, queued=-300)
    patient = replace(PREEMPT, queue_patience=timedelta(hours=9))
    assert list(suspended(plan_for(cluster(node("a", 1), low, again, fresh), patient))) == ["low"]


def test_a_lower_priority_goes_first_although_it_is_nearly_finished() -> None:
    late = fixed("late", 1, on=["a"], progress=0.95, resizing=ResizePolicy.LIVE)
    middle = fixed("middle", 1, on=["a"], priority=1)
    state = cluster(node("a", 2), late, middle, fixed("high", 1, priority=2))
    assert list(suspended(plan_for(state, PREEMPT))) == ["late"]


def test_a_start_that_is_half_done_makes_room_for_no_higher_priority() -> None:
    half = job("half", role("ps", on=["a"]), role("worker", 9, 9), started_at=at(-5))
    high = fixed("high", 2, priority=1)
    assert suspended(plan_for(cluster(node("a", 2), half, high), PREEMPT)) == {}
