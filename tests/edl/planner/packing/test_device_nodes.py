"""Pods use nodes whose idle devices they do not request only after all other nodes."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from edl.contract import PLACEMENT_GATE
from edl.feasibility.horizon import IDLE
from edl.model import ClusterState, Node, TrainingJob
from edl.planner.decision_limits import Limits
from edl.planner.packing.pod_class import PodClass, PodSetRequest, pack
from edl.planner.policies import POLICIES
from edl.planner.snapshot.take_snapshot import take_snapshot
from edl.quantities import SHARED_GPU, Resources
from tests.edl.planner.plans import plan_for, started
from tests.edl.planner.states import (
    at,
    busy,
    cluster,
    demand,
    job,
    node,
    pod,
    role,
    room,
    shape,
    worker,
)

GPU_CLASS = "deviceclass.resource.kubernetes.io/gpu.example.com"


def mixed(gpu_nodes: int = 4, cpu_nodes: int = 15) -> list[Node]:
    """GPU nodes of 4 CPU and 4 GPUs, the first by name, and CPU nodes of 4 CPU."""
    return [
        *(node(f"node-{at:03}", 4, gpu=4) for at in range(gpu_nodes)),
        *(node(f"node-{at:03}", 4) for at in range(gpu_nodes, gpu_nodes + cpu_nodes)),
    ]


def offering(found: Node, device: str, amount: int = 4) -> Node:
    return replace(found, allocatable=found.allocatable + Resources.of({device: amount}))


def nodes_of(state: ClusterState, name: str) -> list[str]:
    """The nodes that the plan names for a job's start, of all roles."""
    (found,) = [one for one in plan_for(state).admissions if one.job.name == name]
    return [chosen for _, nodes in found.nodes for chosen in nodes]


def gated(
    name: str, count: int, cpu: float = 3, gpu: int = 0, queued: float = -3600
) -> TrainingJob:
    return job(
        name, role("worker", count, count, shape=shape(cpu, gpu=gpu), gated=True), queued=queued
    )


def on_gpu_nodes(names: Sequence[str], gpu_nodes: int = 4) -> list[str]:
    return [name for name in names if name < f"node-{gpu_nodes:03}"]


def pod_class_of(state: ClusterState, cpu: float = 1) -> PodClass:
    return take_snapshot(state, POLICIES["fair"], Limits()).pod_class(shape(cpu))


def test_a_gang_without_gpus_leaves_the_gpu_nodes_to_a_gang_that_requests_them() -> None:
    state = cluster(*mixed(), gated("paddle", 4), gated("gpus", 4, 2, 2, queued=-60))
    assert started(plan_for(state)).keys() == {"paddle", "gpus"}
    assert not on_gpu_nodes(nodes_of(state, "paddle"))
    assert len(on_gpu_nodes(nodes_of(state, "gpus"))) == 4


def test_roles_without_gpus_leave_the_gpu_nodes_that_no_job_requests_yet() -> None:
    roles = (role(name, 1, 1, shape=shape(3)) for name in ("chief", "ps", "worker"))
    assert not on_gpu_nodes(nodes_of(cluster(*mixed(), job("mnist", *roles)), "mnist"))


@pytest.mark.parametrize("device", ["example.com/fpga", GPU_CLASS, SHARED_GPU])
def test_every_kind_of_device_counts(device: str) -> None:
    state = cluster(offering(node("a"), device), node("b"), gated("plain", 1))
    assert nodes_of(state, "plain") == ["b"]


def test_a_device_that_all_nodes_have_hides_no_gpu_node() -> None:
    every = [offering(one, "vpc.amazonaws.com/pod-eni") for one in mixed(1, 1)]
    assert nodes_of(cluster(*every, gated("plain", 1)), "plain") == ["node-001"]


def test_a_node_whose_devices_are_all_in_use_is_like_any_other() -> None:
    taken = busy(node("a", 4, gpu=4), room(1, gpu=4, pods=1))
    assert nodes_of(cluster(taken, node("b", 4), gated("plain", 1, 2)), "plain") == ["a"]


def test_gpu_nodes_are_used_where_no_other_node_has_capacity() -> None:
    found = nodes_of(cluster(*mixed(2, 2), gated("plain", 4)), "plain")
    assert sorted(found) == ["node-000", "node-001", "node-002", "node-003"]


def test_a_role_scales_up_on_nodes_without_gpus_first() -> None:
    part = role("worker", 1, 4, on=["node-003"], shape=shape(3), gated=True)
    (resize,) = plan_for(cluster(*mixed(2, 3), job("grows", part))).resizes
    assert resize.nodes == ("node-002", "node-004", "node-000")


def test_a_gated_replacement_comes_to_a_node_without_gpus() -> None:
    pods = (pod(0, "node-002"), pod(1, gates=(PLACEMENT_GATE,), created_at=at(-1)))
    part = role("worker", 2, 2, size=2, suspended=False, gated=True, shape=shape(3), pods=pods)
    state = cluster(*mixed(2, 2), job("loses", part, started_at=at(-60)))
    (found,) = plan_for(state).node_assignments
    assert found.nodes == (("pod-1", "node-003"),)


def test_replicas_that_move_leave_the_gpu_node_to_a_gang_that_requests_it() -> None:
    """Two replicas leave node-2 for `pin`; node-0 and node-1 have room for them."""
    nodes = [node(f"node-{at}", 3, gpu=int(at == 0), labels={"at": str(at)}) for at in range(3)]
    moves = job("moves", role("worker", 1, 3, on=["node-2"] * 3), framework="pytorch")
    pin = demand("pin", shape(2, node_selector=(("at", "2"),)))
    plan = plan_for(cluster(*nodes, moves, gated("gpus", 1, 3, 1, queued=-10), pin))
    assert [len(one.pods) for one in plan.drains] == [2]
    assert (started(plan), plan.resizes) == ({"gpus": {"worker": 1}}, ())


def test_a_pack_of_several_shapes_counts_the_gpu_nodes_last() -> None:
    state = cluster(*mixed(1, 1), worker("a", 1, 1), worker("b", 1, 1, shape=shape(4, gpu=1)))
    snapshot = take_snapshot(state, POLICIES["fair"], Limits())
    requests = [PodSetRequest(snapshot.pod_class(one), count)
                for one, count in ((shape(1), 4), (shape(4, gpu=1), 1))]  # fmt: skip
    assert pack(snapshot.capacity.future_idle, requests, IDLE) == [4, 1]


def test_capacity_that_was_freed_on_a_gpu_node_is_used_last() -> None:
    view = pod_class_of(cluster(*mixed(40, 60), worker("w", 1, 1))).future_idle
    nodes = view.reserve_pods(401)
    assert [*dict.fromkeys(nodes)] == [*range(40, 100), *range(40)]
    assert view.is_exhausted
    view.release(0)
    view.release(99)
    mark = view.position()
    assert view.reserve_pods(3) == [99, 0]
    view.unreserve_pods([99, 0])
    view.restore(mark)
    assert not view.is_exhausted
    assert view.reserve_pods(3) == [99, 0]
    assert view.is_exhausted
