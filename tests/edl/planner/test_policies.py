"""What each policy is for, in clusters small enough to see it."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from edl import reasons
from edl.messages import message
from edl.model import ClusterState, Code, Quota, QuotaCharge
from edl.planner.decide import decide, run_passes
from edl.planner.decision_limits import Limits
from edl.planner.plan import Plan
from edl.planner.policies import POLICIES, Policy, fulfilment, weighted
from tests.edl.planner.plans import ALL, sizes, told, wait_reasons
from tests.edl.planner.states import at, cluster, job, node, role, shape, worker

FIFO, THROUGHPUT = POLICIES["fifo"], POLICIES["throughput"]
UTILISATION = POLICIES["utilisation"]


def plan_of(policy: Policy, state: ClusterState, limits: Limits = ALL) -> Plan:
    return decide(state, policy, limits)


def test_fifo_gives_the_oldest_its_max_then_the_next_one() -> None:
    old = worker("old", 1, 5, on=["a"], queued=-900)
    young = worker("young", 1, 5, on=["a"], queued=-300)
    assert sizes(plan_of(FIFO, cluster(node("a", 8), old, young))) == {"old": 5, "young": 3}


def test_fifo_reclaims_the_youngest_job_for_an_older_one() -> None:
    old = worker("old", 1, 4, on=["a"], queued=-900)
    young = worker("young", 1, 4, on=["a"] * 3, queued=-300)
    plan = plan_of(FIFO, cluster(node("a", 4), old, young))
    assert sizes(plan) == {"young": 1}
    assert [message(found.reason) for found in plan.resizes] == ["created after ns/old"]


def test_fifo_serves_a_higher_priority_before_an_older_job() -> None:
    old = worker("old", 1, 5, on=["a"], queued=-900)
    urgent = worker("urgent", 1, 5, on=["a"], queued=-300, priority=1)
    assert sizes(plan_of(FIFO, cluster(node("a", 6), old, urgent))) == {"urgent": 5}


def test_utilisation_seats_large_pods_first_and_small_ones_into_the_gaps() -> None:
    small = worker("small", 1, 9, on=["a"], shape=shape(1), queued=-900)
    large = worker("large", 1, 9, on=["a"], shape=shape(3), queued=-300)
    assert sizes(plan_of(UTILISATION, cluster(node("a", 8), small, large))) == {"large": 2}
    grown = worker("large", 1, 9, on=["a", "a"], shape=shape(3), queued=-300)
    assert sizes(plan_of(UTILISATION, cluster(node("a", 8), small, grown))) == {"small": 2}


def test_utilisation_replaces_small_pods_only_by_more_than_they_used() -> None:
    large = worker("large", 1, 2, on=["b"], shape=shape(3))
    small = worker("small", 1, 9, on=["a"] * 3)
    state = cluster(node("a", 3), node("b", 3), small, large)
    assert sizes(plan_of(UTILISATION, state)) == {}
    roomier = cluster(node("a", 4), node("b", 3), small, large)
    assert sizes(plan_of(UTILISATION, roomier)) == {"small": 4}


def test_utilisation_moves_a_small_pod_away_for_a_larger_one() -> None:
    large = worker("large", 1, 2, on=["a"], shape=shape(2.5))
    small = worker("small", 1, 9, on=["b", "a", "a"])
    state = cluster(node("a", 5), node("b", 1), small, large)
    plan = plan_of(UTILISATION, state)
    assert sizes(plan) == {"small": 1}
    assert [message(one.reason) for one in plan.resizes] == ["better utilization by ns/large"]


def test_under_utilisation_they_share_equally_beside_smaller_pods_that_do_not_help() -> None:
    """The small ones yield first, and return, as the load ceiling does not let them help."""
    rich, poor = worker("rich", 1, 5, on=["a"] * 3), worker("poor", 1, 5, on=["a"])
    small = worker("small", 2, 10, on=["a"] * 3, shape=shape(0.5))
    state = cluster(node("a", 6), rich, poor, small)
    plan = plan_of(UTILISATION, state, replace(ALL, load_ceiling=0.95))
    assert sizes(plan) == {"rich": 2}


def test_under_utilisation_pods_of_one_size_share_equally() -> None:
    one = worker("one", 1, 9, on=["a"], queued=-900)
    other = worker("other", 1, 9, on=["a"], queued=-300)
    assert sizes(plan_of(UTILISATION, cluster(node("a", 8), one, other))) == {
        "one": 4,
        "other": 4,
    }


def test_throughput_leaves_running_jobs_alone_for_the_first_30_seconds() -> None:
    running = worker("running", 1, 4, on=["a"] * 4)
    fresh = worker("fresh", 1, 1, queued=-20)
    plan = plan_of(THROUGHPUT, cluster(node("a", 4), running, fresh))
    assert sizes(plan) == {}
    assert plan.recheck_after == timedelta(seconds=10)
    waited = cluster(node("a", 4), running, worker("waited", 1, 1, queued=-30))
    assert sizes(plan_of(THROUGHPUT, waited)) == {"running": 3}


def test_a_higher_priority_does_not_wait_those_30_seconds() -> None:
    running = worker("running", 1, 4, on=["a"] * 4)
    urgent = worker("urgent", 1, 1, queued=-1, priority=1)
    assert sizes(plan_of(THROUGHPUT, cluster(node("a", 4), running, urgent))) == {"running": 3}


def test_throughput_grows_when_nothing_was_started_or_resized_for_60_seconds() -> None:
    busy = worker("busy", 1, 4, on=["a"], started_at=at(-59))
    plan = plan_of(THROUGHPUT, cluster(node("a", 4), busy))
    assert sizes(plan) == {}
    assert told(plan) == {"busy": "scaled up when nothing has been started or resized for 60 s"}
    assert plan.recheck_after == timedelta(seconds=1)
    calm = worker("calm", 1, 4, on=["a"], started_at=at(-60))
    assert sizes(plan_of(THROUGHPUT, cluster(node("a", 4), calm))) == {"calm": 4}


def test_throughput_does_not_grow_into_what_a_newcomer_will_ask_for() -> None:
    running = worker("running", 1, 8, on=["a"])
    tall = worker("tall", 1, 1, shape=shape(4), queued=-10)
    others = worker("others", 1, 1, on=["a"])
    state = cluster(node("a", 4), running, others, tall)
    assert sizes(plan_of(THROUGHPUT, state)) == {}


def test_a_job_that_can_never_fit_does_not_stop_growth() -> None:
    running = worker("running", 1, 3, on=["a"])
    huge = worker("huge", 1, 1, shape=shape(99), queued=-600)
    assert sizes(plan_of(THROUGHPUT, cluster(node("a", 4), running, huge))) == {"running": 3}


def test_throughput_gives_the_next_worker_to_the_smallest_job() -> None:
    old = worker("old", 1, 13, on=["a"] * 4, queued=-900)
    young = worker("young", 1, 13, on=["a"], queued=-300)
    assert sizes(plan_of(THROUGHPUT, cluster(node("a", 9), old, young))) == {"old": 5, "young": 4}


def test_throughput_never_moves_replicas_from_one_job_to_another() -> None:
    most = worker("most", 1, 8, on=["a"] * 7)
    least = worker("least", 1, 8, on=["a"])
    assert sizes(plan_of(THROUGHPUT, cluster(node("a", 8), most, least))) == {}


def nodes_of(policy: Policy, state: ClusterState, name: str = "mnist") -> list[set[str]]:
    """Of each role of a training job, the nodes on which the plan places its pods."""
    snapshot = run_passes(state, policy, ALL).snapshot
    names = list(snapshot.capacity.index)
    mine = (one for one in snapshot.allocations if one.job.key.name == name)
    return [{names[placement.node] for placement in one.placements} for one in mine]


def test_throughput_starts_a_job_on_one_node_where_most_room_is_left() -> None:
    mnist = job("mnist", role("ps", 1, 1), role("worker", 2, 2), queued=-60)
    state = cluster(node("a", 2), node("b", 3), node("c", 6), mnist)
    assert nodes_of(THROUGHPUT, state) == [{"c"}, {"c"}]
    assert nodes_of(POLICIES["fair"], state) != [{"c"}, {"c"}]


def test_throughput_grows_a_job_beside_its_chief_although_another_node_is_fuller() -> None:
    mnist = job("mnist", role("chief", on=["a"]), role("worker", 1, 3, on=["b"]))
    state = cluster(node("a", 8), node("b", 2), mnist)
    assert nodes_of(THROUGHPUT, state) == [{"a"}, {"a", "b"}]
    one_more = cluster(node("a", 8), node("b", 2), job("mnist", role("chief", on=["a"]),
                       role("worker", 1, 2, on=["b"])))  # fmt: skip
    assert nodes_of(POLICIES["fair"], one_more) == [{"a"}, {"b"}]
    assert nodes_of(THROUGHPUT, one_more) == [{"a"}, {"a", "b"}]


def test_the_role_with_a_remote_highest_index_yields_first() -> None:
    near = job("near", role("worker", 1, 3, on=["a", "a", "a"]))
    far = job("far", role("worker", 1, 3, on=["b", "a"]), queued=-7200)
    waiting = worker("waiting", 1, 1, queued=-60)
    state = cluster(node("a", 4), node("b", 1), near, far, waiting)
    assert sizes(plan_of(THROUGHPUT, state)) == {"far": 1}
    assert sizes(plan_of(replace(THROUGHPUT, colocate=False), state)) == {"near": 2}


def test_weights_by_priority_give_a_heavier_class_more_of_the_extras() -> None:
    policy = weighted(POLICIES["fair"], {1: 2})
    light = worker("light", 1, 31, on=["a"])
    heavy = worker("heavy", 1, 31, on=["a"], priority=1)
    state = cluster(node("a", 32), light, heavy)
    assert sizes(plan_of(policy, state)) == {"light": 11, "heavy": 21}
    assert sizes(plan_of(POLICIES["fair"], state)) == {"light": 16, "heavy": 16}


def test_a_weight_holds_up_to_the_next_priority_that_has_one() -> None:
    policy = weighted(POLICIES["fair"], {10: 4, 5: 2})
    jobs = [worker(f"p{number}", 1, 101, on=["a"], priority=number) for number in (0, 5, 9, 10)]
    found = sizes(plan_of(policy, cluster(node("a", 94), *jobs)))
    assert found == {"p0": 11, "p5": 21, "p9": 21, "p10": 41}


def test_a_malformed_weight_is_refused() -> None:
    with pytest.raises(ValueError, match="priority weight 5=0: a number above 0"):
        weighted(POLICIES["fair"], {5: 0})


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
def test_a_minimum_that_was_raised_takes_extras_whatever_the_policy(policy: Policy) -> None:
    vip = worker("vip", 4, 6, on=["a"] * 2, priority=5)
    rich = worker("rich", 1, 9, on=["a"] * 6)
    plan = plan_of(policy, cluster(node("a", 8), vip, rich))
    assert sizes(plan) == {"rich": 4}
    assert wait_reasons(plan)["vip"] == reasons.leaving(2)
    poor = worker("rich", 1, 9, on=["a"] * 4)
    assert sizes(plan_of(policy, cluster(node("a", 8), vip, poor)))["vip"] == 4


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
def test_a_minimum_that_was_raised_stays_unmet_without_extras(policy: Policy) -> None:
    raised = worker("raised", 4, 6, on=["a"] * 2)
    firm = worker("firm", 6, 6, on=["a"] * 6)
    plan = plan_of(policy, cluster(node("a", 8), raised, firm))
    assert not plan.resizes
    assert wait_reasons(plan)["raised"].code is Code.INSUFFICIENT_CAPACITY
    assert [one.position for one in plan.waiting] == [0]


def test_a_minimum_that_was_raised_takes_extras_as_far_as_its_budget_allows() -> None:
    charges = (QuotaCharge("edl.dev/gpu-budget", "GPUs", 1000),)
    quota = Quota("ns", "edl.dev/gpu-budget", "GPUs", 3000)
    raised = worker("raised", 4, 6, on=["a"] * 2, charges=charges)
    rich = worker("rich", 1, 9, on=["a"] * 6)
    state = replace(cluster(node("a", 8), raised, rich), quotas=(quota,))
    assert sizes(plan_of(THROUGHPUT, state)) == {"rich": 5}


def test_fulfilment_counts_replicas_where_minimum_and_maximum_are_equal() -> None:
    raised = run_passes(cluster(node("a", 8), worker("raised", 4, 4, on=["a"])), FIFO, ALL).snapshot
    (allocation,) = raised.allocations
    assert [fulfilment(allocation, size) for size in (2, 4, 5)] == [-2, 0, 1]


def test_throughput_starts_a_job_on_the_one_node_that_holds_it_just_once() -> None:
    there = (node("a", 9, cordoned=True), node("b", 1), node("c", 2))
    state = cluster(*there, worker("mnist", 2, 2))
    found = run_passes(state, THROUGHPUT, ALL)
    (allocation,) = found.snapshot.allocations
    assert [placement.node for placement in allocation.placements] == [
        found.snapshot.capacity.index["c"]
    ] * 2


def test_throughput_counts_calm_from_the_job_that_moved_last() -> None:
    busy = worker("busy", 1, 4, on=["a"], started_at=at(-59))
    calm = worker("calm", 1, 4, on=["a"], started_at=at(-600))
    assert sizes(plan_of(THROUGHPUT, cluster(node("a", 4), calm, busy))) == {}
