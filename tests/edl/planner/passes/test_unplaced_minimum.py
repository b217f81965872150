"""Why replaced pods of a started gang's minimum have no node, and how long the gang waits."""

from typing import Any

import pytest
from msgspec.structs import replace

from edl import messages, reasons
from edl.model import Code, JobKey, Node, TrainingJob
from edl.model.causes.scarcity import Shortage, UnplacedMinimum
from edl.model.nodes import Topology
from tests.edl.planner.plans import plan_for, told, wait_reasons
from tests.edl.planner.states import at, cluster, job, node, pod, role, shape, worker

RACK = "example.com/rack"
IN_A_RACK = Topology(required=(("", RACK),))


def rack(name: str, nodes: int, *, ready: bool = True) -> list[Node]:
    fields: dict[str, Any] = {"labels": {RACK: name}, "ready": ready}
    return [node(f"{name}-{number}", **fields) for number in range(nodes)]


def gang(most: int = 6, topology: Topology = IN_A_RACK) -> TrainingJob:
    """It has pods 0 to 3 on two nodes of r1; 4 and 5 were created again 20 s ago."""
    on = [pod(index, f"r1-{index // 2}") for index in range(4)]
    again = [pod(index, created_at=at(-20), gates=("edl.dev/placement",)) for index in (4, 5)]
    given: dict[str, Any] = {"suspended": False, "size": 6, "pods": (*on, *again), "gated": True}
    found = worker("t1", 6, most, topology=topology, shape=shape(2), **given)
    return replace(found, framework="pytorch")


LACKS = f"Insufficient cpu in {RACK}=r1 for pods of its minimum: needs 2 x 2 CPU (worker)"
REQUEUED = "; it goes back to the queue once one has waited 120 s"


@pytest.mark.parametrize("most", [6, 9])
def test_the_resource_that_its_rack_lacks_is_named_and_when_it_is_queued_again(most: int) -> None:
    plan = plan_for(cluster(*rack("r1", 2), *rack("r2", 2), gang(most)))
    assert told(plan) == {"t1": LACKS + REQUEUED}
    assert wait_reasons(plan)["t1"].code is Code.INSUFFICIENT_CAPACITY
    assert not plan.suspensions


def test_without_a_required_topology_no_domain_is_named() -> None:
    anywhere = gang(topology=Topology())
    (reason,) = wait_reasons(plan_for(cluster(*rack("r1", 2), anywhere))).values()
    assert messages.message(reason) == LACKS.replace(f" in {RACK}=r1", "") + REQUEUED


def test_extras_that_would_make_room_for_some_of_its_pods_count() -> None:
    """They keep running: with a part of its minimum the gang would not train."""
    other = worker("other", 1, 2, on=["r1-2"] * 2, shape=shape(2))
    plan = plan_for(cluster(*rack("r1", 3), gang(), other))
    assert told(plan)["t1"] == f"{LACKS}{REQUEUED}; 1 of 2 pods fit"
    assert not plan.resizes


def test_pods_that_fit_one_by_one_are_not_said_to_lack_anything() -> None:
    state = cluster(*rack("r1", 2), node("r1-2", 2, labels={RACK: "r1"}), gang())
    assert told(plan_for(state)) == {"t1": LACKS.replace("2 x", "1 x") + REQUEUED}


def test_a_rule_that_excludes_the_nodes_of_its_rack_is_named() -> None:
    full = [*rack("r1", 2, ready=False), *rack("r2", 2)]
    (text,) = told(plan_for(cluster(*full, gang()))).values()
    assert text.startswith(f"no node that it may use is schedulable in {RACK}=r1 for pods of its")


def test_pods_that_a_plan_finds_nodes_for_only_wait() -> None:
    plan = plan_for(cluster(*rack("r1", 3), gang(9)))
    assert wait_reasons(plan) == {"t1": reasons.minimum_pending(JobKey("ns", "t1"))}


def test_a_job_that_is_not_stopped_has_no_limit() -> None:
    refused = replace(gang(), problem=reasons.quoted(Code.INVALID, "a label makes no sense"))
    (reason,) = wait_reasons(plan_for(cluster(*rack("r1", 2), refused))).values()
    assert isinstance(reason.about, UnplacedMinimum)
    assert reason.about.seconds is None


def test_every_role_that_lacks_pods_is_named() -> None:
    ps = role("ps", 1, 1, suspended=False, pods=(pod(0, created_at=at(-20)),), shape=shape(1))
    (workers,) = gang().roles
    both = job("t1", workers, ps)
    (reason,) = wait_reasons(plan_for(cluster(*rack("r1", 2), both))).values()
    assert isinstance(reason.about, UnplacedMinimum)
    lacks = reason.about.lacks
    assert isinstance(lacks, Shortage)
    assert {(need.role, need.pods) for need in lacks.needs} == {("worker", 2), ("ps", 1)}
