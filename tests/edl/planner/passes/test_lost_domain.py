"""A gang that lost nodes of its required domain, while the Job controller backs off."""

# ruff: noqa: ANN401 - the builders pass any field on

from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from edl.messages import message
from edl.model import Assignment, ClusterState, JobKey, ResizePolicy, TrainingJob
from edl.model.nodes import Topology
from edl.planner.plan import Plan
from tests.edl.planner.acting import act, quiet
from tests.edl.planner.plans import ALL, plan_for
from tests.edl.planner.states import cluster, node, pod, shape, worker

RACK = "example.com/rack"
NODES = [node(f"node-{number:03}", labels={RACK: f"r{number // 5}"}) for number in range(3, 20)]
"""Four racks of five nodes, of which the first has lost three."""
ON = Assignment(0, tuple(f"node-00{index // 2}" for index in range(10)))
TEN_SECONDS = timedelta(seconds=10)


def in_a_rack(low: int = 6, **fields: Any) -> TrainingJob:
    """It ran ten pods in r0; those with indexes 6 to 9 are left."""
    pods = tuple(pod(index, f"node-00{index // 2}") for index in range(6, 10))
    given: dict[str, Any] = {
        "suspended": False,
        "size": 10,
        "pods": pods,
        "failures": 6,
        "shape": shape(2),
    }
    given |= {"assigned": ON, "gated": True, "topology": Topology(required=(("", RACK),))}
    return replace(worker("t1", low, 16, **(given | fields)), framework="pytorch")


def elastic(most: int = 50, **fields: Any) -> TrainingJob:
    given: dict[str, Any] = {"resizing": ResizePolicy.ITEMS, "indexed": False, "queued": -1}
    return replace(worker("l9", 2, most, **(given | fields)), framework="none")


def lived(state: ClusterState, rounds: int = 12) -> tuple[list[Plan], ClusterState]:
    """The plans of some rounds, in which the Job controller creates no lost pod."""
    plans = []
    for _ in range(rounds):
        plans.append(plan_for(state, replace(ALL, load_ceiling=0.97)))
        state = act(state, plans[-1], after=TEN_SECONDS, spreading=True, backing_off=True)
    return plans, state


def sizes_of(plans: list[Plan]) -> list[tuple[str, int, int]]:
    return [(one.job.name, one.before, one.after) for plan in plans for one in plan.resizes]


def test_sizes_of_others_stay_while_the_job_controller_creates_no_pod() -> None:
    """Else they yield in every decision, and grow again onto the same nodes."""
    rack = [node(f"node-00{number}", 6, labels={RACK: "r0"}) for number in (3, 4)]
    pods = tuple(pod(index, f"node-00{index // 2}") for index in range(6, 10))
    state = cluster(*rack, *NODES[2:], in_a_rack(pods=pods), elastic())
    plans, state = lived(state)
    assert [dict(one.sizes) for plan in plans for one in plan.admissions] == [{"worker": 50}]
    assert sizes_of(plans) == []
    created = act(state, plans[-1], after=TEN_SECONDS)
    assert [name for name, *_ in sizes_of([plan_for(created)])] == ["t1", "l9"]


def test_a_gang_whose_rack_cannot_hold_its_minimum_starts_in_another() -> None:
    plans, state = lived(cluster(*NODES, in_a_rack(), elastic()), rounds=40)
    (stop,) = plans[0].suspensions
    assert message(stop.reason) == (
        "6 of 6 pods of its minimum are missing, and the Job controller creates no pod for up to "
        "320 s: requeued, as its topology domain has too few nodes"
    )
    assert [dict(one.sizes) for plan in plans for one in plan.admissions if one.job.name == "t1"]
    on = {one.node for one in state.jobs[0].roles[0].status.pods}
    racks = {(one.labels or {})[RACK] for one in state.nodes if one.name in on}
    assert len(racks) == 1
    assert racks != {"r0"}
    assert quiet(plans[-1])


def beside_a_full_rack(*others: TrainingJob, lost: bool = False) -> ClusterState:
    """r0, with three nodes that are not ready (or gone, if `lost`), and r1 for `others`."""
    dead = [node(f"node-00{number}", labels={RACK: "r0"}, ready=False) for number in range(3)]
    return cluster(*(() if lost else dead), *NODES[:7], in_a_rack(), *others)


FULL = worker("full", 5, 5, on=[f"node-00{number}" for number in range(5, 10)], shape=shape(3))


def leaving(state: ClusterState) -> list[str]:
    return [one.job.name for one in plan_for(state).suspensions]


def test_a_gang_stays_while_its_nodes_may_return_and_no_other_rack_has_room() -> None:
    plans, _ = lived(beside_a_full_rack(FULL))
    assert not any(plan.suspensions or plan.resizes for plan in plans)
    assert leaving(beside_a_full_rack()) == ["t1"]


def test_of_two_gangs_only_the_one_that_another_rack_has_room_for_leaves() -> None:
    second = replace(in_a_rack(pods=()), key=JobKey("ns", "t2"))
    assert leaving(beside_a_full_rack(second)) == ["t1"]


def test_a_gang_leaves_for_a_rack_whose_extras_would_yield_to_it_but_not_yet() -> None:
    """They yield when it starts, once the Job controller creates its pods again."""
    taken = elastic(on=[f"node-00{number}" for number in range(5, 10) for _ in range(3)])
    plan = plan_for(beside_a_full_rack(taken))
    assert [one.job.name for one in plan.suspensions] == ["t1"]
    assert not any(one.after < one.before for one in plan.resizes)


def test_a_gang_whose_nodes_are_gone_queues_although_no_other_rack_has_room() -> None:
    """Its place in the queue is worth more than nodes on which it trains nothing."""
    (stop,) = plan_for(beside_a_full_rack(FULL, lost=True)).suspensions
    assert stop.job.name == "t1"


def test_it_stays_where_no_other_rack_holds_it_either() -> None:
    plans, _ = lived(cluster(*NODES[:4], in_a_rack()))
    assert not any(plan.suspensions or plan.resizes for plan in plans)


def test_a_gang_whose_pods_run_on_a_cordoned_node_stays_where_its_lost_pod_fits() -> None:
    cordoned = node("node-003", labels={RACK: "r0"}, cordoned=True)
    pods = (pod(0, "node-003"), pod(1, "node-003"), pod(2, "node-004"))
    on = Assignment(0, ("node-003", "node-003", "node-004", "node-004"))
    job = in_a_rack(low=4, size=4, pods=pods, assigned=on)
    assert plan_for(cluster(cordoned, *NODES[1:], job)).suspensions == ()
