"""A gang of several roles gets room by extras wherever it would start without them."""

import pytest
from msgspec.structs import replace

from edl.model import ClusterState
from edl.planner.decide import run_passes
from edl.planner.decision_limits import Limits
from edl.planner.policies import POLICIES
from edl.quantities import Resources
from tests.edl.packed_draws import Draw, packed
from tests.edl.planner.plans import plan_for, started
from tests.edl.planner.states import cluster, job, node, role, shape, worker
from tests.edl.reached import Reached, drawn

pytestmark = pytest.mark.laws

LIMITS = Limits(load_ceiling=1)


@packed
def with_extras(draw: Draw) -> ClusterState:
    """Replicas of two jobs, of which all but one are extras, fill most of the nodes."""
    room = {f"n{n}": draw.between(3, 6) for n in range(draw.between(2, 3))}
    nodes = [node(name, cpus) for name, cpus in room.items()]
    jobs = []
    for name in ("first", "second"):
        on = []
        for _ in range(draw.between(3, 6)):
            fits = [name for name, free in room.items() if free]
            on += [draw.one_of(*fits)] if fits else []
            room.update({found: room[found] - 1 for found in on[-1:] if fits})
        jobs += [worker(name, 1, 9, on=on, queued=-900)] if on else []
    cpus = [draw.between(1, 3) for _ in range(draw.between(2, 3))]
    parts = [
        role(name, pods, pods, shape=shape(each))
        for name, each in zip(("ps", "worker", "chief"), cpus, strict=False)
        for pods in [draw.one_of(1, 1, 2)]
    ]
    return cluster(*nodes, *jobs, job("asks", *parts, queued=-100))


def _without_extras(state: ClusterState) -> ClusterState:
    nodes = [replace(one, used=Resources(), evictable_pods=0) for one in state.nodes]
    *running, asks = state.jobs
    least = [
        worker(one.key.name, 1, 9, on=[one.roles[0].status.pods[0].node], queued=-900)
        for one in running
    ]
    return cluster(*nodes, *least, asks)


@drawn(state=with_extras())
def test_a_gang_that_would_start_without_the_extras_gets_room(
    state: ClusterState, reached: Reached
) -> None:
    asks = state.jobs[-1].key
    could = "asks" in started(plan_for(_without_extras(state), LIMITS))
    needs = could and "asks" not in started(plan_for(state, LIMITS))
    reached(needs)
    if needs:
        assert run_passes(state, POLICIES["fair"], LIMITS).gives_room(asks)
