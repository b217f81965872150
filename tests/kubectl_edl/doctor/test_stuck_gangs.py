"""A gang whose rack lost a node and cannot hold its minimum, in `status`, `explain`, `doctor`."""

from datetime import timedelta

import pytest

from edl import contract
from tests.kubectl_edl.cluster_wrappers import fenced
from tests.kubectl_edl.doctor.findings import checked
from tests.kubectl_edl.stage import NOW, Stage, job, node, pod

LACKS = (
    "Insufficient cpu in example.com/rack=r1 for pods of its minimum: needs 2 x 2 CPU (worker); it "
    "goes back to the queue once one has waited 120 s"
)
EXPLAIN = "kubectl edl explain ring -n default"
WAITS = "not all pods of its minimum have a node yet"


def waits(stage: Stage, most: str = "4", minutes: float = 1) -> None:
    """Two of its four pods run on the node that its rack has left; r2 is free."""
    stage.create(node("node-1", cpu="4", rack="r1"))
    stage.create(node("node-2", cpu="16", rack="r2"))
    manifest = job("ring", framework="pytorch", min="4", max=most)
    manifest["metadata"].setdefault("annotations", {})[contract.REQUIRED_TOPOLOGY] = (
        "example.com/rack"
    )
    owner = stage.put(manifest, suspend=False, parallelism=4, completions=4)
    started = (NOW - timedelta(minutes=5)).isoformat()
    stage.patch("ring", {"metadata": {"annotations": {contract.STARTED_AT: started}}})
    for index in range(2):
        stage.create(pod(owner, index, "node-1"))
    stage.minutes_ago = minutes
    for index in (2, 3):
        again = pod(owner, index, "", phase="Pending", conditions=[])
        again["spec"]["schedulingGates"] = [{"name": contract.PLACEMENT_GATE}]
        stage.create(again)


@pytest.mark.parametrize("most", ["4", "9"])
def test_each_command_says_what_its_pods_lack_and_offers_no_larger_max(
    stage: Stage, most: str
) -> None:
    waits(stage, most)
    shown = stage.run("status", "ring").out
    assert f"Reason:     {LACKS}\n" in shown
    assert f"2 pods wait: {LACKS}\n     fix: {EXPLAIN}\n" in shown
    explained = stage.run("explain", "ring").out
    assert f"Reason:      {LACKS}\n" in explained
    assert f"1. {LACKS}\n" in explained
    assert "edl.dev/max" not in explained
    assert "--max" not in explained
    assert "known end" not in explained
    (found,) = checked(stage)["stuck"]
    assert (found["result"], found["message"]) == ("warning", f"default/ring: {LACKS}")
    assert found["remediation"] == EXPLAIN


def test_a_pod_that_was_replaced_a_moment_ago_is_not_stuck_yet(stage: Stage) -> None:
    waits(stage, minutes=0.25)
    (found,) = checked(stage)["stuck"]
    assert found["result"] == "ok"


def test_a_user_who_may_not_read_the_nodes_is_told_that_its_pods_wait(stage: Stage) -> None:
    waits(stage)
    stage.wrapped = fenced("Node")
    assert f"Reason:     {WAITS}\n" in stage.run("status", "ring").out
    (found,) = checked(stage)["stuck"]
    assert found["result"] == "ok", "another check names the missing right"
