"""`kubectl edl explain` of jobs that request devices by claims."""

import json

import pytest

from edl.model import ObjectRef
from edl.writes import Json
from tests import devices
from tests.devices import DRIVER, asking, claiming, gpus
from tests.kubectl_edl.stage import Stage, job, lease, node, pod

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
        f"  1. Insufficient devices of DeviceClass {DRIVER} for 1 of 2 worker "
        "pods (2 CPU, 3 devices of "
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


BIG = 'device.capacity["gpu.example.com"].memory.compareTo(quantity("80Gi")) >= 0'


def running(stage: Stage, pods: int) -> None:
    """An elastic job whose pods hold one device of the node each."""
    manifest = job("runs", framework="none", min="1", max="9")
    manifest["spec"]["template"]["spec"] |= claiming("one")
    stage.create(devices.template("one", asking(1), namespace="default"))
    stage.put(manifest, suspend=False, parallelism=pods)
    stored = stage.patch("runs", {"status": {"startTime": "2026-01-01T00:00:00Z"}})
    for index in range(pods):
        found = pod(stored, index)
        found["spec"] |= claiming("one")
        stage.create(found)
        name = found["metadata"]["name"]
        own = devices.claim(f"{name}-one", asking(1), namespace="default", owner=name)
        stage.create(devices.allocated(own, "node-1", f"gpu-{index}", pods=(name,)))


@pytest.fixture
def large(stage: Stage) -> Stage:
    """The devices of its node count in a second class, too."""
    stage.create(devices.device_class("big.example.com", BIG, extended="example.com/big"))
    stage.cluster.delete(ObjectRef("ResourceSlice", "", f"node-1-{DRIVER}"))
    stage.create(devices.resource_slice("node-1", gpus(4, "80Gi")))
    return stage


def test_devices_that_a_job_of_another_class_holds_are_not_missing(large: Stage) -> None:
    """They come back as it scales down; the device of another node is too small."""
    large.create(node("node-2"))
    large.create(devices.resource_slice("node-2", gpus(1)))
    running(large, 4)
    train(large, asking(1, of="big.example.com"))
    found = large.run("explain", "train").out
    assert "  1. 2 pods wait for others to terminate: default/runs\n" in found


def test_devices_of_several_classes_are_named_once(large: Stage) -> None:
    """A template in another namespace that selects among them changes nothing."""
    large.create(devices.template("all", asking(0, BIG), namespace="other"))
    train(large, asking(3, of="big.example.com"))
    found = large.run("explain", "train").out
    assert (
        "Insufficient example.com/big for 1 of 2 worker pods (2 CPU, 3 example.com/big each)"
        in found
    )
    assert "a new node like node-1 with room for 2 CPU, 3 example.com/big\n" in found
    assert "DeviceClass" not in found


def test_a_cluster_without_dynamic_resource_allocation_is_explained_as_before(stage: Stage) -> None:
    train(stage, asking(3))
    kinds = {"ResourceSlice", "DeviceClass", "ResourceClaim", "ResourceClaimTemplate"}
    stage.cluster.unserved = frozenset(kinds)
    found = stage.run("explain", "train")
    assert (found.code, found.err) == (0, "")
    assert "DeviceClass" not in found.out
