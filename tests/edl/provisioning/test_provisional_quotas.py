"""A provisional pod asks for what the pod of its role does, and counts in quotas as it is."""

from typing import TYPE_CHECKING, Any

import pytest

from edl.model import ObjectRef
from edl.quantities import pod_limits, pod_requests
from edl.writes import Create
from tests.edl.provisioning.autoscaled_cluster import AutoscaledCluster

if TYPE_CHECKING:
    from edl.writes import Json

OWN_CLASS = {"scopeName": "PriorityClass", "operator": "In", "values": ["research"]}


def container(name: str, cpu: int, limit: int = 0, **more: Any) -> "Json":  # noqa: ANN401 - JSON
    limits = {"limits": {"cpu": str(limit)}} if limit else {}
    return {
        "name": name,
        "image": "x",
        "resources": {"requests": {"cpu": str(cpu)}} | limits,
    } | more


def quota(
    world: AutoscaledCluster, used: str, spec: "Json", resource: str = "requests.cpu"
) -> None:
    status = {"hard": {resource: "40"}, "used": {resource: used}}
    body: Json = {"metadata": {"name": "quota"}, "spec": spec | {"hard": status["hard"]}}
    world.create("ResourceQuota", "lab", body | {"status": status})


def test_it_asks_for_what_init_containers_sidecars_and_overhead_make_of_a_pod() -> None:
    world = AutoscaledCluster(delay=10_000)
    fixed = {"podFixed": {"cpu": "250m", "memory": "64Mi"}}
    world.create(
        "RuntimeClass", "", {"metadata": {"name": "vm"}, "handler": "vm", "overhead": fixed}
    )
    inits = [
        container("first", 5),
        container("proxy", 1, restartPolicy="Always"),
        container("last", 3),
    ]
    spec = {"containers": [container("main", 2), container("log", 1)], "initContainers": inits}
    world.gang("gang", 2, pod=spec | {"runtimeClassName": "vm"})
    world.settle(10)
    (one, other) = world.provisional()
    assert pod_requests(one["spec"]) == pod_requests(spec | {"overhead": fixed["podFixed"]})
    assert pod_requests(one["spec"]).get("cpu") == 5250
    assert one["spec"] == other["spec"]


@pytest.mark.parametrize(("limits", "asked"), [((9, 4), 13), ((1, 1), 3)], ids=str)
def test_its_limits_are_those_of_the_pod_and_no_smaller_than_its_requests(
    limits: tuple[int, int], asked: int
) -> None:
    world = AutoscaledCluster(delay=10_000)
    quota(world, "0", {}, "limits.cpu")
    containers = [container("main", 1, limits[0]), container("log", 0, limits[1])]
    spec = {"containers": containers, "initContainers": [container("first", 3, 3)]}
    world.gang("gang", 1, pod=spec)
    world.settle(10)
    (one,) = world.provisional()
    assert pod_limits(one["spec"]).get("cpu") == pod_limits(spec).get("cpu") == asked * 1000


@pytest.mark.parametrize(
    ("spec", "others"),
    [
        ({"scopeSelector": {"matchExpressions": [OWN_CLASS]}}, 20_000),
        ({"scopes": ["NotTerminating"]}, 20_000),
        ({"scopes": ["Terminating"]}, 20_000),
        ({"scopes": ["NotBestEffort"]}, 12_000),
        ({}, 12_000),
    ],
    ids=["class", "not terminating", "terminating", "not best effort", "all"],
)
def test_what_a_quota_does_not_count_of_it_makes_no_room_there(spec: "Json", others: int) -> None:
    world = AutoscaledCluster(delay=10_000)
    world.create("PriorityClass", "", {"metadata": {"name": "research"}, "value": 5})
    quota(world, "20", spec)
    world.gang("gang", 2, pod={"priorityClassName": "research"})
    world.settle(10)
    assert len(world.provisional()) == 2
    (found,) = world.state().quotas
    assert found.others == others


@pytest.mark.parametrize(
    ("spec", "left"), [({}, 0), ({"scopes": ["NotTerminating"]}, 2)], ids=["both", "one"]
)
def test_it_leaves_before_the_pods_are_there_only_where_a_quota_counts_both(
    spec: "Json", left: int
) -> None:
    world = AutoscaledCluster(delay=10_000)
    quota(world, "0", spec)
    world.gang("gang", 2)
    world.settle(10)
    for number, one in enumerate(world.provisional()):
        world.node(f"n{number}", 4)
        target = ObjectRef("Pod", "lab", one["metadata"]["name"])
        world.api.patch(target, {"spec": {"nodeName": f"n{number}"}})
    world.round()
    assert [one.job.name for one in world.plan.admissions] == ["gang"]
    assert len(world.provisional()) == left
    world.round()
    assert len(world.provisional()) == left


@pytest.mark.slow
def test_a_lost_node_is_asked_for_again_where_a_quota_has_room_for_one_gang() -> None:
    world = AutoscaledCluster(delay=20)
    quota(world, "24", {})
    world.gang("gang", 4)
    world.node("n1")
    world.settle(10)
    taken = [one for one in world.provisional() if one["spec"].get("nodeName") == "n1"]
    world.refuses = lambda write: (
        isinstance(write, Create)
        and write.target.kind == "Pod"
        and len(world.objects("Pod")) >= len(taken) * 2
    )
    taint = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}
    drained = {"spec": {"taints": [taint]}, "status": {"allocatable": {"cpu": "0"}}}
    world.api.patch(ObjectRef("Node", "", "n1"), drained)
    world.settle(300)
    assert len(taken) == 2
    assert world.running("gang") == 4
    assert world.provisional() == []
