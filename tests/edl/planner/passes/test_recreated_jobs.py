"""Jobs that are created again under their name while pods of the deleted Jobs exist."""

from datetime import timedelta
from typing import Any

import pytest

from edl import reasons
from edl.model import Pod, Quota, TrainingJob
from edl.planner.decision_limits import Limits
from tests.edl.planner.plans import plan_for, started, wait_reasons
from tests.edl.planner.states import at, cluster, job, node, pod, role, worker

LIMITS = Limits(load_ceiling=1)
PATIENCE = LIMITS.queue_patience.total_seconds()
GANG_LIMIT = LIMITS.gang_limit.total_seconds()
TERMINATING = (pod(0, "a", terminating=True, due_at=at(30)),)


def again(previous: tuple[Pod, ...] = TERMINATING, **fields: Any) -> TrainingJob:  # noqa: ANN401
    return worker("again", 1, 1, previous_pods=previous, **({"queued": -1} | fields))


def test_a_job_does_not_start_beside_pods_of_its_deleted_jobs() -> None:
    assert wait_reasons(plan_for(cluster(node("a", 4), again()))) == {
        "again": reasons.PODS_TERMINATING
    }
    assert {*started(plan_for(cluster(node("a", 4), again(()))))} == {"again"}


def test_a_role_waits_for_the_pods_of_every_role_of_the_deleted_jobs() -> None:
    chief = role("chief", 1, 1, previous_pods=TERMINATING, is_leader=True)
    both = job("again", chief, role("worker", 1, 1))
    assert wait_reasons(plan_for(cluster(node("a", 4), both))) == {
        "again": reasons.PODS_TERMINATING
    }


def test_the_capacity_of_its_previous_pods_stays_reserved_for_it() -> None:
    previous = tuple(pod(index, "a", terminating=True, due_at=at(30)) for index in range(4))
    whole = worker("again", 4, 4, size=4, previous_pods=previous, queued=-9)
    plan = plan_for(cluster(node("a", 4), whole, worker("later", 1, 1, queued=-1)))
    assert wait_reasons(plan)["again"] == reasons.PODS_TERMINATING
    assert started(plan) == {}


def test_pods_on_a_node_that_is_not_ready_or_gone_are_not_waited_for() -> None:
    for nodes in ([node("a", 4, ready=False)], []):
        assert {*started(plan_for(cluster(*nodes, node("b", 4), again())))} == {"again"}


def test_pods_that_do_not_terminate_block_no_other_job() -> None:
    stuck = (pod(0, "b", terminating=True, due_at=at(-PATIENCE)),)
    small = worker("small", 1, 1, queued=-1)
    plan = plan_for(cluster(node("a", 1), node("b", 1), again(stuck, queued=-90000), small), LIMITS)
    assert wait_reasons(plan) == {"again": reasons.PODS_STUCK}
    assert {*started(plan)} == {"small"}


def test_pods_that_the_garbage_collector_has_yet_to_delete_are_waited_for_after_the_creation() -> (
    None
):
    """Else a job would start in the moment between the deletion of its Job and of its pods."""
    left = (pod(0, "a"),)
    plan = plan_for(cluster(node("a", 4), again(left, queued=1 - GANG_LIMIT)), LIMITS)
    assert wait_reasons(plan) == {"again": reasons.PODS_TERMINATING}
    assert plan.recheck_after == timedelta(seconds=1)
    late = again(left, queued=-GANG_LIMIT)
    assert {*started(plan_for(cluster(node("a", 4), late), LIMITS))} == {"again"}


def test_a_running_job_does_not_yield_to_a_job_whose_pods_are_yet_to_be_deleted() -> None:
    rich = worker("rich", 1, 4, on=["a"] * 3, queued=-9000)
    plan = plan_for(cluster(node("a", 4), rich, again((pod(0, "a"),), queued=-1)), LIMITS)
    assert not plan.resizes
    assert wait_reasons(plan)["again"] == reasons.PODS_TERMINATING


@pytest.mark.parametrize("seconds", [1, 121])
def test_a_recreated_role_waits_for_its_previous_pods_beside_roles_that_run(seconds: int) -> None:
    chief = role("chief", on=["a"], is_leader=True)
    workers = role("worker", 1, 1, previous_pods=TERMINATING, is_leader=False)
    half = job("half", chief, workers, started_at=at(-seconds))
    plan = plan_for(cluster(node("a", 9), half))
    assert (plan.admissions, plan.suspensions) == ((), ())
    free = job("half", chief, workers.changed(previous_pods=()), started_at=at(-seconds))
    assert {*started(plan_for(cluster(node("a", 9), free)))} == {"half"}


def test_a_recreated_role_whose_pods_do_not_terminate_sends_its_job_back_to_the_queue() -> None:
    stuck = (pod(0, "a", terminating=True, due_at=at(-PATIENCE)),)
    workers = role("worker", 1, 1, previous_pods=stuck, is_leader=False)
    chief = role("chief", on=["a"], is_leader=True)
    half = job("half", chief, workers, started_at=at(-121))
    plan = plan_for(cluster(node("a", 9), half), LIMITS)
    assert [one.reason for one in plan.suspensions] == [reasons.GANG_UNSCHEDULABLE_COMPLETION]


def test_a_quota_counts_previous_pods_until_they_are_gone() -> None:
    """The quota has room for one run: the next one waits for pods, not for the quota."""
    charges = (("quota q", "pods", 1),)
    quota = Quota("ns", "quota q", "pods", 1, 0)
    state = cluster(node("a", 4), again(charges=charges))
    plan = plan_for(state.__class__(state.observed_at, state.nodes, state.jobs, quotas=(quota,)))
    assert wait_reasons(plan) == {"again": reasons.PODS_TERMINATING}
