"""`doctor` on queued jobs that request devices by DeviceClass."""

import json

import pytest

from edl import contract, reasons
from edl.annotations.json_text import json_text
from edl.model import Code
from edl.writes import Json
from tests import devices
from tests.devices import DRIVER
from tests.kubectl_edl.cluster_wrappers import fenced
from tests.kubectl_edl.doctor.fake_installation import FakeApi, installed
from tests.kubectl_edl.stage import Stage, job, node

MISSING = f'DeviceClass "{DRIVER}" does not exist: create it, or recreate the Jobs with another'


@pytest.fixture
def stage() -> Stage:
    stage = installed(Stage(), FakeApi())
    stage.create(node("node-1", cpu="8"))
    return stage


def dra(stage: Stage, *, requests: bool = False) -> Json:
    """A queued job of one to two pods, each with a GPU of the class."""
    manifest = job("dra", framework="none", min="1", max="2", gpu="1")
    manifest["metadata"]["annotations"] = {contract.GPU_CLASS: DRIVER}
    if not requests:
        manifest["spec"]["template"]["spec"]["containers"][0]["resources"] = {}
    return stage.put(manifest)


def findings(stage: Stage, *checks: str) -> list[tuple[str, str, str]]:
    """Result, message and remedy of each finding of these checks."""
    found = json.loads(stage.run("doctor", "-o", "json").out)["checks"]
    fields = ("result", "message", "remediation")
    return [tuple(one[field] for field in fields) for one in found if one["name"] in checks]


@pytest.mark.parametrize("requests", [False, True])
def test_a_missing_device_class_of_a_queued_job_is_a_warning(
    stage: Stage, *, requests: bool
) -> None:
    dra(stage, requests=requests)
    assert findings(stage, "stuck", "never") == [
        ("warning", f"default/dra: {MISSING}", ""),
        ("ok", "no queued job waits for capacity", ""),
    ]
    assert MISSING in stage.run("explain", "dra").out
    (queued,) = json.loads(stage.run("queue", "-o", "json").out)["items"]
    assert (queued["reason"], queued["message"]) == (Code.INVALID, MISSING)


def test_without_cluster_rights_doctor_repeats_the_reason_that_the_reconciler_recorded(
    stage: Stage,
) -> None:
    dra(stage)
    recorded = {
        contract.REASON: Code.INVALID.value,
        contract.MESSAGE: MISSING,
        contract.LAST_CHANGE: json_text(reasons.quoted(Code.INVALID, MISSING)),
    }
    stage.patch("dra", {"metadata": {"annotations": recorded}})
    inner = stage.wrapped
    stage.wrapped = lambda cluster: fenced("Node")(inner(cluster))
    assert findings(stage, "stuck") == [("warning", f"default/dra: {MISSING}", "")]


def test_pods_without_cpu_and_memory_are_bounded_by_the_devices_that_they_claim(
    stage: Stage,
) -> None:
    stage.create(devices.device_class())
    stage.create(devices.resource_slice("node-1", devices.gpus(1)))
    dra(stage)
    sound = [("ok", "the pods of all elastic roles have resource requests", "")]
    assert findings(stage, "requests") == sound
    assert "count as nothing" not in stage.run("explain", "dra").out
    inner = stage.wrapped
    stage.wrapped = lambda cluster: fenced("Node")(inner(cluster))
    assert findings(stage, "requests") == sound
