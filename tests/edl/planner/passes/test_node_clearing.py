"""Pods that may use few nodes get room there, and what runs there moves instead of ending."""

from collections import Counter
from datetime import timedelta

import pytest
from msgspec.structs import replace

from edl.annotations.cleared_nodes import REMEMBERED
from edl.messages import message
from edl.model import (
    Clearing,
    ClusterState,
    Node,
    Quota,
    QuotaCharge,
    ResizePolicy,
    Shape,
    TrainingJob,
)
from edl.planner.decide import decide, run_passes
from edl.planner.plan import Plan
from edl.planner.plan_cache import PlanCache
from edl.planner.policies import POLICIES
from tests.edl.planner.acting import act
from tests.edl.planner.plans import ALL, plan_for, sizes
from tests.edl.planner.states import at, cluster, demand, job, node, pod, role, shape

NODES = tuple(f"node-{number}" for number in range(6))
CLUSTER = tuple(node(name, 8, labels={"name": name}) for name in NODES)
ONE_ROUND = timedelta(seconds=1)


def pinned(cpu: float) -> Shape:
    return shape(cpu, node_selector=(("name", "node-2"),))


def spread(name: str, first: int = 0, **fields: object) -> TrainingJob:
    """Four replicas on every node."""
    on = [NODES[(first + number) % len(NODES)] for number in range(24)]
    return job(name, role("worker", 1, 90, on=on, **fields), framework="pytorch")


FULL: tuple[Node | TrainingJob, ...] = (*CLUSTER, spread("one"), spread("two", 3))


def running(state: ClusterState) -> set[tuple[str, str, str]]:
    return {
        (training.key.name, pod.name, pod.node)
        for training in state.jobs
        for part in training.roles
        for pod in part.status.pods
        if pod.node and not pod.terminating
    }


def rounds(state: ClusterState) -> tuple[ClusterState, list[Plan], int]:
    """What the plans of twelve seconds make of it, and how many pods were ended meanwhile."""
    plans, ended = [], 0
    for _ in range(12):
        plans.append(plan_for(state))
        after = act(state, plans[-1], after=ONE_ROUND, lingering=True)
        ended += len(running(state) - running(after))
        state = after
    return state, plans, ended


def test_a_pod_of_one_node_ends_no_more_than_what_moves_and_what_makes_room_for_it() -> None:
    state, plans, ended = rounds(cluster(*FULL, demand("pin", pinned(3))))
    assert not state.demands
    assert ended <= 6
    assert all(size >= 21 for plan in plans for size in sizes(plan).values())


def test_a_pod_bound_by_name_moves_replicas_to_free_nodes_without_a_resize() -> None:
    (*some, last) = CLUSTER
    nodes = (*some, replace(last, allocatable=last.allocatable + shape(3).requests))
    first = plan_for(cluster(*nodes, *FULL[6:], demand("pin", pinned(3))))
    (moved,) = first.drains
    assert (first.resizes, len(moved.pods)) == ((), 3)
    assert message(moved.reason) == "to make room for web/pin (priority 0)"
    state, plans, ended = rounds(cluster(*nodes, *FULL[6:], demand("pin", pinned(3))))
    assert not state.demands
    assert ended == 3
    assert not any(plan.resizes for plan in plans)


def test_nothing_moves_where_a_quota_would_keep_it_from_coming_back() -> None:
    charges = (QuotaCharge('ResourceQuota "team"', "pods", 1),)
    mine = spread("one", charges=charges)
    nodes = tuple(replace(one, allocatable=one.allocatable + shape(1).requests) for one in CLUSTER)
    quota = Quota("ns", 'ResourceQuota "team"', "pods", 23)
    state = cluster(
        *nodes, mine, spread("two", 3, resizing=ResizePolicy.FIXED), demand("pin", pinned(2))
    )
    plan = plan_for(replace(state, quotas=(quota,)))
    assert plan.drains == ()
    assert sizes(plan) == {"one": 23}


def test_a_role_that_restarts_gives_up_only_what_the_pod_needs() -> None:
    mine = spread("one", resizing=ResizePolicy.RESTART, indexed=True)
    other = spread("two", 3, resizing=ResizePolicy.FIXED)
    plan = plan_for(cluster(*CLUSTER, mine, other, demand("pin", pinned(2))))
    assert (plan.drains, sizes(plan)) == ((), {"one": 22})


def test_a_replica_that_is_yet_to_be_placed_goes_elsewhere_and_no_other_leaves_for_it() -> None:
    nodes = [node(name, cpu, labels={"name": name}) for name, cpu in (("node-2", 3), ("node-9", 1))]
    pods = (pod(0, "node-2"), pod(1, "node-2"), pod(2, created_at=at(-1)))
    part = role("worker", 2, 3, size=3, suspended=False, pods=pods)
    mine = job("one", part, framework="pytorch", started_at=at(-3000))
    plan = plan_for(cluster(*nodes, mine, demand("pin", pinned(1))))
    assert (plan.drains, plan.resizes) == ((), ())


def test_where_each_replica_comes_back_its_role_gives_up_replicas_after_three_moves() -> None:
    """The scheduler prefers that node: there is more room than on any other."""
    on = [name for name in NODES for _ in range(6 if name == "node-2" else 7)]
    quick = role("worker", 1, len(on), on=on, cooldown=timedelta(seconds=10))
    mine = job("one", quick, framework="pytorch")
    state, moved = cluster(*CLUSTER, mine, demand("pin", pinned(3))), 0
    for _ in range(20):
        plan = plan_for(state)
        moved += sum(len(one.pods) for one in plan.drains)
        state = act(state, plan, after=ONE_ROUND, lingering=True, spreading=True)
    assert (moved, state.demands) == (3, ())
    assert [part.status.size for one in state.jobs for part in one.roles] == [len(on)]


@pytest.mark.parametrize(("age", "moves"), [(timedelta(minutes=9), 0), (REMEMBERED, 3)])
def test_moves_that_came_to_nothing_are_tried_again_later(age: timedelta, moves: int) -> None:
    (*some, last) = CLUSTER
    nodes = (*some, replace(last, allocatable=last.allocatable + shape(3).requests))
    known = (Clearing("node-2", 3, at(0) - age),)
    mine = spread("one")
    (part,) = mine.roles
    back = tuple(replace(pod, created_at=at(-1)) for pod in part.status.pods)
    mine = replace(mine, roles=(part.changed(cleared=known, pods=back),))
    other = spread("two", 3, resizing=ResizePolicy.FIXED)
    plan = plan_for(cluster(*nodes, mine, other, demand("pin", pinned(3))))
    assert sum(len(one.pods) for one in plan.drains) == moves
    assert bool(plan.resizes) == (not moves)


def test_the_last_ready_replica_moves_once_another_is_ready() -> None:
    """Also where the plan before is remembered."""
    nodes = (node("node-2", 2, labels={"name": "node-2"}), node("node-9", 3))
    memory, moved = PlanCache(), []
    for ready in (False, True):
        first, *others = (pod(index, on) for index, on in enumerate(("node-9", "node-2")))
        pods = (replace(first, ready=ready), *others)
        part = role("worker", 1, 2, size=2, suspended=False, pods=pods)
        mine = job("one", part, framework="pytorch", started_at=at(-3000))
        state = cluster(*nodes, mine, demand("pin", pinned(2)))
        moved.append([one.pods for one in decide(state, POLICIES["fair"], ALL, memory).drains])
    assert moved == [[], [("pod-1",)]]


def test_what_shrinks_for_a_pod_of_one_node_keeps_its_replicas_on_all_others() -> None:
    snapshot = run_passes(cluster(*FULL, demand("pin", pinned(3))), POLICIES["fair"], ALL).snapshot
    index = snapshot.capacity.index["node-2"]
    for allocation in snapshot.allocations:
        on = Counter(placement.node for placement in allocation.placements)
        assert [on[other] for other in range(len(NODES)) if other != index] == [4] * 5


def test_a_role_that_made_room_for_a_pod_keeps_its_minimum_when_a_job_asks_for_more() -> None:
    restarts = role("worker", 3, 7, on=["node-2"] * 4, resizing=ResizePolicy.RESTART)
    others = role("worker", 1, 90, on=["node-2"] * 4)
    waits = role("worker", 1, 1, shape=shape(1, node_selector=(("name", "node-2"),)))
    things = (job("one", restarts), job("two", others), job("three", waits))
    state = cluster(*CLUSTER[:2], CLUSTER[2], *things, demand("pin", pinned(1)))
    assert sizes(plan_for(state)) == {"one": 3, "two": 3}
