"""A raised minimum that the nodes never hold takes nothing from other jobs."""

import pytest
from msgspec.structs import replace

from edl import messages
from edl.messages import message
from edl.model import Code, ResizePolicy, TrainingJob
from edl.planner.decision_limits import Autoscaler
from edl.planner.explain.blocker_search import BlockerSearch
from edl.planner.explain.explanation import explain
from edl.planner.explain.what_if_state import DecisionInput
from edl.planner.policies import POLICIES
from tests.edl.planner.acting import quiet
from tests.edl.planner.plans import ALL, plan_for, sizes, wait_reasons
from tests.edl.planner.states import busy, cluster, job, node, role, room, shape, worker


@pytest.mark.parametrize("resizing", [ResizePolicy.LIVE, ResizePolicy.RESTART])
def test_it_takes_no_extras_and_no_idle_capacity(resizing: ResizePolicy) -> None:
    raised = worker("raised", 9, 10, on=["a"] * 2, resizing=resizing)
    other = worker("other", 1, 4, on=["a"] * 4, resizing=ResizePolicy.RESTART)
    plan = plan_for(cluster(node("a", 8), raised, other))
    assert quiet(plan)
    assert message(wait_reasons(plan)["raised"]) == (
        "Insufficient cpu, even if no training job ran: needs 9 x 1 CPU (worker); "
        "8 of 9 pods would fit"
    )


def test_a_minimum_that_others_hold_up_for_now_is_approached_as_before() -> None:
    raised, other = worker("raised", 8, 10, on=["a"] * 2), worker("other", 1, 4, on=["a"] * 4)
    state = cluster(node("a", 8), raised, other)
    assert sizes(plan_for(state)) == {"raised": 4, "other": 1}


def test_pods_of_other_owners_count_as_they_do_for_a_queued_job() -> None:
    raised, other = worker("raised", 7, 10, on=["a"] * 2), worker("other", 1, 4, on=["a"] * 4)
    assert wait_reasons(plan_for(cluster(busy(node("a", 8), room(2)), raised, other)))[
        "raised"
    ].code is (Code.NEVER_FITS)


def test_pods_on_a_cordoned_node_count_where_they_are() -> None:
    raised = worker("raised", 4, 6, on=["b"] * 2)
    state = cluster(node("a", 2), node("b", 2, cordoned=True), raised)
    assert sizes(plan_for(state)) == {"raised": 4}


def test_all_roles_of_the_job_that_are_below_their_minimum_have_to_fit() -> None:
    ps, workers = role("ps", 3, 4, on=["a"], shape=shape(2)), role("worker", 3, 4, on=["a"])
    plan = plan_for(cluster(node("a", 8), job("raised", ps, workers)))
    assert quiet(plan)
    assert wait_reasons(plan)["raised"].code is Code.NEVER_FITS
    assert sizes(plan_for(cluster(node("a", 9), job("raised", ps, workers)))) != {}


def test_where_an_autoscaler_adds_nodes_no_minimum_is_out_of_reach() -> None:
    raised, other = worker("raised", 9, 10, on=["a"] * 2), worker("other", 1, 6, on=["a"] * 6)
    scaled = replace(ALL, autoscaler=Autoscaler.PRESENT)
    assert sizes(plan_for(cluster(node("a", 8), raised, other), scaled)) == {"other": 1}


def helps(raised: TrainingJob, *others: TrainingJob) -> set[str]:
    """What `explain` says would help each role of the job, on 8 cores."""
    state = DecisionInput(cluster(node("a", 8), raised, *others), POLICIES["fair"], ALL)
    found = explain(state, raised.key)
    assert found is not None
    blockers = [one for role in found.roles for one in (role.blockers or BlockerSearch()).found]
    return {messages.remedy(one, "raised -n ns") for one in blockers}


def test_explain_names_the_minimum_that_would_fit() -> None:
    assert helps(worker("raised", 9, 10, on=["a"] * 2)) == {
        (
            "more nodes, or a min of at most 8 for worker: "
            "kubectl edl scale raised -n ns --role worker --min 8"
        )
    }
    ps, workers = role("ps", 5, 9, on=["a"]), role("worker", 5, 9, on=["a"])
    assert helps(job("raised", ps, workers)) == {"more nodes, or smaller minimums"}


def test_the_minimum_that_would_fit_leaves_other_jobs_theirs() -> None:
    raised, other = worker("raised", 9, 10, on=["a"] * 2), worker("other", 3, 4, on=["a"] * 4)
    (helped,) = helps(raised, other)
    assert helped.startswith("more nodes, or a min of at most 5 for worker: ")
    (one,) = raised.roles
    lowered = replace(raised, roles=(one.changed(min=5),))
    assert sizes(plan_for(cluster(node("a", 8), lowered, other))) == {"raised": 4, "other": 3}


def test_a_minimum_for_which_the_pods_were_not_made_needs_a_new_job() -> None:
    raised = worker("raised", 9, 10, on=["a"] * 2)
    (one,) = raised.roles
    made = replace(one, template=replace(one.template, sizes=(9, 10)))
    assert helps(replace(raised, roles=(made,))) == {
        "more nodes, or a new Job with a min of at most 8 for worker, as these pods wait for 9"
    }
