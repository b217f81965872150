"""`kubectl edl explain` of a job that waits because of the limits of NodePools."""

import json

import pytest

from edl import contract
from edl.writes import Json
from tests.kubectl_edl.stage import Stage, job, node

ABOVE = "the limits of NodePools allow too little CPU; NodePools may add 32 more CPU: needs 52"
RAISED = "raising spec.limits.cpu of NodePool default by 20 or more, enough for whole nodes"
SMALLER = (
    "a min of 20 for worker, for which the limits suffice: kubectl edl scale big -n default "
    "--role worker --min 20"
)


@pytest.fixture
def stage() -> Stage:
    """A node of 8 CPU and a NodePool that may add 32 more; 30 pods of 2 CPU wait."""
    stage = Stage()
    stage.cluster.unserved -= {"NodePool"}
    stage.create(node("node-1", cpu="8"))
    metadata = {"name": "default", "namespace": ""}
    limits = {"limits": {"cpu": "32"}}
    stage.create({"kind": "NodePool", "metadata": metadata, "spec": limits})
    manifest = job("big", framework="none", min="30", max="30")
    manifest["spec"]["parallelism"] = 30
    stage.put(manifest)
    recorded = {
        contract.REASON: "NodesNotProvisioned",
        contract.MESSAGE: "the limits of NodePools allow too little CPU",
    }
    stage.patch("big", {"metadata": {"annotations": recorded}})
    return stage


def explained(stage: Stage) -> Json:
    found: Json = json.loads(stage.run("explain", "big", "-o", "json").out)
    return found


def test_its_reason_has_the_amounts_that_queue_prints(stage: Stage) -> None:
    assert ABOVE in stage.run("queue").out
    assert f"\n  1. {ABOVE}\n" in stage.run("explain", "big").out
    found = explained(stage)
    assert (found["reason"], found["message"]) == ("NodesNotProvisioned", ABOVE)


def test_a_higher_limit_or_a_smaller_min_on_new_nodes_would_help(stage: Stage) -> None:
    """Without new nodes only 4 pods fit."""
    out = stage.run("explain", "big").out
    assert f"Would help:  {RAISED}; or {SMALLER}\n" in out
    assert "--min 4" not in out


def test_the_limit_is_the_only_blocker(stage: Stage) -> None:
    """Room on nodes like the present ones would not help, as it is the limit that keeps them."""
    assert "Insufficient cpu" not in stage.run("explain", "big").out
    (blocker,) = explained(stage)["start"]["blockers"]
    assert blocker["message"] == ABOVE


def test_the_smaller_min_that_is_named_suffices(stage: Stage) -> None:
    asked = {f"{contract.PREFIX}min": "20"}
    stage.patch("big", {"metadata": {"labels": asked}, "spec": {"parallelism": 20}})
    assert "waiting for nodes from the autoscaler" in stage.run("queue").out


def test_without_a_smaller_min_the_limit_alone_is_named(stage: Stage) -> None:
    """One pod needs more than the pool may add."""
    stage.delete("big")
    manifest = job("big", framework="none", min="1", max="1")
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    container["resources"]["requests"]["cpu"] = "40"
    stage.put(manifest)
    out = stage.run("explain", "big").out
    higher = "raising spec.limits.cpu of NodePool default by 8 or more, enough for whole nodes"
    assert f"Would help:  {higher}\n" in out
