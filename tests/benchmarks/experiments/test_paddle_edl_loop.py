from datetime import UTC, datetime
from typing import Any

import pytest

from benchmarks.experiments import manifests
from benchmarks.experiments.cluster import TRAINER
from benchmarks.experiments.experiments import T1
from benchmarks.experiments.manifests import JOB_LABEL, KIND_LABEL, NAMESPACE
from benchmarks.experiments.paddle_edl.loop import Autoscaler
from edl.model import ObjectRef
from tests.fake_cluster.cluster import FakeCluster

JOB = ObjectRef("Job", NAMESPACE, "job-00-trainer")


@pytest.fixture
def cluster() -> FakeCluster:
    """Two nodes of 24 CPU, and a job with its minimum of trainers."""
    found = FakeCluster(lambda: datetime(2026, 1, 1, tzinfo=UTC))
    room = {"cpu": "24", "memory": "130Gi"}
    for name in ("a", "b"):
        found.create(ObjectRef("Node", "", name), {"status": {"allocatable": room}})
    for job in manifests.scaled(T1, "job-00"):
        found.create(ObjectRef("Job", NAMESPACE, job["metadata"]["name"]), job)
    return found


@pytest.fixture
def autoscaler(cluster: FakeCluster) -> Autoscaler:
    found = Autoscaler(cluster, T1)
    found.add("job-00")
    return found


def pod(
    cluster: FakeCluster, name: str, node: str = "a", phase: str = "Running", cpu: str = "5"
) -> None:
    asked = {"requests": {"cpu": cpu, "memory": "8Gi"}}
    labels = {JOB_LABEL: "job-00", KIND_LABEL: TRAINER.name}
    manifest: dict[str, Any] = {
        "metadata": {"name": name, "labels": labels},
        "spec": {"nodeName": node, "containers": [{"name": "main", "resources": asked}]},
        "status": {"phase": phase},
    }
    cluster.create(ObjectRef("Pod", NAMESPACE, name), manifest)


def parallelism(cluster: FakeCluster) -> int:
    found: int = cluster.get(JOB)["spec"]["parallelism"]
    return found


def test_a_job_that_runs_grows_to_the_ceiling(cluster: FakeCluster, autoscaler: Autoscaler) -> None:
    for name in ("one", "two"):
        pod(cluster, name)
    # 97 % of 48 CPU, of which 10 are asked for: 7 more trainers of 5.
    assert autoscaler.look() == {"job-00": 9}
    assert parallelism(cluster) == 9


def test_a_pending_pod_freezes_its_job(cluster: FakeCluster, autoscaler: Autoscaler) -> None:
    pod(cluster, "one")
    pod(cluster, "two", node="", phase="Pending")
    assert autoscaler.look() == {}
    assert parallelism(cluster) == T1.min


def test_pods_that_have_ended_ask_for_nothing(cluster: FakeCluster, autoscaler: Autoscaler) -> None:
    pod(cluster, "one")
    pod(cluster, "over", phase="Succeeded", cpu="40")
    assert autoscaler.look() == {}, "not all of its pods run"
    autoscaler.add("job-01")  # no trainer Job yet: no reason to look at the others
    assert autoscaler.look() == {}


def test_a_job_that_was_removed_is_left_alone(cluster: FakeCluster, autoscaler: Autoscaler) -> None:
    for name in ("one", "two"):
        pod(cluster, name)
    autoscaler.remove("job-00")
    assert autoscaler.look() == {}
