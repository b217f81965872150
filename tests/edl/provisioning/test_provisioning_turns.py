"""Jobs that can never get nodes do not keep others from requesting theirs."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from edl import contract, messages
from edl.model import (
    Code,
    FailedAttempt,
    JobKey,
    ObjectRef,
    ProvisionalPod,
    Provisioning,
    TrainingJob,
)
from edl.planner.decide import decide
from edl.planner.decision_limits import Autoscaler, Limits, ProvisionerSettings
from edl.planner.plan import Plan
from edl.planner.policies import POLICIES
from tests.edl.planner.states import at, cluster, job, node, role, shape
from tests.edl.provisioning.autoscaled_cluster import AutoscaledCluster


def limits(turns: int) -> Limits:
    return Limits(
        autoscaler=Autoscaler.PRESENT,
        provisioning=ProvisionerSettings(provisioning_parallelism=turns),
    )


def gang(
    name: str,
    *,
    namespace: str = "ns",
    failed: int = 0,
    since: int | None = None,
    priority: int = 0,
) -> TrainingJob:
    """A queued job of one pod that fits no node; `failed`: seconds since its request failed."""
    failure = FailedAttempt(at(-failed), 1, "") if failed else None
    pods = (
        ()
        if since is None
        else (
            ProvisionalPod(f"{name}-0", f"uid-{name}", "worker", "", at(since), shape(5).requests),
        )
    )
    made = job(
        name,
        role("worker", 1, 1, shape=shape(5)),
        priority=priority,
        provisioning=Provisioning(pods=pods, failure=failure),
    )
    return replace(made, key=JobKey(namespace, name))


def plan_of(*jobs: TrainingJob, turns: int = 5) -> Plan:
    return decide(cluster(node("a", 4), *jobs), POLICIES["fair"], limits(turns))


def requesting(*jobs: TrainingJob, turns: int = 5) -> set[str]:
    return {one.job.name for one in plan_of(*jobs, turns=turns).requests}


def test_requests_that_exist_count_before_new_ones_are_made() -> None:
    """Else jobs ahead that return from their back-off request beside all those behind them."""
    assert requesting(gang("a", failed=700), gang("b", since=-5), turns=1) == {"b"}


def test_failed_jobs_leave_half_of_the_turns_to_those_that_have_not_failed() -> None:
    failed = [gang(f"a{number}", failed=700) for number in range(5)]
    fresh = [gang(f"b{number}") for number in range(5)]
    assert requesting(*failed, *fresh, turns=4) == {"a0", "a1", "b0", "b1"}
    assert requesting(*failed, turns=4) == {"a0", "a1", "a2", "a3"}
    assert requesting(*fresh, turns=4) == {"b0", "b1", "b2", "b3"}


def test_half_is_counted_with_the_requests_that_exist() -> None:
    failed = [gang(f"a{number}", failed=700, since=-5) for number in range(3)]
    assert requesting(*failed, gang("a4", failed=700), gang("b"), turns=4) == {
        "a0", "a1", "a2", "b",
    }  # fmt: skip


def test_a_single_turn_goes_to_the_one_that_waits_longer() -> None:
    first, last = gang("a", failed=700), gang("b")
    assert requesting(first, replace(last, queued_at=at(-800)), turns=1) == {"b"}
    assert requesting(first, replace(last, queued_at=at(-100)), turns=1) == {"a"}


def test_failed_jobs_request_in_the_order_in_which_their_back_offs_ended() -> None:
    assert requesting(gang("a", failed=500), gang("b", failed=900), turns=1) == {"b"}


def test_the_namespace_with_fewer_requests_comes_first() -> None:
    many = [gang(f"a{number}") for number in range(9)]
    one = gang("z", namespace="other")
    assert requesting(*many, one, turns=3) == {"a0", "a1", "z"}
    held = [gang(f"a{number}", since=-5) for number in range(2)]
    assert requesting(*held, *many[2:], one, turns=3) == {"a0", "a1", "z"}


def test_no_priority_takes_the_turn_of_a_gang_whose_nodes_come() -> None:
    """Else each new job for which no node can come makes it lose those that came."""
    held = [gang("a", since=-50), gang("b", since=-5)]
    high = [gang(f"high{number}", priority=1 + number) for number in range(2)]
    assert requesting(*held, *high, turns=2) == {"a", "b"}
    assert requesting(held[0], gang("equal"), *high, turns=2) == {"a", "high1"}


def test_a_turn_that_no_other_job_needs_is_not_kept_free() -> None:
    """Jobs that wait for something else take none."""
    other = gang("other", namespace="other")
    paused = replace(other, provisioning=Provisioning(contract.Provision.NEVER))
    failed = [gang(f"a{number}", failed=700) for number in range(9)]
    assert requesting(*failed, paused, turns=2) == {"a0", "a1"}


def test_a_job_that_waits_for_its_turn_says_so_without_any_node() -> None:
    state = cluster(gang("a"), gang("b"))
    held = {one.job.name: one for one in decide(state, POLICIES["fair"], limits(1)).waiting}
    assert held["b"].reason.code is Code.QUEUE_ORDER


@pytest.mark.laws
@settings(max_examples=60)
@given(st.data(), st.integers(1, 5))
def test_no_more_jobs_request_than_have_turns_and_no_turn_is_left_over(
    data: st.DataObject, turns: int
) -> None:
    jobs = [
        gang(
            f"j{number}",
            namespace=data.draw(st.sampled_from("ab")),
            failed=data.draw(st.sampled_from([0, 100, 700])),
            since=data.draw(st.sampled_from([None, None, -5])),
            priority=data.draw(st.integers(0, 1)),
        )
        for number in range(data.draw(st.integers(1, 9)))
    ]
    assert len(requesting(*jobs, turns=turns)) == min(turns, len(jobs))


@pytest.mark.laws
@settings(max_examples=30)
@given(st.integers(0, 12), st.integers(2, 5))
def test_failed_jobs_of_others_do_not_delay_a_job_that_has_not_failed(bad: int, turns: int) -> None:
    failed = [gang(f"a{number}", failed=700, priority=1) for number in range(bad)]
    assert "good" in requesting(*failed, gang("good"), turns=turns)


@pytest.mark.slow
def test_a_pool_without_room_serves_the_head_of_the_queue_once_it_has_some() -> None:
    briefly = ProvisionerSettings(
        provisioning_parallelism=2, provisioning_timeout=timedelta(minutes=1)
    )
    world = AutoscaledCluster(most=0, delay=15, limits=Limits(provisioning=briefly))
    world.gang("head", 2)
    world.settle(1800)
    world.most = 100
    for number in range(60):
        world.gang(f"later-{number:02}", 2, cpu=100)
        world.settle(30)
    assert world.running("head") == 2


def beside_a_running_job() -> AutoscaledCluster:
    """Of two gangs of two pods, which present nodes could hold if `runs` ended, one requests."""
    world = AutoscaledCluster(delay=100_000, limits=limits(1))
    world.node("first")
    world.gang("runs", 2)
    world.settle(30)
    world.gang("asks", 2)
    world.settle(10)
    world.gang("waits", 2)
    world.settle(10)
    return world


def test_a_job_that_would_fit_without_running_jobs_waits_for_its_turn_too() -> None:
    world = beside_a_running_job()
    assert len(world.provisional("asks")) == 2
    (why,) = (one.reason for one in world.plan.waiting if one.job.name == "waits")
    assert why.code is Code.QUEUE_ORDER
    lacks = "Insufficient cpu: needs 2 x 4 CPU, 1Gi memory (worker); 0 of 2 pods fit"
    first = "nodes are requested for jobs ahead of it first"
    assert messages.message(why) == f"{first}; {lacks}"
    assert world.notes("waits")[contract.REASON] == "QueueOrder"


def test_without_the_running_job_it_starts_before_its_turn() -> None:
    world = beside_a_running_job()
    world.api.delete(ObjectRef("Job", "lab", "runs"))
    for name in ("runs-0", "runs-1"):
        world.delete_pod(name)
    world.settle(30)
    assert world.running("asks") + world.running("waits") == 2
