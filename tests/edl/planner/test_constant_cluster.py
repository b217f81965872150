"""A cluster that nothing else changes comes to rest, and stays as it is."""

import pytest

from edl.model import ClusterState, Resizing
from edl.planner.plan import Plan
from tests.edl.planner.acting import act, quiet
from tests.edl.planner.states import cluster, job, node, role, shape
from tests.edl.planner.ways import WAYS, Way, wait

under_every_policy = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())


def at_rest(way: Way, state: ClusterState, *, spreading: bool, rounds: int = 200) -> list[Plan]:
    """The plans until one is quiet and time alone changes nothing; fails if none is."""
    plans: list[Plan] = []
    while len(plans) < rounds:
        plans.append(way.plan(state))
        state = act(state, plans[-1], after=wait(plans[-1]), spreading=spreading)
        if quiet(plans[-1]) and plans[-1].recheck_after is None:
            return plans
    restarts = sum(one.restart for plan in plans for one in plan.resizes)
    pytest.fail(f"{restarts} restarts in {rounds} rounds, and no end")


def restarting_job_that_can_block_its_chief() -> ClusterState:
    """The second worker fits n3; on n2, the only node with GPUs, it takes the chief's CPU."""
    first = job("first", role("worker", 1, 1, shape=shape(0.5)), queued=0)
    second = job(
        "second",
        role("worker", 1, 2, shape=shape(2), resizing=Resizing.RESTART),
        role("chief", 1, 1, shape=shape(0.5, gpu=1)),
        queued=0,
    )
    nodes = (node("n0", 2), node("n1", 2), node("n2", 2, gpu=2), node("n3", 2))
    return cluster(*nodes, first, second)


@under_every_policy
@pytest.mark.parametrize("spreading", [False, True])
def test_a_restart_keeps_a_grown_role_off_the_only_node_of_another(
    way: Way, *, spreading: bool
) -> None:
    plans = at_rest(way, restarting_job_that_can_block_its_chief(), spreading=spreading)
    assert sum(one.restart for plan in plans for one in plan.resizes) == 1
