"""Workers leave a node that is about to go, before it does."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from edl.messages import message
from edl.model import (
    ClusterState,
    JobKey,
    Node,
    Pod,
    PodPhase,
    Quota,
    QuotaCharge,
    ResizePolicy,
    Taint,
    Toleration,
    TrainingJob,
)
from edl.model.nodes import CORDONED, Topology
from edl.planner.passes.staying_pods import Cordons, staying_anyway
from edl.planner.plan import Drain
from edl.planner.snapshot.decision_clock import DecisionClock
from tests.edl.planner.acting import act
from tests.edl.planner.plans import plan_for, sizes
from tests.edl.planner.states import at, cluster, job, node, pod, role, shape, worker
from tests.reasons import invalid
from tests.roles import changed_pod

CORDON = Taint(CORDONED, "", "NoSchedule")
SPOT = Taint("aws-node-termination-handler/spot-itn", "x", "NoSchedule")
DRAINED = Taint("example.com/maintenance", "", "NoExecute")


def going(name: str, taint: Taint, cpu: float = 9) -> Node:
    return node(name, cpu, taints=(taint,), cordoned=taint == CORDON)


def ring(*on: str, **fields: Any) -> TrainingJob:  # noqa: ANN401
    """Horovod: a launcher on a node of its own, and one to four workers on these."""
    pods = fields.pop("pods", tuple(pod(index, name) for index, name in enumerate(on)))
    hosts = fields.pop("hosts", listing(*range(len(pods))))
    most, least = fields.pop("max", len(on)), fields.pop("min", min(len(on), 1))
    usual = {"suspended": False, "size": len(on), "pods": pods, "resizing": ResizePolicy.LIVE}
    worker = role("worker", 1, 4, **(usual | fields))
    cap = worker.changed(max=most, min=least, is_leader=False)
    launcher = role("launcher", 1, 1, suspended=False, pods=(pod(0, "home", hosts=hosts),))
    decides = launcher.changed(is_leader=True)
    return job("ring", decides, cap, framework="horovod")


def listing(*indexes: int) -> str:
    return "".join(f"worker-{index}.ring.ns.svc:1\n" for index in indexes)


def moved(state: ClusterState) -> list[tuple[str, ...]]:
    assert all(isinstance(one, Drain) for one in plan_for(state).drains)
    return [one.pods for one in plan_for(state).drains]


HOME = node("home", 1)


@pytest.mark.parametrize("taint", [SPOT, DRAINED], ids=lambda taint: taint.key)
def test_all_leave_a_node_that_is_taken_away_at_once(taint: Taint) -> None:
    state = cluster(HOME, going("a", taint), node("b", 9), ring("a", "b", "a"))
    (found,) = plan_for(state).drains
    assert (found.role, found.pods) == ("worker", ("pod-0", "pod-2"))
    told = f"worker-0, worker-2 move off a, which is being removed ({taint.key})"
    assert message(found.reason) == told


def test_a_move_names_each_node_that_is_left() -> None:
    state = cluster(HOME, going("a", SPOT), going("b", DRAINED), node("c", 9), ring("a", "b", "c"))
    (found,) = plan_for(state).drains
    keys = f"{SPOT.key}, {DRAINED.key}"
    told = f"worker-0, worker-1 move off a, b, which are being removed ({keys})"
    assert message(found.reason) == told


def test_a_move_off_a_cordoned_node_names_the_worker_and_the_node() -> None:
    state = cluster(HOME, going("a", CORDON), node("b", 9), ring("a", "a", "b", min=2))
    (found,) = plan_for(state).drains
    assert message(found.reason) == "worker-1 moves off a, which is cordoned"


def test_pods_leave_a_tainted_node_without_capacity_elsewhere() -> None:
    assert moved(cluster(HOME, going("a", SPOT), ring("a"))) == [("pod-0",)]


def test_one_of_them_stays_until_the_first_has_come_back() -> None:
    state = cluster(HOME, going("a", SPOT), node("b", 9), ring("a", "a", "a"))
    assert moved(state) == [("pod-1", "pod-2")]
    state = cluster(HOME, going("a", SPOT), node("b", 9), ring("a", "b", "b"))
    assert moved(state) == [("pod-0",)]


def test_one_after_the_other_leaves_a_cordoned_node_the_highest_of_the_minimum_first() -> None:
    nodes = (HOME, going("a", CORDON), node("b", 9))
    assert moved(cluster(*nodes, ring("a", "a", "a", "b", min=2))) == [("pod-1",)]
    assert moved(cluster(*nodes, ring("b", "b", "a", "a", min=2))) == [("pod-3",)]


def test_a_cordoned_node_is_better_than_none() -> None:
    assert moved(cluster(HOME, going("a", CORDON), ring("a", "a"))) == []


@pytest.mark.parametrize(
    "late",
    [
        pod(1, "b", ready=False),
        pod(1),
        pod(1, "b", terminating=True),
    ],
    ids=["not ready", "not bound", "leaving"],
)
def test_one_pod_at_a_time_leaves_a_cordoned_node(late: Any) -> None:  # noqa: ANN401
    mine = ring("a", "b", pods=(pod(0, "a"), late))
    assert moved(cluster(HOME, going("a", CORDON), node("b", 9), mine)) == []


def test_a_failed_pod_that_was_replaced_keeps_no_other_one_on_a_cordoned_node() -> None:
    """Kubernetes keeps failed pods until their Job ends, or deletes them hours later."""
    failed = replace(pod(0, "b", phase=PodPhase.FAILED, ready=False), name="failed")
    left = ring("b", "a", min=2, pods=(failed, pod(0, "b"), pod(1, "a")), hosts=listing(0, 1))
    assert moved(cluster(HOME, going("a", CORDON), node("b", 2), left)) == [("pod-1",)]


def test_a_rank_that_has_ended_keeps_no_other_one_on_a_cordoned_node() -> None:
    over = pod(0, "b", phase=PodPhase.SUCCEEDED, ready=False)
    parts = (over, pod(1, "b"), pod(2, "a"))
    ranks = worker(
        "ranks", 1, 3, suspended=False, size=3, pods=parts, finished_indexes=frozenset({0})
    )
    elastic = replace(ranks, framework="pytorch")
    assert moved(cluster(going("a", CORDON), node("b", 4), elastic)) == [("pod-2",)]


def test_the_next_pod_leaves_a_cordoned_node_once_the_last_one_is_listed() -> None:
    mine = ring("a", "a", "b", hosts=listing(0, 1))
    assert moved(cluster(HOME, going("a", CORDON), node("b", 9), mine)) == []


def test_a_pod_off_the_host_list_goes_on_leaving() -> None:
    mine = ring("a", "a", "b", hosts=listing(0, 2), min=2)
    assert moved(cluster(HOME, going("a", CORDON), node("b", 9), mine)) == [("pod-1",)]


def test_a_pod_that_tolerates_the_taint_stays() -> None:
    tolerant = shape(1, tolerations=(Toleration(SPOT.key, "Exists", "", ""),))
    mine = ring("a", shape=tolerant)
    assert moved(cluster(HOME, going("a", SPOT), node("b", 9), mine)) == []


def test_a_node_that_is_silent_may_come_back() -> None:
    lost = Taint("node.kubernetes.io/unreachable", "", "NoExecute")
    assert moved(cluster(HOME, going("a", lost), node("b", 9), ring("a"))) == []


def test_the_launcher_is_not_moved() -> None:
    assert moved(cluster(going("home", SPOT, 1), node("b", 9), ring("b"))) == []


def test_no_single_pod_is_drained_from_a_job_that_restarts_as_a_whole() -> None:
    parts = [role(name, 1, 1, on=["a"]) for name in ("scheduler", "server", "worker")]
    mine = job("mx", *parts, framework="mxnet")
    assert moved(cluster(going("a", SPOT), node("b", 9), mine)) == []


def test_no_pod_is_drained_while_the_user_removes_one_by_name() -> None:
    mine = ring("a", "a", removing=frozenset({"pod-1"}))
    assert moved(cluster(HOME, going("a", SPOT), node("b", 9), mine)) == []


@pytest.mark.parametrize(
    "late",
    [pod(1), pod(1, "b", ready=False), pod(1, "b", terminating=True)],
    ids=["not bound", "not ready", "leaving"],
)
def test_the_last_one_stays_while_the_others_are_on_the_way(late: Any) -> None:  # noqa: ANN401
    mine = ring("a", "b", pods=(pod(0, "a"), late))
    assert moved(cluster(HOME, going("a", SPOT), node("b", 9), mine)) == []


def test_room_elsewhere_is_given_once() -> None:
    """Two may leave the cordoned node, and there is room for one of them."""
    first, second = ring("a", "a"), replace(ring("a", "a"), key=JobKey("ns", "second"))
    state = cluster(node("home", 2), going("a", CORDON), node("b", 1), first, second)
    assert len(plan_for(state).drains) == 1


def test_pods_that_must_leave_get_capacity_before_pods_that_may() -> None:
    may, must = ring("a", "a"), replace(ring("c", "c"), key=JobKey("ns", "second"))
    nodes = (node("home", 2), going("a", CORDON), going("c", SPOT), node("b", 1))
    (found,) = plan_for(cluster(*nodes, may, must)).drains
    assert (found.job.name, found.pods) == ("second", ("pod-1",))


def test_ungated_pods_do_not_move_beside_gated_pods_with_the_same_target() -> None:
    small = replace(ring("c", "a"), key=JobKey("ns", "small"))
    small = replace(small, roles=tuple(part.changed(gated=False) for part in small.roles))
    gated = ring("c", "a")
    nodes = (node("home", 2), going("a", CORDON), node("b", 1), node("c", 3))
    (found,) = plan_for(cluster(*nodes, small, gated)).drains
    assert found.job.name == "ring"


def test_a_gated_pod_does_not_move_while_an_ungated_one_is_yet_to_be_bound() -> None:
    waits = job("small", role("worker", 1, 1, suspended=False, pods=(pod(0, created_at=at(-1)),)))
    nodes = (node("home", 2), going("a", CORDON), node("b", 2), node("c", 3))
    assert moved(cluster(*nodes, waits, ring("c", "a"))) == []
    bound = job("small", role("worker", on=["b"]))
    assert moved(cluster(*nodes, bound, ring("c", "a"))) == [("pod-1",)]


def test_a_pod_that_was_left_to_kube_scheduler_is_one_of_those_yet_to_be_bound() -> None:
    """Of a gated role, too: its gate was taken off without a node for an autoscaler."""
    given = pod(0, created_at=at(-99), placed_at=at(-1))
    waits = job("small", role("worker", 1, 1, suspended=False, gated=True, pods=(given,)))
    nodes = (node("home", 2), going("a", CORDON), node("b", 2), node("c", 3))
    assert moved(cluster(*nodes, waits, ring("c", "a"))) == []


def test_the_host_list_of_a_failed_launcher_delays_no_drain() -> None:
    mine = ring("a", "a", "b", min=2)
    launcher, workers = mine.roles
    failed = replace(launcher.status.pods[0], phase=PodPhase.FAILED, name="launcher-old")
    failed = changed_pod(failed, hosts="")
    mine = replace(mine, roles=(launcher.changed(pods=(failed, *launcher.status.pods)), workers))
    assert moved(cluster(HOME, going("a", CORDON), node("b", 9), mine)) == [("pod-1",)]


def test_an_extra_makes_room_for_a_worker_of_the_minimum_on_a_cordoned_node() -> None:
    nodes = (HOME, going("a", CORDON), node("b", 2))
    full = ring("a", "b", "b", min=1)
    plan = plan_for(cluster(*nodes, full))
    assert (sizes(plan), plan.drains) == ({"ring": 2}, ())
    (resize,) = plan.resizes
    assert message(resize.reason) == "to make room for its own minimum"
    leaves = ring(
        "a", "b", min=1, pods=(*full.roles[1].status.pods[:2], pod(2, "b", terminating=True))
    )
    plan = plan_for(cluster(*nodes, leaves))
    assert (sizes(plan), plan.drains) == ({}, ())
    assert moved(cluster(*nodes, ring("a", "b", min=1, max=4))) == [("pod-0",)]


def test_room_goes_to_a_worker_on_a_cordoned_node_before_any_role_grows() -> None:
    nodes = (HOME, going("a", CORDON), node("b", 2))
    plan = plan_for(cluster(*nodes, ring("a", "b", min=1, max=4)))
    assert (sizes(plan), [one.pods for one in plan.drains]) == ({}, [("pod-0",)])


def test_a_role_moves_its_minimum_before_it_grows_to_its_manual_size() -> None:
    """While it grew no pod moved, and the extra of its manual size yielded for the move again."""
    mine = ring("a", min=1, max=4, replicas=2)
    plan = plan_for(cluster(HOME, going("a", CORDON), node("b", 2), mine))
    assert (sizes(plan), [one.pods for one in plan.drains]) == ({}, [("pod-0",)])


def test_ungated_roles_do_not_grow_beside_a_minimum_of_gated_pods_that_moves() -> None:
    grows = job("grows", role("worker", 1, 4, on=["c"], replicas=2))
    nodes = (HOME, going("a", CORDON), node("b", 2), node("c", 1))
    plan = plan_for(cluster(*nodes, ring("a", min=1), grows))
    assert (sizes(plan), [one.pods for one in plan.drains]) == ({}, [("pod-0",)])
    plan = plan_for(cluster(*nodes, ring("b", min=1), grows))
    assert (sizes(plan), plan.drains) == ({"grows": 2}, ())


def test_extras_of_other_jobs_make_room_for_a_minimum_on_a_cordoned_node() -> None:
    other = job("other", role("worker", 1, 4, on=["b", "b"], resizing=ResizePolicy.LIVE))
    nodes = (HOME, going("a", CORDON), node("b", 2))
    assert sizes(plan_for(cluster(*nodes, ring("a", min=1), other))) == {"other": 1}


@pytest.mark.parametrize("gated", [False, True], ids=["ungated", "gated"])
@pytest.mark.parametrize(
    ("on", "sizes_after"),
    [("bcabca", [4]), ("bcaabc", [5]), ("abbcca", [4]), ("aabbca", [4, 3])],
)
def test_extras_beside_a_minimum_on_a_cordoned_node_do_not_keep_it_there(
    on: str, sizes_after: list[int], *, gated: bool
) -> None:
    """All other nodes are full; the job scales down no further than that."""
    part = role("worker", 3, 6, on=list(on), resizing=ResizePolicy.LIVE, gated=gated)
    nodes = [node(name, on.count(name)) for name in "bc"]
    state = cluster(going("a", CORDON), *nodes, job("dr", part, framework="pytorch"))
    resized = []
    for _ in range(20):
        plan = plan_for(state)
        resized += [one.after for one in plan.resizes]
        state = act(state, plan, after=timedelta(seconds=20))
    assert resized == sizes_after
    (part,) = state.jobs[0].roles
    assert {pod.node for pod in part.status.pods[:3]} <= {"b", "c"}


def test_an_extra_on_a_cordoned_node_takes_no_replica_of_another_job() -> None:
    other = job("other", role("worker", 1, 4, on=["b", "b"], resizing=ResizePolicy.LIVE))
    nodes = (HOME, going("a", CORDON), node("b", 3))
    assert sizes(plan_for(cluster(*nodes, ring("b", "a", min=1), other))) == {}


def test_extras_stay_while_a_worker_on_a_cordoned_node_could_not_move() -> None:
    late = ring("a", "b", "b", pods=(pod(0, "a"), pod(1, "b"), pod(2, "b", ready=False)), min=1)
    assert sizes(plan_for(cluster(HOME, going("a", CORDON), node("b", 2), late))) == {}


def test_no_job_restarts_for_a_worker_on_a_cordoned_node() -> None:
    restarts = role("worker", 1, 4, on=["b", "b"], resizing=ResizePolicy.RESTART)
    nodes = (HOME, going("a", CORDON), node("b", 2))
    assert sizes(plan_for(cluster(*nodes, ring("a", min=1), job("other", restarts)))) == {}


def test_extras_that_resize_live_yield_where_a_restart_would_come_first() -> None:
    restarts = role("worker", 1, 4, on=["b", "b", "b", "b"], resizing=ResizePolicy.RESTART)
    live = role("worker", 1, 4, on=["b", "b"], resizing=ResizePolicy.LIVE)
    others = job("satisfied", restarts), job("live", live)
    state = cluster(HOME, going("a", CORDON), node("b", 6), ring("a", min=1), *others)
    assert sizes(plan_for(state)) == {"live": 1}


def test_a_worker_that_cannot_move_now_holds_no_room_back_from_the_queue() -> None:
    late = ring("a", "b", pods=(pod(0, "a"), pod(1, "b", ready=False)), min=1)
    first = job("first", role("worker"), priority=100)
    plan = plan_for(cluster(HOME, going("a", CORDON), node("b", 2), late, first))
    assert [one.job.name for one in plan.admissions] == ["first"]


def test_an_extra_on_a_cordoned_node_comes_after_the_queue() -> None:
    mine = ring("b", "a", min=1)
    first = job("first", role("worker"))
    plan = plan_for(cluster(HOME, going("a", CORDON), node("b", 2), mine, first))
    assert ([one.job.name for one in plan.admissions], plan.drains) == (["first"], ())


QUOTA = 'ResourceQuota "team"'


def limited(hard: int, mine: TrainingJob) -> ClusterState:
    """A cordoned node, room elsewhere, and a quota of this many pods beside one pod of others."""
    quota = Quota("ns", QUOTA, "pods", hard, others=1)
    return replace(cluster(HOME, going("a", CORDON), node("b", 9), mine), quotas=(quota,))


@pytest.mark.parametrize(("hard", "leaves"), [(2, []), (3, [("pod-1",)])], ids=["over", "full"])
def test_a_pod_leaves_a_cordoned_node_only_if_its_quota_lets_it_come_back(
    hard: int, leaves: list[tuple[str, ...]]
) -> None:
    charged = ring("a", "a", min=2, charges=(QuotaCharge(QUOTA, "pods", 1),))
    assert moved(limited(hard, charged)) == leaves


def test_a_pod_leaves_a_cordoned_node_when_pods_that_hold_its_quota_have_ended() -> None:
    """A quota counts terminating pods: until they are gone, no pod comes back."""
    charged = ring("a", "a", min=2, charges=(QuotaCharge(QUOTA, "pods", 1),))
    gone = pod(7, "b", terminating=True)
    other = role("worker", 1, 1, on=["b"], charges=(QuotaCharge(QUOTA, "pods", 1),))
    late = job("late", other.changed(pods=(*other.status.pods, gone)))
    with_late = replace(limited(4, charged), jobs=(charged, late))
    assert moved(with_late) == []
    assert moved(replace(with_late, jobs=(charged, replace(late, roles=(other,))))) == [("pod-1",)]


def staying(state: ClusterState) -> list[tuple[str, tuple[tuple[str, str], ...], str]]:
    return [
        (one.role, one.pods, message(one.reason) if one.reason else "")
        for one in plan_for(state).staying
    ]


FULL = "Insufficient cpu for one more pod of 1 CPU"


def test_workers_of_a_minimum_that_fit_on_no_other_node_stay_with_the_reason() -> None:
    nodes = (HOME, going("a", CORDON), node("b", 1))
    state = cluster(*nodes, ring("a", "b", "a", min=3))
    assert staying(state) == [("worker", (("pod-0", "a"), ("pod-2", "a")), FULL)]
    assert moved(state) == []
    extra = staying(cluster(*nodes, ring("b", "a", min=1)))
    assert extra == [], "extras do not block a drain"


def test_workers_that_tolerate_the_cordon_stay_and_block_a_drain() -> None:
    tolerant = shape(1, tolerations=(Toleration(CORDONED, "Exists"),))
    mine = ring("a", "a", min=2, shape=tolerant)
    state = cluster(HOME, going("a", CORDON), node("b", 9), mine)
    (found,) = plan_for(state).staying
    assert (found.pods, found.evictable) == ((("pod-0", "a"), ("pod-1", "a")), 0)
    assert found.tolerated
    elsewhere = cluster(HOME, going("a", CORDON), node("b", 9), ring("b", min=1, shape=tolerant))
    assert staying(elsewhere) == []


def test_workers_that_fit_only_outside_of_their_rack_stay() -> None:
    rack = "example.com/rack"
    full = [going("a", CORDON), node("b", 1)]
    inside = [replace(one, labels={rack: "r1"}) for one in full]
    outside = node("c", 9, labels={rack: "r2"})
    given = {"on": ["a", "b"], "resizing": ResizePolicy.LIVE, "gated": True}
    required = Topology(required=(("", rack),))
    mine = job("mine", role("worker", 2, 2, topology=required, **given), framework="pytorch")
    assert staying(cluster(*inside, outside, mine)) == [
        ("worker", (("pod-0", "a"),), f"{FULL} in {rack}=r1")
    ]


NEW = pod(1, "b", ready=False, created_at=at(-119))


@pytest.mark.parametrize(
    ("mine", "b"),
    [
        (ring("a", "b", min=2), 2),
        (ring("a", "a", "b", min=3), 2),
        (ring("a", "b", pods=(pod(0, "a"), NEW), min=2), 1),
        (ring("a", "b", hosts=listing(0), min=2), 1),
        (ring("a", "b", min=2, removing=frozenset({"pod-1"})), 1),
    ],
    ids=["moves", "moves first", "another one moves", "is being listed", "another is removed"],
)
def test_workers_that_move_or_wait_for_a_move_do_not_count_as_staying(
    mine: TrainingJob, b: int
) -> None:
    assert staying(cluster(HOME, going("a", CORDON), node("b", b), mine)) == []


def test_workers_for_which_extras_yield_do_not_count_as_staying() -> None:
    extras = job("other", role("worker", 1, 4, on=["b", "b"], resizing=ResizePolicy.LIVE))
    state = cluster(HOME, going("a", CORDON), node("b", 2), ring("a", min=1), extras)
    assert (sizes(plan_for(state)), staying(state)) == ({"other": 1}, [])


def test_a_launcher_and_jobs_that_restart_as_a_whole_stay_on_a_cordoned_node() -> None:
    state = cluster(going("home", CORDON, 1), node("b", 9), ring("b"))
    assert staying(state) == [("launcher", (("pod-0", "home"),), "")]
    parts = [role(name, 1, 1, on=["a"]) for name in ("scheduler", "server", "worker")]
    state = cluster(going("a", CORDON), node("b", 9), job("mx", *parts, framework="mxnet"))
    assert [found for found, _, _ in staying(state)] == ["scheduler", "server", "worker"]


def test_a_quota_that_refuses_the_replacement_is_why_a_worker_stays() -> None:
    charged = ring("a", "a", min=2, charges=(QuotaCharge(QUOTA, "pods", 1),))
    ((role_name, pods, why),) = staying(limited(2, charged))
    assert (role_name, len(pods)) == ("worker", 2)
    assert why.startswith("above its budget: ")


def test_a_job_that_plans_leave_out_stays_with_its_problem() -> None:
    mine = replace(ring("a"), problem=invalid("edl.dev/max: must be a number"))
    state = cluster(HOME, going("a", CORDON), node("b", 9), mine)
    assert staying(state) == [("worker", (("pod-0", "a"),), "edl.dev/max: must be a number")]


def items(*pods: Pod, low: int = 2, remaining: int = 99) -> TrainingJob:
    """Work items: their PodDisruptionBudget counts all pods of the Job."""
    worker = role("worker", low, 9, on=["a"] * len(pods), pods=pods)
    worker = worker.changed(resizing=ResizePolicy.ITEMS, indexed=False, remaining=remaining)
    return job("items", worker, framework="none")


def unranked(number: int, on: str = "a", **fields: Any) -> Pod:  # noqa: ANN401
    return changed_pod(pod(number, on), index=-1, **fields)


UNREADY = unranked(1, ready=False)


@pytest.mark.parametrize(
    ("mine", "stay", "evictable"),
    [
        (items(unranked(0), unranked(1)), 2, 1),
        (items(unranked(0), unranked(1), unranked(2, "b")), 2, 2),
        (items(*[unranked(number) for number in range(4)], low=4), 4, 1),
        (items(*[unranked(number) for number in range(3)], low=4, remaining=3), 3, 3),
        (items(unranked(0), unranked(1), *[unranked(2 + n, "b") for n in range(9)]), 2, 2),
        (items(*[pod(index, "a") for index in range(3)]), 3, 2),
        (items(unranked(0), UNREADY), 1, 0),
        (items(UNREADY), 1, 1),
        (items(unranked(0), UNREADY, unranked(2, "b"), unranked(3, "b")), 2, 2),
        (items(unranked(0), unranked(1), unranked(2, "b", terminating=True)), 2, 1),
        (items(unranked(0), low=1), 1, 1),
    ],
    ids=[
        "only its minimum",
        "one extra elsewhere",
        "a larger minimum",
        "the last items of a minimum",
        "many extras elsewhere",
        "indexes of work items",
        "one of two is ready",
        "only an unready pod",
        "an unready pod and an extra",
        "a terminating extra",
        "a minimum of one has no budget",
    ],
)
def test_a_drain_evicts_work_items_one_by_one_and_those_above_the_minimum_at_once(
    mine: TrainingJob, stay: int, evictable: int
) -> None:
    state = cluster(going("a", CORDON), node("b", 9), mine)
    (found,) = plan_for(state).staying
    assert (len(found.pods), found.evictable) == (stay, evictable)
    assert found.blocks_drain == (evictable == 0)
    cordons = Cordons.of(state.nodes, timedelta(), DecisionClock(at(0)))
    assert staying_anyway(mine, cordons) == ((found,), True)


def test_extras_of_a_ranked_job_allow_no_eviction_of_its_minimum() -> None:
    restarts = role("worker", 1, 3, on=["a", "b", "b"], resizing=ResizePolicy.RESTART)
    state = cluster(going("a", CORDON), node("b", 9), job("mine", restarts))
    (found,) = plan_for(state).staying
    assert (found.pods, found.evictable) == ((("pod-0", "a"),), 0)
