"""Failed starts of a gang in a row are counted, whatever happens to it during a start."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from edl import reasons
from edl.model import ClusterState, Code, ResizePolicy, TrainingJob
from edl.planner.plan import Plan
from tests.edl.planner.acting import act
from tests.edl.planner.plans import plan_for
from tests.edl.planner.states import cluster, node, pod, worker

STEP = timedelta(seconds=10)
ELASTIC = {"live": ResizePolicy.LIVE, "restarting": ResizePolicy.RESTART}


def refused(found: TrainingJob) -> TrainingJob:
    """The scheduler refuses all of its pods, by a rule that plans do not know."""
    roles = (
        part.changed(pods=tuple(pod(one.index, created_at=one.created_at) for one in there))
        for part in found.roles
        for there in [part.status.pods]
    )
    return replace(found, roles=tuple(roles))


def step(state: ClusterState) -> tuple[Plan, ClusterState]:
    plan = plan_for(state)
    after = act(state, plan, after=STEP)
    jobs = tuple(refused(one) for one in after.jobs)
    return plan, replace(after, jobs=jobs, nodes=state.nodes)


def back_off_after_next_start(state: ClusterState) -> tuple[timedelta, set[int], ClusterState]:
    """The back-off after the next failed start, in which the gang had these sizes."""
    sizes = set()
    for _ in range(60):
        plan, state = step(state)
        sizes |= {part.status.size for one in state.jobs for part in one.roles}
        if Code.GANG_UNSCHEDULABLE in [one.reason.code for one in plan.suspensions]:
            (found,) = plan_for(state).waiting
            (mine,) = state.jobs
            assert (found.reason, found.until is None) == (reasons.BACK_OFF_GANG, False)
            assert found.until is not None
            assert mine.started_at is not None
            return found.until - mine.started_at, sizes, replace(state, observed_at=found.until)
    raise AssertionError(plan)


@pytest.mark.parametrize("resizing", ELASTIC.values(), ids=ELASTIC)
def test_a_start_with_extras_that_fails_again_waits_twice_as_long(resizing: ResizePolicy) -> None:
    """The extras are removed before the minimum has waited too long."""
    mine = worker("mnist", 2, 4, resizing=resizing)
    state, waits = cluster(node("a", 9), mine), []
    for _ in range(4):
        wait, sizes, state = back_off_after_next_start(state)
        waits.append(wait / timedelta(minutes=1))
        assert sizes == {2, 4}
    assert waits == [4, 8, 16, 32]
