"""Sizes come to rest beside a gang that lost nodes, while the Job controller backs off."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import strategies as st
from msgspec.structs import replace

from edl.model import Assignment, ClusterState, Node, ResizePolicy, Topology, TrainingJob
from edl.planner.decision_limits import GrowthMode
from edl.planner.plan import Plan
from tests.edl.planner.acting import act, quiet
from tests.edl.planner.clusters import one_of
from tests.edl.planner.states import cluster, node, shape, worker
from tests.edl.planner.ways import Way, law, wait
from tests.edl.reached import Reached

pytestmark = pytest.mark.laws

RACK = "rack"
_KEPT = st.booleans()
ROUNDS = 60


@st.composite
def struck(draw: st.DrawFn) -> ClusterState:
    """Racks of nodes, a gang that lost some of its own, and elastic jobs that run or wait.

    The nodes are gone, or not ready.
    """
    count = draw(st.integers(2, 4))
    nodes = [node(f"n{number}", 4, labels={RACK: f"r{number // count}"}) for number in range(9)]
    gang = draw(_gangs(nodes[:count]))
    lost = {one.name for one in nodes[: draw(st.integers(1, count))]}
    left = [one for one in nodes if one.name not in lost]
    left += [replace(one, schedulable=False) for one in nodes if one.name in lost and draw(_KEPT)]
    gang = _without(gang, lost, draw(st.integers(1, 6)))
    others = [draw(_elastic(number)) for number in range(draw(st.integers(1, 3)))]
    return cluster(*left, gang, *others)


@st.composite
def _gangs(draw: st.DrawFn, rack: list[Node]) -> TrainingJob:
    cpu, least = draw(one_of(1, 2)), draw(st.integers(1, 4))
    on = [one.name for one in rack for _ in range(4 // cpu)]
    on = on[: draw(st.integers(min(least, len(on)), len(on)))]
    required = draw(one_of((("", RACK),), (("", RACK),), ()))
    found = worker(
        "gang",
        min(least, len(on)),
        len(on) + draw(st.integers(0, 4)),
        on=on,
        shape=shape(cpu),
        gated=True,
        topology=Topology(required=required),
        assigned=Assignment(0, tuple(on)),
        priority=draw(one_of(0, 0, 1)),
    )
    return replace(found, framework=draw(one_of("pytorch", "horovod")))


def _without(gang: TrainingJob, lost: set[str], failures: int) -> TrainingJob:
    (role,) = gang.roles
    pods = tuple(one for one in role.status.pods if one.node not in lost)
    return replace(gang, roles=(role.changed(pods=pods, failures=failures),))


@st.composite
def _elastic(draw: st.DrawFn, number: int) -> TrainingJob:
    high = draw(st.integers(2, 24))
    kind = draw(one_of(ResizePolicy.ITEMS, ResizePolicy.LIVE))
    fields: dict[str, Any] = {
        "resizing": kind,
        "indexed": kind is ResizePolicy.LIVE,
        "queued": number,
    }
    return worker(f"other-{number}", draw(st.integers(1, 2)), high, **fields)


def settle(
    way: Way, state: ClusterState, *, spreading: bool, backing_off: bool
) -> tuple[list[Plan], ClusterState]:
    plans: list[Plan] = []
    while len(plans) < ROUNDS:
        plans.append(way.plan(state))
        after = wait(plans[-1])
        state = act(state, plans[-1], after=after, spreading=spreading, backing_off=backing_off)
        if quiet(plans[-1]) and plans[-1].recheck_after is None:
            return plans, state
    last = [(one.job.name, one.before, one.after) for plan in plans[-6:] for one in plan.resizes]
    pytest.fail(f"sizes change for ever: {last}")


@law(struck(), spreading=st.booleans())
def test_sizes_come_to_rest_while_lost_pods_are_not_created_and_afterwards(
    reached: Reached,
    way: Way,
    state: ClusterState,
    spreading: bool,  # noqa: FBT001 (hypothesis draws it)
) -> None:
    # There, a scheduler that spreads puts extras on nodes that they leave again at once.
    spreading = spreading and way.limits.growth is not GrowthMode.NEEDED_NODES
    before, waits = settle(way, state, spreading=spreading, backing_off=True)
    created = act(waits, Plan(), after=timedelta(seconds=1), spreading=spreading)
    settle(way, created, spreading=spreading, backing_off=False)
    reached(any(plan.resizes or plan.admissions for plan in before))
