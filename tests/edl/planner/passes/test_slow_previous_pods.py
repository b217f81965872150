"""No job yields to a start long before the pods of the job's earlier start have ended."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from edl import reasons
from edl.model import ClusterState, Pod, TrainingJob
from edl.planner.decision_limits import Limits
from tests.edl.planner.plans import ALL, plan_for, sizes, started, wait_reasons
from tests.edl.planner.states import at, cluster, node, pod, worker

LIMITS = Limits(load_ceiling=1)
MINUTES = timedelta(minutes=10)


def ending(seconds: float) -> Pod:
    return pod(0, "n1", terminating=True, due_at=at(seconds))


def again(left: Pod, count: int = 3, **fields: Any) -> TrainingJob:  # noqa: ANN401 - of its worker
    """A queued job of three pods; a pod of its earlier start runs its grace period out."""
    return worker("again", count, count, **({"pods": (left,), "queued": -60} | fields))


def beside(*jobs: TrainingJob) -> ClusterState:
    return cluster(node("n1", 1), node("n2", 4), *jobs)


@pytest.mark.parametrize(
    ("left", "yields"),
    [
        (ending(61), {}),
        (ending(60), {"live": 2}),
        (ending(-1), {"live": 2}),
        (pod(0, "n1", terminating=True), {"live": 2}),
        (pod(0, "n1"), {}),
    ],
    ids=["in a minute", "within a minute", "overdue", "unknown", "not deleted yet"],
)
def test_extras_yield_once_the_pods_before_soon_end(left: Pod, yields: dict[str, int]) -> None:
    job = again(left, grace_period=MINUTES)
    plan = plan_for(beside(job, worker("live", 1, 4, on=["n2"] * 4)), ALL)
    assert (sizes(plan), wait_reasons(plan)["again"]) == (yields, reasons.PODS_TERMINATING)


def test_a_plan_is_made_again_when_jobs_are_to_yield() -> None:
    state = beside(again(ending(600)), worker("live", 1, 4, on=["n2"] * 4))
    assert plan_for(state, ALL).recheck_after == timedelta(seconds=540)


def test_no_job_is_preempted_before_that() -> None:
    preempt = replace(ALL, preempt=True)
    low = worker("low", 4, 4, on=["n2"] * 4)
    first = beside(again(ending(600), priority=1), low)
    assert plan_for(first, preempt).suspensions == ()
    soon = beside(again(ending(30), priority=1), low)
    assert [found.job.name for found in plan_for(soon, preempt).suspensions] == ["low"]


def test_what_becomes_idle_is_kept_for_it_and_no_job_behind_it_starts_there() -> None:
    behind = worker("behind", 3, 3, queued=-10)
    plan = plan_for(beside(again(ending(600)), behind), ALL)
    assert (list(started(plan)), wait_reasons(plan)["again"]) == ([], reasons.PODS_TERMINATING)


def test_it_keeps_its_place_in_the_queue() -> None:
    """Too little is idle for it; after five minutes no job behind it takes that."""
    running = worker("running", 2, 2, on=["n2"] * 2)
    behind = worker("behind", 2, 2, queued=-10)
    early = plan_for(beside(again(ending(600), 4), running, behind), LIMITS)
    assert list(started(early)) == ["behind"]
    waited = again(ending(600), 4, queued=-400)
    late = plan_for(beside(waited, running, behind), LIMITS)
    assert (list(started(late)), wait_reasons(late)["behind"]) == (
        [],
        reasons.goes_first(waited.key),
    )
