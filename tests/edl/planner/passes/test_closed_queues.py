"""A work queue of which a pod has succeeded is never suspended: Kubernetes would complete it.

Nor is it resized: Kubernetes neither adds pods to it nor removes any.
"""

from typing import Any

import pytest
from msgspec.structs import replace

from edl import contract, reasons
from edl.job_state import phases
from edl.model import Code, Pod, PodPhase, Reclaim, ResizePolicy, TrainingJob
from edl.planner.plan import Plan
from tests.edl.planner.plans import ALL, plan_for, sizes, told, wait_reasons
from tests.edl.planner.states import at, cluster, node, pod, worker
from tests.edl.planner.teams import of, team, with_teams

PREEMPT = replace(ALL, preempt=True)


def queue(
    low: int,
    high: int,
    *pods: Pod,
    closed: bool = True,
    **fields: Any,  # noqa: ANN401 - a builder's fields
) -> TrainingJob:
    """A started work queue; `closed`: of further pods, one has succeeded."""
    left = {"remaining": len(pods)} if closed else {}
    items = {"resizing": ResizePolicy.ITEMS, "indexed": False, "is_queue": True}
    started = {"suspended": False, "size": len(pods), "pods": pods}
    return worker("trials", low, high, **started, **items, **left, **fields)


def bound(count: int) -> list[Pod]:
    return [pod(index, "a") for index in range(count)]


def suspended(plan: Plan) -> list[str]:
    return [one.job.name for one in plan.suspensions]


@pytest.mark.parametrize("closed", [False, True])
def test_a_pause_is_not_carried_out(*, closed: bool) -> None:
    mine = queue(1, 2, *bound(2), closed=closed, paused=True)
    plan = plan_for(cluster(node("a", 2), mine))
    assert suspended(plan) == ([] if closed else ["trials"])
    if closed:
        assert wait_reasons(plan) == {"trials": reasons.PAUSE_REFUSED}
        assert phases.why_kept(mine) == reasons.PAUSE_REFUSED


@pytest.mark.parametrize("untracked", [False, True])
def test_a_success_counts_before_the_job_controller_has_counted_it(*, untracked: bool) -> None:
    """Unless a plan has deleted the pod: its Job never counts that one."""
    tracking = () if untracked else (contract.JOB_TRACKING,)
    done = pod(0, "a", phase=PodPhase.SUCCEEDED, ready=False, finalizers=tracking)
    mine = queue(1, 2, done, pod(1, "a"), closed=False, paused=True)
    assert suspended(plan_for(cluster(node("a", 2), mine))) == (["trials"] if untracked else [])


@pytest.mark.parametrize("closed", [False, True])
def test_it_is_not_preempted(*, closed: bool) -> None:
    low = queue(2, 2, *bound(2), closed=closed)
    plan = plan_for(cluster(node("a", 2), low, worker("high", 1, 1, priority=1)), PREEMPT)
    assert suspended(plan) == ([] if closed else ["trials"])


@pytest.mark.parametrize("closed", [False, True])
def test_a_guarantee_does_not_reclaim_it(*, closed: bool) -> None:
    low = queue(2, 2, *bound(2), closed=closed)
    jobs = [*of("b", low), *of("a", worker("mine", 2, 2))]
    owner = team("a", 2, reclaim=Reclaim.JOBS)
    plan = plan_for(with_teams(cluster(node("a", 2), *jobs), owner, team("b")))
    assert suspended(plan) == ([] if closed else ["trials"])


@pytest.mark.parametrize("closed", [False, True])
def test_it_is_not_queued_again_for_a_pod_that_finds_no_node(*, closed: bool) -> None:
    waiting = pod(1, created_at=at(-600))
    mine = queue(2, 2, pod(0, "a"), waiting, closed=closed, started_at=at(-900))
    assert suspended(plan_for(cluster(node("a", 1), mine))) == ([] if closed else ["trials"])


@pytest.mark.parametrize("closed", [False, True])
def test_no_claim_counts_on_its_extras(*, closed: bool) -> None:
    mine = queue(1, 4, *bound(4), closed=closed)
    plan = plan_for(cluster(node("a", 4), mine, worker("next", 2, 2)))
    assert sizes(plan) == ({} if closed else {"trials": 2})
    assert wait_reasons(plan)["next"].code is (
        Code.INSUFFICIENT_CAPACITY if closed else Code.PODS_TERMINATING
    )


@pytest.mark.parametrize("size", [2, 4])
def test_a_manual_size_changes_nothing(size: int) -> None:
    plan = plan_for(cluster(node("a", 9), queue(1, 4, *bound(3), replicas=size)))
    assert (plan.resizes, told(plan)) == ((), {})
