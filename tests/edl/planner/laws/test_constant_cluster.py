"""A cluster that nothing else changes comes to rest, and stays as it is."""

import pytest
from msgspec.structs import replace

from edl.model import ClusterState, ResizePolicy
from tests.edl.planner.laws.test_restart_laws import settle
from tests.edl.planner.states import at, cluster, job, node, role, shape, worker
from tests.edl.planner.ways import WAYS, Way, last_sizes, lived, rests

under_every_policy = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())


ROUNDS = 200


def restarting_job_that_can_block_its_chief() -> ClusterState:
    """The second worker fits n3; on n2, the only node with GPUs, it takes the chief's CPU."""
    first = job("first", role("worker", 1, 1, shape=shape(0.5)), queued=0)
    second = job(
        "second",
        role("worker", 1, 2, shape=shape(2), resizing=ResizePolicy.RESTART),
        role("chief", 1, 1, shape=shape(0.5, gpu=1)),
        queued=0,
    )
    nodes = (node("n0", 2), node("n1", 2), node("n2", 2, gpu=2), node("n3", 2))
    return cluster(*nodes, first, second)


@under_every_policy
@pytest.mark.parametrize("spreading", [False, True])
def test_a_start_keeps_a_role_with_extras_off_the_only_node_of_another(
    way: Way, *, spreading: bool
) -> None:
    state = restarting_job_that_can_block_its_chief()
    plans, _ = lived(way, state, ROUNDS, spreading=spreading)
    assert rests(plans[-1]), last_sizes(plans)
    assert sum(one.restart for plan in plans for one in plan.resizes) <= 1


def narrow_job_beside_one_that_may_use_every_node() -> ClusterState:
    """Only the first node has room for `narrow` and `other`."""
    zone = shape(0.5, node_selector=(("zone", "a"),))
    wide = worker("wide", 1, 9, shape=shape(0.5), on=["a"], queued=-1)
    narrow = worker("narrow", 1, 9, shape=zone, on=["a"], queued=0)
    other = worker("other", 1, 9, shape=zone, on=["a"] * 3, queued=0)
    nodes = (node("a", 3.5, labels={"zone": "a"}), node("b", 1), node("c", 1))
    return cluster(*nodes, wide, narrow, other)


def restart_for_as_much_of_a_manual_size_as_fits() -> ClusterState:
    """There is room for the fourth of five replicas; `low` has one more than its minimum."""
    gpu = shape(1, gpu=1)
    fields = {"resizing": ResizePolicy.RESTART, "replicas": 5, "shape": gpu}
    high = worker("high", 1, 5, on=["a"] * 3, priority=2, **fields)
    low = worker("low", 2, 3, on=["a"] * 3, shape=gpu)
    return cluster(node("a", 9, gpu=7), high, low)


def job_in_its_cooldown_that_two_replicas_make_room_for() -> ClusterState:
    """`first` needs 2 CPU and 1.14 idle (the load ceiling): one replica of 1 CPU is not enough."""
    first = worker("first", 3, 4, on=["a"] * 3, shape=shape(2), priority=1, started_at=at(-5))
    large = worker("large", 3, 9, on=["a"] * 3, shape=shape(2), queued=-9)
    small = worker("small", 1, 9, on=["a"], queued=-8)
    middle = worker("middle", 3, 9, on=["a"] * 9, shape=shape(2), queued=-7)
    last = worker("last", 1, 5, on=["a"] * 5, queued=-6)
    return cluster(node("a", 38), first, large, small, middle, last)


def giver_that_frees_more_than_its_taker_needs() -> ClusterState:
    """2 CPU for one: the second goes to the worker of `cools`, for which nothing else moves."""
    cools = (role("ps", 1, 2, on=["a"], replicas=2), role("worker", 1, 5, on=["a"]))
    restarts = {"resizing": ResizePolicy.RESTART}
    shares = (role("ps", 1, 5, on=["a"] * 3, **restarts), role("worker", 2, 4, on=["a"] * 2))
    return cluster(
        node("a", 48),
        worker("fixed", 1, 1, on=["a"], shape=shape(27)),
        job("cools", *cools, queued=-9, started_at=at(-5)),
        worker("gives", 3, 7, on=["a"] * 6, shape=shape(2), queued=0, **restarts),
        job("shares", *shares, queued=0),
    )


def smallest_donor_that_the_load_ceiling_excludes() -> ClusterState:
    """`ps` asks for 3 CPU, and 1.9 have to stay idle: one of `items` frees too little for that.

    One of `worker` frees enough. The first plan tries one of `items`, then one of each, which used
    more than the new replica would; in the second plan `items` cools down.
    """
    roles = (
        role("ps", 1, 6, on=["a"] * 3, shape=shape(3)),
        role("worker", 1, 3, on=["a"] * 3, shape=shape(3)),
    )
    fields = {"resizing": ResizePolicy.ITEMS, "indexed": False, "shape": shape(2)}
    items = worker("items", 1, 4, on=["a"] * 3, queued=0, **fields)
    fixed = worker("fixed", 1, 1, on=["a"], shape=shape(35))
    return cluster(node("a", 63), fixed, job("asks", *roles), items)


def satisfied_job_whose_idle_capacity_is_elsewhere() -> ClusterState:
    """Where three replicas of `rich` leave node c there is room for a fourth of `large`.

    `rich` finds room for two of them on a and b.
    """
    large = worker("large", 1, 5, shape=shape(3), on=["c"] * 3)
    middle = worker("middle", 1, 12, on=["c"] * 7 + ["a"])
    rich = worker("rich", 1, 20, on=["c"] * 15)
    return cluster(node("a", 3.9), node("b", 1.9), node("c", 31.9), large, middle, rich)


def job_whose_next_replica_satisfies_it_more_than_its_giver() -> ClusterState:
    """Replicas of 1, 2 and 3 CPU: each one more changes the share of `few` by a quarter."""
    two = worker("two", 1, 12, shape=shape(2), on=["a"] * 2)
    one = worker("one", 1, 12, on=["a"] * 4)
    few = worker("few", 1, 5, shape=shape(3), on=["a"] * 2)
    three = worker("three", 1, 9, shape=shape(3), on=["a"] * 6 + ["b"])
    return cluster(node("a", 33), node("b", 4.5), two, one, few, three)


def work_items_that_grow_on_one_node_and_give_on_another() -> ClusterState:
    """`items` finds room on c in the plan in which two of its replicas leave a for `large`."""
    fields = {"resizing": ResizePolicy.ITEMS, "indexed": False}
    items = worker("items", 1, 21, on=["a"] * 4 + ["c"], **fields)
    large = worker("large", 1, 10, shape=shape(2), on=["b"])
    return cluster(node("a", 4.2), node("b", 2.2), node("c", 2.2), items, large)


def restarting_job_whose_nodes_kube_scheduler_chooses() -> ClusterState:
    """Its minimum is on other nodes after each restart, so that extras of both must leave some."""
    restarts = {"shape": shape(0.5), "resizing": ResizePolicy.RESTART}
    placed = worker("placed", 2, 4, on=["c"] * 2, queued=-700, priority=1, **restarts)
    found = worker("found", 2, 4, queued=-500, priority=1, **restarts)
    found = replace(found, roles=tuple(one.changed(gated=False) for one in found.roles))
    fixed = worker("fixed", 3, 3, on=["d", "d", "c"], shape=shape(2), queued=-600)
    nodes = (node("a", 1, gpu=1), node("b", 2), node("c", 3, gpu=1), node("d", 6))
    return cluster(*nodes, placed, fixed, found)


def sizes(state: ClusterState) -> dict[str, int]:
    return {one.key.name: one.roles[0].status.size for one in state.jobs}


@pytest.mark.parametrize("spreading", [False, True])
def test_a_replica_leaves_its_node_though_its_role_finds_room_elsewhere(*, spreading: bool) -> None:
    """Else the size of `rich` is as before, none of its pods leaves, and `large` waits for ever."""
    state = satisfied_job_whose_idle_capacity_is_elsewhere()
    plans, state = lived(WAYS["fair"], state, ROUNDS, spreading=spreading)
    assert rests(plans[-1]), last_sizes(plans)
    assert sizes(state) == {"large": 4, "middle": 9, "rich": 14}


@under_every_policy
def test_jobs_that_leave_unneeded_nodes_again_and_again_come_to_rest(way: Way) -> None:
    state = restarting_job_whose_nodes_kube_scheduler_chooses()
    needed = Way(way.policy, WAYS["needed nodes"].limits)
    _, plans = settle(state, way=needed, rounds=ROUNDS, lingering=True, spreading=True)
    assert rests(plans[-1]), last_sizes(plans)


@pytest.mark.parametrize("spreading", [False, True])
def test_the_job_that_replicas_leave_for_grows_before_others_do(*, spreading: bool) -> None:
    """Else a job that gave takes the room again, and gives it again, for ever."""
    state = job_whose_next_replica_satisfies_it_more_than_its_giver()
    plans, state = lived(WAYS["fair"], state, ROUNDS, spreading=spreading)
    assert rests(plans[-1]), last_sizes(plans)
    assert sizes(state)["few"] == 3


@pytest.mark.parametrize("spreading", [False, True])
def test_work_items_that_leave_by_name_create_no_pods_at_the_same_time(*, spreading: bool) -> None:
    """Else kube-scheduler may bind these to the node that the others leave."""
    state = work_items_that_grow_on_one_node_and_give_on_another()
    plans, state = lived(WAYS["fair"], state, ROUNDS, spreading=spreading)
    assert rests(plans[-1]), last_sizes(plans)
    assert sizes(state) == {"items": 4, "large": 2}


@under_every_policy
def test_a_job_whose_pods_terminate_slowly_restarts_at_the_size_it_was_stopped_for(
    way: Way,
) -> None:
    """Else it starts at its minimum, and restarts to grow again after its back-off, for ever."""
    grows = worker("grows", 2, 4, shape=shape(2), on=["a"] * 2, resizing=ResizePolicy.RESTART)
    plans, state = lived(way, cluster(node("a", 9), grows), ROUNDS, lingering=True)
    assert rests(plans[-1]), last_sizes(plans)
    assert sizes(state) == {"grows": 4}
