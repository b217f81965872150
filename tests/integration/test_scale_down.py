"""Nodes go with the real Karpenter: extras keep none, minimums are let be, workers leave first."""

import os
from collections.abc import Iterator

import pytest

from dev.installation import install
from edl import contract
from sandbox import Sandbox, temporary_sandbox
from sandbox.autoscaler import add_karpenter
from sandbox.objects.node_pools import NodePool
from tests.integration.support.stage import Stage, elastic, horovod, stage, web

pytestmark = [pytest.mark.integration, pytest.mark.long]

WITHIN = 180.0  # Karpenter gathers pods for seconds, and looks for nodes to remove every 10 s
POOL = NodePool(sizes=(16,), cpu_limit="64", consolidate_after="5s")
OPTIONS = ("--growth=needed-nodes", "--idle-node-after=5", "--growth-cooldown=3")
TAINT = "karpenter.sh/disrupted"


@pytest.fixture(scope="module")
def autoscaled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A cluster without nodes, with Karpenter, on which kubectl-edl runs."""
    if named := os.environ.get("EDL_KUBECONFIG"):
        pytest.skip(f"needs a cluster with Karpenter's kwok provider; EDL_KUBECONFIG={named}")
    with temporary_sandbox("scale-down") as sandbox:
        add_karpenter(sandbox, POOL)
        install(sandbox, tmp_path_factory.mktemp("karpenter"), ("reconciler",), *OPTIONS)
        yield sandbox


@pytest.fixture
def scene(autoscaled: Sandbox) -> Iterator[Stage]:
    with stage(autoscaled) as made:
        made.within = WITHIN
        yield made
        made.kubectl("delete", "deployments,jobs", "--all")
        made.until(lambda: not names(made), "all nodes go after the jobs")


def names(scene: Stage) -> set[str]:
    return {node["metadata"]["name"] for node in scene.cluster_wide("Node")}


def nodes_by_role(scene: Stage, job: str) -> dict[int, str]:
    """The node of each index of a Job that runs."""
    pods = scene.pods(job)
    return {
        int(pod["metadata"]["labels"][contract.COMPLETION_INDEX_ANNOTATION]): pod["spec"][
            "nodeName"
        ]
        for pod in pods
        if pod["status"].get("phase") == "Running"
    }


def services(scene: Stage, *applications: str, cpu: str) -> dict[str, str]:
    """Pods of other owners, each on a node that Karpenter makes for it; nodes by application."""
    for name in applications:
        service = web(1, cpu)
        labels = {"app": name}
        service["metadata"]["name"] = name
        service["spec"]["selector"]["matchLabels"] = labels
        service["spec"]["template"]["metadata"]["labels"] = labels
        scene.apply(service)

    def placed() -> dict[str, str]:
        pods = [pod for pod in scene.all("Pod") if pod["status"].get("phase") == "Running"]
        return {
            pod["metadata"]["labels"]["app"]: pod["spec"]["nodeName"]
            for pod in pods
            if pod["metadata"]["labels"].get("app") in applications
        }

    scene.until(lambda: len(placed()) == len(applications), "nodes for the services")
    return placed()


def test_extras_fill_what_services_leave_of_their_nodes_and_keep_no_node_without_them(
    scene: Stage,
) -> None:
    nodes = services(scene, "front", "back", cpu="9")
    assert len(names(scene)) == 2
    scene.apply(elastic("train", "2", {"framework": "pytorch", "min": "1", "max": "9"}))
    scene.until_runs("train", 6)
    assert set(nodes.values()) == set(nodes_by_role(scene, "train").values()) == names(scene)
    first, uid = nodes_by_role(scene, "train")[0], scene.uids("train")["0"]
    idle = next(app for app, node in nodes.items() if node != first)
    scene.kubectl("delete", "deployment", idle)
    scene.until(lambda: names(scene) == {first}, "the node that only extras kept is gone")
    scene.until_runs("train", 3)
    assert scene.uids("train")["0"] == uid, "its minimum runs on"
    assert int(scene.job("train")["status"].get("failed", 0)) == 0
    assert "NodeUnneeded" in scene.job("train")["metadata"]["annotations"][contract.LAST_CHANGE]


def test_a_minimum_that_karpenter_may_not_evict_leaves_a_node_that_it_takes(scene: Stage) -> None:
    front = services(scene, "front", "back", "side", cpu="9")["front"]
    launcher, worker = horovod("ring", "1..3", cpu="2")
    for job, operator in ((launcher, "In"), (worker, "NotIn")):
        own = {"key": "metadata.name", "operator": operator, "values": [front]}
        required = {"nodeSelectorTerms": [{"matchFields": [own]}]}
        job["spec"]["template"]["spec"]["affinity"] = {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
        }
    scene.apply(launcher, worker)
    scene.until(lambda: len(scene.hosts("ring-launcher")) == 3, "all workers are listed")
    told = [
        contract.UNDISRUPTED.items() <= pod["metadata"].get("annotations", {}).items()
        for pod in scene.pods("ring-worker")
    ]
    assert told == [True, False, False], "autoscalers let its minimum be"
    going = nodes_by_role(scene, "ring-worker")[0]
    claim = scene.kubectl(
        "get",
        "nodeclaims",
        "-o",
        f"jsonpath={{.items[?(@.status.nodeName=='{going}')].metadata.name}}",
    )
    scene.kubectl("delete", "nodeclaim", claim, "--wait=false")
    scene.until(lambda: going not in names(scene), "the node is gone")
    scene.until(lambda: len(nodes_by_role(scene, "ring-worker")) == 3, "all workers run elsewhere")
    history = scene.job("ring-worker")["metadata"]["annotations"][contract.HISTORY]
    assert f"off {going}, which is being removed ({TAINT})" in history
