"""Started jobs whose pods the Job controller cannot create, or another controller holds back."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from edl import contract, reasons
from edl.messages import message
from edl.model import Pod, PodPhase, Reason, ResizePolicy, TrainingJob
from edl.planner.decide import decide
from edl.planner.plan_cache import PlanCache
from edl.planner.policies import POLICIES
from tests.edl.planner.acting import quiet
from tests.edl.planner.plans import ALL, plan_for, sizes, started
from tests.edl.planner.states import at, cluster, node, pod, worker

FAIR = POLICIES["fair"]
MINUTE = 60.0


def refused(reported: float, **fields: Any) -> TrainingJob:  # noqa: ANN401 - of a role
    """A gang of three that runs for a day; an admission policy refuses to create some pods.

    `reported`: when the Job controller last changed its Job's status.
    """
    began = {"started_at": at(-86400), "resized_at": at(-86400), "reported_at": at(reported)}
    usual = {"suspended": False, "size": 3, "failures": 1, "failures_at_start": 1, "pods": ()}
    return worker("old", 3, 3, **(usual | began | fields))


def suspended(job: TrainingJob, seconds: float = 0) -> list[Reason]:
    plan = plan_for(cluster(node("a", 4), job, seconds=seconds))
    return [one.reason for one in plan.suspensions]


@pytest.mark.parametrize(
    ("fields", "back_off"),
    [
        ({}, 10),
        ({"failures": 4}, 80),
        ({"failures": 40}, 600),
        ({"failures": 0, "ignores": True}, 600),
        ({"failures": 1, "pods": (pod(1, "a"), pod(2, "a"))}, 10),
    ],
    ids=["one failure", "four", "forty", "uncounted failures", "others run"],
)
def test_a_gang_whose_pods_are_refused_has_the_gang_limit_after_the_back_off(
    fields: dict[str, Any], back_off: float
) -> None:
    """The back-off counts from the Job controller's last word."""
    job = refused(0, **fields)
    assert suspended(job, back_off + 119) == []
    assert suspended(job, back_off + 120) == [reasons.GANG_UNSCHEDULABLE_CREATION]


def test_the_plan_is_made_again_when_the_back_off_is_over_and_when_the_gang_limit_is() -> None:
    job = refused(0, failures=4)
    plan = plan_for(cluster(node("a", 4), job, seconds=30))
    assert plan.recheck_after == timedelta(seconds=50)
    plan = plan_for(cluster(node("a", 4), job, seconds=120))
    assert plan.recheck_after == timedelta(seconds=80)


def test_each_change_of_its_status_begins_the_wait_anew() -> None:
    """Another pod failed, or was created."""
    assert suspended(refused(-131)) == [reasons.GANG_UNSCHEDULABLE_CREATION]
    assert suspended(refused(-1)) == []


def test_a_gang_has_time_from_its_start_whenever_its_status_was_last_changed() -> None:
    job = replace(refused(-600), started_at=at(-119))
    assert suspended(job) == []
    assert suspended(job, 1) == [reasons.GANG_UNSCHEDULABLE_CREATION]


@pytest.mark.parametrize(
    ("left", "late"),
    [
        (pod(2, "a", terminating=True, due_at=at(-1)), False),
        (pod(2, "a", terminating=True, due_at=at(3600)), False),
        (pod(2, "a", terminating=True, due_at=at(-131)), True),
        (pod(2, "a", terminating=True), False),
        (pod(2, "a", phase=PodPhase.FAILED, finalizers=(contract.JOB_TRACKING,)), False),
        (pod(2, "a", phase=PodPhase.FAILED, finalizers=()), True),
    ],
    ids=["gone soon", "in its grace period", "stuck", "unknown", "not counted yet", "counted"],
)
def test_a_pod_that_leaves_is_waited_for_until_it_should_be_gone(left: Pod, *, late: bool) -> None:
    """With a podFailurePolicy its replacement is created only then."""
    job = refused(-86000, pods=(pod(0, "a"), pod(1, "a"), left))
    assert suspended(job) == ([reasons.GANG_UNSCHEDULABLE_CREATION] if late else [])


def test_extras_that_cannot_be_created_are_given_back() -> None:
    rest = tuple(pod(index, "a") for index in range(3))
    elastic = worker("old", 3, 9, suspended=False, size=5, pods=rest, failures=1,
                     reported_at=at(0), resized_at=at(-900))  # fmt: skip
    assert sizes(plan_for(cluster(node("a", 5), elastic, seconds=39))) == {}
    plan = plan_for(cluster(node("a", 5), elastic, seconds=40))
    assert [(one.after, one.reason) for one in plan.resizes] == [
        (3, reasons.UNSCHEDULABLE_CREATION)
    ]


def test_one_completed_item_keeps_no_capacity_for_items_that_are_refused() -> None:
    done = pod(9, "a", phase=PodPhase.SUCCEEDED, ready=False, finalizers=())
    items = worker("items", 1, 9, suspended=False, size=4, pods=(pod(0, "a"), done), remaining=50,
                   resizing=ResizePolicy.ITEMS, indexed=False, resized_at=at(-900),
                   reported_at=at(0))  # fmt: skip
    assert sizes(plan_for(cluster(node("a", 4), items, seconds=39))) == {}
    assert sizes(plan_for(cluster(node("a", 4), items, seconds=40))) == {"items": 1}


def test_other_jobs_get_the_capacity() -> None:
    new = worker("new", 3, 3)
    assert started(plan_for(cluster(node("a", 4), refused(-129), new))) == {}
    assert started(plan_for(cluster(node("a", 4), refused(-131), new))) == {"new": {"worker": 3}}


def gated(created: float, *gates: str) -> TrainingJob:
    waits: dict[str, Any] = {
        "created_at": at(created),
        "gates": gates,
        "refusal": f"SchedulingGated: {gates[0]}",
    }
    pods = tuple(pod(index, **waits) for index in range(2))
    fields = {"suspended": False, "size": 2, "pods": pods, "started_at": at(created)}
    return worker("held", 2, 2, **fields)


def test_pods_that_another_controller_holds_back_have_ten_minutes_and_the_gang_limit() -> None:
    job = gated(0, "example.com/never")
    assert suspended(job, 12 * MINUTE - 1) == []
    (reason,) = suspended(job, 12 * MINUTE)
    assert message(reason) == (
        "not all pods of its last start could be scheduled (SchedulingGated: example.com/never): "
        "requeued"
    )
    plan = plan_for(cluster(node("a", 4), job, seconds=MINUTE))
    assert plan.recheck_after == timedelta(minutes=9)


def test_a_launcher_that_waits_for_its_host_list_has_no_limit() -> None:
    assert suspended(gated(0, contract.HOSTS_GATE), 86400) == []


@pytest.mark.parametrize(("there", "kept"), [(2, False), (3, True)])
def test_a_kept_plan_depends_on_the_status_only_while_pods_are_missing(
    there: int, *, kept: bool
) -> None:
    """Whether pods are ready changes a Job's status, too, and no plan."""
    job = refused(0, failures=9, pods=tuple(pod(index, "a") for index in range(there)))
    state, memory = cluster(node("a", 4), job), PlanCache()
    assert quiet(decide(state, FAIR, ALL, memory))
    assert memory.get(state, FAIR, ALL)
    later = replace(job, roles=(job.roles[0].changed(reported_at=at(1)),))
    assert bool(memory.get(replace(state, jobs=(later,)), FAIR, ALL)) == kept
