"""Where an autoscaler removes nodes: extras keep none alive, and nothing else moves for that."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edl.model import ClusterState, Code
from edl.planner.passes.scale_down.needed_nodes import REMOVED_WITHIN
from edl.planner.plan import Plan
from tests.edl.planner.acting import act, quiet
from tests.edl.planner.clusters import ALL_RUN, ROOMY, states
from tests.edl.planner.ways import WAYS, scheduled_otherwise, wait

pytestmark = pytest.mark.laws

_WAY = WAYS["needed nodes"]
_ROUNDS = 150


@given(states(4, runs=ALL_RUN, spare=ROOMY, others=(0,)), st.booleans())
def test_extras_leave_minimums_stay_and_it_comes_to_rest(
    state: ClusterState,
    spreading: bool,  # noqa: FBT001 - hypothesis draws it
) -> None:
    plans: list[Plan] = []
    for _ in range(_ROUNDS):
        plans.append(_WAY.plan(state))
        check_what_leaves(state, plans[-1])
        check_growth(state, plans[-1])
        state = act(state, plans[-1], after=wait(plans[-1]), spreading=spreading)
        if quiet(plans[-1]) and plans[-1].recheck_after is None:
            break
    assert quiet(plans[-1]) or scheduled_otherwise(plans)


def check_what_leaves(state: ClusterState, plan: Plan) -> None:
    """A minimum never moves for it, and no node is called unneeded that a minimum is on."""
    roles = {(one.key, part.name): part for one in state.jobs for part in one.roles}
    for found in plan.resizes:
        if found.reason.code is Code.NODE_UNNEEDED:
            assert roles[found.job, found.role].spec.min <= found.after < found.before
    for moved in plan.drains:
        if moved.reason.code is Code.NODE_UNNEEDED:
            part = roles[moved.job, moved.role]
            least = {each.name for each in part.status.pods if each.index < part.spec.min}
            assert not least.intersection(moved.pods)
    needed = {
        each.node
        for one in state.jobs
        for part in one.roles
        for each in part.status.pods
        if each.active
        and part.spec.indexed
        and not part.status.suspended
        and each.index < part.spec.min
    }
    assert not needed.intersection(plan.unneeded)


def check_growth(state: ClusterState, plan: Plan) -> None:
    """No extra that the plan places comes to a node that is left to the autoscaler.

    A job that restarts to grow may keep there what it has there.
    """
    if plan.admissions:
        return  # a start may need any node, whose rest is for extras then
    late = state.observed_at - _WAY.limits.idle_node_after - REMOVED_WITHIN
    waits = {name for name, since in state.unneeded_since if since > late}
    left = waits.intersection(plan.unneeded)
    roles = {(one.key, part.name): part for one in state.jobs for part in one.roles}
    for found in plan.resizes:
        role = roles[found.job, found.role]
        if found.before >= role.spec.min:
            there = Counter(pod.node for pod in role.status.pods if found.restart)
            assert not left.intersection(Counter(found.nodes) - there)
