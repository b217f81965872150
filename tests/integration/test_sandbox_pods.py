"""What simulated nodes do with pods, seen through the real Job controller."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from sandbox.objects.nodes import SIMULATED

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox.cluster import Cluster

pytestmark = [pytest.mark.integration, pytest.mark.sandbox]

WITHIN = 60.0  # seconds until a test gives up
PREFIX = "sandbox.edl.dev/"


class Jobs:
    """Jobs of one namespace, as the tests speak of them."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster = cluster
        self._namespace = namespace

    def create(self, size: int, *, pod: dict[str, Any] | None = None, **spec: object) -> None:
        """An Indexed Job `job`. pod: annotations without their prefix, and fields of the pod."""
        given = dict(pod or {})
        annotations = {PREFIX + k: given.pop(k) for k in tuple(given) if "-" in k}
        containers = [{"name": "main", "image": "none"}]
        template = {
            "metadata": {"annotations": annotations},
            "spec": {"restartPolicy": "Never", "containers": containers, **given},
        }
        sizes = {"completionMode": "Indexed", "completions": size, "parallelism": size}
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "job"},
            "spec": {**sizes, "template": template, **spec},
        }
        self.kubectl("create", "-f", "-", input=json.dumps(job))

    def patch(self, **spec: object) -> None:
        self.kubectl("patch", "job", "job", "-p", json.dumps({"spec": spec}))

    def kubectl(self, *args: str, input: str | None = None) -> str:  # noqa: A002
        return self._cluster.kubectl("-n", self._namespace, *args, input=input)

    def pods(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = json.loads(self.kubectl("get", "pods", "-o", "json"))[
            "items"
        ]
        return listed

    def indexes(self, phase: str = "Running") -> list[int]:
        """Of the pods in this phase that nobody deletes."""
        return _indexes(self.pods(), phase)

    def runs_of(self) -> tuple[list[int], int]:
        """The indexes that run, of how many pods: of one reading, for what stays so for seconds."""
        pods = self.pods()
        return _indexes(pods), len(pods)

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.kubectl("get", "job", "job", "-o", "json"))[
            "status"
        ]
        return found

    def condition(self) -> set[str]:
        return {c["type"] for c in self.status().get("conditions", ()) if c["status"] == "True"}

    def until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WITHIN
        while not holds():
            if time.monotonic() > deadline:
                pytest.fail(f"still not so after {WITHIN} s: {self.kubectl('get', 'jobs,pods')}")
            self._cluster.check()
            time.sleep(0.1)


def _indexes(pods: list[dict[str, Any]], phase: str = "Running") -> list[int]:
    key = "batch.kubernetes.io/job-completion-index"
    return sorted(
        int(pod["metadata"]["annotations"][key])
        for pod in pods
        if pod["status"]["phase"] == phase and "deletionTimestamp" not in pod["metadata"]
    )


@pytest.fixture
def jobs(sandbox_cluster: Cluster, namespace: str) -> Jobs:
    if not sandbox_cluster.kubectl("get", "nodes", "-l", SIMULATED, "-o", "name"):
        pytest.skip("needs the sandbox's simulated nodes")
    return Jobs(sandbox_cluster, namespace)


def test_pods_run_with_address_and_ready_until_deleted(jobs: Jobs) -> None:
    jobs.create(3)
    jobs.until(lambda: jobs.indexes() == [0, 1, 2])
    statuses = [pod["status"] for pod in jobs.pods()]
    assert len({status["podIP"] for status in statuses}) == 3
    assert all(status["containerStatuses"][0]["started"] for status in statuses)
    jobs.until(lambda: jobs.status().get("ready") == 3)
    jobs.kubectl("delete", "job", "job")
    jobs.until(lambda: jobs.pods() == [])


def test_init_containers_are_done_and_sidecars_run(jobs: Jobs) -> None:
    init = [
        {"name": "prepare", "image": "none"},
        {"name": "sidecar", "image": "none", "restartPolicy": "Always"},
    ]
    jobs.create(1, pod={"initContainers": init})
    jobs.until(lambda: jobs.indexes() == [0])
    prepare, sidecar = jobs.pods()[0]["status"]["initContainerStatuses"]
    assert prepare["state"]["terminated"]["exitCode"] == 0
    assert "running" in sidecar["state"]


def test_a_claim_finds_a_volume_which_takes_the_next_claim_afterwards(jobs: Jobs) -> None:
    if named := os.environ.get("EDL_KUBECONFIG"):
        pytest.skip(f"needs the sandbox's simulated volumes; EDL_KUBECONFIG={named}")
    spec = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "100Gi"}}}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}
    jobs.kubectl("create", "-f", "-", input=json.dumps({**claim, "spec": spec}))
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    jobs.create(1, pod={"volumes": [volume]})
    jobs.until(lambda: jobs.indexes() == [0])
    bound = jobs.kubectl("get", "pvc", "data", "-o", "jsonpath={.spec.volumeName}")
    jobs.kubectl("delete", "job/job", "pvc/data")
    phase = ("get", "pv", bound, "-o", "jsonpath={.status.phase}")
    jobs.until(lambda: jobs.kubectl(*phase) == "Available")


def test_complete_after_completes_a_job(jobs: Jobs) -> None:
    jobs.create(2, pod={"complete-after": "1s"})
    jobs.until(lambda: "Complete" in jobs.condition())
    assert jobs.indexes("Succeeded") == [0, 1]


def test_complete_after_is_counted_from_the_start_when_the_pod_is_changed(jobs: Jobs) -> None:
    jobs.create(1, pod={"complete-after": "4s"})
    jobs.until(lambda: jobs.indexes() == [0])
    changes = 0
    while jobs.indexes() == [0]:
        jobs.kubectl("annotate", "pods", "--all", "--overwrite", f"change={changes}")
        changes += 1
        assert changes < 600
    assert jobs.indexes("Succeeded") == [0]


def test_an_exit_code_fails_the_pod(jobs: Jobs) -> None:
    jobs.create(1, pod={"complete-after": "100ms", "exit-code": "3"}, backoffLimit=0)
    jobs.until(lambda: "Failed" in jobs.condition())
    terminated = jobs.pods()[0]["status"]["containerStatuses"][0]["state"]["terminated"]
    assert terminated["exitCode"] == 3


def test_restart_policy_on_failure_restarts_in_the_same_pod(jobs: Jobs) -> None:
    pod = {"complete-after": "100ms", "exit-code": "3", "restartPolicy": "OnFailure"}
    jobs.create(1, pod=pod, backoffLimit=1000)

    def restarted_twice() -> bool:
        statuses = [s for pod in jobs.pods() for s in pod["status"].get("containerStatuses", ())]
        return any(status["restartCount"] >= 2 for status in statuses)

    jobs.until(restarted_twice)
    assert len(jobs.pods()) == 1


def test_run_after_keeps_a_pod_pending(jobs: Jobs) -> None:
    jobs.create(1, pod={"run-after": "6s"})

    def waits_on_its_node() -> bool:
        pods = jobs.pods()
        return _indexes(pods, "Pending") == [0] and "nodeName" in pods[0]["spec"]

    jobs.until(waits_on_its_node)
    jobs.until(lambda: jobs.indexes() == [0])


def test_stop_after_lets_a_deleted_pod_hold_its_room(jobs: Jobs) -> None:
    jobs.create(2, pod={"stop-after": "6s"})
    jobs.until(lambda: jobs.indexes() == [0, 1])
    jobs.patch(completions=1, parallelism=1)
    jobs.until(lambda: jobs.runs_of() == ([0], 2))
    jobs.until(lambda: len(jobs.pods()) == 1)


def test_stop_exit_code_0_lets_a_deleted_pod_succeed(jobs: Jobs) -> None:
    jobs.create(2, pod={"stop-exit-code": "0"})
    jobs.until(lambda: jobs.indexes() == [0, 1])
    jobs.kubectl("delete", "pod", "-l", "batch.kubernetes.io/job-completion-index=1")
    jobs.until(lambda: jobs.status().get("completedIndexes") == "1")


def test_a_job_is_resized_in_tandem_up_and_down(jobs: Jobs) -> None:
    jobs.create(2)
    jobs.until(lambda: jobs.indexes() == [0, 1])
    jobs.patch(completions=6, parallelism=6)
    jobs.until(lambda: jobs.indexes() == [0, 1, 2, 3, 4, 5])
    jobs.patch(completions=3, parallelism=3)
    jobs.until(lambda: jobs.indexes() == [0, 1, 2])
    jobs.until(lambda: len(jobs.pods()) == 3)


def test_suspend_removes_all_pods_and_resume_brings_them_back(jobs: Jobs) -> None:
    jobs.create(3)
    jobs.until(lambda: jobs.indexes() == [0, 1, 2])
    jobs.patch(suspend=True)
    jobs.until(lambda: jobs.pods() == [])
    jobs.patch(suspend=False)
    jobs.until(lambda: jobs.indexes() == [0, 1, 2])


def test_nought_of_nought_completes_a_running_job(jobs: Jobs) -> None:
    jobs.create(2)
    jobs.until(lambda: jobs.indexes() == [0, 1])
    jobs.patch(completions=0, parallelism=0)
    jobs.until(lambda: "Complete" in jobs.condition())
    jobs.until(lambda: jobs.pods() == [])


def test_a_replacement_waits_for_the_end_of_the_deleted_pod(jobs: Jobs) -> None:
    jobs.create(2, pod={"stop-after": "6s"}, podReplacementPolicy="Failed")
    jobs.until(lambda: jobs.indexes() == [0, 1])
    jobs.kubectl(
        "delete", "pod", "--wait=false", "-l", "batch.kubernetes.io/job-completion-index=0"
    )
    jobs.until(lambda: jobs.runs_of() == ([1], 2))
    jobs.until(lambda: jobs.indexes() == [0, 1])
    jobs.kubectl("delete", "job", "job")
    jobs.until(lambda: jobs.pods() == [])


def test_deleting_a_job_while_its_pods_start_leaves_none(jobs: Jobs) -> None:
    jobs.create(10, podReplacementPolicy="Failed")
    jobs.kubectl("delete", "job", "job")
    jobs.until(lambda: jobs.pods() == [])
