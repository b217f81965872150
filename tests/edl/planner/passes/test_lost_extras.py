"""Jobs that lost extras, beside claims: they yield like others, and keep room for what stays."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from edl import reasons
from edl.model import ClusterState, JobKey, Node, ResizePolicy, Taint, TrainingJob
from edl.planner.decision_limits import Limits
from edl.planner.plan import Plan
from tests.edl.planner.acting import act
from tests.edl.planner.plans import plan_for, sizes, started
from tests.edl.planner.states import busy, cluster, demand, node, pod, room, shape, worker

CORES = 4
NODES = tuple(node(f"n{number:02}", CORES) for number in range(20))
SLOTS = tuple(one.name for one in NODES for _ in range(CORES))
"""A node for each CPU."""
ITEMS = {"resizing": ResizePolicy.ITEMS, "indexed": False}
BOTH = pytest.mark.parametrize(
    "kind", [ITEMS, {"resizing": ResizePolicy.LIVE}], ids=["items", "live"]
)


def missing(name: str, on: tuple[str, ...], *lost: int, **fields: Any) -> TrainingJob:  # noqa: ANN401
    """A job of a pod per node of `on`, without those at the `lost` positions."""
    pods = tuple(pod(index, there) for index, there in enumerate(on) if index not in lost)
    usual = {"suspended": False, "size": len(on), "pods": pods, "failures": len(lost)}
    return worker(name, 2, len(on), **(usual | fields))


def restarting(**fields: Any) -> TrainingJob:  # noqa: ANN401 - of a role
    """Six pods of a job that restarts for a new size."""
    usual = {"on": SLOTS[:6], "resizing": ResizePolicy.RESTART}
    return worker("restarts", 2, 6, **(usual | fields))


def urgent(pods: int) -> TrainingJob:
    return worker("urgent", pods, pods, priority=1000)


def plan(*things: Node | TrainingJob) -> Plan:
    return plan_for(cluster(*things), Limits())


@BOTH
@pytest.mark.parametrize("priority", [0, 1000])
def test_a_role_whose_last_pods_have_no_room_yields_what_it_has(
    kind: dict[str, Any], priority: int
) -> None:
    """Other pods have taken the node of its lost ones."""
    nodes = (node("a"), busy(node("b"), room(4)), node("c"), busy(node("d"), room(2)))
    lost = missing("lost", (*"aaaabb",), 4, 5, **kind)
    whole = missing("whole", (*"ccccdd",), **kind)
    claim = worker("claim", 4, 4, priority=priority)
    assert sizes(plan(*nodes, lost, whole, claim)) == {"lost": 3, "whole": 3}


@pytest.mark.parametrize("lost", [(), (28, 29)], ids=["whole", "lost"])
def test_a_higher_priority_takes_as_much_from_a_job_that_lost_extras(lost: tuple[int, ...]) -> None:
    other, same = (
        missing("other", SLOTS[30:60], **ITEMS),
        missing("same", SLOTS[:30], *lost, **ITEMS),
    )
    assert sizes(plan(*NODES, other, same, urgent(40))) == {"other": 20, "same": 20}


@pytest.mark.parametrize("lost", [(), (58, 59), (3, 7), (3, 59)], ids=str)
def test_what_stays_of_a_job_that_lost_extras_has_room_beside_a_higher_priority(
    lost: tuple[int, ...],
) -> None:
    """Otherwise its new pods would take the nodes of the job that restarts."""
    live = missing("live", SLOTS[6:66], *lost)
    after = sizes(plan(*NODES, restarting(), live, urgent(18)))
    assert after == {"live": 57, "restarts": 5}


def lacking_a_node(pods: int, *lost: int, **fields: Any) -> ClusterState:  # noqa: ANN401
    """A full cluster of which one node, with the last four extras of a job, was cordoned."""
    nodes = (*NODES[:-1], replace(NODES[-1], cordoned=True))
    job = missing("lost", SLOTS[6:80], *lost, **fields)
    return cluster(*nodes, restarting(priority=-5), job, urgent(pods))


DRAINED = (70, 71, 72, 73)


def test_lost_extras_without_room_are_given_up_while_others_yield() -> None:
    found = plan_for(lacking_a_node(2, *DRAINED, **ITEMS), Limits())
    assert sizes(found) == {"lost": 70, "restarts": 4}
    assert found.resizes[0].reason == reasons.room_for_job(JobKey("ns", "urgent"))


def test_lost_extras_without_room_are_given_up_while_others_yield_to_foreign_pods() -> None:
    state, web = (
        lacking_a_node(2, *DRAINED, **ITEMS),
        demand("web", shape(1), count=2, priority=1000),
    )
    found = plan_for(replace(state, jobs=state.jobs[:-1], demands=(web,)), Limits())
    assert sizes(found) == {"lost": 70, "restarts": 4}
    assert found.resizes[0].reason == reasons.room_for_demand(web)


def test_running_pods_are_not_removed_for_lost_ones_that_get_no_place_by_it() -> None:
    """A cordoned node takes no other pod."""
    assert sizes(plan_for(lacking_a_node(3, 3), Limits())) == {"restarts": 4}


def test_running_pods_are_not_removed_for_lost_ones_of_the_minimum() -> None:
    """Extras stand in for these."""
    lost = missing("lost", SLOTS[6:80], 0, 30)
    assert sizes(plan(*NODES, restarting(priority=-5), lost, urgent(3))) == {"restarts": 5}


def test_lost_extras_that_fit_beside_a_claim_are_kept() -> None:
    """It takes half of what a pod of the other job leaves."""
    large = worker("large", 1, 2, on=["b", "b"], shape=shape(2), priority=-5)
    lost, claim = missing("lost", (*"aaaa",), 3, priority=1000), urgent(1)
    nodes = (busy(node("a", 4), room(1)), node("b", 4))
    assert sizes(plan(*nodes, large, lost, claim)) == {"large": 1}


def test_a_job_keeps_its_lost_extras_while_no_other_job_waits() -> None:
    state = lacking_a_node(2, *DRAINED, **ITEMS)
    assert sizes(plan_for(replace(state, jobs=state.jobs[:-1]), Limits())) == {}


def rebooting(**fields: Any) -> TrainingJob:  # noqa: ANN401 - of a job
    """Five pods run on node a; the five on node b were lost with it."""
    return missing("live", (*"aaaaabbbbb",), *range(5, 10), **fields)


NOT_READY = (Taint("node.kubernetes.io/not-ready", "", "NoExecute"),)


def test_a_job_keeps_its_lost_extras_while_a_claim_only_waits_for_terminating_pods() -> None:
    leaving = replace(node("c", 4), used=room(4), releasing=room(4))
    gang = worker("gang", 4, 4, priority=5)
    nodes = (node("a", 5), node("b", 5, taints=NOT_READY), leaving)
    assert sizes(plan(*nodes, rebooting(), gang)) == {}


def test_a_job_that_alone_yields_to_a_claim_gives_up_no_more() -> None:
    live, claim = missing("live", (*"aaaaabbbbb",), 3, 4), worker("claim", 1, 1, priority=5)
    assert sizes(plan(node("a", 3), node("b", 5), live, claim)) == {"live": 9}


def test_a_job_keeps_its_lost_extras_while_others_yield_on_nodes_that_it_cannot_use() -> None:
    web, batch = ({"pool": name} for name in ("web", "batch"))
    nodes = (
        node("a", 5, labels=batch),
        node("b", 5, labels=batch, taints=NOT_READY),
        node("c", 12, labels=web),
    )
    there = shape(1, node_selector=(*web.items(),))
    other = worker("other", 1, 12, on=["c"] * 12, shape=there)
    claim = worker("claim", 1, 1, shape=there, priority=5)
    live = rebooting(shape=shape(1, node_selector=(*batch.items(),)))
    assert sizes(plan(*nodes, live, other, claim)) == {"other": 11}


def test_a_higher_priority_that_fits_beside_running_pods_starts_at_once() -> None:
    live = missing("live", SLOTS[6:66], 58, 59)
    found = plan(*NODES, restarting(), live, urgent(16))
    assert (started(found), sizes(found)) == ({"urgent": {"worker": 16}}, {})


def test_pods_that_are_created_again_take_no_node_of_a_job_that_restarts() -> None:
    state, restarts = lacking_a_node(2, *DRAINED, **ITEMS), 0
    for turn in range(30):
        found = plan_for(state, Limits())
        restarts += "restarts" in sizes(found)
        state = act(state, found, after=timedelta(seconds=2), lingering=True, backing_off=turn < 1)
    (part,) = next(one.roles for one in state.jobs if one.key.name == "restarts")
    assert (restarts, [bool(one.node) for one in part.status.pods]) == (1, [True] * 4)
