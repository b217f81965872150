"""`kubectl edl explain` of a job that waits for its turn to request nodes."""

import pytest

from edl import contract
from edl.planner.decision_limits import Limits, ProvisionerSettings
from edl.planner.published_settings import Settings, render
from edl.writes import Json
from tests.kubectl_edl.stage import Stage, job, lease, node, pod

TURN = "nodes are requested for jobs ahead of it first"


def gang(name: str) -> Json:
    manifest = job(name, framework="none", min="4", max="4")
    manifest["spec"]["parallelism"] = 4
    return manifest


@pytest.fixture
def stage() -> Stage:
    """A running job fills the only node that two gangs could use; another node is tainted."""
    stage = Stage(minutes_ago=0.2)
    stage.cluster.unserved -= {"NodePool"}
    limits = Limits(provisioning=ProvisionerSettings(provisioning_parallelism=1))
    lease(stage, render(Settings(limits=limits)))
    stage.create(node("node-1", cpu="8"))
    gpu = node("node-2", cpu="32")
    gpu["spec"]["taints"] = [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}]
    stage.create(gpu)
    stage.create({"kind": "NodePool", "metadata": {"name": "default", "namespace": ""}, "spec": {}})
    owner = stage.put(gang("runs"), suspend=False, parallelism=4)
    for index in range(4):
        stage.create(pod(owner, index))
    stage.put(gang("asks"))
    stage.put(gang("waits"))
    return stage


def test_it_names_its_turn_and_the_jobs_whose_end_is_unknown(stage: Stage) -> None:
    out = stage.run("explain", "waits").out
    assert f"Starts:      unknown: {TURN}, and default/runs has no known end\n" in out


def test_no_toleration_is_proposed_for_a_job_that_will_request_nodes(stage: Stage) -> None:
    assert "toleration" not in stage.run("explain", "waits").out
    stage.patch("waits", {"metadata": {"annotations": {contract.PROVISION: "never"}}})
    assert "a toleration of nvidia.com/gpu=true:NoSchedule" in stage.run("explain", "waits").out
