"""A job that trains on without a lost pod is not stopped because the API server refuses another."""

from typing import Any

import pytest
from msgspec.structs import replace

from edl.model import ClusterState, Code, JobKey, Quota, QuotaCharge, TrainingJob
from tests.edl.planner.plans import ALL, plan_for, sizes, wait_reasons
from tests.edl.planner.states import at, cluster, node, worker

CHARGE = (QuotaCharge('ResourceQuota "q"', "pods", 1),)
REFUSED: list[dict[str, Any]] = [
    {"charges": CHARGE},
    {"pod_refusals": ("LimitRange refuses",)},
    {"missing_class": "gone"},
]


def lost(framework: str, **fields: Any) -> TrainingJob:  # noqa: ANN401 - of its worker
    """A job of three, of which one pod was lost long ago; the Job controller's back-off is over."""
    times = {"started_at": at(-3000), "failures": 1, "reported_at": at(-600)}
    job = worker("lost", 3, 3, on=["a"] * 3, priority=5, **(times | fields))
    (part,) = job.roles
    return replace(job, framework=framework, roles=(part.changed(pods=part.status.pods[:2]),))


def beside(job: TrainingJob, cpu: float = 9) -> ClusterState:
    """A job of another namespace has extras on the node; its quota is for two pods."""
    other = worker("other", 1, 9, on=["a"] * 2)
    other = replace(other, key=JobKey("b", "other"))
    quota = Quota("ns", 'ResourceQuota "q"', "pods", 2, 0)
    return replace(cluster(node("a", cpu), job, other), quotas=(quota,))


@pytest.mark.parametrize("fields", REFUSED)
def test_a_job_that_trains_on_keeps_its_pods(fields: dict[str, Any]) -> None:
    assert plan_for(beside(lost("none", **fields)), ALL).suspensions == ()


def test_a_job_that_trains_on_goes_back_to_the_queue_if_it_may_start_again() -> None:
    (stop,) = plan_for(beside(lost("none")), ALL).suspensions
    assert stop.reason.code is Code.GANG_UNSCHEDULABLE


@pytest.mark.parametrize("fields", REFUSED)
def test_a_job_that_stands_still_leaves_its_nodes_to_others(fields: dict[str, Any]) -> None:
    (stop,) = plan_for(beside(lost("pytorch", **fields)), ALL).suspensions
    assert stop.reason.code is Code.GANG_UNSCHEDULABLE


@pytest.mark.parametrize("fields", REFUSED)
def test_a_start_of_which_pods_are_refused_goes_back_to_the_queue(fields: dict[str, Any]) -> None:
    begun = lost("none", **(fields | {"failures": 0, "started_at": at(-300)}))
    assert len(plan_for(beside(begun), ALL).suspensions) == 1


@pytest.mark.parametrize("fields", REFUSED)
def test_no_job_yields_for_a_pod_that_is_refused(fields: dict[str, Any]) -> None:
    recent = fields | {"reported_at": at(-60)}
    plan = plan_for(beside(lost("none", **recent), 4), ALL)
    assert (sizes(plan), plan.suspensions) == ({}, ())
    created = plan_for(beside(lost("none", reported_at=at(-60)), 4), ALL)
    assert sizes(created) == {"other": 1}
    assert wait_reasons(created)["lost"].code is Code.PODS_MISSING
