"""Who gets idle capacity, how replicas move for equal shares, and what growth waits for."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from edl import reasons
from edl.messages import message
from edl.model import Code, JobKey, Node, PodPhase, ResizePolicy
from edl.planner.decision_limits import Limits
from edl.planner.passes.growth import GrowthCeiling, grow
from edl.planner.plan import Plan, Resize
from edl.planner.policies import POLICIES
from edl.planner.snapshot.take_snapshot import take_snapshot
from tests.edl.planner.acting import act
from tests.edl.planner.plans import plan_for, sizes, told, wait_reasons
from tests.edl.planner.states import (
    at,
    cluster,
    job,
    node,
    pod,
    role,
    room,
    shape,
    worker,
)


def test_a_running_job_grows_into_idle_capacity() -> None:
    mine = worker("mnist", 1, 9, on=["a"])
    plan = plan_for(cluster(node("a", 4), mine))
    assert plan.resizes == (Resize(mine.key, "worker", 1, 4, reasons.grown(4, 9)),)


def test_growth_to_the_remaining_work_items_does_not_say_that_fewer_fit_than_could_run() -> None:
    mine = worker("items", 1, 6, on=["a"], remaining=4, resizing=ResizePolicy.ITEMS)
    queued = worker("items", 1, 6, remaining=4, resizing=ResizePolicy.ITEMS)
    (resize,) = plan_for(cluster(node("a", 9), mine)).resizes
    (admission,) = plan_for(cluster(node("a", 9), queued)).admissions
    assert (resize.reason, *admission.grown) == (reasons.grown(4, 4),) * 2


def test_a_role_with_lost_pods_does_not_grow_before_they_are_recreated() -> None:
    """The Job controller waits up to ten minutes: its new replicas would stand empty as long."""
    lost = (pod(0, phase=PodPhase.FAILED), pod(1, phase=PodPhase.FAILED))
    mine = worker("mnist", 1, 9, size=2, suspended=False, pods=lost, failures=2)
    plan = plan_for(cluster(node("a", 16), mine))
    assert plan.resizes == ()
    message = "1 of 1 pods of its minimum is missing: the Job controller creates it again after its"
    assert told(plan) == {"mnist": f"{message} back-off, up to 20 s"}
    held_to = worker("mnist", 1, 9, size=2, suspended=False, pods=lost, failures=2, replicas=4)
    assert sizes(plan_for(cluster(node("a", 16), held_to))) == {"mnist": 4}


def test_a_role_that_gave_its_lost_pods_does_not_grow_before_the_back_off_is_over() -> None:
    """No pod is missing any more, but the Job controller would create none for a larger size."""
    fields = {"failures": 8, "resized_at": at(-20), "delayed_until": at(580)}
    mine = worker("mnist", 1, 9, on=["a"] * 2, **fields)
    state = cluster(node("a", 16), mine)
    plan = plan_for(state)
    assert plan.resizes == ()
    assert wait_reasons(plan)["mnist"] == reasons.BACK_OFF_RECREATION
    assert sizes(plan_for(replace(state, observed_at=at(581)))) == {"mnist": 9}
    created = tuple(replace(one, created_at=at(-5)) for one in mine.roles[0].status.pods)
    again = replace(mine, roles=(mine.roles[0].changed(pods=created),))
    assert sizes(plan_for(cluster(node("a", 16), again))) == {"mnist": 9}


def test_a_role_whose_pods_wait_behind_another_gate_does_not_grow() -> None:
    mine = worker(
        "mnist", 1, 9, size=1, suspended=False, pods=(pod(0, gates=("mine",), created_at=at(0)),)
    )
    plan = plan_for(cluster(node("a", 16), mine))
    assert plan.resizes == ()
    assert told(plan) == {"mnist": "its pods wait behind a scheduling gate of their template"}


def test_it_grows_to_its_max_and_not_beyond() -> None:
    assert sizes(plan_for(cluster(node("a", 64), worker("mnist", 1, 9, on=["a"])))) == {"mnist": 9}
    assert plan_for(cluster(node("a", 64), worker("mnist", 1, 2, on=["a", "a"]))) == Plan()


def test_the_least_fulfilled_grows_first() -> None:
    one, two = worker("one", 1, 5, on=["a"] * 3), worker("two", 1, 5, on=["a"])
    assert sizes(plan_for(cluster(node("a", 6), one, two))) == {"two": 3}


def test_room_is_shared_by_fulfilment_not_by_count() -> None:
    one, two = worker("one", 1, 5, on=["a"]), worker("two", 1, 9, on=["a"])
    assert sizes(plan_for(cluster(node("a", 8), one, two))) == {"one": 3, "two": 5}


def test_room_on_several_nodes_is_not_room_on_one() -> None:
    mine = worker("mnist", 1, 3, shape=shape(3), on=["a"])
    plan = plan_for(cluster(node("a", 5), node("b", 2), node("c", 2), mine))
    assert not plan.resizes
    assert told(plan) == {"mnist": "Insufficient cpu for one more pod of 3 CPU"}


def test_the_ceiling_counts_cpu_over_schedulable_nodes() -> None:
    mine = worker("mnist", 1, 99, on=["a"])
    nodes = (node("a", 50), node("b", 50), node("c", 50, cordoned=True))
    plan = plan_for(cluster(*nodes, mine), Limits())
    assert sizes(plan) == {"mnist": 97}
    full = worker("mnist", 1, 99, on=["a"] * 50 + ["b"] * 47)
    assert told(plan_for(cluster(*nodes, full), Limits())) == {
        "mnist": "load ceiling: growth stops at 97 % of the cluster's CPU"
    }


def test_the_ceiling_counts_memory_too() -> None:
    mine = worker("mnist", 1, 99, shape=shape(0.1, "1Gi"), on=["a"])
    assert sizes(plan_for(cluster(node("a", 64), mine), Limits())) == {"mnist": 62}


def test_roles_of_unequal_pods_grow_up_to_the_ceiling_together() -> None:
    large = worker("large", 1, 99, shape=shape(10), on=["a"])
    small = worker("small", 1, 99, on=["a"])
    state = cluster(node("a", 100), large, small)
    snapshot = take_snapshot(state, POLICIES["fair"], Limits())
    grow(snapshot, GrowthCeiling(snapshot))
    assert [found.size for found in snapshot.allocations] == [8, 17]


def test_pods_that_request_neither_cpu_nor_memory_grow_at_any_load() -> None:
    full = worker("full", 4, 4, on=["a"] * 4)
    mine = worker("mnist", 1, 9, shape=shape(0), on=["a"])
    assert sizes(plan_for(cluster(node("a", 4), full, mine), Limits())) == {"mnist": 9}


def test_growth_waits_for_the_cooldown_and_the_plan_is_looked_at_again_then() -> None:
    fresh = worker("mnist", 1, 3, on=["a"], started_at=at(-4))
    plan = plan_for(cluster(node("a"), fresh))
    assert not plan.resizes
    assert wait_reasons(plan) == {"mnist": reasons.COOLDOWN}
    assert plan.recheck_after == timedelta(seconds=6)
    resized = worker("mnist", 1, 3, on=["a"], resized_at=at(-4))
    assert not plan_for(cluster(node("a"), resized)).resizes
    assert sizes(plan_for(cluster(node("a"), resized, seconds=7))) == {"mnist": 3}


def test_room_is_kept_for_a_less_fulfilled_job_in_its_cooldown() -> None:
    cooling = worker("cooling", 1, 5, on=["a"], resized_at=at(-4))
    other = worker("other", 1, 5, on=["a", "a"])
    plan = plan_for(cluster(node("a", 4), cooling, other))
    assert not plan.resizes
    assert told(plan)["other"].startswith("Insufficient cpu for one more pod")


def test_a_min_that_was_raised_is_reached_at_once() -> None:
    mine = worker("mnist", 3, 3, on=["a"], resizing=ResizePolicy.LIVE, resized_at=at(-1))
    (resize,) = plan_for(cluster(node("a", 3), mine), Limits()).resizes
    assert (resize.after, message(resize.reason)) == (3, "all 3 pods of its minimum fit")


def test_a_max_that_was_lowered_is_obeyed_at_once() -> None:
    mine = worker("mnist", 1, 2, on=["a"] * 4, resized_at=at(-1))
    (resize,) = plan_for(cluster(node("a"), mine)).resizes
    assert (resize.after, resize.reason) == (2, reasons.ABOVE_MAX)


def test_a_work_queue_does_not_grow_after_its_first_success() -> None:
    """Pods that a scale-down has ended may still count as active."""
    items: dict[str, Any] = {"resizing": ResizePolicy.ITEMS, "indexed": False, "is_queue": True}
    assert sizes(plan_for(cluster(node("a", 9), worker("q", 1, 9, on=["a"], **items)))) == {"q": 9}
    ends = worker("q", 1, 9, on=["a"], remaining=3, **items)
    assert not plan_for(cluster(node("a", 9), ends)).resizes


def test_work_items_grow_no_further_than_the_work_that_is_left() -> None:
    mine = worker("items", 1, 9, on=["a"], resizing=ResizePolicy.ITEMS, indexed=False, remaining=3)
    assert sizes(plan_for(cluster(node("a", 9), mine))) == {"items": 3}


def test_work_items_beyond_the_parallelism_are_not_a_surplus() -> None:
    pods = (pod(7, "a"), pod(9, "a"))
    mine = worker(
        "items",
        1,
        2,
        suspended=False,
        size=2,
        resizing=ResizePolicy.ITEMS,
        indexed=False,
        pods=pods,
    )
    assert plan_for(cluster(node("a", 2), mine)) == Plan()


def test_fixed_roles_never_move() -> None:
    mine = worker("mnist", 2, 2, on=["a", "a"])
    assert plan_for(cluster(node("a", 9), mine)) == Plan()


def test_several_roles_of_one_job_may_grow() -> None:
    one = role("worker", 1, 3, on=["a"])
    two = role("evaluator", 1, 2, on=["a"], resizing=ResizePolicy.LIVE)
    assert len(plan_for(cluster(node("a", 9), job("mnist", one, two))).resizes) == 2


def test_pods_on_their_way_hold_their_room() -> None:
    pending = worker(
        "pending", 1, 3, suspended=False, size=3, pods=(pod(0, "a"),), resized_at=at(-1)
    )
    other = worker("other", 1, 9, on=["a"])
    assert not plan_for(cluster(node("a", 4), pending, other)).resizes


def test_pods_on_their_way_take_the_room_that_is_there_before_room_that_comes() -> None:
    coming = worker("coming", 2, 2, on=["a", ""], started_at=at(-5))
    leaves = worker(
        "leaves", 1, 1, suspended=True, paused=True, pods=(pod(0, "a", terminating=True),)
    )
    grows = worker("grows", 1, 2, on=["b"])
    plan = plan_for(cluster(node("a", 3), node("b", 1), coming, leaves, grows))
    assert not plan.resizes
    assert told(plan)["grows"] == "1 pod waits for others to terminate"


def test_a_succeeded_replica_needs_no_room() -> None:
    done = pod(1, "a", phase=PodPhase.SUCCEEDED)
    mine = worker("mnist", 2, 2, suspended=False, size=2, pods=(pod(0, "a"), done))
    other = worker("other", 1, 2, on=["a"])
    assert sizes(plan_for(cluster(node("a", 3), mine, other))) == {"other": 2}


def test_the_least_satisfied_of_roles_that_share_nodes_grows_first() -> None:
    """Two of the large pods might go to node a: `large` would give replicas to `small` next."""
    zone = (("zone", "a"),)
    small = worker("small", 1, 5, shape=shape(0.5, node_selector=zone), on=["a"])
    large = worker("large", 1, 9, shape=shape(2), on=["a", "a", *["b"] * 4])
    nodes = (node("a", 6.5, labels={"zone": "a"}), node("b", 12))
    assert sizes(plan_for(cluster(*nodes, small, large))) == {"small": 5}


# Equal shares.


def test_a_replica_moves_from_the_most_to_the_least_fulfilled() -> None:
    rich, poor = worker("rich", 1, 9, on=["a"] * 7), worker("poor", 1, 9, on=["a"])
    state = cluster(node("a", 8), rich, poor)
    plan = plan_for(state)
    assert plan.resizes == (
        Resize(rich.key, "worker", 7, 4, reasons.gave(Code.FAIR_SHARING, JobKey("ns", "poor"))),
    )
    assert told(plan)["poor"] == "3 pods wait for others to terminate"
    later = act(state, plan, after=timedelta(seconds=1))
    assert sizes(plan_for(later)) == {"poor": 4}


def test_a_role_that_gives_takes_nothing_now_that_would_keep_its_size_as_it_is() -> None:
    """Its replica on z would stay, and `takes` wait for ever; there is room for another on x."""
    gives = worker("gives", 1, 7, on=["x", "y", "z"], queued=-1)
    takes = worker("takes", 1, 6, shape=shape(2), on=["w"], queued=-9)
    nodes = (node("w", 2), node("x", 2.5), node("y", 1), node("z", 2))
    assert sizes(plan_for(cluster(*nodes, gives, takes))) == {"gives": 2}


def test_no_role_grows_to_as_much_as_one_that_gives_although_that_takes_again_elsewhere() -> None:
    """The scheduler might put the new pod into the room for `takes`: `grows` would give next."""
    half = shape(0.5)
    grows = worker("grows", 3, 9, shape=half, on=["a", "b", "d", "c"])
    gives = worker("gives", 3, 9, shape=half, on=["a", "d", "c", "c", "c"])
    takes = worker("takes", 2, 8, shape=shape(2), on=["a", "d"], queued=-9)
    nodes = (node("a", 4), node("b", 1.5), node("c", 3.5), node("d", 3.5))
    plan = plan_for(cluster(*nodes, grows, gives, takes), Limits(load_ceiling=0.9))
    assert sizes(plan) == {"gives": 4}


def test_a_move_that_would_turn_the_tables_is_not_made() -> None:
    poor = worker("poor", 1, 3, on=["a"])
    assert not plan_for(cluster(node("a", 3), worker("rich", 1, 3, on=["a"] * 2), poor)).resizes
    richer = worker("rich", 1, 3, on=["a"] * 3)
    assert sizes(plan_for(cluster(node("a", 4), richer, poor))) == {"rich": 2}


def test_an_equal_share_takes_no_replica_from_a_higher_priority() -> None:
    rich, poor = worker("rich", 1, 9, on=["a"] * 7, priority=1), worker("poor", 1, 9, on=["a"])
    assert not plan_for(cluster(node("a", 8), rich, poor)).resizes
    equal = replace(rich, priority=0)
    assert sizes(plan_for(cluster(node("a", 8), equal, poor))) == {"rich": 4}


@pytest.mark.parametrize(
    ("recent", "found"), [(("rich",), {}), (("poor",), {}), ((), {"rich": 4})], ids=str
)
def test_an_equal_share_waits_for_the_cooldown_of_both(
    recent: tuple[str, ...], found: dict[str, int]
) -> None:
    resized = {name: {"resized_at": at(-1)} for name in recent}
    rich = worker("rich", 1, 9, on=["a"] * 7, **resized.get("rich", {}))
    poor = worker("poor", 1, 9, on=["a"], **resized.get("poor", {}))
    assert sizes(plan_for(cluster(node("a", 8), rich, poor))) == found


def test_small_replicas_make_room_together_for_a_large_one() -> None:
    rich = worker("rich", 1, 20, on=["a"] * 8 + ["b"] * 8)
    poor = worker("poor", 1, 9, shape=shape(4), on=["c"])
    plan = plan_for(cluster(node("a", 8), node("b", 8), node("c", 4), rich, poor))
    assert sizes(plan)["rich"] == 8
    assert told(plan)["poor"] == "2 pods wait for others to terminate"


def test_a_donor_grows_after_its_recipient_and_gets_that_reason() -> None:
    gave = reasons.gave(Code.FAIR_SHARING, JobKey("ns", "poor"))
    rich, poor = worker("rich", 1, 9, on=["a"] * 3, last=gave), worker("poor", 1, 9, on=["a"])
    plan = plan_for(cluster(node("a", 8), rich, poor))
    assert (sizes(plan), wait_reasons(plan)["rich"].code) == ({"poor": 4}, Code.PLACEMENT_ORDER)


def test_moves_leave_the_load_below_the_ceiling() -> None:
    rich, poor = worker("rich", 1, 60, on=["a"] * 49), worker("poor", 1, 60, on=["a"])
    plan = plan_for(cluster(node("a", 50), rich, poor), Limits(load_ceiling=0.9))
    waiting = int(told(plan)["poor"].split()[0])
    assert sizes(plan)["rich"] + 1 + waiting <= 45


def test_a_donor_keeps_replicas_that_help_no_recipient() -> None:
    rich = worker("rich", 1, 9, on=["a"] * 8)
    poor = worker("poor", 1, 9, shape=shape(1, node_selector=(("zone", "b"),)), on=["b"])
    nodes = (node("a", 8), node("b", 1, labels={"zone": "b"}))
    assert not plan_for(cluster(*nodes, rich, poor)).resizes
    anywhere = worker("poor", 1, 9, on=["b"])
    assert sizes(plan_for(cluster(*nodes, rich, anywhere))) == {"rich": 5}


def test_no_job_grows_beyond_the_donor_while_replicas_move() -> None:
    gave = worker(
        "gave",
        1,
        9,
        on=["a"] * 4,
        resized_at=at(-1),
        last=reasons.gave(Code.FAIR_SHARING, worker("x", 1, 1).key),
    )
    other = worker("other", 1, 9, on=["b"] * 4)
    plan = plan_for(cluster(node("a", 4), node("b", 9), gave, other))
    assert wait_reasons(plan)["other"] == reasons.REBALANCING
    full = worker("x", 1, 1, on=["b"])
    plan = plan_for(cluster(node("a", 4), node("b", 9), gave, other, full))
    assert message(wait_reasons(plan)["other"]) == (
        "waiting for replicas to move to a job with a smaller share: ns/x"
    )
    assert [one.until for one in plan.waiting if one.job.name == "other"] == [at(9)]
    assert sizes(plan_for(cluster(node("a", 4), node("b", 9), gave, other, seconds=10)))


def test_a_lower_priority_takes_only_from_its_own_beside_a_richer_higher_one() -> None:
    """Two jobs could give; the one with more has the higher priority."""
    high = worker("high", 1, 9, on=["a"] * 9, priority=1)
    equal = worker("equal", 1, 9, on=["b"] * 8)
    poor = worker("poor", 1, 9, on=["b"])
    plan = plan_for(cluster(node("a", 9), node("b", 9), high, equal, poor))
    assert [(one.job.name, one.after < one.before) for one in plan.resizes] == [("equal", True)]


def test_no_replica_moves_for_room_that_a_job_in_its_cooldown_would_get() -> None:
    """It has less, and may not take it yet: the giver would shrink in vain, and grow again."""
    cooling = worker("cooling", 1, 9, on=["a"], resized_at=at(-2))
    poor = worker("poor", 1, 5, on=["a"] * 2)
    rich = worker("rich", 1, 9, on=["a"] * 7)
    assert plan_for(cluster(node("a", 10), cooling, poor, rich)).resizes == ()
    cooled = worker("cooling", 1, 9, on=["a"], resized_at=at(-20))
    assert sizes(plan_for(cluster(node("a", 10), cooled, poor, rich)))


def leaving(name: str, cpu: float) -> Node:
    """A node full of other owners' pods, which all terminate."""
    return replace(node(name, cpu), used=room(cpu, pods=2), releasing=room(cpu, pods=2))


@pytest.mark.parametrize(
    ("pods", "moved", "found"), [(2, 60, {}), (2, 600, {"mnist": 2}), (1, 60, {"mnist": 2})]
)
def test_growth_leaves_the_room_of_a_claim_alone_while_that_is_on_its_way(
    pods: int, moved: float, found: dict[str, int]
) -> None:
    """The claim waits for all of node a, or half of it; growth could land there instead of b."""
    mine = worker("mnist", 1, 2, on=["b"], started_at=at(-moved))
    others = worker("web", 1, 1, on=["b"], started_at=at(-moved))
    reservation = worker("late", pods, pods, shape=shape(4))
    state = cluster(leaving("a", 8), node("b", 3), mine, others, reservation)
    plan = plan_for(state, Limits(load_ceiling=1))
    assert sizes(plan) == found
    assert "to terminate" in told(plan)["late"]
