"""plan, explain and queue on a live cluster: what they say is what happens."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from tests.integration.support.stage import elastic
from tests.integration.test_plugin import WITHIN, Shell, limited_user

if TYPE_CHECKING:
    from pathlib import Path

    from edl.writes import Json
    from tests.integration.support.stage import Stage

pytestmark = pytest.mark.integration


@pytest.fixture
def shell(installed: Stage) -> Shell:
    return Shell(installed.cluster, installed.namespace)


def answer(shell: Shell, *args: str) -> Json:
    done = shell.edl(*args, "-o", "json")
    assert done.returncode == 0, done.stderr
    found: Json = json.loads(done.stdout)
    return found


def settled(shell: Shell) -> Json:
    """The first plan that changes nothing here."""
    deadline = time.monotonic() + WITHIN
    while (plan := answer(shell, "plan"))["changes"]:
        assert time.monotonic() < deadline, plan
        time.sleep(0.5)
    return plan


def test_a_job_at_its_max_is_told_so_and_grows_with_what_is_named(shell: Shell) -> None:
    shell.apply(elastic("sweep", labels={"min": "1", "max": "3"}, parallelism=1))
    shell.until("sweep", lambda now: now["roles"][0]["runningReplicas"] == 3)
    plan = settled(shell)
    assert plan["settings"] == {
        "policy": "fair",
        "loadCeiling": 0.97,
        "preempt": False,
        "source": "reconciler",
    }
    (role,) = answer(shell, "explain", "sweep")["roles"]
    first = role["scaleUp"]["blockers"][0]
    assert (first["type"], first["limitedBy"], first["replicas"]) == ("AtBound", "Max", 3)
    assert shell.edl("scale", "sweep", "--max", "2").returncode == 0
    shell.until("sweep", lambda now: now["roles"][0]["runningReplicas"] == 2)


def test_a_job_that_is_too_large_is_told_what_is_missing_and_starts_with_it(shell: Shell) -> None:
    shell.apply(elastic("big", labels={"min": "40", "max": "50"}, parallelism=40))
    shell.until("big", lambda now: now["phase"] == "Queued")
    found = answer(shell, "explain", "big")
    (cause, *_) = found["start"]["blockers"]
    assert (cause["type"], cause["pods"]) == ("InsufficientResources", 40)
    assert found["position"] is None
    assert found["estimate"]["certainty"] == "Never"
    table = shell.edl("explain", "big").stdout
    assert "Why big does not start:" in table
    fits = str(cause["schedulablePods"])
    assert f"fewer worker replicas (at most {fits} fit on these nodes: kubectl edl scale" in table
    assert f" --role worker --min {fits}), or new nodes" in table
    assert shell.edl("scale", "big", "--min", fits).returncode == 0
    shell.until("big", lambda now: now["phase"] in ("Starting", "Running", "Scaling"))


def test_a_declared_length_tells_a_waiting_job_when_it_starts(shell: Shell) -> None:
    first = elastic("first", labels={"min": "20", "max": "20"}, parallelism=20)
    first["metadata"].setdefault("annotations", {})["edl.dev/duration"] = "1h30m"
    shell.apply(first)
    shell.until("first", lambda now: now["roles"][0]["runningReplicas"] == 20)
    shell.apply(elastic("second", labels={"min": "20", "max": "20"}, parallelism=20))
    shell.until("second", lambda now: now["phase"] == "Queued")
    (waiting,) = answer(shell, "queue")["items"]
    assert waiting["estimatedStart"]["certainty"] == "About"
    assert "in about" in shell.edl("explain", "second").stdout


def test_with_the_rights_of_one_namespace_explain_says_what_it_can(
    shell: Shell, tmp_path: Path
) -> None:
    shell.apply(elastic("sweep", labels={"min": "1", "max": "3"}, parallelism=1))
    shell.until("sweep", lambda now: now["roles"][0]["runningReplicas"] == 3)
    user = limited_user(shell, tmp_path)
    explained = shell.edl("explain", "sweep", kubeconfig=user)
    assert explained.returncode == 0
    assert "Running" in explained.stdout
    assert "kubectl auth can-i list nodes" in explained.stderr
    planned = shell.edl("plan", kubeconfig=user)
    assert planned.returncode == 0
    assert "No training jobs wait in " in planned.stdout
    assert "kubectl auth can-i list nodes" in planned.stderr
    assert "assumed settings" not in planned.stderr
