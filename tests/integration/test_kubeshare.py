"""Shares of GPUs: KubeShare's scheduler binds a pod by deleting it and creating it again.

A stand-in does exactly that on the real API server (`support/kubeshare.py`); the first two of the
cluster's four nodes are its, with four GPUs each.
"""

from collections.abc import Iterator

import pytest

from edl import contract
from edl.writes import Json
from sandbox.cluster import Cluster
from tests.integration.support.kubeshare import NODE_LABEL, KubeShare
from tests.integration.support.stage import INDEX, Stage, elastic, horovod, tensorflow

pytestmark = pytest.mark.integration

GPU = contract.PREFIX + "gpu"


@pytest.fixture
def shared_nodes(sandbox_cluster: Cluster) -> Iterator[frozenset[str]]:
    """Two nodes whose GPUs are KubeShare's."""
    names = sandbox_cluster.kubectl("get", "nodes", "-o", "name").split()[:2]
    for name in names:
        sandbox_cluster.kubectl("label", name, f"{NODE_LABEL}=true")
    yield frozenset(name.removeprefix("node/") for name in names)
    for name in names:
        sandbox_cluster.kubectl("label", name, f"{NODE_LABEL}-")


@pytest.fixture
def kubeshare(installed: Stage, shared_nodes: frozenset[str]) -> Iterator[KubeShare]:
    assert shared_nodes
    with KubeShare(installed.api) as scheduler:
        yield scheduler


def with_share(job: Json, share: str = "0.5") -> Json:
    job["metadata"]["labels"][GPU] = share
    return job


def until_settled(stage: Stage, job: str, pods: int) -> None:
    """Until it runs so many pods, one an index, and its controller has seen them all."""

    def holds() -> bool:
        found = stage.pods(job)
        indexes = {pod["metadata"]["labels"].get(INDEX, pod["metadata"]["name"]) for pod in found}
        running = [pod for pod in found if pod["status"].get("phase") == "Running"]
        ready = stage.job(job)["status"].get("ready")
        return bool(ready == pods == len(found) == len(indexes) == len(running))

    stage.until(holds, f"{job} runs {pods} pods, one an index")


def nodes(stage: Stage, job: str) -> set[str]:
    return {pod["spec"]["nodeName"] for pod in stage.pods(job)}


def counted(stage: Stage, job: str) -> dict[str, object]:
    """What the Job controller counted, zeros left out."""
    status = stage.job(job)["status"]
    named = {name: status.get(name) for name in ("succeeded", "failed", "completedIndexes")}
    return {name: value for name, value in named.items() if value}


def kubeshares(pod: Json) -> list[str]:
    """Names of the variables that KubeShare added, in the order of the container's."""
    added = ("NVIDIA_VISIBLE_DEVICES", "LD_PRELOAD", "POD_MANAGER_PORT")
    return [
        entry["name"] for entry in pod["spec"]["containers"][0]["env"] if entry["name"] in added
    ]


def test_a_job_without_labels_fails_under_the_kubeshare_scheduler(
    installed: Stage, kubeshare: KubeShare
) -> None:
    """The fact that all this is about: the pod stays until it was counted, as failed."""
    job = elastic("plain", parallelism=1, completions=1, backoffLimit=0)
    job["metadata"]["labels"] = {}
    template = job["spec"]["template"]
    template["metadata"] = {"labels": {"sharedgpu/gpu_limit": "0.5"}}
    template["spec"]["schedulerName"] = "kubeshare-scheduler"
    installed.apply(job)
    installed.until(lambda: counted(installed, "plain") == {"failed": 1}, "it counts as failed")
    conditions = installed.job("plain")["status"]["conditions"]
    assert conditions[0]["reason"] == "BackoffLimitExceeded"
    assert any("already exists" in text for text in kubeshare.failed)


def test_an_elastic_job_with_shares_starts_grows_shrinks_and_finishes(
    installed: Stage, kubeshare: KubeShare, shared_nodes: frozenset[str]
) -> None:
    chief, ps, worker = tensorflow("mnist", "2..5")
    worker["metadata"]["annotations"][contract.REPLICAS] = "3"
    installed.apply(chief, ps, with_share(worker))
    until_settled(installed, "mnist-worker", 3)
    first = installed.uids("mnist-worker")
    assert sorted(first) == ["0", "1", "2"]
    assert nodes(installed, "mnist-worker") <= shared_nodes
    installed.annotate("mnist-worker", replicas=None)
    until_settled(installed, "mnist-worker", 5)
    assert first.items() <= installed.uids("mnist-worker").items(), "nobody was restarted"
    installed.annotate("mnist-worker", replicas="2")
    until_settled(installed, "mnist-worker", 2)
    assert installed.uids("mnist-worker") == {index: first[index] for index in "01"}
    assert counted(installed, "mnist-worker") == {}
    installed.complete("mnist-chief")
    for role in ("chief", "ps", "worker"):
        installed.until(lambda: installed.is_complete(f"mnist-{role}"), f"{role} is complete")  # noqa: B023
    assert counted(installed, "mnist-worker") == {}
    assert kubeshare.failed == []


def test_an_index_that_was_gone_for_a_moment_settles_on_one_pod_and_costs_nothing(
    installed: Stage, shared_nodes: frozenset[str]
) -> None:
    """The Job controller makes an index anew when it looks between KubeShare's two calls."""
    chief, ps, worker = tensorflow("mnist", "2")
    with KubeShare(installed.api, gap=4.0) as slow:
        installed.apply(chief, ps, with_share(worker))
        until_settled(installed, "mnist-worker", 2)
        assert slow.bound > 2, "it did look"
    assert counted(installed, "mnist-worker") == {}
    assert nodes(installed, "mnist-worker") <= shared_nodes


@pytest.mark.parametrize("policy", ["TerminatingOrFailed", "Failed"])
def test_every_work_item_with_a_share_is_done_once(
    installed: Stage, kubeshare: KubeShare, policy: str
) -> None:
    items: Json = {"completions": 6, "parallelism": 3, "completionMode": "Indexed"}
    job = elastic("sweep", labels={"min": "2", "max": "4"}, podReplacementPolicy=policy, **items)
    notes = {"sandbox.edl.dev/complete-after": "2s"}
    job["spec"]["template"]["metadata"] = {"annotations": notes}
    installed.apply(with_share(job))
    installed.until(lambda: installed.is_complete("sweep"), "all are done")
    assert counted(installed, "sweep") == {"succeeded": 6, "completedIndexes": "0-5"}
    assert kubeshare.failed == []


def test_a_worker_that_really_fails_is_counted_and_made_anew(
    installed: Stage, kubeshare: KubeShare
) -> None:
    items: Json = {"completions": 2, "parallelism": 2, "completionMode": "Indexed"}
    job = with_share(elastic("sweep", labels={"max": "2"}, **items))
    installed.apply(job)
    until_settled(installed, "sweep", 2)
    installed.complete("sweep", code=1)
    installed.until(lambda: counted(installed, "sweep") == {"failed": 1}, "one has failed")
    assert kubeshare.failed == []


def test_bound_pods_stay_their_jobs_pods_with_kubeshares_variables_once(
    installed: Stage, kubeshare: KubeShare
) -> None:
    chief, ps, worker = tensorflow("mnist", "2")
    installed.apply(chief, ps, with_share(worker))
    until_settled(installed, "mnist-worker", 2)
    uid = installed.job("mnist-worker")["metadata"]["uid"]
    for pod in installed.pods("mnist-worker"):
        metadata = pod["metadata"]
        assert metadata["finalizers"] == [contract.JOB_TRACKING]
        assert [owner["uid"] for owner in metadata["ownerReferences"]] == [uid]
        assert metadata["annotations"][INDEX] == metadata["labels"][INDEX]
        assert metadata["annotations"]["sharedgpu/gpu_uuid"].startswith("GPU-")
        assert kubeshares(pod) == ["NVIDIA_VISIBLE_DEVICES", "LD_PRELOAD", "POD_MANAGER_PORT"]
        assert pod["spec"]["containers"][0]["env"][0]["name"] == contract.COMPLETION_INDEX_ENV
    assert kubeshare.failed == []


def test_hosts_are_listed_when_their_bound_pods_are_ready(
    installed: Stage, kubeshare: KubeShare
) -> None:
    launcher, worker = horovod("ring", "2..4")
    installed.apply(launcher, with_share(worker))
    installed.until(lambda: len(installed.hosts("ring-launcher")) == 4, "all workers are listed")
    installed.annotate("ring-worker", replicas="2")
    until_settled(installed, "ring-worker", 2)
    assert installed.hosts("ring-launcher") == ["ring-worker-0", "ring-worker-1"]
    assert counted(installed, "ring-worker") == {}
    assert kubeshare.failed == []


def test_a_paused_job_gives_its_shares_back_and_comes_back(
    installed: Stage, kubeshare: KubeShare
) -> None:
    chief, ps, worker = tensorflow("mnist", "3")
    installed.apply(chief, ps, with_share(worker))
    until_settled(installed, "mnist-worker", 3)
    before = installed.uids("mnist-worker")
    installed.annotate("mnist-worker", paused="true")
    installed.until(lambda: not installed.all("Pod"), "nothing of it runs")
    installed.annotate("mnist-worker", paused=None)
    until_settled(installed, "mnist-worker", 3)
    assert not set(before.values()) & set(installed.uids("mnist-worker").values())
    assert counted(installed, "mnist-worker") == {}
    assert kubeshare.failed == []


def test_a_bare_pod_is_bound_as_it_was_completed(
    installed: Stage, kubeshare: KubeShare, shared_nodes: frozenset[str]
) -> None:
    labels = {contract.FRAMEWORK: "tensorflow", contract.JOB: "mnist", GPU: "0.5"}
    notes = {contract.RANK: "1", contract.SIZE: "2"}
    container = {"name": "main", "image": "none"}
    installed.apply(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "mnist-1", "labels": labels, "annotations": notes},
            "spec": {"containers": [container]},
        }
    )

    def bound() -> list[Json]:
        return [pod for pod in installed.all("Pod") if pod["status"].get("phase") == "Running"]

    installed.until(bound, "it is bound")
    (pod,) = bound()
    assert pod["spec"]["nodeName"] in shared_nodes
    assert kubeshares(pod) == ["NVIDIA_VISIBLE_DEVICES", "LD_PRELOAD", "POD_MANAGER_PORT"]
    names = [entry["name"] for entry in pod["spec"]["containers"][0]["env"]]
    assert len(names) == len(set(names))
    assert kubeshare.failed == []


def test_whole_gpus_and_shares_are_on_different_nodes(
    installed: Stage, kubeshare: KubeShare, shared_nodes: frozenset[str]
) -> None:
    whole = {"max": "12", "gpu": "1"}
    installed.apply(
        with_share(elastic("share", "100m", labels={"max": "6"}, completions=60)),
        elastic("whole", "100m", labels=whole, completions=60),
    )
    until_settled(installed, "share", 6)
    installed.until_runs(
        "whole", 8
    )  # the GPUs of the other two nodes; more would be handed out twice
    assert nodes(installed, "share") <= shared_nodes
    assert not nodes(installed, "whole") & shared_nodes
    assert "GPU" in installed.message("whole") or "fit" in installed.message("whole")
    assert kubeshare.failed == []


def test_applying_the_file_of_a_running_job_again_changes_nothing(
    installed: Stage, shared_nodes: frozenset[str]
) -> None:
    assert shared_nodes
    rule = {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    job = elastic("whole", labels={"gpu": "1"}, completions=9, pod={"affinity": affinity})
    installed.apply(job)
    installed.until_runs("whole", 1)
    before = installed.job("whole")["spec"]["template"]
    installed.apply(job)
    installed.apply(job, flags=("--server-side", "--force-conflicts"))
    assert installed.job("whole")["spec"]["template"] == before


def test_a_job_grows_to_the_shares_that_there_are(
    installed: Stage, kubeshare: KubeShare, shared_nodes: frozenset[str]
) -> None:
    job = elastic("sweep", "100m", labels={"max": "30"}, completions=60)
    installed.apply(with_share(job))
    until_settled(installed, "sweep", 16)  # two halves of each of the eight GPUs
    assert nodes(installed, "sweep") == shared_nodes
    late = with_share(elastic("late", "100m", parallelism=1))
    installed.apply(late)
    until_settled(installed, "late", 1)
    until_settled(installed, "sweep", 15)
    assert "late" in installed.message("sweep"), "it made room"
    assert kubeshare.failed == []


def test_a_job_without_gpus_uses_kubeshares_nodes_too(
    installed: Stage, shared_nodes: frozenset[str]
) -> None:
    installed.apply(elastic("sweep", labels={"max": "20"}, completions=60))
    until_settled(installed, "sweep", 20)
    assert nodes(installed, "sweep") & shared_nodes
