"""Who yields to whom, and that nobody yields in vain."""

from collections import Counter
from datetime import timedelta
from typing import Any, SupportsIndex

import pytest
from msgspec.structs import replace

from edl.feasibility.horizon import FUTURE_IDLE
from edl.messages import message
from edl.model import ClusterState, PodPhase, ResizePolicy, TrainingJob
from edl.planner.decide import decide
from edl.planner.decision_limits import Limits
from edl.planner.packing.placement import Placement
from edl.planner.packing.pod_class import PodSetRequest
from edl.planner.plan import Plan
from edl.planner.policies import POLICIES
from edl.planner.reclaiming.capacity_claim import reserve_capacity
from edl.planner.reclaiming.reservation import Reservation
from edl.planner.snapshot.existing_placements import retention_order
from edl.planner.snapshot.extras.reclaimable import Reclaimable, reclaim_order
from edl.planner.snapshot.extras.yield_order import ReclaimOrder
from edl.planner.snapshot.take_snapshot import take_snapshot
from edl.planner.teams.reclaim_priority import ALL_IN_REACH
from tests.edl.planner.acting import act
from tests.edl.planner.plans import sizes, started
from tests.edl.planner.states import (
    alternating,
    at,
    cluster,
    demand,
    node,
    pod,
    shape,
    worker,
)

PATIENT = Limits(queue_patience=timedelta(hours=9))


def plan_for(state: ClusterState, limits: Limits = PATIENT) -> Plan:
    return decide(state, POLICIES["fair"], limits)


def test_a_gang_takes_extras_of_its_own_priority() -> None:
    running = worker("running", 1, 4, on=["a"] * 4)
    plan = plan_for(cluster(node("a", 4), running, worker("new", 2, 2)))
    (resize,) = plan.resizes
    assert (resize.before, resize.after, message(resize.reason)) == (
        4,
        2,
        "to make room for ns/new",
    )
    assert not plan.admissions


def test_a_gang_never_takes_extras_of_a_higher_priority() -> None:
    running = worker("running", 1, 4, on=["a"] * 4, priority=1)
    new = worker("new", 2, 2)
    assert not plan_for(cluster(node("a", 4), running, new)).resizes
    equal = replace(running, priority=0)
    assert sizes(plan_for(cluster(node("a", 4), equal, new))) == {"running": 2}


def test_no_higher_priority_yields_while_a_node_further_on_has_room_below_it() -> None:
    """More nodes than a claim compares have one extra of the lowest priority each."""
    names = [f"node-{n:02}" for n in range(40)]
    low = [worker(f"low-{name}", 1, 2, on=["home", name]) for name in names]
    high = [worker(f"high-{name}", 1, 2, on=["home", name], priority=1) for name in names]
    late = [worker(f"late-{n}", 1, 8, on=["home", "last"]) for n in range(2)]
    nodes = [node(name, 2) for name in (*names, "last")]
    new = worker("new", 1, 1, shape=shape(2), priority=2)
    plan = plan_for(cluster(node("home", 82), *nodes, *low, *high, *late, new))
    assert {one.job.name for one in plan.resizes} == {"late-0", "late-1"}


def test_no_job_shrinks_for_a_gang_that_would_still_not_fit() -> None:
    running, new = worker("running", 2, 4, on=["a"] * 4), worker("new", 3, 3)
    assert not plan_for(cluster(node("a", 4), running, new)).resizes
    assert sizes(plan_for(cluster(node("a", 5), running, new))) == {"running": 2}


def test_others_pods_make_extras_yield() -> None:
    running = worker("running", 1, 4, on=["a"] * 4)
    plan = plan_for(cluster(node("a", 4), running, demand("nginx", shape(2), priority=0)))
    (resize,) = plan.resizes
    assert (resize.after, message(resize.reason)) == (2, "to make room for web/nginx (priority 0)")


@pytest.mark.parametrize(
    ("low", "over", "after"),
    [(1, {0}, 2), (2, {0, 1}, 4), (1, {3}, 1), (2, {1, 2}, 4), (3, {0, 1}, None), (1, set(), 1)],
)
def test_ranks_that_have_ended_do_not_count_as_the_minimum(
    low: int, over: set[int], after: int | None
) -> None:
    """A Job with these alone would be complete, and what its other pods did would be lost."""
    ready = {"phase": PodPhase.RUNNING}
    pods = tuple(
        pod(index, "a", **({"phase": PodPhase.SUCCEEDED} if index in over else ready))
        for index in range(4)
    )
    counted = frozenset(over - {1})  # the Job controller has yet to count the last one
    fields = {"suspended": False, "size": 4, "pods": pods, "finished_indexes": counted}
    running = worker("running", low, 4, **fields)
    taker = demand("nginx", shape(1), count=4)
    found = sizes(plan_for(cluster(node("a", 4 - len(over)), running, taker)))
    assert found == ({} if after in (None, 4) else {"running": after})


def test_extras_yield_to_pods_of_all_schedulers_but_those_that_the_limits_name() -> None:
    """Volcano's may wait for a quota of their queue; one of GKE's is on each pod."""

    def resized(scheduler: str, limits: Limits) -> dict[str, int]:
        running = worker("running", 1, 4, on=["a"] * 4)
        pending = replace(demand("web", shape(2)), scheduler=scheduler)
        return sizes(decide(cluster(node("a", 4), running, pending), POLICIES["fair"], limits))

    gke = "gke.io/optimize-utilization-scheduler"
    for queueing in ("volcano", "yunikorn", "kai-scheduler", "koord-scheduler"):
        assert resized(queueing, Limits()) == {}
    for other in (gke, "default-scheduler", "kubeshare-scheduler", "my_scheduler"):
        assert resized(other, Limits()) == {"running": 2}
    assert resized(gke, Limits(queueing_schedulers=gke)) == {}
    for named in ("", gke):
        assert resized("volcano", Limits(queueing_schedulers=named)) == {"running": 2}


def test_others_pods_of_a_lower_priority_do_not() -> None:
    running, waiting = worker("running", 1, 4, on=["a"] * 4, priority=1), demand("nginx", shape(2))
    assert not plan_for(cluster(node("a", 4), running, waiting)).resizes
    equal = replace(running, priority=0)
    assert sizes(plan_for(cluster(node("a", 4), equal, waiting))) == {"running": 2}


def test_on_a_node_that_has_too_many_pods_as_many_yield_as_make_room() -> None:
    running = worker("running", 1, 6, on=["a"] * 6)
    (resize,) = plan_for(cluster(node("a", 3), running, demand("nginx", shape(1)))).resizes
    assert (resize.before, resize.after) == (6, 2)


def test_of_others_pods_as_many_get_room_as_can() -> None:
    running = worker("running", 1, 4, on=["a"] * 4)
    plan = plan_for(cluster(node("a", 4), running, demand("nginx", shape(2), count=5)))
    assert [found.after for found in plan.resizes] == [2]


def test_others_pods_come_before_the_queue_at_equal_priority() -> None:
    plan = plan_for(cluster(node("a", 2), worker("new", 2, 2), demand("nginx", shape(1))))
    assert not plan.admissions
    higher = worker("new", 2, 2, priority=1)
    assert plan_for(cluster(node("a", 2), higher, demand("nginx", shape(1)))).admissions


def test_only_replicas_on_nodes_that_help_yield() -> None:
    here = worker("here", 1, 3, on=["a", "a", "a"], priority=0)
    there = worker("there", 1, 4, on=["b"] * 4)
    needs = shape(2, node_selector=(("zone", "here"),))
    nodes = (node("a", 3, labels={"zone": "here"}), node("b", 4, labels={"zone": "there"}))
    plan = plan_for(cluster(*nodes, here, there, demand("nginx", needs)))
    assert [(found.job.name, found.after) for found in plan.resizes] == [("here", 1)]


def test_a_job_with_its_highest_index_on_an_unhelpful_node_keeps_its_replicas() -> None:
    rich = worker("rich", 1, 4, on=["a", "a", "a", "b"])
    poor = worker("poor", 1, 4, on=["a", "a"])
    new = worker("new", 1, 1, shape=shape(1, node_selector=(("zone", "a"),)))
    nodes = node("a", 5, labels={"zone": "a"}), node("b", 1, labels={"zone": "b"})
    assert sizes(plan_for(cluster(*nodes, rich, poor, new))) == {"poor": 1}


def test_the_lowest_priority_yields_first() -> None:
    low = worker("low", 1, 9, on=["a", "a"])
    high = worker("high", 1, 2, on=["a", "a"], priority=1)
    plan = plan_for(cluster(node("a", 4), low, high, demand("nginx", shape(1), priority=5)))
    assert [(found.job.name, found.after) for found in plan.resizes] == [("low", 1)]


def test_the_most_fulfilled_yields_first_among_equals() -> None:
    full = worker("full", 1, 3, on=["a"] * 3)
    half = worker("half", 1, 9, on=["a"] * 4)
    plan = plan_for(cluster(node("a", 7), full, half, demand("nginx", shape(1))))
    assert [(found.job.name, found.after) for found in plan.resizes] == [("full", 2)]


def test_a_manual_size_yields_to_a_higher_priority_only() -> None:
    manual = worker("manual", 1, 4, on=["a"] * 4, replicas=4)
    assert not plan_for(cluster(node("a", 4), manual, demand("nginx", shape(1)))).resizes
    (resize,) = plan_for(
        cluster(node("a", 4), manual, demand("nginx", shape(1), priority=1))
    ).resizes
    assert resize.after == 3


def test_a_shrink_is_asked_for_once() -> None:
    """The pod that goes is counted as room until it is gone."""
    shrunk = worker("shrunk", 1, 4, size=3, suspended=False, pods=[pod(i, "a") for i in range(4)])
    assert not plan_for(cluster(node("a", 4), shrunk, demand("nginx", shape(1)))).resizes


@pytest.mark.parametrize("leaves", [True, False])
def test_growth_elsewhere_waits_while_pods_of_others_have_room_that_a_new_pod_could_take(
    *, leaves: bool
) -> None:
    """The scheduler would put it where most is free: the role would yield and grow for ever."""
    pods = [pod(0, "b"), *([pod(9, "a", terminating=True)] if leaves else [])]
    mine = worker("mine", 1, 9, size=1, suspended=False, pods=pods, resized_at=at(-11))
    waiting = demand("big", shape(3))
    nodes = (node("a", 3), node("b", 3))
    assert not plan_for(cluster(*nodes, mine, waiting)).resizes
    assert sizes(plan_for(cluster(*nodes, mine, waiting, seconds=36_000))) == {"mine": 2}


def test_a_started_job_that_lost_a_node_takes_room_for_its_minimum() -> None:
    lost = worker(
        "lost", 2, 2, suspended=False, size=2, pods=(pod(0, "a"), pod(1, created_at=at(-1)))
    )
    other = worker("other", 1, 3, on=["a"] * 3)
    (resize,) = plan_for(cluster(node("a", 4), lost, other)).resizes
    assert (resize.job.name, resize.after, message(resize.reason)) == (
        "other",
        2,
        "to make room for the minimum of ns/lost",
    )


def items(name: str, low: int, on: list[str], **fields: Any) -> TrainingJob:  # noqa: ANN401 - the builder's fields
    """Interchangeable pods: the Job controller ends the last ones when the Job shrinks."""
    given: dict[str, Any] = {"high": 99, "on": on, "resizing": ResizePolicy.ITEMS, "indexed": False}
    return worker(name, low, **(given | fields))


SPREAD = [node(name, 4) for name in "abcd"]
ROUND_ROBIN = ["a", "b", "c", "d"] * 4


def test_work_items_leave_by_name_where_a_larger_pod_then_fits() -> None:
    state = cluster(*SPREAD, items("sweep", 1, ROUND_ROBIN), demand("api", shape(2), count=2))
    plan = plan_for(state)
    assert sizes(plan) == {"sweep": 12}
    (drain,) = plan.drains
    on = {pod.name: pod.node for pod in state.jobs[0].roles[0].status.pods}
    assert sorted(Counter(on[name] for name in drain.pods).values()) == [2, 2]
    after = act(state, plan, after=timedelta(seconds=1))
    assert not after.demands
    assert sizes(plan_for(after)) == {}


def test_work_items_are_not_named_for_pods_that_fit_wherever_one_leaves() -> None:
    running = items("sweep", 1, ["b", "b", "a", "a", "a", "a"])
    state = cluster(node("a", 4), node("b", 2), running, demand("api", shape(1), count=2))
    plan = plan_for(state)
    assert (sizes(plan), plan.drains) == ({"sweep": 4}, ())


def test_work_items_are_named_for_a_pod_that_needs_the_room_of_two() -> None:
    """The Job controller ends those two of four equal pods that it comes to first."""
    running = items("sweep", 1, ["b", "b", "a", "a", "a", "a"])
    state = cluster(node("a", 4), node("b", 2), running, demand("api", shape(2)))
    plan = plan_for(state)
    assert sizes(plan) == {"sweep": 4}
    (drain,) = plan.drains
    on = {pod.name: pod.node for pod in state.jobs[0].roles[0].status.pods}
    assert [on[name] for name in drain.pods] == ["a", "a"]


def test_the_job_controller_keeps_the_pods_that_became_ready_first() -> None:
    """Before it compares ages."""
    found = [pod(n, "a", ready_since=at(-n), created_at=at(n - 9)) for n in range(3)]
    assert [one.index for one in retention_order(found)] == [2, 1, 0]


def test_work_items_of_the_minimum_stay() -> None:
    running = items("sweep", 15, ROUND_ROBIN)
    assert not plan_for(cluster(*SPREAD, running, demand("api", shape(2)))).resizes


def test_work_items_of_two_jobs_leave_the_same_node_for_a_gang() -> None:
    one, two = items("one", 1, ["a", "b", "c", "d"] * 2), items("two", 1, ["d", "c", "b", "a"] * 2)
    plan = plan_for(cluster(*SPREAD, one, two, worker("gang", 1, 1, shape=shape(4))))
    left = Counter(sizes(plan))
    assert left.total() == 12


def test_minimums_of_work_items_are_kept_together_where_a_gang_fits_only_then() -> None:
    """kube-scheduler has put the first items of the two jobs on four nodes."""
    one, two = items("one", 2, ["a", "b", "c", "d"] * 2), items("two", 2, ["d", "c", "b", "a"] * 2)
    state = cluster(*SPREAD, one, two, worker("gang", 3, 3, shape=shape(4)))
    plan = plan_for(state)
    assert sizes(plan) == {"one": 2, "two": 2}
    after = act(state, plan, after=timedelta(seconds=1))
    assert len({pod.node for job in after.jobs[:2] for pod in job.roles[0].status.pods}) == 1
    assert list(started(plan_for(after))) == ["gang"]


def test_pods_of_others_fit_where_minimums_of_work_items_are_kept_together() -> None:
    running = items("sweep", 4, ROUND_ROBIN)
    state = cluster(*SPREAD, running, demand("api", shape(4), count=3))
    plan = plan_for(state)
    assert sizes(plan) == {"sweep": 4}
    assert not act(state, plan, after=timedelta(seconds=1)).demands


def test_a_replica_that_the_plan_has_just_added_is_not_kept_as_the_minimum() -> None:
    """It has no pod yet: in its place, a pod of the minimum would be evicted."""
    snapshot = take_snapshot(
        cluster(*SPREAD, items("sweep", 2, ["a", "b"])), POLICIES["fair"], PATIENT
    )
    (allocation,) = snapshot.allocations
    for _ in range(2):
        allocation.place(0, FUTURE_IDLE)
    reclaimable = Reclaimable(snapshot, [allocation], reclaim_order(snapshot))
    request = PodSetRequest(snapshot.pod_class(shape(4)), 3)
    assert reclaimable.gather_minimums([request], ALL_IN_REACH) is None
    assert [one.is_new for one in allocation.placements] == [False, False, True, True]


def test_rebalancing_does_not_gather_minimums() -> None:
    """A donor would lose several replicas for one, and grow again."""
    state = cluster(*SPREAD, items("sweep", 4, ROUND_ROBIN), worker("gang", 1, 1, shape=shape(4)))
    snapshot = take_snapshot(state, POLICIES["fair"], PATIENT)
    request = PodSetRequest(snapshot.pod_class(shape(4)), 1)
    order = reclaim_order(snapshot)
    donors = ReclaimOrder(order.min_replicas, order.key)
    gathers = [
        Reclaimable(snapshot, snapshot.allocations, rules).gather_minimums([request], ALL_IN_REACH)
        for rules in (donors, order)
    ]
    assert gathers == [None, [1]]


def test_a_reprieved_replica_yields_to_a_later_claim_on_its_node() -> None:
    """The first gang has evicted replicas of both roles and needs only those of other nodes."""
    names = [f"node-{place:02}" for place in range(60)]
    pairs = zip(names, [*names[1:], names[0]], strict=True)
    low = [worker(f"low-{one}", 1, 4, on=[one, other] * 2, queued=-5000) for one, other in pairs]
    a = worker("a", 1, 2, on=["y", "x"], queued=-4000)
    c = worker("c", 1, 9, on=["y", "x", "x"], queued=-4500)
    state = cluster(
        *map(node, names),
        node("x", 3, labels={"zone": "x"}),
        node("y", 2),
        *(*low, a, c, worker("big", 1, 1, shape=shape(3), queued=-3700)),
        worker("pin", 1, 1, shape=shape(3, node_selector=(("zone", "x"),)), queued=-3650),
    )
    plan = plan_for(state)
    assert {"a": 1, "c": 1}.items() <= sizes(plan).items()


def test_minimums_that_make_no_room_together_stay_where_they_are() -> None:
    """On each node, the gang lacks more than the items hold."""
    own = worker("own", 4, 4, on=["a", "b", "c", "d"])
    running = items("sweep", 2, ["a", "b", "c", "d"] * 3)
    plan = plan_for(cluster(*SPREAD, own, running, worker("gang", 1, 1, shape=shape(4))))
    assert (sizes(plan), plan.drains) == ({}, ())


def test_work_items_leave_by_name_also_where_their_role_grows_elsewhere_afterwards() -> None:
    """Each node has room for two more, and the larger pod needs that of four."""
    roomy = [node(name, 6) for name in "abcd"]
    state = cluster(*roomy, items("sweep", 1, ROUND_ROBIN), demand("api", shape(4)))
    plan = plan_for(state)
    assert sizes(plan) == {"sweep": 14}
    (drain,) = plan.drains
    on = {pod.name: pod.node for pod in state.jobs[0].roles[0].status.pods}
    assert len({on[name] for name in drain.pods}) == 1
    assert not act(state, plan, after=timedelta(seconds=1)).demands


def test_items_that_are_done_leave_before_those_that_run() -> None:
    """A Job makes a deleted item again while its size allows one for each that is left."""
    pods = [pod(place, on) for place, on in enumerate(["a", "b", "c", "d", "a", "b"])]
    sweep = items("sweep", 1, [], size=20, suspended=False, pods=pods, remaining=6)
    state = cluster(*SPREAD, sweep, demand("api", shape(4)))
    plan = plan_for(state)
    assert sizes(plan) == {"sweep": 5}
    (drain,) = plan.drains
    on = {pod.name: pod.node for pod in pods}
    assert [on[name] for name in drain.pods] in (["c"], ["d"])


class Reads(list[Placement]):
    """Placements that count how many of them are read."""

    count = 0  # type: ignore[assignment]

    def __getitem__(self, key: SupportsIndex | slice) -> Placement | list[Placement]:  # type: ignore[override]
        found = super().__getitem__(key)
        self.count += len(found) if isinstance(key, slice) else 1
        return found


def test_the_work_of_a_removal_is_in_proportion_to_the_items() -> None:
    on = [f"n{place % 40}" for place in range(320)]
    nodes = [node(f"n{place}", 8) for place in range(40)]
    state = cluster(*nodes, items("sweep", 1, on, high=999), demand("api", shape(8), count=20))
    snapshot = take_snapshot(state, POLICIES["fair"], PATIENT)
    (allocation,) = snapshot.allocations
    allocation.placements = reads = Reads(allocation.placements)
    request = PodSetRequest(snapshot.pod_class(state.demands[0].shape), 20)
    reservation = Reservation(snapshot.capacity, [request])
    reclaimable = Reclaimable(snapshot, [allocation], reclaim_order(snapshot))
    assert reserve_capacity(reservation, reclaimable, ALL_IN_REACH, whole=True)
    assert allocation.size == 160
    assert reads.count < 10 * 320


def test_a_claim_clears_the_node_that_needs_fewest_evictions() -> None:
    """The last replicas are on two nodes, and what is left of one is filled up by the next."""
    large = [worker(f"large-{n}", 1, 1, shape=shape(2.1), priority=1) for n in range(30)]
    plan = plan_for(alternating(120, *large))
    taken = sum(one.before - one.after for one in plan.resizes)
    assert taken == 3 * len(large) + 2


def test_a_replica_that_may_leave_anywhere_does_not_hide_the_others() -> None:
    """One that yields by name left a node of other use, on which the next one never helps."""
    names = [f"g{n:03}" for n in range(100)]
    of = (("pool", "gpu"),)
    gpus = [node(name, 16, gpu=8, labels={"pool": "gpu"}) for name in names]
    others = [node("u", 10, gpu=8, labels={"pool": "gpu"}), node("z", 4), node("own", 8, gpu=4)]
    trainer = worker("trainer", 1, 220, on=["own", *names, *names], shape=shape(8, gpu=4))
    items = worker(
        *("items", 1, 4),
        on=["z", "u", "u", "z"],
        shape=shape(2),
        resizing=ResizePolicy.ITEMS,
        indexed=False,
        queued=10,
    )
    elastic = worker("elastic", 1, 2, on=["z", "z"], queued=20)
    gang = worker(*("gang", 5, 5), shape=shape(8, gpu=8, node_selector=of), queued=-50, priority=5)
    plan = plan_for(cluster(*gpus, *others, trainer, items, elastic, gang))
    assert sizes(plan)["items"] == 3
