"""Node-hours and costs by minimums, extras, other owners and idle capacity."""

import json
from dataclasses import astuple

import pytest
from msgspec.structs import replace

from edl.contract import NODE_POOL
from edl.kube.decode.gpu_sharing import UNCOUNTED
from edl.model import ClusterState, Node, ProvisionalPod, Provisioning
from edl.quantities import SHARED_GPU, Resources
from kubectl_edl.output.cell_quantities import offered_gpus
from kubectl_edl.top.cluster_costs import INSTANCE_TYPE, NodeShares, node_costs
from kubectl_edl.top.usage import cluster_usage, node_usage
from tests.edl.trainings import NOW, pods, role, training
from tests.kubectl_edl.stage import Stage, node


def machine(name: str, offered: dict[str, int], used: dict[str, int], kind: str = "") -> Node:
    room, taken = Resources.of(offered), Resources.of(used)
    labels = {INSTANCE_TYPE: kind, NODE_POOL: "pool"}
    return Node(name, room, taken, Resources(), labels=labels)


def cluster(*nodes: Node) -> ClusterState:
    """A job with a minimum of 1 and 3 pods on n1."""
    worker = role("worker", 1, 4, size=3, pods=pods("worker", range(3)))
    return ClusterState(NOW, nodes, (training(worker),))


def rounded(found: NodeShares) -> list[float]:
    return [round(one, 3) for one in astuple(found)]


def test_a_node_is_taken_by_minimums_extras_and_others_and_the_rest_is_idle() -> None:
    state = cluster(machine("n1", {"cpu": 8000}, {"cpu": 4000}), machine("n2", {"cpu": 4000}, {}))
    found = node_costs(state, {})
    assert rounded(found.nodes) == [0.125, 0.25, 0.125, 1.5]
    assert found.hourly is None


def test_provisional_pods_count_as_minimums() -> None:
    """They hold capacity for the minimum of a queued job."""
    state = cluster(machine("n1", {"cpu": 8000}, {"cpu": 5000}))
    held = ProvisionalPod("p", "uid", "worker", "n1", NOW, Resources.of({"cpu": 2000}))
    (job,) = state.jobs
    asking = replace(job, provisioning=Provisioning(pods=(held,)))
    assert rounded(node_costs(replace(state, jobs=(asking,)), {}).nodes) == [0.375, 0.25, 0, 0.375]


def test_what_provisional_pods_hold_counts_as_training_and_not_as_queued() -> None:
    n1 = machine("n1", {"cpu": 8000}, {"cpu": 2000})
    held = ProvisionalPod("p", "uid", "worker", "n1", NOW, Resources.of({"cpu": 2000}))
    waits = training(role("worker", 3, 3, size=3, suspended=True))
    asking = replace(waits, provisioning=Provisioning(pods=(held,)))
    found = []
    for job in (waits, asking):
        state = ClusterState(NOW, (n1,), (job,))
        cpu = cluster_usage(state, node_usage(state, None))[0]
        found.append((cpu.requested - cpu.training, cpu.queued))
    (before, queued), after = found
    assert (before, after) == (2000, (0, queued - 2000))


def test_costs_of_gpu_nodes_are_shared_by_gpus() -> None:
    gpu = "nvidia.com/gpu"
    node = machine("n1", {"cpu": 8000, gpu: 4}, {"cpu": 8000, gpu: 1})
    assert rounded(node_costs(cluster(node), {}).nodes) == [0, 0, 0.25, 0.75]


@pytest.mark.parametrize(
    ("prices", "hourly", "unpriced"),
    [
        ({"large": 8.0}, [1.0, 2.0, 1.0, 4.0], 1),
        ({"large": 8.0, "pool": 2.0}, [1.0, 2.0, 1.0, 6.0], 0),
        ({"other": 1.0}, [0.0, 0.0, 0.0, 0.0], 2),
    ],
    ids=["type", "type before pool", "neither"],
)
def test_a_price_is_of_an_instance_type_or_a_pool(
    prices: dict[str, float], hourly: list[float], unpriced: int
) -> None:
    large = machine("n1", {"cpu": 8000}, {"cpu": 4000}, "large")
    found = node_costs(cluster(large, machine("n2", {"cpu": 4000}, {})), prices)
    assert found.hourly is not None
    assert (rounded(found.hourly), found.unpriced) == (hourly, unpriced)


def test_an_overcommitted_or_empty_node_counts_once() -> None:
    full = machine("n1", {"cpu": 2000}, {"cpu": 1000})
    found = node_costs(cluster(full, machine("n2", {}, {})), {}).nodes
    assert rounded(found) == [0.333, 0.667, 0, 1]


def test_top_cluster_shows_hourly_costs_and_unpriced_nodes() -> None:
    stage = Stage()
    for name in ("a", "b"):
        made = node(name)
        made["metadata"].setdefault("labels", {})[INSTANCE_TYPE] = f"type-{name}"
        stage.create(made)
    run = stage.run("top", "cluster", "--price", "type-a=1.5")
    assert "Nodes by use: 2 (0 by minimums, 0 by extras, 0 by others, 2 idle)" in run.out
    assert "Cost per hour: 1.5 (0 by minimums, 0 by extras, 0 by others, 1.5 idle)" in run.out
    assert "1 node has no price" in run.err
    found = json.loads(stage.run("top", "cluster", "--price", "type-a=2", "-o", "json").out)
    assert (found["hourlyCost"]["idle"], found["unpricedNodes"]) == (2, 1)
    assert json.loads(stage.run("top", "cluster", "-o", "json").out)["hourlyCost"] is None


def test_costs_of_nodes_without_any_price_are_unknown() -> None:
    stage = Stage()
    stage.create(node("a"))
    run = stage.run("top", "cluster", "--price", "type-a=1.5")
    assert "Cost per hour: unknown\n" in run.out
    assert f"1 node has no price: prices go by the label {INSTANCE_TYPE} or " in run.err


@pytest.mark.parametrize("text", ["m7i", "=1", "m7i=", "m7i=-1", "m7i=nan", "m7i=1e9"])
def test_a_price_that_is_not_an_amount_is_wrong_usage(text: str) -> None:
    run = Stage().run("top", "cluster", "--price", text)
    assert run.code == 2
    assert "an amount from 0" in run.err


def test_gpus_of_a_kubeshare_node_that_reports_none_are_not_counted() -> None:
    assert offered_gpus(Resources.of({"cpu": 1000, SHARED_GPU: UNCOUNTED})) == 0
    assert offered_gpus(Resources.of({SHARED_GPU: 2000, "nvidia.com/gpu": 2})) == 2000
