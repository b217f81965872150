"""Queued jobs with a pod of an earlier start that does not terminate."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from edl import reasons
from edl.messages import message
from edl.model import Code, JobKey, Pod, PodPhase, ResizePolicy, TrainingJob
from edl.model.causes.reason_codes import Reason, Restart
from edl.planner.decision_limits import Limits
from tests.edl.planner.plans import plan_for, sizes, started, wait_reasons
from tests.edl.planner.states import at, cluster, job, node, pod, role, room, shape, worker

LIMITS = Limits(load_ceiling=1)
PATIENCE = LIMITS.queue_patience.total_seconds()


def stuck(ended: float, **fields: Any) -> TrainingJob:  # noqa: ANN401 - of the job
    """A job for four nodes of four; its pod, whose grace period has `ended`, still runs."""
    left = pod(0, "b", terminating=True, due_at=at(ended))
    usual = {"pods": (left,), "size": 16, "suspended_at": at(ended), "started_at": at(-90000)}
    return worker("old", 16, 16, queued=-90000, **(usual | fields))


NODES = tuple(node(f"a{number}", 4) for number in range(4))
SMALL = tuple(worker(f"new-{number}", 3, 3, queued=-80000 + number) for number in range(4))


def test_a_job_whose_pods_never_terminate_keeps_no_room_and_delays_no_other() -> None:
    plan = plan_for(cluster(*NODES, node("b", 1), stuck(-PATIENCE), *SMALL), LIMITS)
    assert {*started(plan)} == {one.key.name for one in SMALL}
    assert wait_reasons(plan) == {"old": reasons.PODS_STUCK}
    assert message(reasons.PODS_STUCK) == (
        "its previous pods do not terminate: other jobs start ahead of it"
    )


def test_its_room_is_kept_until_its_pods_should_have_been_gone_for_long() -> None:
    plan = plan_for(cluster(*NODES, node("b", 1), stuck(1 - PATIENCE), *SMALL), LIMITS)
    assert started(plan) == {}
    assert wait_reasons(plan)["old"] == reasons.PODS_TERMINATING
    assert plan.recheck_after == timedelta(seconds=1)


@pytest.mark.parametrize(
    "left",
    [
        pod(0, "b", terminating=True),
        pod(0, "b", terminating=True, due_at=at(3600)),
        pod(0, "b", due_at=None),
    ],
    ids=["unknown", "in its grace period", "not deleted yet"],
)
def test_other_pods_of_an_earlier_start_are_waited_for(left: Pod) -> None:
    plan = plan_for(cluster(*NODES, node("b", 1), stuck(-86400, pods=(left,)), *SMALL), LIMITS)
    assert wait_reasons(plan)["old"] == reasons.PODS_TERMINATING


def test_no_replica_yields_to_it() -> None:
    rich = worker("rich", 1, 16, on=["a0"] * 4 + ["a1"] * 4, queued=-1)
    state = cluster(*NODES, node("b", 1), stuck(-PATIENCE), rich)
    assert sizes(plan_for(state, LIMITS)).get("rich", 8) >= 8


def test_it_starts_once_its_pods_are_gone() -> None:
    gone = stuck(-86400, pods=())
    assert "old" in started(plan_for(cluster(*NODES, node("b", 1), gone, *SMALL), LIMITS))


def test_a_restart_keeps_no_room_while_a_pod_of_long_ago_does_not_terminate() -> None:
    why = Reason(Code.RECLAIMED, reasons.room_for_job(JobKey("ns", "x")).about, Restart.STOPPED)
    fields = {"last": why, "resized_at": at(-1), "resizing": ResizePolicy.RESTART}
    plan = plan_for(cluster(*NODES, node("b", 1), stuck(-PATIENCE, **fields), *SMALL), LIMITS)
    assert {*started(plan)} == {one.key.name for one in SMALL}


@pytest.mark.parametrize(("ended", "yields"), [(-PATIENCE, True), (1 - PATIENCE, False)])
def test_no_claim_waits_for_the_capacity_of_a_pod_that_never_terminates(
    ended: float, *, yields: bool
) -> None:
    rich, claim = worker("rich", 1, 4, on=["a"] * 4), worker("claim", 4, 4, queued=-80000)
    state = cluster(node("a", 4), node("b", 4), stuck(ended), rich, claim)
    plan = plan_for(state, LIMITS)
    assert (sizes(plan).get("rich", 4) < 4) is yields
    assert started(plan) == {}


def test_a_job_that_only_fits_in_its_place_holds_up_no_other() -> None:
    pods = tuple(pod(index, "a", terminating=True, due_at=at(-PATIENCE)) for index in range(4))
    gone = stuck(-PATIENCE, pods=pods, size=4)
    big = job("big", role(low=1, high=1, shape=shape(4)), queued=-9000)
    state = cluster(node("a", 4), node("b", 1), gone, big, worker("small", 1, 1, queued=-80))
    assert "small" in started(plan_for(state, LIMITS))


def test_it_holds_no_more_than_is_releasing_on_its_node() -> None:
    left = pod(0, "b", terminating=True, due_at=at(-PATIENCE))
    large = job("again", role(low=1, high=1, shape=shape(8), previous_pods=(left,)), queued=-80)
    state = cluster(large, worker("claim", 6, 6, queued=-80))
    by_small_pod = replace(node("b", 8), used=room(1), releasing=room(1))
    plan = plan_for(replace(state, nodes=(by_small_pod,)), LIMITS)
    assert "claim" in started(plan)


def test_a_pod_that_has_ended_holds_no_capacity_however_long_it_stays() -> None:
    gone = pod(0, "b", terminating=True, due_at=at(-PATIENCE), phase=PodPhase.SUCCEEDED)
    claim = worker("claim", 4, 4, queued=-80000)
    plan = plan_for(cluster(node("b", 4), stuck(-PATIENCE, pods=(gone,)), claim), LIMITS)
    assert "claim" in started(plan)
