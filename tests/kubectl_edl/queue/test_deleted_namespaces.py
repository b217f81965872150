"""Training jobs of a namespace that is being deleted: no pod can be created in it."""

import json

import pytest

from edl import contract
from edl.model import ObjectRef
from edl.writes import Json
from tests.kubectl_edl.stage import NOW, Stage, job, node, pod

TEXT = "its namespace is being deleted: no pod can be created in it"
LIMITS = {"framework": "none", "min": "1", "max": "4"}


@pytest.fixture
def stage() -> Stage:
    """There is room for a queued job, and for more replicas of one that runs."""
    stage = Stage()
    stage.create(node("node-1"))
    stage.put(job("waits", **LIMITS))
    stage.create(pod(stage.put(job("grows", **LIMITS), suspend=False), 0))
    return stage


def delete_namespace(stage: Stage) -> None:
    metadata = {"name": "default", "namespace": "", "finalizers": ["example.com/kept"]}
    stage.create({"kind": "Namespace", "metadata": metadata})
    stage.cluster.delete(ObjectRef("Namespace", "", "default"))


def shown(stage: Stage, *args: str) -> Json:
    found: Json = json.loads(stage.run(*args, "-o", "json").out)
    return found


def test_nothing_starts_or_grows_there(stage: Stage) -> None:
    assert len(shown(stage, "plan")["changes"]) == 2
    delete_namespace(stage)
    assert shown(stage, "plan")["changes"] == []


def test_the_queue_an_explanation_and_the_state_of_a_running_job_say_so(stage: Stage) -> None:
    delete_namespace(stage)
    (queued,) = shown(stage, "queue")["items"]
    for found in (queued, *(shown(stage, "explain", name) for name in ("waits", "grows"))):
        assert (found["reason"], found["message"]) == ("NamespaceTerminating", TEXT)
    assert TEXT in stage.run("explain", "grows").out


def test_a_list_says_so_of_a_started_job_whose_pods_cannot_be_created(stage: Stage) -> None:
    stage.delete("grows-0-x0", "Pod")
    delete_namespace(stage)
    (found,) = (one for one in shown(stage, "status")["items"] if one["roles"][0]["replicas"])
    assert (found["reason"], found["message"]) == ("NamespaceTerminating", TEXT)


def test_the_state_of_a_job_that_has_just_lost_pods_says_so(stage: Stage) -> None:
    """A finalizer keeps a pod, and no back-off of the Job controller brings the lost one back."""
    owner = stage.put(job("lost", framework="none", min="2", max="2"), suspend=False, parallelism=2)
    kept = pod(owner, 0)
    kept["metadata"]["finalizers"] = ["example.com/kept"]
    stage.create(kept)
    stage.delete("lost-0-x0", "Pod")
    report = [{"subresource": "status", "time": f"{NOW:%Y-%m-%dT%H:%M:%SZ}"}]
    began = {contract.FAILURES_AT_START: "0", contract.STARTED_AT: NOW.isoformat()}
    metadata = {"annotations": began, "managedFields": report}
    stage.patch("lost", {"metadata": metadata, "status": {"failed": 1}})
    assert shown(stage, "status", "lost")["reason"] == "PodsMissing"
    delete_namespace(stage)
    for found in (shown(stage, "status")["items"][1], shown(stage, "status", "lost")):
        assert found["metadata"]["name"] == "lost"
        assert (found["reason"], found["message"]) == ("NamespaceTerminating", TEXT)


def test_no_larger_max_is_said_to_help(stage: Stage) -> None:
    wish = job("full", framework="none", min="1", max="2")
    made = stage.put(wish, suspend=False, parallelism=2, completions=8)
    for index in range(2):
        stage.create(pod(made, index))
    assert "a larger max" in stage.run("explain", "full").out
    delete_namespace(stage)
    (role,) = shown(stage, "explain", "full")["roles"]
    (blocker,) = role["scaleUp"]["blockers"]
    assert (blocker["condition"], blocker["remediation"]) == ("Namespace", "")
