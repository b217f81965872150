"""explain tells what webhooks added to pods, which no manifest shows."""

import pytest

from tests.kubectl_edl.stage import Stage, job, node, pod

ADDED = "Requests:    webhooks added containers to its pods, which request more:"
SWEEP = {"framework": "none", "min": "1", "max": "1"}


@pytest.fixture
def stage() -> Stage:
    return Stage()


def requests(stage: Stage) -> list[str]:
    lines = stage.run("explain", "sweep").out.splitlines()
    return [line for line in lines if line.startswith("Requests:")]


def test_a_running_job_tells_what_its_pods_have_beyond_their_template(stage: Stage) -> None:
    stage.create(node("node-1", cpu="8"))
    running = stage.put(job("sweep", **SWEEP), suspend=False)
    one = pod(running, 0, "node-1")
    stage.create(one)
    assert requests(stage) == []
    one["spec"]["containers"].append({"name": "proxy", "resources": {"requests": {"cpu": "100m"}}})
    stage.delete(one["metadata"]["name"], "Pod")
    stage.create(one)
    assert requests(stage) == [f"{ADDED} 100m CPU for worker"]


def test_a_waiting_job_tells_what_it_counts_from_its_last_run_and_how_to_forget_it(
    stage: Stage,
) -> None:
    stage.create(node("node-1", cpu="2"))
    waiting = job("sweep", **SWEEP)
    stage.put(waiting)
    note = {"metadata": {"annotations": {"edl.dev/added-requests": '{"cpu":"100m"}'}}}
    stage.patch("sweep", note)
    forget = "kubectl annotate job -n default sweep edl.dev/added-requests-"
    last_run = f"100m CPU for worker, in the last run; if nothing adds it now: {forget}"
    assert requests(stage) == [f"{ADDED} {last_run}"]
    assert "one worker pod requests 2.1 CPU" in stage.run("explain", "sweep").out
