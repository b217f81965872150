"""Pods that a plan creates leave a job that restarts the nodes of its replicas."""

from datetime import timedelta
from typing import Any

import pytest

from edl import reasons
from edl.model import ClusterState, ResizePolicy, TrainingJob
from tests.edl.planner.acting import act, key
from tests.edl.planner.plans import ALL, plan_for, sizes, started, wait_reasons
from tests.edl.planner.states import at, cluster, demand, job, node, pod, role, shape, worker

NODES = [node(f"n{number}", 2) for number in range(1, 6)]


def restarting(low: int = 2, high: int = 3, **fields: Any) -> TrainingJob:  # noqa: ANN401
    """Two pods that each fill a node; a third would restart the job."""
    given: dict[str, Any] = {
        "on": ["n1", "n2"],
        "shape": shape(2),
        "resizing": ResizePolicy.RESTART,
    }
    return job("late", role("worker", low, high, **(given | fields)), queued=-9000)


def lived(state: ClusterState, *, lingering: bool) -> dict[str, int]:
    """How many pods run of each job after a minute, with a scheduler that spreads pods."""
    for _ in range(6):
        plan = plan_for(state, ALL)
        state = act(state, plan, after=timedelta(seconds=10), spreading=True, lingering=lingering)
    return {
        found.key.name: sum(bool(one.node) for one in found.roles[0].status.pods)
        for found in state.jobs
    }


def test_a_restart_to_grow_waits_for_the_pods_of_a_start() -> None:
    """Else they take the nodes that the job leaves, and it cannot come back."""
    state = cluster(*NODES, restarting(), worker("start", 4, 4, queued=-10))
    plan = plan_for(state, ALL)
    assert (list(started(plan)), sizes(plan)) == (["start"], {})
    assert wait_reasons(plan)["late"] == reasons.placed_after([key("start")])
    assert lived(state, lingering=False) == {"late": 2, "start": 4}
    assert lived(state, lingering=True) == {"late": 2, "start": 4}


def test_a_restart_to_grow_waits_for_pods_that_are_not_bound_yet() -> None:
    coming = worker("coming", 4, 4, on=[""] * 4, started_at=at(-5))
    part = coming.roles[0].changed(pods=tuple(pod(index, created_at=at(-5)) for index in range(4)))
    state = cluster(*NODES, restarting(), job("coming", part, started_at=at(-5)))
    plan = plan_for(state, ALL)
    assert (sizes(plan), wait_reasons(plan)["late"]) == ({}, reasons.placed_after([key("coming")]))


def test_growth_without_a_restart_waits_for_a_job_that_restarts_to_grow() -> None:
    state = cluster(*NODES, restarting(), worker("live", 1, 4, on=["n5"], queued=-10))
    plan = plan_for(state, ALL)
    assert (sizes(plan), wait_reasons(plan)["live"]) == (
        {"late": 3},
        reasons.placed_after([key("late")]),
    )
    assert lived(state, lingering=False) == {"late": 3, "live": 4}
    assert lived(state, lingering=True) == {"late": 3, "live": 4}


@pytest.mark.parametrize(("nodes", "grown"), [(6, {}), (7, {"late": 3})])
def test_a_restart_to_grow_goes_on_beside_a_start_that_leaves_enough(
    nodes: int, grown: dict[str, int]
) -> None:
    """Each of its four pods may take one node of 2 CPU, wherever it is bound."""
    wide = [node(f"n{number}", 2) for number in range(1, nodes + 1)]
    plan = plan_for(cluster(*wide, restarting(), worker("start", 4, 4, queued=-10)), ALL)
    assert (list(started(plan)), sizes(plan)) == (["start"], grown)


def test_a_start_waits_for_a_job_that_restarts_because_it_yields() -> None:
    """The job comes back to the nodes of its minimum first, and then the start is due."""
    late = restarting(2, 3, on=["n1", "n2", "n3"])
    small = worker("small", 2, 2, shape=shape(0.5), queued=-10)
    needs = demand("web", shape(2))
    state = cluster(*NODES[:3], node("n4", 1), late, small, needs)
    plan = plan_for(state, ALL)
    assert (list(started(plan)), sizes(plan)) == ([], {"late": 2})
    assert wait_reasons(plan)["small"] == reasons.placed_after([key("late")])
    assert lived(state, lingering=False) == {"late": 2, "small": 2}
