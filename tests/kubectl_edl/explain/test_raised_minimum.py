"""A raised minimum of a running job that limits of NodePools keep away, in all views."""

import json

import pytest

from edl import contract
from edl.kube.cluster import ListOptions
from edl.model import ObjectRef
from edl.writes import Json
from tests.kubectl_edl.doctor.fake_installation import FakeApi, installed
from tests.kubectl_edl.doctor.findings import checked
from tests.kubectl_edl.doctor.test_autoscaled_jobs import asked_for, pool
from tests.kubectl_edl.stage import Stage, job, node, pod

ABOVE = (
    "26 below its minimum: the limits of NodePools allow too little CPU; NodePools may add 32 "
    "more CPU: needs 52"
)
HIGHER = "spec.limits.cpu of NodePool default by 20 or more, enough for whole nodes"
SMALLER = (
    "a min of 20 for worker, for which the limits suffice: kubectl edl scale big -n default "
    "--role worker --min 20"
)
SAID = "all available instance types exceed limits for nodepool"


@pytest.fixture
def stage() -> Stage:
    """Four pods of 2 CPU fill the node; the minimum is 30, and a NodePool may add 32 CPU."""
    stage = installed(Stage(minutes_ago=30), FakeApi())
    stage.cluster.unserved -= {"NodePool"}
    found = node("node-1", cpu="8")
    found["metadata"]["labels"][contract.NODE_POOL] = "default"
    stage.create(found)
    stage.create(pool("default", "40"))
    manifest = job("big", framework="none", min="30", max="40")
    manifest["spec"]["parallelism"] = 4
    owner = stage.put(manifest, suspend=False, parallelism=4)
    notes = {contract.BELOW_MIN_SINCE: "2026-11-21T11:50:00Z"}
    stage.patch("big", {"metadata": {"annotations": notes}})
    for index in range(4):
        stage.create(pod(owner, index))
    return stage


def requested(stage: Stage, minutes_ago: int) -> None:
    """All nodes are requested for so long, and Karpenter has said why none comes."""
    target = ObjectRef("NodePool", "", "default")
    stage.cluster.patch(target, {"spec": {"limits": {"cpu": "400"}}})
    stage.minutes_ago = minutes_ago
    asked_for(stage, stage.job("big"), "2", 26)
    first = min(
        (one for one in pods(stage) if contract.PROVISIONAL in one["metadata"]["labels"]),
        key=lambda one: str(one["metadata"]["name"]),
    )
    about = {"kind": "Pod", "namespace": "default", "name": first["metadata"]["name"]}
    event = {
        "kind": "Event",
        "metadata": {"name": "said", "namespace": "default"},
        "involvedObject": about | {"uid": first["metadata"]["uid"]},
        "source": {"component": "karpenter"},
        "reason": "FailedScheduling",
        "message": SAID,
    }
    stage.create(event)


def pods(stage: Stage) -> list[Json]:
    return [*stage.cluster.list(ListOptions("Pod")).manifests()]


def test_status_and_explain_have_the_numbers_and_the_remedy(stage: Stage) -> None:
    assert ABOVE in " ".join(stage.run("status", "big").out.split())
    out = stage.run("explain", "big").out
    assert f"Reason:      {ABOVE}\n" in out
    assert f"Would help:  raising {HIGHER}; or {SMALLER}\n" in out
    assert "Insufficient cpu" not in out
    found = json.loads(stage.run("explain", "big", "-o", "json").out)
    assert (found["reason"], found["message"]) == ("BelowMin", ABOVE)


def test_doctor_names_the_limit_to_raise(stage: Stage) -> None:
    (found,) = (one for one in checked(stage)["stuck"] if one["result"] == "warning")
    assert found["message"] == f"default/big: {ABOVE}"
    assert found["remediation"] == f"raise {HIGHER}; or {SMALLER}"


def test_the_minimum_that_is_named_suffices(stage: Stage) -> None:
    stage.patch("big", {"metadata": {"labels": {contract.MIN: "20"}}})
    assert "limits of NodePools" not in stage.run("explain", "big").out


def test_after_the_timeout_all_views_have_the_words_of_the_autoscaler(stage: Stage) -> None:
    requested(stage, minutes_ago=20)
    late = f"the requested nodes were not provisioned in time; the autoscaler: {SAID}"
    assert f"Reason:      26 below its minimum: {late}\n" in stage.run("explain", "big").out
    assert late in " ".join(stage.run("status", "big").out.split())
    assert late in json.dumps(checked(stage)["stuck"])


def test_the_pods_that_it_lacks_count_as_queued(stage: Stage) -> None:
    document = json.loads(stage.run("top", "cluster", "-o", "json").out)
    assert document["resources"]["cpu"]["queuedRequests"] == "52000m"
