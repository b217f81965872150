"""`kubectl edl explain` of jobs that request devices by claims."""

import json

import pytest

from edl.model import ObjectRef
from edl.writes import Json
from tests import devices
from tests.devices import DRIVER, asking, claiming, gpus
from tests.kubectl_edl.stage import Stage, job, lease, node

ODD = 'device.attributes["gpu.example.com"].model.matches("a.*")'


@pytest.fixture
def stage() -> Stage:
    """A node with four devices."""
    stage = Stage()
    lease(stage)
    stage.create(node("node-1", cpu="8"))
    for body in (devices.device_class(), devices.resource_slice("node-1", gpus(4))):
        stage.create(body)
    return stage


def train(stage: Stage, *requests: Json) -> None:
    """A gang of two pods that ask for this."""
    stage.create(devices.template("gpu", *requests, namespace="default"))
    manifest = job("train", framework="none", min="2", max="2")
    manifest["spec"]["parallelism"] = 2
    manifest["spec"]["template"]["spec"] |= claiming("gpu")
    stage.put(manifest)


def test_explain_names_missing_devices_of_a_gang(stage: Stage) -> None:
    train(stage, asking(3))
    found = stage.run("explain", "train").out
    assert (
        f"  1. Insufficient devices of DeviceClass {DRIVER} for 1 of 2 worker (2 CPU, 3 devices of "
        f"DeviceClass {DRIVER} each): beside the 1 that fit, at most 1 device of DeviceClass "
        f"{DRIVER} free on the only node that it may use\n"
        "     would help: fewer worker replicas (at most 1 fit on these nodes: kubectl edl scale "
        "train -n default --role worker --min 1), or a new node like "
        f"node-1 with room for 2 CPU, 3 devices of DeviceClass {DRIVER}\n"
    ) in found


def test_nodes_without_such_devices_are_none_that_a_pod_may_use(stage: Stage) -> None:
    for name in ("node-01", "node-02"):
        stage.create(node(name, cpu="8"))
    train(stage, asking(3))
    found = stage.run("explain", "train").out
    assert f"DeviceClass {DRIVER} free on the only node that it may use\n" in found
    assert "or a new node like node-1 with room for" in found


def test_a_selector_that_is_not_evaluated_is_named(stage: Stage) -> None:
    train(stage, asking(1, ODD))
    found = stage.run("explain", "train")
    text = f"counted by DeviceClass only: kubectl-edl does not evaluate {ODD}"
    assert f"Devices:     worker: {text}\n" in found.out
    document = json.loads(stage.run("explain", "train", "-o", "json").out)
    caveat = {"role": "worker", "type": "ClassOnly", "subject": ODD, "message": text}
    assert document["caveats"] == [caveat]


def test_a_template_that_is_missing_is_named(stage: Stage) -> None:
    train(stage, asking(1))
    assert "Devices:" not in stage.run("explain", "train").out
    stage.cluster.delete(ObjectRef("ResourceClaimTemplate", "default", "gpu"))
    found = stage.run("explain", "train").out
    assert (
        'ResourceClaimTemplate "gpu" does not exist: create it, or recreate the Jobs with another'
        in found
    )


def test_a_cluster_without_dynamic_resource_allocation_is_explained_as_before(stage: Stage) -> None:
    train(stage, asking(3))
    kinds = {"ResourceSlice", "DeviceClass", "ResourceClaim", "ResourceClaimTemplate"}
    stage.cluster.unserved = frozenset(kinds)
    found = stage.run("explain", "train")
    assert (found.code, found.err) == (0, "")
    assert "DeviceClass" not in found.out
