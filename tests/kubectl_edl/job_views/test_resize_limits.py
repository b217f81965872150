"""Cooldowns as shown by `status JOB` and `explain`."""

import json

import pytest
import yaml
from msgspec.structs import replace

from edl import contract, reasons
from edl.annotations.json_text import json_text
from edl.model import Code, JobKey, ResizePolicy
from edl.planner.decision_limits import Autoscaler, Limits
from edl.planner.published_settings import Settings, render
from edl.writes import Json
from kubectl_edl.job_views.resize_limits import ReconcilerCooldowns, pace, published, text
from tests.edl.planner.states import worker
from tests.kubectl_edl.stage import Stage, job, lease, node, pod

TORCHRUN = "60s after a resize (torchrun's default)"
OWN = "5m after a resize (edl.dev/cooldown)"
SLOWER = "2m after a resize (the reconciler's default)"


def torch(**notes: str) -> Json:
    manifest = job("bert", framework="pytorch", min="1", max="4")
    manifest["metadata"]["annotations"] = {f"{contract.PREFIX}{k}": v for k, v in notes.items()}
    return manifest


def cooldown(stage: Stage, command: str, name: str = "bert") -> str:
    lines = stage.run(command, name).out.splitlines()
    return next((line.partition(":")[2].strip() for line in lines if "Cooldown:" in line), "")


@pytest.mark.parametrize("command", ["status", "explain"])
def test_status_names_the_source_of_the_cooldown(command: str) -> None:
    stage = Stage()
    stage.put(torch())
    assert cooldown(stage, command) == f"{TORCHRUN}, 10s after a start"
    lease(stage, '{"limits": {"growth_cooldown": 120}}')
    assert cooldown(stage, command) == SLOWER
    stage.delete("bert")
    stage.put(torch(cooldown="5m"))
    assert cooldown(stage, command) == f"{OWN}, 2m after a start"


@pytest.mark.parametrize("command", ["status", "explain"])
def test_a_size_that_never_changes_has_none(command: str) -> None:
    stage = Stage()
    stage.put(job("bert", framework="pytorch", min="1", max="1"))
    assert cooldown(stage, command) == ""


@pytest.mark.parametrize(
    "settings",
    [
        None,
        "",
        "no JSON",
        "[]",
        '{"limits": 3}',
        '{"limits": {"growth_cooldown": "soon"}}',
        '{"limits": {"growth_cooldown": -1}}',
        '{"limits": {"growth_cooldown": 1e300}}',
    ],
)
def test_cooldowns_that_the_lease_does_not_publish_are_unknown(settings: str | None) -> None:
    assert published(settings) == ReconcilerCooldowns()
    assert pace(worker("mnist", 1, 4), ReconcilerCooldowns()) is None


def test_published_cooldowns_are_read() -> None:
    assert published(render(Settings())) == ReconcilerCooldowns(10, 300)


def test_a_job_that_restarts_has_the_other_default() -> None:
    restarting = worker("mnist", 1, 4, resizing=ResizePolicy.RESTART)
    found = text(pace(restarting, ReconcilerCooldowns(10, 300)))
    assert found == "5m after a resize (the reconciler's default)"


def test_documents_have_the_cooldown_with_its_source() -> None:
    stage = Stage()
    stage.put(torch(cooldown="5m"))
    found = {"periodSeconds": 300, "source": contract.COOLDOWN}
    (listed,) = json.loads(stage.run("status", "-o", "json").out)["items"]
    near = yaml.safe_load(stage.run("status", "bert", "-o", "yaml").out)
    explained = json.loads(stage.run("explain", "bert", "-o", "json").out)
    assert listed["cooldown"] == near["cooldown"] == found
    assert explained["cooldown"] == found | {"notBefore": None}


def test_a_wait_for_nodes_is_not_a_cooldown() -> None:
    """The plan knows when the request for nodes times out; the job starts before, once it fits."""
    stage = Stage()
    lease(stage, render(Settings(limits=Limits(autoscaler=Autoscaler.PRESENT))))
    stage.create(node("node-1", cpu="8"))
    stage.put(job("bert", framework="none", min="8", max="8"))
    assert "waiting for nodes from the autoscaler" in stage.run("explain", "bert").out
    assert "not before" not in cooldown(stage, "explain")
    explained = json.loads(stage.run("explain", "bert", "-o", "json").out)
    (held,) = json.loads(stage.run("plan", "-o", "json").out)["waiting"]
    assert explained["cooldown"]["notBefore"] is held["notBefore"] is None


def test_explain_and_plan_show_the_end_of_the_restart_cooldown() -> None:
    """The reconciler's five minutes, doubled twice by two restarts soon after another."""
    stage = Stage()
    stage.create(node("node-1", cpu="8"))
    runs = stage.put(job("bert", framework="tensorflow", min="1", max="4"), suspend=False)
    stage.create(pod(runs, 0))
    last = replace(reasons.restarted(reasons.grown(1, 4)), attempts=2)
    changed = {contract.RESIZED_AT: "2026-11-21T11:55:00Z", contract.LAST_CHANGE: json_text(last)}
    stage.patch("bert", {"metadata": {"annotations": changed}})
    end = "12:15:00 UTC"
    assert f"default), not before {end}" in cooldown(stage, "explain")
    assert f"cooldown after its last start or resize (until {end})" in stage.run("plan").out
    explained = json.loads(stage.run("explain", "bert", "-o", "json").out)
    (held,) = json.loads(stage.run("plan", "-o", "json").out)["waiting"]
    assert explained["cooldown"]["notBefore"] == held["notBefore"] == "2026-11-21T12:15:00Z"


def test_a_job_that_waits_for_replicas_of_another_is_in_no_cooldown_itself() -> None:
    """The plan gives the end of the other's cooldown as that of the wait."""
    stage = Stage()
    stage.create(node("node-1", cpu="8"))
    stage.create(node("node-2", cpu="8"))
    for name in ("bert", "gave"):
        runs = stage.put(job(name, framework="pytorch", min="1", max="9"), suspend=False)
        stage.create(pod(runs, 0))
    given = json_text(reasons.gave(Code.FAIR_SHARING, JobKey("default", "new")))
    changed = {contract.RESIZED_AT: "2026-11-21T11:59:55Z", contract.LAST_CHANGE: given}
    stage.patch("gave", {"metadata": {"annotations": changed}})
    waiting = {
        one["name"]: one for one in json.loads(stage.run("plan", "-o", "json").out)["waiting"]
    }
    assert waiting["bert"]["reason"] == "Rebalancing"
    assert waiting["bert"]["notBefore"] == waiting["gave"]["notBefore"] is not None
    assert "not before" in cooldown(stage, "explain", "gave")
    assert "not before" not in cooldown(stage, "explain", "bert")
