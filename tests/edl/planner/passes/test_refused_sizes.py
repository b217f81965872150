"""A role whose new size the API server refuses keeps its size, and others get the capacity."""

from typing import Any

import pytest
from msgspec.structs import replace

from edl import reasons
from edl.job_state import phases
from edl.model import Code, Node, RefusedSize, TrainingJob, WriteRefusal
from edl.planner.decide import decide
from edl.planner.decision_limits import Limits
from edl.planner.plan import Plan
from edl.planner.policies import POLICIES
from tests.edl.planner.plans import ALL, plan_for, sizes, started, told, wait_reasons
from tests.edl.planner.states import at, cluster, job, node, role, worker

POLICY = "not at this hour"


def grown(
    job: TrainingJob, size: int, name: str = "worker", *, lifted: bool = False
) -> TrainingJob:
    """The job after the API server refused to scale it up."""
    found = RefusedSize(name, size, grows=True)
    return replace(job, refusals=(WriteRefusal(at(-1), 1, POLICY, found, lifted=lifted),))


def shrunk(job: TrainingJob, size: int, name: str = "worker") -> TrainingJob:
    """The job after the API server refused to scale it down to a size, or, at 0, to suspend it."""
    found = RefusedSize(name, size, grows=False)
    return replace(job, refusals=(WriteRefusal(at(-1), 1, POLICY, found),))


def preempting(*things: Node | TrainingJob) -> Plan:
    return decide(cluster(*things), POLICIES["fair"], Limits(preempt=True))


def test_capacity_of_a_refused_scale_up_goes_to_others_in_the_next_decision() -> None:
    small, other = worker("small", 1, 8, on=["a"]), worker("other", 1, 8, on=["a"])
    assert sizes(plan_for(cluster(node("a", 8), small, other))) == {"small": 4, "other": 4}
    plan = plan_for(cluster(node("a", 8), grown(small, 4), other))
    assert sizes(plan) == {"other": 7}
    assert wait_reasons(plan)["small"].code is Code.WRITE_REFUSED
    assert told(plan)["small"] == "the API server refuses its new size: not at this hour"


def test_no_other_role_scales_down_for_a_scale_up_that_is_refused() -> None:
    small, large = worker("small", 1, 8, on=["a"]), worker("large", 1, 8, on=["a"] * 7)
    assert "large" in sizes(plan_for(cluster(node("a", 8), small, large)))
    assert plan_for(cluster(node("a", 8), grown(small, 4), large)).resizes == ()


def test_a_raised_minimum_that_is_refused_takes_nothing() -> None:
    raised = worker("raised", 4, 8, on=["a"])
    large = worker("large", 1, 8, on=["a"] * 7)
    assert "large" in sizes(plan_for(cluster(node("a", 8), raised, large)))
    assert plan_for(cluster(node("a", 8), grown(raised, 4), large)).resizes == ()


def test_extras_of_a_role_whose_scale_up_is_refused_still_yield() -> None:
    kept = grown(worker("kept", 1, 8, on=["a"] * 4), 6)
    plan = plan_for(cluster(node("a", 4), kept, worker("next", 2, 2)))
    assert sizes(plan) == {"kept": 2}


def test_sizes_that_a_dry_run_accepted_are_planned_again() -> None:
    small = grown(worker("small", 1, 8, on=["a"]), 4, lifted=True)
    assert sizes(plan_for(cluster(node("a", 8), small))) == {"small": 8}


def test_another_donor_yields_where_a_scale_down_is_refused() -> None:
    first, second = (worker(name, 1, 4, on=[name] * 4) for name in ("a", "b"))
    nodes, claim = (node("a", 4), node("b", 4)), worker("next", 1, 1)
    (donor,) = sizes(plan_for(cluster(*nodes, first, second, claim)))
    jobs = {"a": first, "b": second}
    jobs[donor] = shrunk(jobs[donor], 3)
    (other,) = jobs.keys() - {donor}
    assert sizes(plan_for(cluster(*nodes, *jobs.values(), claim))) == {other: 3}


def test_a_claim_waits_for_no_capacity_of_a_scale_down_that_is_refused() -> None:
    kept = shrunk(worker("kept", 1, 4, on=["a"] * 4), 2)
    plan = plan_for(cluster(node("a", 4), kept, worker("large", 2, 2)))
    assert (plan.resizes, started(plan)) == ((), {})
    assert wait_reasons(plan)["large"].code is Code.INSUFFICIENT_CAPACITY
    assert wait_reasons(plan)["kept"] == phases.why_kept(kept)


def test_a_refused_scale_down_to_a_manual_size_or_a_lower_max_keeps_the_size() -> None:
    manual = shrunk(worker("manual", 1, 4, on=["a"] * 4, replicas=2), 2)
    lowered = shrunk(worker("lowered", 1, 2, on=["b"] * 4), 2)
    state = cluster(node("a", 8), node("b", 8), manual, lowered)
    assert plan_for(state).resizes == ()


def test_a_role_that_gives_nothing_up_does_not_grow_either() -> None:
    kept = shrunk(worker("kept", 1, 8, on=["a"] * 4), 2)
    assert plan_for(cluster(node("a", 8), kept)).resizes == ()


def test_a_job_that_the_api_server_refuses_to_suspend_keeps_its_capacity() -> None:
    paused = worker("paused", 2, 4, on=["a"] * 2, paused=True)
    assert [one.job.name for one in plan_for(cluster(node("a", 4), paused)).suspensions] == [
        "paused"
    ]
    plan = plan_for(cluster(node("a", 4), shrunk(paused, 0), worker("next", 3, 3)))
    assert (plan.suspensions, plan.resizes, started(plan)) == ((), (), {})


def test_a_job_whose_scale_down_is_refused_can_be_suspended() -> None:
    paused = worker("paused", 1, 4, on=["a"] * 4, paused=True)
    plan = plan_for(cluster(node("a", 4), shrunk(paused, 2)))
    assert [one.job for one in plan.suspensions] == [paused.key]


def test_extras_of_a_job_that_the_api_server_refuses_to_suspend_still_yield() -> None:
    kept = shrunk(worker("kept", 1, 4, on=["a"] * 4), 0)
    plan = plan_for(cluster(node("a", 4), kept, worker("next", 2, 2)))
    assert sizes(plan) == {"kept": 2}


def test_another_job_is_preempted_where_a_suspension_is_refused() -> None:
    first, second = (worker(name, 4, 4, on=[name] * 4) for name in ("a", "b"))
    nodes, urgent = (node("a", 4), node("b", 4)), worker("urgent", 4, 4, priority=9)
    (victim,) = preempting(*nodes, first, second, urgent).suspensions
    jobs = {"a": first, "b": second}
    jobs[victim.job.name] = shrunk(jobs[victim.job.name], 0)
    (other,) = preempting(*nodes, *jobs.values(), urgent).suspensions
    assert {victim.job.name, other.job.name} == {"a", "b"}


def test_other_roles_of_the_job_are_resized() -> None:
    both = job("both", role("ps", 1, 4, on=["a"]), role("worker", 1, 4, on=["a"]))
    plan = plan_for(cluster(node("a", 8), grown(both, 4, name="ps")))
    assert [(one.role, one.after) for one in plan.resizes] == [("worker", 4)]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"pod_refusals": ("LimitRange refuses", "and quota")}, "LimitRange refuses; and quota"),
        ({"missing_class": "gone"}, 'PriorityClass "gone" does not exist'),
    ],
)
def test_a_role_does_not_grow_while_the_api_server_would_refuse_its_pods(
    fields: dict[str, Any], why: str
) -> None:
    """Else others would give it replicas again and again, for pods that are never created."""
    other = worker("other", 1, 8, on=["a"] * 2)
    plan = plan_for(cluster(node("a", 8), worker("late", 1, 6, on=["a"] * 2, **fields), other), ALL)
    assert sizes(plan) == {"other": 6}
    assert wait_reasons(plan)["late"] == reasons.quoted(Code.WRITE_REFUSED, why)
    urgent = worker("urgent", 5, 5, priority=1)
    full = cluster(node("a", 4), worker("late", 1, 6, on=["a"] * 4, **fields), urgent, node("b", 2))
    assert sizes(plan_for(full, ALL)) == {"late": 1}
