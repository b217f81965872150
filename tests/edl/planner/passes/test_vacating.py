"""Replicas above the minimum keep no node alive that an autoscaler could remove."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from edl import contract, reasons
from edl.model import (
    Assignment,
    ClusterState,
    Code,
    Node,
    NodePoolHeadroom,
    ProvisionalPod,
    Provisioning,
    ResizePolicy,
    Restart,
    TrainingJob,
)
from edl.planner.decision_limits import Autoscaler, GrowthMode
from edl.planner.passes.scale_down.needed_nodes import REMOVED_WITHIN
from edl.planner.plan import Plan
from tests.edl.planner.plans import ALL, plan_for, sizes, started, wait_reasons
from tests.edl.planner.states import at, busy, cluster, job, node, pod, role, room, shape, worker

NEEDED = replace(ALL, growth=GrowthMode.NEEDED_NODES)
LATER = NEEDED.idle_node_after.total_seconds()
GONE = REMOVED_WITHIN.total_seconds()


def plan(state: ClusterState, *unneeded: str, after: float = LATER) -> Plan:
    """The plan where these nodes have been unneeded for so many seconds."""
    since = state.observed_at - timedelta(seconds=after)
    return plan_for(
        replace(state, unneeded_since=tuple((name, since) for name in unneeded)), NEEDED
    )


def elastic(*on: str, low: int = 1, high: int = 4, **fields: Any) -> TrainingJob:  # noqa: ANN401
    """One role that resizes live; kube-scheduler places its pods, on these nodes."""
    return worker("job", low, high, on=on, **fields)


def placed(*on: str, low: int = 1, high: int = 4) -> TrainingJob:
    """A training job whose workers the plan places."""
    workers = role("worker", low, high, on=on, is_leader=False)
    return job("job", role("ps", on=("home",)), workers)


def lowered(found: Plan) -> dict[str, int]:
    assert all(one.reason == reasons.NODE_UNNEEDED for one in found.resizes)
    return sizes(found)


def test_extras_leave_a_node_that_they_alone_keep() -> None:
    state = cluster(node("a", 2), node("b", 2), elastic("a", "a", "b", "b"))
    assert lowered(plan(state, "b")) == {"job": 2}


def test_they_stay_until_its_time_is_over() -> None:
    state = cluster(node("a", 2), node("b", 2), elastic("a", "a", "b", "b"))
    early = plan(state, "b", after=LATER - 1)
    assert early.resizes == ()
    assert early.unneeded == ("b",)
    assert early.recheck_after == timedelta(seconds=1)


def test_a_node_that_was_not_known_to_be_unneeded_is_looked_at_again_in_time() -> None:
    state = cluster(node("a", 2), node("b", 2), elastic("a", "a", "b", "b"))
    first = plan(state)
    assert first.resizes == ()
    assert first.recheck_after == NEEDED.idle_node_after


def test_ungated_roles_do_not_grow_while_a_node_for_a_gang_that_waits_for_nodes_fits_them() -> None:
    """kube-scheduler binds their pods there, where they may not stay, again and again."""
    gang = worker("gang", 2, 2, shape=shape(node_selector=(("zone", "u"),)))
    nodes = (node("home", 3), node("u", 1, labels={"zone": "u"}))
    state = replace(cluster(*nodes, elastic("home"), gang), autoscaled=True)
    found = plan(state, "u", after=0)
    assert sizes(found) == {}
    assert wait_reasons(found)["job"] == reasons.NEEDED_NODES_ONLY
    assert wait_reasons(found)["gang"].code is Code.WAITING_FOR_NODES


@pytest.mark.parametrize("growth", [GrowthMode.ANY_NODE, GrowthMode.AUTOSCALER])
def test_without_an_autoscaler_extras_stay_where_they_are(growth: GrowthMode) -> None:
    state = cluster(node("a", 2), node("b", 2), elastic("a", "a", "b", "b"))
    state = replace(state, unneeded_since=(("b", at(-9999)),))
    found = plan_for(state, replace(ALL, growth=growth))
    assert found == plan_for(replace(state, unneeded_since=()), ALL)
    assert not found.resizes
    assert not found.unneeded


def test_the_cluster_says_whether_it_has_an_autoscaler() -> None:
    state = cluster(node("a", 2), node("b", 2), elastic("a", "a", "b", "b"))
    state = replace(state, autoscaled=True, unneeded_since=(("b", at(-LATER)),))
    assert lowered(plan_for(state)) == {"job": 2}


def pooled(name: str, cpu: float = 2, **fields: Any) -> Node:  # noqa: ANN401
    return node(name, cpu, labels={contract.NODE_POOL: "default"}, **fields)


@pytest.mark.parametrize(
    "other",
    [
        busy(node("b", 3), room(1)),
        node("b", 2, kept=True),
    ],
    ids=["pods of other owners are there", "its annotations tell autoscalers to let it be"],
)
def test_a_node_that_is_needed_anyway_keeps_its_extras(other: Node) -> None:
    found = plan(cluster(node("a", 2), other, elastic("a", "a", "b", "b")), "b")
    assert not found.resizes
    assert not found.unneeded


def test_where_karpenter_made_nodes_it_removes_no_others() -> None:
    fixed = cluster(pooled("a"), node("b", 2), elastic("a", "a", "b", "b"))
    assert plan(fixed, "b").resizes == ()
    made = cluster(node("a", 2), pooled("b"), elastic("a", "a", "b", "b"))
    assert lowered(plan(made, "b")) == {"job": 2}


def test_minimum_pods_never_leave_a_node_for_it() -> None:
    state = cluster(node("a", 2), node("b", 2), elastic("a", "a", "b", "b", low=3))
    found = plan(state, "a", "b")
    assert not found.resizes
    assert not found.drains
    assert not found.unneeded


def test_replicas_of_a_manual_size_are_not_reclaimable() -> None:
    state = cluster(node("a", 2), node("b", 2), elastic("a", "a", "b", "b", replicas=4))
    assert plan(state, "b").resizes == ()


def test_a_job_that_is_nearly_finished_keeps_its_nodes() -> None:
    state = cluster(node("a", 2), node("b", 2), elastic("a", "a", "b", "b", progress=0.95))
    assert plan(state, "b").resizes == ()


def test_as_many_leave_as_extras_are_there_whatever_their_indexes_are() -> None:
    state = cluster(node("a", 3), node("b", 2), elastic("a", "b", "a", "a", high=4))
    assert lowered(plan(state, "b")) == {"job": 3}


def test_the_room_that_they_left_is_kept_for_those_that_are_still_there() -> None:
    """The autoscaler drains the node: kube-scheduler then finds room on the other one."""
    hungry = worker("hungry", 1, 9, on=("a",))
    state = cluster(node("a", 4), node("b", 2), elastic("a", "b", "a", high=3), hungry)
    again = plan(state, "b")
    assert not again.drains
    assert not again.resizes
    assert wait_reasons(again)["hungry"].code is not reasons.NODE_UNNEEDED.code


def test_pods_that_the_plan_places_move_where_there_is_room() -> None:
    state = cluster(node("home", 3), node("b", 2), placed("home", "b"))
    found = plan(state, "b")
    assert [(one.pods, one.reason) for one in found.drains] == [(("pod-1",), reasons.NODE_UNNEEDED)]
    assert found.resizes == ()


def test_where_there_is_none_their_role_gets_smaller() -> None:
    state = cluster(node("home", 2), node("b", 2), placed("home", "b"))
    found = plan(state, "b")
    assert found.drains == ()
    assert lowered(found) == {"job": 1}


def test_pods_move_to_no_other_node_due_for_removal() -> None:
    """Else the replica is killed again and again: from one such node to the next, and back."""
    state = cluster(node("home", 2), node("b", 1), node("c", 1), placed("home", "b"))
    found = plan(state, "b", "c")
    assert found.drains == ()
    assert lowered(found) == {"job": 1}


def test_live_roles_leave_before_any_job_is_restarted() -> None:
    ring = worker("ring", 1, 4, on=("a", "c"), resizing=ResizePolicy.RESTART)
    state = cluster(node("a", 2), node("b", 1), node("c", 1), elastic("a", "b"), ring)
    assert lowered(plan(state, "b", "c")) == {"job": 1}


def test_of_restarts_the_smallest_comes_first_and_alone() -> None:
    small = worker("small", 1, 2, on=("a", "b"), resizing=ResizePolicy.RESTART)
    large = worker("large", 1, 3, on=("a", "a", "c"), resizing=ResizePolicy.RESTART)
    state = cluster(node("a", 3), node("b", 1), node("c", 1), small, large)
    assert lowered(plan(state, "b", "c")) == {"small": 1}


def test_a_job_that_restarted_a_moment_ago_is_not_restarted_for_it() -> None:
    ring = worker("ring", 1, 2, on=("a", "b"), resizing=ResizePolicy.RESTART, resized_at=at(-1))
    assert plan(cluster(node("a", 1), node("b", 1), ring), "b").resizes == ()


def test_growth_comes_to_nodes_that_are_needed_anyway() -> None:
    state = cluster(node("home", 3), node("b", 9), placed("home", high=8))
    assert sizes(plan(state, "b", after=0)) == {"job": 2}


def test_what_grows_no_further_is_told_why() -> None:
    state = cluster(node("home", 2), node("b", 9), placed("home", high=8))
    found = plan(state, "b", after=0)
    assert found.resizes == ()
    assert wait_reasons(found) == {"job": reasons.NEEDED_NODES_ONLY}


def test_pods_that_kube_scheduler_places_wait_until_no_other_node_would_take_them() -> None:
    state = cluster(node("a", 3), node("b", 9), elastic("a", high=8))
    assert wait_reasons(plan(state, "b", after=0)) == {"job": reasons.NEEDED_NODES_ONLY}
    assert sizes(plan(cluster(node("a", 3), elastic("a", high=8)))) == {"job": 3}


def test_a_start_may_use_any_node_and_its_extras_the_rest_of_it() -> None:
    workers = role("worker", 2, 9, is_leader=False, gated=True)
    waiting = job("job", role("ps"), workers)
    found = plan(cluster(node("a", 4), node("b", 4), waiting), "a", "b", after=0)
    assert started(found) == {"job": {"ps": 1, "worker": 3}}


def test_extras_do_not_grow_where_only_capacity_for_lost_pods_fills_the_other_nodes() -> None:
    """kube-scheduler sees no pod there: it would bind extras to it, which leave it again."""
    lost = worker("lost", 1, 1, suspended=False, size=1, failures=5, shape=shape(2))
    state = cluster(node("a", 2), node("b", 2), elastic("a"), lost)
    found = plan(state)
    assert (found.unneeded, sizes(found)) == (("b",), {})
    assert wait_reasons(found)["job"] == reasons.NEEDED_NODES_ONLY
    full = cluster(node("a", 2), busy(node("b", 2), room(2)), elastic("a"))
    assert sizes(plan(full)) == {"job": 2}


def test_a_minimum_that_lost_pods_gets_them_back_on_any_node() -> None:
    state = cluster(
        node("a", 1), node("b", 9), elastic("a", low=3, high=3, size=1, resizing=ResizePolicy.LIVE)
    )
    assert sizes(plan(state, "b", after=0)) == {"job": 3}


def test_a_manual_size_is_reached_on_any_node() -> None:
    state = cluster(node("a", 1), node("b", 9), elastic("a", replicas=3))
    assert sizes(plan(state, "b", after=0)) == {"job": 3}


def test_a_node_that_no_autoscaler_removes_is_used_again() -> None:
    state = cluster(node("a", 2), node("b", 2), elastic("a", "a", high=4))
    assert wait_reasons(plan(state, "b", after=LATER + GONE - 1)) == {
        "job": reasons.NEEDED_NODES_ONLY
    }
    again = plan(state, "b", after=LATER + GONE)
    assert sizes(again) == {"job": 4}
    full = cluster(node("a", 2), node("b", 2), elastic("a", "a", "b", "b"))
    assert plan(full, "b", after=LATER + GONE).resizes == ()


def test_a_pod_that_leaves_keeps_no_node() -> None:
    leaving = elastic("a", "a", "b", low=1, size=2)
    workers = leaving.roles[0].changed(
        pods=(pod(0, "a"), pod(1, "a"), pod(2, "b", terminating=True))
    )
    state = cluster(node("a", 2), node("b", 2), replace(leaving, roles=(workers,)))
    assert plan(state).unneeded == ("b",)


def test_static_nodes_beside_node_pools_belong_to_no_pool() -> None:
    state = cluster(node("a", 2), node("b", 2), elastic("a", "a", "b", "b"))
    found = plan(replace(state, node_pools=(NodePoolHeadroom(),)), "b")
    assert found.resizes == ()
    assert found.unneeded == ()


def test_extras_keep_room_on_nodes_that_stay_for_now() -> None:
    """A lower index on the node that is left moves to one that is not to be left yet."""
    on: tuple[str, ...] = ("n1", "n2", "n3", "n3", "n3", "n3")
    sizes_: list[int] = []
    while not sizes_ or sizes_[-1] < len(on):
        on = on[: sizes_[-1]] if sizes_ else on
        state = cluster(node("n1"), node("n2"), node("n3", 4), elastic(*on, high=6))
        since = state.observed_at - timedelta(seconds=LATER)
        state = replace(state, unneeded_since=(("n2", since), ("n3", state.observed_at)))
        sizes_.append(sizes(plan_for(state, NEEDED)).get("job", len(on)))
    assert sizes_[-1] > 1


def test_a_restart_does_not_return_to_the_node_that_it_left() -> None:
    fields = {"resizing": ResizePolicy.RESTART, "gated": True}
    assigned = Assignment(0, ("z", "a", "z"))
    ring = worker(
        "job", 1, 3, on=("z", "a", "z"), resized_at=at(-9999), assigned=assigned, **fields
    )
    nodes = node("a", 4), node("z", 2)
    (resize,) = plan(cluster(*nodes, ring), "a").resizes
    assert (resize.after, resize.restart) == (2, True)
    stopped = replace(resize.reason, restart=Restart.STOPPED)
    again = worker(
        "job",
        1,
        3,
        size=2,
        last=stopped,
        started_at=at(-999),
        resized_at=at(-1),
        assigned=assigned,
        **fields,
    )
    (admission,) = plan(cluster(*nodes, again), "a").admissions
    assert dict(admission.nodes) == {"worker": ("z", "z")}


def asking(since: float, *on: str) -> TrainingJob:
    """A gang that never fits, with provisional pods on these nodes."""
    pods = tuple(
        ProvisionalPod(f"asks-{place}", f"uid-{place}", "worker", name, at(since), room(1))
        for place, name in enumerate(on)
    )
    return replace(worker("asks", 9, 9), provisioning=Provisioning(pods=pods))


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("gated", [True, False])
def test_extras_do_not_grow_onto_nodes_that_came_for_a_request_which_failed(
    late: bool,  # noqa: FBT001 - pytest passes it
    gated: bool,  # noqa: FBT001 - the same
) -> None:
    needed, joined = pooled("a", 1), busy(pooled("b", 1), room(1, pods=1))
    asks = asking(-NEEDED.provisioning.provisioning_timeout.total_seconds() if late else -1, "b")
    runs = placed("a", high=3) if gated else elastic("a", high=3)
    home = [node("home", 1)] if gated else []
    limits = replace(NEEDED, autoscaler=Autoscaler.PRESENT)
    found = plan_for(cluster(needed, joined, *home, runs, asks), limits)
    assert (found.unprovisioned == (asks.key,)) is late
    assert not found.resizes


@pytest.mark.parametrize("gated", [True, False])
def test_extras_do_not_grow_onto_nodes_of_pods_that_a_smaller_request_gives_up(
    gated: bool,  # noqa: FBT001 - pytest passes it
) -> None:
    """The minimum of its workers was lowered to 1 while the server's node is awaited."""
    roles = (role("ps", shape=shape(99)), role("worker", 1, 9))
    asks = replace(job("asks", *roles), provisioning=asking(-1, "b", "c").provisioning)
    joined = [busy(pooled(name, 2), room(1, pods=1)) for name in ("b", "c")]
    runs = placed("a", high=3) if gated else elastic("a", high=3)
    home = [node("home", 1)] if gated else []
    limits = replace(NEEDED, autoscaler=Autoscaler.PRESENT)
    found = plan_for(cluster(pooled("a", 1), *joined, *home, runs, asks), limits)
    (request,) = found.requests
    assert dict(request.pods) == {"ps": 1, "worker": 1}
    assert sizes(found) == ({"job": 2} if gated else {})
