"""Ungated pods wait a moment where they might take room that the plan has for others."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from edl import reasons
from edl.contract import PLACEMENT_GATE
from edl.model import Code, Reason, ResizePolicy, TrainingJob
from edl.planner.decision_limits import Limits
from edl.planner.plan import Plan
from tests.edl.planner.plans import plan_for, sizes, started, told, wait_reasons
from tests.edl.planner.states import at, cluster, job, node, pod, role, shape, worker


def test_pods_of_one_shape_need_no_care() -> None:
    tight = [worker(f"job-{number}", 1, 1, shape=shape(2)) for number in range(4)]
    plan = plan_for(cluster(node("a", 4), node("b", 4), *tight))
    assert len(plan.admissions) == 4
    assert all(not one.nodes for one in plan.admissions)


def test_a_gang_that_others_may_disturb_starts_when_they_have_their_nodes() -> None:
    first = worker("first", 2, 2, shape=shape(1), queued=-99)
    second = worker("second", 1, 1, shape=shape(4), queued=-98)
    nodes = (node("a", 4), node("b", 4))
    plan = plan_for(cluster(*nodes, first, second))
    assert list(started(plan)) == ["first"]
    assert wait_reasons(plan)["second"].code is Code.PLACEMENT_ORDER
    assert plan.recheck_after is not None
    bound = worker("first", 2, 2, shape=shape(1), on=["a", "a"])
    assert list(started(plan_for(cluster(*nodes, bound, second)))) == ["second"]


def test_growth_waits_for_a_gang_that_it_may_disturb() -> None:
    running = worker("running", 1, 2, shape=shape(1), on=["a"])
    queued = worker("queued", 1, 1, shape=shape(4))
    plan = plan_for(cluster(node("a", 4), node("b", 4), running, queued))
    assert (list(started(plan)), sizes(plan)) == (["queued"], {})
    assert wait_reasons(plan) == {"running": reasons.placed_after([queued.key])}
    begun = worker("queued", 1, 1, shape=shape(4), on=["b"])
    assert sizes(plan_for(cluster(node("a", 4), node("b", 4), running, begun))) == {"running": 2}


def test_growth_that_delays_no_start_goes_on_beside_a_pending_start() -> None:
    """Another's pod is on its way; the start would have to wait without the growth, too."""
    running = worker("running", 1, 2, shape=shape(1, node_selector=(("zone", "a"),)), on=["a"])
    assert sizes(plan_beside_a_start_that_waits(running)) == {"running": 2}


def test_growth_leaves_the_room_of_a_start_that_waits() -> None:
    running = worker("running", 1, 2, shape=shape(1), on=["a"])
    plan = plan_beside_a_start_that_waits(running)
    assert (sizes(plan), wait_reasons(plan)["running"].code) == ({}, Code.PLACEMENT_ORDER)


def plan_beside_a_start_that_waits(running: TrainingJob) -> Plan:
    coming = worker("coming", 2, 2, shape=shape(1), on=["a", ""], started_at=at(-5))
    queued = worker("queued", 1, 1, shape=shape(4, node_selector=(("zone", "b"),)))
    part = coming.roles[0].changed(pods=(pod(0, "a"), pod(1, created_at=at(-5))))
    nodes = (node("a", 4, labels={"zone": "a"}), node("b", 4, labels={"zone": "b"}))
    plan = plan_for(cluster(*nodes, running, replace(coming, roles=(part,)), queued))
    assert (started(plan), wait_reasons(plan)["queued"].code) == ({}, Code.PLACEMENT_ORDER)
    return plan


def test_growth_of_small_pods_waits_where_it_may_take_the_node_of_a_large_one() -> None:
    small = worker("small", 1, 2, shape=shape(1), on=["a"])
    large = worker("large", 1, 2, shape=shape(4), on=["b"])
    nodes = (node("a", 2), node("b", 4), node("c", 4))
    plan = plan_for(cluster(*nodes, small, large))
    assert (sizes(plan), wait_reasons(plan)) == (
        {"large": 2},
        {"small": reasons.placed_after([large.key])},
    )
    grown = worker("large", 1, 2, shape=shape(4), on=["b", "c"])
    assert sizes(plan_for(cluster(*nodes, small, grown))) == {"small": 2}


def test_growth_leaves_the_room_alone_that_a_claim_waits_for() -> None:
    """The scheduler knows of no claim, and would put the new pods there, again and again."""
    low = worker("low", 2, 10, replicas=6, on=["std", "std", "gpu", "gpu"])
    high = worker("high", 3, 3, shape=shape(2, gpu=1), priority=1000, queued=-60)
    plan = plan_for(cluster(node("gpu", 6, gpu=3), node("std", 4), low, high))
    assert wait_reasons(plan)["high"] == reasons.leaving(3, [low.key])
    assert all(one.after < one.before for one in plan.resizes)


def test_pods_that_wait_for_long_are_waited_for_no_longer() -> None:
    waiting = worker("waiting", 1, 2, shape=shape(3), on=["a", ""], started_at=at(-40))
    part = waiting.roles[0].changed(pods=(pod(0, "a"), pod(1, created_at=at(-40))))
    queued = worker("queued", 1, 1, shape=shape(1))
    plan = plan_for(cluster(node("a", 4), node("b", 4), replace(waiting, roles=(part,)), queued))
    assert "queued" in started(plan)


def _late_minimum() -> TrainingJob:
    """A started job whose only pod of 2 CPU has been pending for longer than the pending limit."""
    part = role(size=1, suspended=False, pods=(pod(0, created_at=at(-40)),), shape=shape(2))
    return job("late", part, started_at=at(-40))


def test_growth_leaves_the_node_of_a_minimum_that_waits_for_long() -> None:
    """Otherwise a replica would be reclaimed for the minimum, grow there again, and so on."""
    small, late = worker("small", 1, 2, shape=shape(1), on=["a"]), _late_minimum()
    plan = plan_for(cluster(node("a", 2), node("b", 2), small, late), Limits(load_ceiling=1))
    assert (sizes(plan), wait_reasons(plan)["small"]) == ({}, reasons.placed_after([late.key]))


def test_growth_that_leaves_a_late_minimum_its_node_does_not_wait_for_it() -> None:
    """The nodes have 39 places for its pod, and each new replica may take one of them."""
    nodes = [node(f"n{number}", 4) for number in range(20)]
    late = _late_minimum()
    for fields in ({}, {"cooldown": timedelta(minutes=5)}):
        small = worker("small", 1, 90, shape=shape(1), on=["n0"], **fields)
        plan = plan_for(cluster(*nodes, small, late), Limits(load_ceiling=1))
        assert (sizes(plan), plan.growth_waits) == ({"small": 1 + 38}, ())
        assert told(plan)["small"] == "waiting for pods ahead of it to be scheduled: ns/late"


def test_a_restart_to_grow_waits_for_the_nodes_that_it_leaves_to_a_late_minimum() -> None:
    """No longer than it would rest, as it would restart again for the remaining nodes."""
    nodes = [node(f"n{number}", 4) for number in range(20)]

    def plan(**fields: Any) -> Plan:  # noqa: ANN401
        small = worker(
            "small", 1, 90, shape=shape(1), on=["n0"], resizing=ResizePolicy.RESTART, **fields
        )
        ungated = replace(small, roles=(small.roles[0].changed(gated=False),))
        return plan_for(cluster(*nodes, ungated, _late_minimum()), Limits(load_ceiling=1))

    assert sizes(plan()) == {}
    assert told(plan())["small"] == "waiting for pods ahead of it to be scheduled: ns/late"
    assert sizes(plan(growth_awaited_since=at(-3600))) == {"small": 1 + 38}


def test_a_minimum_that_waits_for_long_gets_the_fullest_node_so_that_larger_pods_fit() -> None:
    """Both nodes fit one pod of it; growth that fits on the other node alone does not wait."""
    large = worker("large", 1, 2, shape=shape(3), on=["a"])
    state = cluster(node("a", 6.5), node("b", 2), large, _late_minimum())
    assert sizes(plan_for(state, Limits(load_ceiling=1))) == {"large": 2}


def test_growth_does_not_wait_for_pods_that_are_in_the_way_of_others_alone() -> None:
    """Of two pods on their way the small one may take the large one's node; it grows elsewhere."""

    def coming(name: str, cpu: float) -> TrainingJob:
        part = role(
            "worker", size=1, suspended=False, pods=(pod(0, created_at=at(-2)),),
            shape=shape(cpu, node_selector=(("pool", "one"),)),
        )  # fmt: skip
        return job(name, part, started_at=at(-2))

    nodes = (node("a", 4, labels={"pool": "one"}), node("b", 8, labels={"pool": "two"}))
    mine = worker("mine", 1, 4, shape=shape(2, node_selector=(("pool", "two"),)), on=["b"])
    plan = plan_for(cluster(*nodes, coming("small", 2), coming("large", 3), mine))
    assert sizes(plan) == {"mine": 4}


def _half_there(**fields: Any) -> TrainingJob:  # noqa: ANN401 - of its workers
    """A gated job, two of whose four workers are on node a."""
    pods = (pod(0, "a"), pod(1, "a"))
    usual = {"suspended": False, "size": 4, "pods": pods, "shape": shape(2)}
    return job("tf", role("chief", on=["b"]), role("worker", 4, 4, **(usual | fields)))


@pytest.mark.parametrize("priority", [0, 1000])
def test_a_start_does_not_wait_until_lost_pods_are_created_again(priority: int) -> None:
    """The Job controller's back-off is up to ten minutes; their room itself stays reserved."""
    lacks = _half_there(failures=8)
    nodes = (node("a", 8), node("b", 8))
    new = worker("new", 5, 5, priority=priority)
    assert list(started(plan_for(cluster(*nodes, lacks, new)))) == ["new"]
    equal = worker("new", 8, 8)
    assert (
        wait_reasons(plan_for(cluster(*nodes, lacks, equal)))["new"].code
        is Code.INSUFFICIENT_CAPACITY
    )


def test_growth_leaves_lost_pods_their_nodes_until_they_are_created_again() -> None:
    """The nodes have five places for pods of 2 CPU, two of which the lost ones need."""
    mine = worker("mine", 1, 9, on=["b"])
    plan = plan_for(cluster(node("a", 8), node("b", 8), _half_there(failures=8), mine))
    assert sizes(plan) == {"mine": 1 + 3}


def test_growth_leaves_a_minimum_the_node_that_other_pods_have_yet_to_leave() -> None:
    """Its pods terminate there for long; kube-scheduler may bind new ones beside them."""
    pods = (pod(0, "a"), pod(1, created_at=at(-2), gates=(PLACEMENT_GATE,)))
    workers = role("worker", 2, 2, suspended=False, size=2, pods=pods, shape=shape(4))
    train = job("tf", role("chief", on=["b"]), workers)
    leaves = (pod(0, "b"), pod(1, "c", terminating=True))
    mine = worker("mine", 1, 9, size=1, suspended=False, pods=leaves)
    nodes = (node("a", 4), node("b", 4), node("c", 4))
    assert sizes(plan_for(cluster(*nodes, train, mine), Limits(load_ceiling=1))) == {}


def test_starts_wait_only_a_moment_for_gated_pods_that_are_not_created() -> None:
    """Something refuses them for long, a quota perhaps; none was lost."""
    new = worker("new", 5, 5)
    nodes = (node("a", 8), node("b", 8))

    def plan(since: float) -> Plan:
        lacks = replace(_half_there(), started_at=at(since))
        return plan_for(cluster(*nodes, lacks, new))

    assert list(started(plan(-31))) == ["new"]
    waits = plan(-5)
    assert (started(waits), waits.recheck_after) == ({}, timedelta(seconds=25))
    assert told(waits)["new"] == "waiting for pods ahead of it to be scheduled: ns/tf"


def test_starts_wait_for_gated_pods_of_a_job_that_failed_long_ago() -> None:
    """Its start had set the count aside: its pods are not lost, but created in a second."""
    lacks = _half_there(failures=8, failures_at_start=8, last=Reason(Code.ADMITTED))
    mine = worker("mine", 1, 9, on=["b"])
    nodes = (node("a", 8), node("b", 8))
    plan = plan_for(cluster(*nodes, replace(lacks, started_at=at(-1)), mine))
    assert wait_reasons(plan)["mine"] == reasons.placed_after([lacks.key])


def test_of_many_jobs_whose_pods_come_first_a_few_are_named() -> None:
    first = [worker(f"first-{n}", 1, 1, shape=shape(1), queued=-99) for n in range(5)]
    last = worker("last", 1, 1, shape=shape(4), queued=-9)
    plan = plan_for(cluster(node("a", 5), node("b", 5), *first, last))
    assert told(plan)["last"] == (
        "waiting for pods ahead of it to be scheduled: ns/first-0, ns/first-1, ns/first-2 "
        "and others"
    )


def test_the_jobs_whose_pods_come_first_are_named() -> None:
    first = worker("first", 2, 2, shape=shape(1), queued=-99)
    second = worker("second", 1, 1, shape=shape(4), queued=-98)
    plan = plan_for(cluster(node("a", 4), node("b", 4), first, second))
    assert told(plan)["second"] == "waiting for pods ahead of it to be scheduled: ns/first"
    running = worker("running", 1, 2, shape=shape(1), on=["a"])
    plan = plan_beside_a_start_that_waits(running)
    assert told(plan) == {
        "queued": "waiting for pods ahead of it to be scheduled: ns/coming",
        "running": "waiting for pods ahead of it to be scheduled: ns/coming, ns/queued",
    }


def test_a_donor_keeps_its_replica_while_a_lost_pod_keeps_the_recipient_from_growing() -> None:
    """The recipient may not grow before the Job controller's back-off ends."""
    workers = role(
        "worker", 2, 2, suspended=False, size=2, pods=(pod(0, "a"),), shape=shape(4), failures=8
    )
    lost = job("tf", role("chief", on=["b"]), workers)
    donor = worker("donor", 1, 9, shape=shape(1), on=["d"] * 3)
    recipient = worker("recipient", 1, 5, shape=shape(1), on=["d"])
    nodes = (node("a", 4), node("b", 1), node("c", 4), node("d", 4))
    state = cluster(*nodes, lost, donor, recipient)
    plan = plan_for(state, Limits(load_ceiling=1))
    assert (sizes(plan), wait_reasons(plan)["recipient"].code) == ({}, Code.PLACEMENT_ORDER)
