"""Where an autoscaler removes nodes: extras keep none alive, and nothing else moves for that.

Extras are replicas above the minimum, or above the manual size.
"""

from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from edl.contract import PLACEMENT_GATE
from edl.model import Assignment, ClusterState, Code, Pod, Role
from edl.planner.passes.scale_down.needed_nodes import REMOVED_WITHIN
from edl.planner.plan import Plan
from edl.spec.allowed_sizes import start_size
from tests.edl.planner.acting import act, quiet
from tests.edl.planner.clusters import ALL_RUN, ROOMY, states
from tests.edl.planner.states import at, cluster, job, node, pod, role
from tests.edl.planner.ways import WAYS, scheduled_otherwise, wait

pytestmark = pytest.mark.laws

_WAY = WAYS["needed nodes"]
_ROUNDS = 150
_UNNEEDED = (("unneeded", at(-1)),)
_SCALED_BY_HAND = replace(
    cluster(
        node("home", 2),
        node("unneeded", 4),
        job("job", role("ps", on=("home",)), role("worker", 1, 4, on=("home",), replicas=4)),
    ),
    unneeded_since=_UNNEEDED,
)
_JUST_STARTED = replace(
    cluster(
        node("home", 2),
        node("unneeded", 4),
        job("grows", role("ps", on=("home",)), role("worker", 1, 4, on=("home",))),
        job(
            "starts",
            role(
                size=1,
                suspended=False,
                gated=True,
                pods=(pod(0, gates=(PLACEMENT_GATE,), created_at=at(-1)),),
                assigned=Assignment(0, ("unneeded",)),
            ),
            started_at=at(-2),
        ),
    ),
    unneeded_since=_UNNEEDED,
)


@given(states(4, runs=ALL_RUN, spare=ROOMY, others=(0,)), st.booleans())
@example(_SCALED_BY_HAND, False)  # noqa: FBT003
@example(_JUST_STARTED, False)  # noqa: FBT003
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
    """No minimum or manual size moves for it, and no node of theirs is called unneeded."""
    roles = {(one.key, part.name): part for one in state.jobs for part in one.roles}
    for found in plan.resizes:
        if found.reason.code is Code.NODE_UNNEEDED:
            assert start_size(roles[found.job, found.role]) <= found.after < found.before
    for moved in plan.drains:
        if moved.reason.code is Code.NODE_UNNEEDED:
            assert _needing(roles[moved.job, moved.role]).keys().isdisjoint(moved.pods)
    needed = {
        each.node
        for one in state.jobs
        for part in one.roles
        for each in _needing(part).values()
        if each.active and part.spec.indexed and not part.status.suspended
    }
    assert not needed.intersection(plan.unneeded)


def check_growth(state: ClusterState, plan: Plan) -> None:
    """No extra that the plan places comes to a node that is left to the autoscaler.

    A job that restarts to grow may keep there what it has there. A start may need any node, whose
    rest is for extras then.
    """
    if plan.admissions:
        return
    late = state.observed_at - _WAY.limits.idle_node_after - REMOVED_WITHIN
    waits = {name for name, since in state.unneeded_since if since is None or since > late}
    roles = {(one.key, part.name): part for one in state.jobs for part in one.roles}
    started = {
        on
        for one in plan.node_assignments
        for name, on in one.nodes
        if name in _needing(roles[one.job, one.role])
    }
    left = waits.intersection(plan.unneeded) - started
    for found in plan.resizes:
        part = roles[found.job, found.role]
        if found.before >= start_size(part):
            there = Counter(pod.node for pod in part.status.pods if found.restart)
            assert not left.intersection(Counter(found.nodes) - there)


def _needing(part: Role) -> dict[str, Pod]:
    """Its pods that are no extras, by name."""
    return {each.name: each for each in part.status.pods if each.index < start_size(part)}
