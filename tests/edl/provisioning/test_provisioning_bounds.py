"""Provisional pods are bounded: by budgets, refusals, lost nodes, and the end of their job."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from edl import contract, reasons
from edl.contract import Provision
from edl.model import Code, JobKey, ObjectRef, ProvisionalPod, Provisioning, Topology
from edl.planner.decision_limits import Autoscaler
from edl.planner.passes.admission.provisional_room import MAX_PODS
from edl.steps.provisioning.provisioning_steps import MAX_CREATED_PODS
from edl.writes import Create, Patch, Write
from tests.edl.planner.plans import ALL, plan_for, sizes
from tests.edl.planner.states import at, busy, cluster, job, node, role, room
from tests.edl.provisioning.autoscaled_cluster import AutoscaledCluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from edl.writes import Json


def _quota(world: AutoscaledCluster, cpu: int) -> None:
    hard = {"requests.cpu": str(cpu)}
    status = {"hard": hard, "used": {"requests.cpu": "0"}}
    body: Json = {"metadata": {"name": "quota"}, "spec": {"hard": hard}, "status": status}
    world.create("ResourceQuota", "lab", body)


@pytest.mark.slow
def test_jobs_with_refused_pods_get_that_reason_and_let_other_jobs_request() -> None:
    world = AutoscaledCluster()
    for number in range(5):
        world.gang(f"bad-{number}", 2)
    world.now += timedelta(seconds=1)
    world.gang("good", 2)
    tried: list[Write] = []

    def refuses(write: Write) -> bool:
        bad = isinstance(write, Create) and write.target.name.startswith("bad")
        tried.extend([write] if bad else [])
        return bad

    world.refuses = refuses
    world.settle(1200)
    assert world.running("good") == 2
    assert world.notes("bad-0")[contract.REASON] == Code.START_REFUSED
    assert "exceeded what the namespace allows" in world.notes("bad-0")[contract.MESSAGE]
    assert len(tried) < 5 * 2 * 60


def test_a_gang_that_asks_holds_its_quota() -> None:
    world = AutoscaledCluster(delay=10_000)
    _quota(world, 16)
    world.node("n1", 3)
    world.gang("first", 4)
    world.now += timedelta(seconds=1)
    world.gang("second", 3, cpu=1)
    world.settle(30)
    assert len(world.provisional("first")) == 4
    assert world.running("second") == 0


def test_an_equal_gang_that_the_quota_no_longer_allows_asks_for_no_nodes() -> None:
    """Else its provisional pods come and go: what is asked for before it takes the quota again."""
    world = AutoscaledCluster(delay=10_000)
    _quota(world, 24)
    world.gang("first", 4)
    world.now += timedelta(seconds=1)
    world.gang("second", 4)
    for _ in range(6):
        world.round()
        assert world.provisional("second") == []
    assert len(world.provisional("first")) == 4
    assert world.notes("second")[contract.REASON] == Code.QUOTA_EXCEEDED


def test_a_gang_above_its_lowered_quota_waits_for_no_more_nodes() -> None:
    world = AutoscaledCluster(delay=10_000)
    _quota(world, 24)
    world.gang("gang", 2, cpu=4, most=6, annotations={"provision": Provision.MAXIMUM})
    world.settle(20)
    assert len(world.provisional()) == 6
    world.api.patch(
        ObjectRef("ResourceQuota", "lab", "quota"),
        {"spec": {"hard": {"requests.cpu": "4"}}, "status": {"hard": {"requests.cpu": "4"}}},
    )
    world.settle(20)
    assert world.provisional() == []
    assert world.notes("gang")[contract.REASON] == Code.QUOTA_EXCEEDED


def test_a_maximum_is_asked_for_as_far_as_budgets_allow() -> None:
    world = AutoscaledCluster(delay=10_000)
    _quota(world, 24)
    world.gang("gang", 2, cpu=4, most=50, annotations={"provision": Provision.MAXIMUM})
    world.settle(20)
    assert len(world.provisional()) == 6


def test_a_maximum_has_a_bound_and_comes_in_parts() -> None:
    world = AutoscaledCluster(delay=10_000)
    more = {"framework": "none", "annotations": {"provision": Provision.MAXIMUM}}
    world.gang("gang", 1, cpu=1, most=3000, **more)
    world.round()
    assert len(world.provisional()) == MAX_CREATED_PODS
    assert dict(world.plan.requests[0].pods) == {"worker": MAX_PODS}


def test_a_start_that_meets_a_conflict_keeps_the_room_that_is_held_for_it() -> None:
    world = AutoscaledCluster(delay=10_000)
    _quota(world, 100)
    world.gang("gang", 4)
    world.settle(10)
    world.bind_provisional()
    world.refuses = lambda write: (
        isinstance(write, Patch) and (write.body.get("spec") or {}).get("suspend") is False
    )
    world.round()
    assert [one.job.name for one in world.plan.admissions] == ["gang"]
    assert len(world.provisional()) == 4
    world.refuses = lambda _write: False
    world.settle(60)
    assert world.running("gang") == 4
    assert world.provisional() == []


@pytest.mark.parametrize("ends", ["released", "orphaned"])
def test_provisional_pods_without_a_training_job_go(ends: str) -> None:
    world = AutoscaledCluster(delay=10_000)
    world.gang("gang", 4)
    world.settle(10)
    asked = world.provisional()
    if ends == "released":
        body = {"metadata": {"labels": {contract.FRAMEWORK: None}}}
        world.api.patch(ObjectRef("Job", "lab", "gang"), body)
    else:
        for one in asked:
            target = ObjectRef("Pod", "lab", one["metadata"]["name"])
            world.api.patch(target, {"metadata": {"ownerReferences": None}})
        world.annotate("gang", {contract.PROVISION: Provision.NEVER})
    world.settle(10)
    assert len(asked) == 4
    assert world.provisional() == []


def test_pods_of_users_with_our_label_stay() -> None:
    world = AutoscaledCluster()
    world.create(
        "Pod",
        "lab",
        {
            "metadata": {"name": "own", "labels": {contract.PROVISIONAL: "x"}},
            "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]},
            "status": {"phase": "Pending"},
        },
    )
    world.settle(10)
    assert len(world.provisional()) == 1


def test_capacity_of_one_roles_provisional_pods_is_not_free_for_another_role() -> None:
    """All four cores that there are wait for workers; the server needs a node of its own."""
    held = tuple(
        ProvisionalPod(f"mnist-{number}", f"uid-{number}", "worker", "a", at(-5), room(1))
        for number in range(4)
    )
    gang = job(
        "mnist", role("ps", 1, 1), role("worker", 4, 4), provisioning=Provisioning(pods=held)
    )
    state = cluster(busy(node("a", 4), room(4, pods=4)), gang)
    (asked,) = plan_for(state, replace(ALL, autoscaler=Autoscaler.PRESENT)).requests
    assert dict(asked.pods) == {"ps": 1, "worker": 4}


def _drain(world: AutoscaledCluster, name: str) -> None:
    taint = {"key": contract.DISRUPTED, "effect": "NoSchedule"}
    world.api.patch(ObjectRef("Node", "", name), {"spec": {"taints": [taint]}})


def _remove(world: AutoscaledCluster, name: str) -> None:
    world.api.delete(ObjectRef("Node", "", name))


@pytest.mark.parametrize("lose", [AutoscaledCluster.cordon, _drain, _remove])
def test_room_on_a_node_that_goes_is_asked_for_again(
    lose: "Callable[[AutoscaledCluster, str], None]",
) -> None:
    world = AutoscaledCluster(delay=10_000)
    world.node("n1", 4)
    world.gang("gang", 3)
    world.settle(10)
    lose(world, "n1")
    world.round()
    assert dict(world.plan.requests[0].pods) == {"worker": 4}


def test_pods_that_tolerate_a_cordoned_node_do_not_multiply() -> None:
    world = AutoscaledCluster(delay=10_000)
    world.node("n1", 64)
    world.cordon("n1")
    world.gang("gang", 2, pod={"tolerations": [{"operator": "Exists"}]})
    world.settle(60)
    assert len(world.provisional()) == 2


def test_a_high_priority_waits_for_those_that_ask_before_it_for_one_timeout_at_most() -> None:
    world = AutoscaledCluster(most=0)
    for number in range(9):
        world.gang(f"low-{number}", 2)
    world.settle(20)
    world.create("PriorityClass", "", {"metadata": {"name": "high"}, "value": 1000})
    world.gang("high", 2, pod={"priorityClassName": "high"})
    world.settle(20)
    assert not world.provisional("high")
    world.settle(600)
    assert len(world.provisional("high")) == 2


@pytest.mark.slow
def test_pods_that_a_kubelet_rejects_are_not_made_without_end() -> None:
    world = AutoscaledCluster(most=0)
    world.node("n1")
    world.node("n2", 2)
    world.gang("gang", 3)
    made: set[str] = set()
    for _ in range(130):
        world.settle(5)
        for one in world.provisional():
            made.add(one["metadata"]["uid"])
            if one["spec"].get("nodeName"):
                target = ObjectRef("Pod", "lab", one["metadata"]["name"])
                world.api.patch(target, {"status": {"phase": "Failed"}})
    assert world.notes("gang")[contract.REASON] == Code.NODES_NOT_PROVISIONED
    assert 1 <= len(made) <= 3


@pytest.mark.parametrize(("labels", "grown"), [({"rack": "a"}, {}), ({}, {"grows": 8})], ids=str)
def test_provisional_pods_keep_growth_off_nodes_with_the_required_labels_alone(
    labels: dict[str, str], grown: dict[str, int]
) -> None:
    """kube-scheduler binds them to no other node."""
    waits = role("worker", 9, 9, gated=True, topology=Topology(required=(("", "rack"),)))
    grows = job("grows", role("worker", 1, 9, on=["n1"]), started_at=at(-600))
    state = cluster(node("n1", 8, labels=labels), grows, job("waits", waits))
    plan = plan_for(state, replace(ALL, autoscaler=Autoscaler.PRESENT))
    assert [dict(one.pods) for one in plan.requests] == [{"worker": 9}]
    assert sizes(plan) == grown


@pytest.mark.parametrize(
    ("seconds", "asker", "asked"),
    [
        (5, {"suspended": True}, []),
        (5, {"suspended": False, "size": 2, "pods": ()}, []),
        (5, {"on": ["n1"] * 2}, [{"worker": 3}]),
        (500, {"suspended": True}, [{"worker": 3}]),
    ],
    ids=["queued", "without pods", "running", "long ago"],
)
def test_a_job_stopped_for_another_requests_nodes_once_that_is_ready(
    seconds: int, asker: dict[str, Any], asked: list[dict[str, int]]
) -> None:
    """Its provisional pods would be bound to the nodes that it left."""
    last = reasons.preempted(reasons.room_for_job(JobKey("ns", "asker")))
    left = role("worker", 3, 3, suspended_at=at(-seconds), last=last)
    first = job("asker", role("worker", 2, 2, **asker), priority=1)
    state = cluster(node("n1", 2), first, job("left", left))
    plan = plan_for(state, replace(ALL, autoscaler=Autoscaler.PRESENT))
    assert [dict(one.pods) for one in plan.requests] == asked
