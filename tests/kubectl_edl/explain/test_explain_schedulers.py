"""`explain` of a job whose pods name a scheduler that does not run."""

import pytest

from tests.kubectl_edl.stage import Stage, job, lease, node, pod


@pytest.fixture
def stage() -> Stage:
    """A job of 1..4 with one pod, which volcano has not processed for two minutes."""
    stage = Stage()
    lease(stage)
    stage.create(node("node-1"))
    found = stage.put(
        job("small", framework="none", min="1", max="4"), suspend=False, parallelism=1
    )
    stage.minutes_ago = 2
    waiting = pod(found, 0, "", phase="Pending", conditions=[])
    waiting["spec"]["schedulerName"] = "volcano"
    stage.create(waiting)
    return stage


def test_a_job_whose_minimum_has_no_node_is_not_said_to_grow(stage: Stage) -> None:
    found = stage.run("explain", "small").out
    assert "\nGrows:       unknown: pods of its minimum have no node\n" in found


def test_a_scheduler_that_does_not_run_has_a_remedy(stage: Stage) -> None:
    found = stage.run("explain", "small").out
    assert (
        'Blockers:\n  1. small-0-x0 waits: scheduler "volcano" has not processed it yet\n'
        '     fix: run scheduler "volcano", or delete its Jobs and apply them with a schedulerName '
        "that runs\n"
    ) in found
